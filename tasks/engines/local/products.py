"""Products of matrices in float32 on processors for which PyTorch's own choice of a library is the slower.

PyTorch multiplies float32 with MKL, which gives AMD's processors kernels for AVX2 only. oneDNN, which is in
PyTorch too, has some for AVX-512 and is twice as fast there. Both sum in float32, and round differently, as
two processors do. The rule is by the processor's properties (``devices``), never a measurement. Plain passes,
with which scores are compared, keep PyTorch's choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import torch

from tasks.engines.local import devices

_is_plain: ContextVar[bool] = ContextVar("plain", default=False)


def linear(states: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Return [..., n]: states [..., k] times weight [n, k], plus the bias."""
    is_float32 = states.dtype == weight.dtype == torch.float32 and weight.device.type == "cpu"
    if is_float32 and states.numel() and devices.has_faster_onednn() and not _is_plain.get():
        product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")
        return product
    return torch.nn.functional.linear(states, weight, bias)


def use(model: Any) -> None:
    """Let a model's linear layers multiply in this way."""
    if devices.has_faster_onednn():
        for module in model.modules():
            if type(module) is torch.nn.Linear and module.weight.dtype == torch.float32:
                vars(module)["forward"] = partial(_forward, module)


@contextmanager
def plain() -> Iterator[None]:
    """Multiply as PyTorch does within this block."""
    token = _is_plain.set(True)
    try:
        yield
    finally:
        _is_plain.reset(token)


def _forward(module: torch.nn.Linear, states: torch.Tensor) -> torch.Tensor:
    return linear(states, module.weight, module.bias)
