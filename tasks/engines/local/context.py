"""The most tokens of a text that a model scores as a plain pass would, and the refusal of longer ones."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tasks.engines import pairs
from tasks.engines.protocols import EngineError

FEW = 8
"""Tokens of a text whose rotary angles are compared within short and long texts."""
TABLE = re.compile(r"^(?!.*rel)(.*position.*|.*pos_emb.*|embed_pos|wpe)$")
"""Names of learned tables of positions."""


@dataclass(frozen=True)
class Length:
    """The most tokens that a model reads before the last one of a text, and why."""

    tokens: int
    reason: str


def length(model: Any, tokenizer: Any) -> Length:
    """Return a model's length: of its configuration, its table of positions, or its rotary angles.

    Some ropes (dynamic NTK, longrope) give all tokens of a text other angles once it is longer than a limit,
    and keep them for later texts. Texts of a call share tokens, so they must be shorter than that.
    """
    stated = Length(pairs.longest(model.config, tokenizer), "the model's context")
    rows = min(tables_of_positions(model), default=stated.tokens)
    if rows < stated.tokens:
        stated = Length(rows, "its table of positions")
    fixed = min((_fixed(*call, stated.tokens) for call in _rotary_calls(model)), default=stated.tokens)
    return stated if fixed >= stated.tokens else Length(fixed, "in longer texts its rope turns all tokens")


def check_lengths(prefixes: Sequence[str], n_tokens: Sequence[int], limit: Length) -> None:
    """Refuse texts that are longer than the model reads.

    Args:
        n_tokens: of each prefix with its longest continuation, without the last token, which is not read.

    Raises:
        EngineError: names the first such prefix.
    """
    too_long = [i for i, n in enumerate(n_tokens) if n > limit.tokens]
    if too_long:
        first = too_long[0]
        raise EngineError(
            f"the prompt {prefixes[first][:60]!r} … has {n_tokens[first]} tokens with its longest "
            f"continuation, more than {limit.tokens} ({limit.reason}; {len(too_long)} such prompts of "
            f"{len(prefixes)}): shorten it"
        )


def longest_sentence(model: Any, tokenizer: Any) -> int:
    """Return the most tokens that an encoder reads, special tokens included."""
    limits = [tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", None)]
    return int(min(limit for limit in (*limits, *tables_of_positions(model)) if limit))


def tables_of_positions(model: Any) -> Iterator[int]:
    """Yield the positions in each learned table; models of RoBERTa's and OPT's kinds leave the first out."""
    for name, module in model.named_modules():
        last = name.rpartition(".")[2]
        if isinstance(module, torch.nn.Embedding) and TABLE.search(last):
            spare = 0 if module.padding_idx is None else module.padding_idx + 1
            yield module.num_embeddings - int(getattr(module, "offset", spare))


Call = tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]


@torch.inference_mode()
def _rotary_calls(model: Any) -> list[Call]:
    """Return the calls of the modules that compute rotary angles, in a pass over a short text."""
    calls: list[Call] = []
    rotary = [
        m for m in model.modules() if any("inv_freq" in name for name, _ in m.named_buffers(recurse=False))
    ]
    hooks = [
        module.register_forward_pre_hook(lambda *call: calls.append(call), with_kwargs=True)
        for module in rotary
    ]
    try:
        if rotary:
            model(input_ids=torch.zeros(1, FEW, dtype=torch.long, device=model.device), use_cache=False)
    except Exception:  # the modules run before the first layer, which needs a layout
        pass
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def _fixed(module: torch.nn.Module, arguments: tuple[Any, ...], more: dict[str, Any], longest: int) -> int:
    """Return the most tokens of a text whose first tokens have the angles that they have in a short one."""

    def angles(last: int) -> list[torch.Tensor]:
        def extended(value: Any) -> Any:
            is_positions = isinstance(value, torch.Tensor) and not value.is_floating_point()
            return (
                torch.cat([value, torch.full_like(value[..., :1], last)], dim=-1) if is_positions else value
            )

        own = copy.deepcopy(module)  # some keep the angles of the longest text so far
        out = own(*map(extended, arguments), **{name: extended(value) for name, value in more.items()})
        tables = out if isinstance(out, tuple) else (out,)
        return [table[..., :FEW, :] for table in tables]

    def is_fixed(n: int) -> bool:
        return all(torch.equal(a, b) for a, b in zip(angles(FEW), angles(n - 1), strict=True))

    low, high = FEW + 1, longest
    if high <= low or is_fixed(high):
        return longest
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_fixed(middle) else (low, middle)
    return low
