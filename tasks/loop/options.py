"""Log-probabilities of each question's own options. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.engines import prompting
from tasks.engines.protocols import Scorer
from tasks.identity import digest
from tasks.loop.items import GivenTexts
from tasks.loop.requests import Ability, Engine


@dataclass(frozen=True)
class Question:
    """A question with the options that a model may continue it with."""

    text: str
    options: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        """Identifies what is scored."""
        return digest([self.text, self.options], 32)


@dataclass(frozen=True)
class OptionLogprobs:
    """Stored answers to one question.

    Attributes:
        logprobs: float64 [options] natural-log probability of each, summed over its tokens.
        n_tokens: [options] tokens of each.
    """

    logprobs: NDArray[np.float64]
    n_tokens: NDArray[np.int64]


Scored = Mapping[str, OptionLogprobs]
"""Question id -> its answers; questions without any are left out."""


@dataclass(frozen=True, kw_only=True)
class OptionScores(GivenTexts[Scored]):
    """Questions with options of their own. Each question is run once, with its options after it."""

    kind: ClassVar[str] = "option_score"
    ability: ClassVar[Ability] = "score"
    columns: ClassVar[tuple[str, ...]] = ("item", "place", "logprob", "n_tokens")

    questions: Sequence[Question]
    by_id: Mapping[str, Question] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Index the questions."""
        object.__setattr__(self, "by_id", {question.id: question for question in self.questions})

    @property
    def units(self) -> Sequence[str]:
        """Ids of the questions, each once."""
        return list(self.by_id)

    def rule(self, engine: Engine) -> str:
        return prompting.BOUNDARY_RULE

    def size(self, units: Sequence[str]) -> int:
        """Log-probabilities."""
        return sum(len(self.by_id[unit].options) for unit in units)

    def answer(self, engine: Scorer, units: Sequence[str], progress: Callable[[int], None]) -> pl.DataFrame:
        """See ``Request.answer``; one row per question and option."""
        questions = [self.by_id[unit] for unit in units]
        framed = engine.frame([question.text for question in questions])
        frames = []
        for prefix, question in zip(framed.prefixes, questions, strict=True):
            options = [framed.lead + option for option in question.options]
            logprobs = engine.score([prefix], options, progress)[0]
            frames.append(
                pl.DataFrame(
                    {
                        "item": [question.id] * len(options),
                        "place": np.arange(len(options), dtype=np.int16),
                        "question": [question.text] * len(options),
                        "option": list(question.options),
                        "logprob": logprobs,
                        "n_tokens": engine.count_tokens(prefix, options),
                    }
                )
            )
        return pl.concat(frames)

    def decode(self, frame: pl.DataFrame) -> Scored:
        known: dict[str, OptionLogprobs] = {}
        for (unit,), rows in frame.sort("item", "place").group_by("item", maintain_order=True):
            known[str(unit)] = OptionLogprobs(
                rows["logprob"].to_numpy().astype(np.float64), rows["n_tokens"].to_numpy().astype(np.int64)
            )
        return known
