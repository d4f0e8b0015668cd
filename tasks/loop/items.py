"""Requests for log-probabilities of items after several questions, or of questions' own options. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.engines import prompting
from tasks.engines.protocols import Ability, Scorer
from tasks.identity import digest
from tasks.loop.requests import Engine, Request, split_rows

T = TypeVar("T")


@dataclass(frozen=True)
class ItemLogprobs:
    """Stored log-probabilities in the order of the request.

    Attributes:
        logprobs: float64 [units, items] natural-log probabilities.
        n_tokens: [items] number of tokens of each item.
    """

    logprobs: NDArray[np.float64]
    n_tokens: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ScoringRequest(Request[T]):
    """A request that scores texts and generates none.

    Attributes:
        about: the evaluation's name, then the rest of the question, as JSON. With engine and boundary rule it
            determines every answer.
    """

    about: Sequence[Any]

    def identity(self, engine: Engine) -> list[Any]:
        return [self.about[0], engine.hash, self.rule(engine), *self.about[1:]]


@dataclass(frozen=True, kw_only=True)
class ItemScores(ScoringRequest[ItemLogprobs | str]):
    """One question about several countries, with one list of items.

    Decoded to log-probabilities, or to the reason why they are incomplete.

    Attributes:
        questions: country -> the question about it; countries are the units.
        items: texts that are scored, each as the whole answer.
        has_cue: the questions end with their own cue, a colon, so a base model gets them as they are, and the
            item follows; after a full-width colon without a space. ``about`` has to tell.
    """

    kind: ClassVar[str] = "item_logprob"
    ability: ClassVar[Ability] = "score"
    columns: ClassVar[tuple[str, ...]] = ("country", "item", "logprob", "n_tokens")

    questions: Mapping[str, str]
    items: Sequence[str]
    has_cue: bool = False

    @property
    def units(self) -> Sequence[str]:
        """The countries."""
        return list(self.questions)

    def rule(self, engine: Engine) -> str:
        return prompting.BOUNDARY_RULE

    def size(self, units: Sequence[str]) -> int:
        """Return the number of log-probabilities."""
        return len(units) * len(self.items)

    def compute(self, engine: Scorer, units: Sequence[str], progress: Callable[[int], None]) -> pl.DataFrame:
        """Implement ``Request.compute``; one row per country and item."""
        questions = [self.questions[unit] for unit in units]
        framed = engine.frame(questions)
        if self.has_cue and framed.style == "base":
            full_width = questions[0].endswith(prompting.CUE_ENDS[1])
            framed = replace(framed, prefixes=questions, lead="" if full_width else " ")
        continuations = [framed.lead + item for item in self.items]
        logprobs = engine.score(framed.prefixes, continuations, progress)
        n_tokens = engine.count_tokens(framed.prefixes[0], continuations)
        return pl.DataFrame(
            {
                "domain": [self.topic] * logprobs.size,
                "question": [self.label] * logprobs.size,
                "country": [unit for unit in units for _ in self.items],
                "prompt": [self.questions[unit] for unit in units for _ in self.items],
                "item": list(self.items) * len(units),
                "logprob": logprobs.ravel(),
                "n_tokens": np.tile(n_tokens, len(units)),
            }
        )

    def decode(self, frame: pl.DataFrame) -> ItemLogprobs | str:
        shape = (len(self.questions), len(self.items))
        if frame.height != shape[0] * shape[1]:
            return f"{frame.height} of {shape[0] * shape[1]} log-probabilities are stored"
        frame = frame.sort("country", "item")
        rows, columns = _places(self.units), _places(self.items)
        logprobs = frame["logprob"].to_numpy().astype(np.float64).reshape(shape)[np.ix_(rows, columns)]
        n_tokens = frame["n_tokens"].to_numpy().reshape(shape)[0].astype(np.int64)[columns]
        return ItemLogprobs(logprobs, n_tokens)


def _places(names: Sequence[str]) -> list[int]:
    """Return the position of each name in the sorted list."""
    place = {name: i for i, name in enumerate(sorted(names))}
    return [place[name] for name in names]


@dataclass(frozen=True)
class Question:
    """A question and the options for its continuation."""

    text: str
    options: tuple[str, ...]

    @cached_property
    def id(self) -> str:
        """A hash of the question and its options."""
        return digest([self.text, self.options], 32)


@dataclass(frozen=True)
class OptionLogprobs:
    """Stored log-probabilities of one question's options.

    Attributes:
        logprobs: float64 [options] natural-log probability of each, summed over its tokens.
        n_tokens: [options] number of tokens of each.
    """

    logprobs: NDArray[np.float64]
    n_tokens: NDArray[np.int64]


Scored = Mapping[str, OptionLogprobs]
"""Question id -> its options' log-probabilities; questions without answers are missing."""


@dataclass(frozen=True, kw_only=True)
class OptionScores(ScoringRequest[Scored]):
    """Questions with their own options; tokens that questions of a part share run once."""

    kind: ClassVar[str] = "option_score"
    ability: ClassVar[Ability] = "score"
    joins: ClassVar[bool] = True
    by_unit: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = ("item", "place", "logprob", "n_tokens")

    questions: Sequence[Question]

    @cached_property
    def by_id(self) -> Mapping[str, Question]:
        """Id -> question."""
        return {question.id: question for question in self.questions}

    @property
    def units(self) -> Sequence[str]:
        """Ids of the questions, each once."""
        return list(self.by_id)

    def rule(self, engine: Engine) -> str:
        return prompting.BOUNDARY_RULE

    def size(self, units: Sequence[str]) -> int:
        """Return the number of log-probabilities."""
        return sum(len(self.by_id[unit].options) for unit in units)

    def compute(self, engine: Scorer, units: Sequence[str], progress: Callable[[int], None]) -> pl.DataFrame:
        """Implement ``Request.compute``; one row per question and option."""
        return _options_scored([self.by_id[unit] for unit in units], engine, progress)

    @classmethod
    def compute_together(
        cls, pieces: Sequence[tuple[Self, Sequence[str]]], engine: Any, progress: Callable[[int], None]
    ) -> list[tuple[Sequence[str], pl.DataFrame]]:
        """Implement ``Request.compute_together``; one call of the engine, which runs shared tokens once."""
        questions = [request.by_id[unit] for request, units in pieces for unit in units]
        return split_rows(pieces, _options_scored(questions, engine, progress))

    def near(self, unit: str) -> str:
        return self.by_id[unit].text

    def decode(self, frame: pl.DataFrame) -> Scored:
        known: dict[str, OptionLogprobs] = {}
        for (unit,), rows in frame.sort("item", "place").group_by("item", maintain_order=True):
            known[str(unit)] = OptionLogprobs(
                rows["logprob"].to_numpy().astype(np.float64), rows["n_tokens"].to_numpy().astype(np.int64)
            )
        return known


def _options_scored(
    questions: Sequence[Question], engine: Scorer, progress: Callable[[int], None]
) -> pl.DataFrame:
    """Return rows of a part, one per question and option, in order."""
    framed = engine.frame([question.text for question in questions])
    options = [[framed.lead + option for option in question.options] for question in questions]
    scores = engine.score_each(framed.prefixes, options, progress)
    counts = map(engine.count_tokens, framed.prefixes, options)
    frames = [
        pl.DataFrame(
            {
                "item": [question.id] * len(logprobs),
                "place": np.arange(len(logprobs), dtype=np.int16),
                "question": [question.text] * len(logprobs),
                "option": list(question.options),
                "logprob": logprobs,
                "n_tokens": n_tokens,
            }
        )
        for question, logprobs, n_tokens in zip(questions, scores, counts, strict=True)
    ]
    return pl.concat(frames)
