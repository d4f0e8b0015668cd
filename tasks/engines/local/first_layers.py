"""Runs the first layers of a model, as many as hold every kind of layer, in float32 and uncompiled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

IDENTITY = re.compile(r"idx|index|\bid\b|name")
"""Names of attributes in which layers of one kind differ."""
FEW_VALUES = 64
"""Most values of an attribute or a table of whole numbers that tell kinds of layers apart."""


@contextmanager
def exact(model: Any) -> Iterator[None]:
    """Run the model's first layers in float32 within this block; a quantised model in its own precision.

    Layers run as written, because compiled ones would be compiled anew for this precision.
    """
    with ExitStack() as stack:
        stack.enter_context(not_compiled(model))
        stack.enter_context(first_layers(model))
        if getattr(model, "hf_quantizer", None) is None:  # otherwise its products have one precision
            stack.enter_context(in_float32(model))
        yield


@contextmanager
def not_compiled(model: Any) -> Iterator[None]:
    """Run the code of compiled modules as it is written within this block."""
    kept = [(m, m._compiled_call_impl) for m in model.modules() if m._compiled_call_impl is not None]
    try:
        for module, _ in kept:
            module._compiled_call_impl = None
        yield
    finally:
        for module, compiled in kept:
            module._compiled_call_impl = compiled


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """Hold the weights of the model's present layers in float32 within this block."""
    tensors = [t for t in (*model.parameters(), *model.buffers()) if t.is_floating_point()]
    kept = [(tensor, tensor.data) for tensor in tensors if tensor.dtype != torch.float32]
    try:
        for tensor, data in kept:
            tensor.data = data.float()
        yield
    finally:
        for tensor, data in kept:
            tensor.data = data


@contextmanager
def first_layers(model: Any) -> Iterator[None]:
    """Leave only the first layers within this block, as many as hold every kind of layer."""
    lists = [
        (parent, name, child)
        for parent in model.modules()
        if not isinstance(parent, torch.nn.ModuleList)
        for name, child in parent.named_children()
        if isinstance(child, torch.nn.ModuleList)
        and len(child) == getattr(model.config.get_text_config(), "num_hidden_layers", 0)
    ]
    kept = []
    try:
        for parent, name, layers in lists:
            kinds = [_kind(layer, i, model.config.get_text_config()) for i, layer in enumerate(layers)]
            n = max(kinds.index(kind) for kind in set(kinds)) + 1
            kept.append((parent, name, layers))
            setattr(parent, name, layers[:n])
        yield
    finally:
        for parent, name, layers in kept:
            setattr(parent, name, layers)


def _kind(layer: torch.nn.Module, place: int, config: Any) -> str:
    """Return what a layer computes, without its weights' values: modules, shapes and settings."""
    n_layers = config.num_hidden_layers
    of_layers = {name: value for name, value in vars(config).items() if isinstance(value, list | tuple)}
    parts: list[Any] = [(name, v[place]) for name, v in of_layers.items() if len(v) == n_layers]
    for name, module in layer.named_modules():
        settings = {
            key: value
            for key, value in sorted(vars(module).items())
            if _is_plain(value) and not IDENTITY.search(key)
        }
        shapes = [(key, tuple(weight.shape)) for key, weight in module.named_parameters(recurse=False)]
        tables = [
            (key, tuple(table.shape), table.tolist() if table.numel() <= FEW_VALUES else int(table.sum()))
            for key, table in module.named_buffers(recurse=False)
            if table.dtype == torch.bool or (table.numel() <= FEW_VALUES and not table.is_floating_point())
        ]
        parts.append((name, type(module).__name__, settings, shapes, tables))
    return repr(parts)


def _is_plain(value: Any) -> bool:
    """Return whether a value is a setting: a number, a text, or a few of them."""
    if isinstance(value, list | tuple):
        return len(value) <= FEW_VALUES and all(map(_is_plain, value))
    return isinstance(value, bool | int | float | str | None)
