"""What the rest of the project may ask of a model, and what can go wrong.

A ``Scorer`` reads probabilities, a ``Generator`` writes text. Engines (``packed_trie``, ``vllm``,
``openai``) implement one or both; evaluations know only these protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Message = Mapping[str, str]
"""``{"role": "system" | "user" | "assistant", "content": "..."}``"""

Progress = Callable[[int], None]
"""Called with the number of (prefix, continuation) pairs just scored."""


class EngineError(RuntimeError):
    """Something about a model or its engine that the user can act on; the message says how."""


@dataclass(frozen=True)
class Framed:
    """Questions as the model will see them (see ``prompting``).

    Attributes:
        prefixes: text up to where the item begins, one a question.
        lead: what stands between prefix and item: "" after a chat header, " " after "Answer:".
        style: "chat" or "base".
    """

    prefixes: list[str]
    lead: str
    style: str


@runtime_checkable
class Scorer(Protocol):
    """Gives log-probabilities of texts."""

    def frame(self, questions: Sequence[str]) -> Framed:
        """Dress questions for this model: its chat template, or the base model's completion cue."""
        ...

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Natural-log probability of each continuation after each prefix.

        Returns:
            float32 [n_prefixes, n_continuations], each the sum over the continuation's tokens of
            log p(token | prefix, tokens before it); no end token. Range (-inf, 0]. Does not depend on the
            order or batching of either argument beyond the rounding of the dtype.
        """
        ...

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> NDArray[np.int64]:
        """[n_continuations] tokens that each continuation has after this prefix."""
        ...


@dataclass(frozen=True)
class Sampling:
    """How to draw text. Temperature 0 is greedy; the seed makes other temperatures repeatable."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    seed: int = 0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generation:
    """One answer. ``finish_reason`` is "stop", "length" or an engine's own word for a refusal."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int


@runtime_checkable
class Generator(Protocol):
    """Writes text."""

    def generate(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        schema: Mapping[str, Any] | None = None,
    ) -> list[Generation]:
        """One answer a conversation, in order; with ``schema`` the text is JSON valid under it."""
        ...
