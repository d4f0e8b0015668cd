"""Devices that only tests have: tensors on the processor that say they lie on "cpu:0", "cpu:1" …

An operation on tensors of two devices fails as it does on GPUs; only copies cross. Plain tensors are the
host's, and mix with a device's only where CUDA allows it: numbers and indices. So code that runs within
``Devices`` moves each tensor that it has to move, and its values are those of plain passes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten
INDEXED = {aten.index.Tensor, aten.index_put.default, aten.index_put_.default, aten._index_put_impl_.default}


class OnDevice(torch.Tensor):
    """A tensor that lies on a device."""

    inner: torch.Tensor
    lies_on: torch.device

    @staticmethod
    def __new__(cls: type[OnDevice], inner: torch.Tensor, lies_on: torch.device) -> OnDevice:
        made: OnDevice = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(),
            dtype=inner.dtype, device=inner.device, dispatch_device=True,
        )  # fmt: skip
        made.inner, made.lies_on = inner, lies_on
        return made

    def __repr__(self) -> str:
        return f"{self.inner!r} on {self.lies_on}"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class Devices(TorchDispatchMode):
    """Within this block "cpu:0", "cpu:1" … are devices."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


@torch.inference_mode(False)  # wrappers of tensors that count their versions
@torch.no_grad()
def _run(func: Any, args: Any, kwargs: Any) -> Any:
    if func is torch.ops.prim.device.default:
        return args[0].lies_on
    if func.overloadpacket is aten.to:  # under inference_mode it comes whole
        with Devices():
            return func.decompose(*args, **kwargs)
    asked = torch.device(kwargs["device"]) if kwargs.get("device") is not None else None
    tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
    on = {each.lies_on for each in tensors if isinstance(each, OnDevice)}
    if func is not aten._to_copy.default and func is not aten.copy_.default:
        is_mixed = on and func not in INDEXED and any(map(_is_hosts, tensors))
        if len(on) > 1 or is_mixed:
            raise RuntimeError(f"Expected all tensors to be on the same device: {func} on {on}, {tensors}")
    where: torch.device | None
    if asked is not None:
        kwargs = kwargs | {"device": torch.device("cpu")}
        where = asked if asked.index is not None else None
    elif func is aten.copy_.default:
        where = getattr(args[0], "lies_on", None)
    else:
        where = next(iter(on), None)
    result = func(*tree_map(_inner, args), **tree_map(_inner, kwargs))
    if where is None:
        return result
    given = {id(each.inner): each for each in tensors if isinstance(each, OnDevice)}

    def wrapped(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return given[id(value)] if id(value) in given else OnDevice(value, where)

    return tree_map(wrapped, result)


def _is_hosts(tensor: torch.Tensor) -> bool:
    """Return whether a tensor's values are the host's: an empty one, which torch.tensor makes, has none."""
    return tensor.dim() > 0 and tensor.numel() > 0 and not isinstance(tensor, OnDevice)


def _inner(value: Any) -> Any:
    return value.inner if isinstance(value, OnDevice) else value
