"""Expected use of tokens by completions, beside the most that they can use. Pure.

It comes from stored completions, else from defaults.

A default prompt is three quarters of its bound, because the bound counts three bytes for a token and most
texts have four. A default completion is ``USUAL_COMPLETION`` tokens, and ``USUAL_THINKING`` more of a model
that thinks, but no more than its bound. What an evaluation states of its later rounds comes before that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tasks.engines.protocols import Generation
from tasks.loop.plan import thinking_of
from tasks.loop.requests import Engine, Later

USUAL_COMPLETION = 200
USUAL_THINKING = 1_000
USUAL_PROMPT = 0.75
"""Share of a prompt's bound."""
USUAL_SHARE = 0.25
"""Share of the bound of a later round of which nothing else is known."""

FEWEST = 5
"""Stored completions whose mean counts."""


class Used(NamedTuple):
    """Mean tokens of stored completions."""

    prompt: float
    completion: float


class Usage(NamedTuple):
    """Mean use of an evaluation's stored completions.

    Attributes:
        of_engine: (engine's name, whether it is the candidate) -> its mean. of_role: whether it is the
            candidate -> the mean over all engines.
    """

    of_engine: Mapping[tuple[str, bool], Used] = {}
    of_role: Mapping[bool, Used] = {}

    def of(self, engine: Engine | None, role: str) -> Used | None:
        """Return the mean of an engine's completions in a role, else of all engines'; None: none stored."""
        own = self.of_engine.get((engine.name, role == "candidate")) if engine else None
        return own or self.of_role.get(role == "candidate")


def expected(most: Sequence[Generation], engine: Engine, role: str, usage: Usage) -> list[Generation]:
    """Return what completions are expected to use; no more than ``most``. Prompts are known, and only a
    completion is taken from stored ones.
    """
    known, thinking = usage.of(engine, role), thinking_of(engine)
    completion = known.completion if known else USUAL_COMPLETION + USUAL_THINKING * (thinking > 0)
    return [
        replace(
            each,
            prompt_tokens=math.ceil(USUAL_PROMPT * each.prompt_tokens),
            completion_tokens=min(each.completion_tokens, math.ceil(completion)),
        )
        for each in most
    ]


def expected_later(later: Later, most: int, engine: Engine | None, usage: Usage) -> tuple[float, Used]:
    """Return the expected number of a later round's completions, and what one of them uses; never more
    together than ``most`` tokens each.
    """
    known, thinking = usage.of(engine, later.role), USUAL_THINKING * (thinking_of(engine) > 0)
    n, prompt, completion = later.usual or (later.n, USUAL_SHARE * later.tokens, 0)
    own = known or Used(prompt, completion + thinking)
    scale = min(1.0, most / max(1.0, own.prompt + own.completion))
    return min(n, later.n), Used(scale * own.prompt, scale * own.completion)
