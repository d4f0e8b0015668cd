"""Requests for log-probabilities of continuations after unchanged contexts, by document, as values. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl

from tasks.engines.pairs import PAIR_RULE
from tasks.engines.protocols import Ability, Context, PairScorer, PairScores, TextPair
from tasks.identity import digest
from tasks.loop.requests import Engine, Request, split_rows


@dataclass(frozen=True)
class Document:
    """The pairs of one document, such as its text with each option; they are scored and stored together."""

    pairs: tuple[TextPair, ...]

    @cached_property
    def id(self) -> str:
        """A hash of the pairs."""
        return digest([[_as_lists(pair.context), pair.continuation] for pair in self.pairs], 32)


ScoredPairs = Mapping[str, PairScores]
"""Document id -> scores of its pairs, in order; documents without scores are missing."""


@dataclass(frozen=True, kw_only=True)
class Pairs(Request[ScoredPairs]):
    """Documents whose continuations are scored; tokens that documents of a part share run once."""

    kind: ClassVar[str] = "pair_score"
    ability: ClassVar[Ability] = "score"
    joins: ClassVar[bool] = True
    by_unit: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = ("item", "place", "logprob", "n_tokens", "is_greedy", "n_cut")

    documents: Sequence[Document]

    @cached_property
    def by_id(self) -> Mapping[str, Document]:
        """Id -> document."""
        return {document.id: document for document in self.documents}

    @property
    def units(self) -> Sequence[str]:
        """Ids of the documents, each once."""
        return list(self.by_id)

    def identity(self, engine: Engine) -> list[Any]:
        return ["pairs", engine.hash, PAIR_RULE]

    def rule(self, engine: Engine) -> str:
        return PAIR_RULE

    def size(self, units: Sequence[str]) -> int:
        """Return the number of log-probabilities."""
        return sum(len(self.by_id[unit].pairs) for unit in units)

    def compute(
        self, engine: PairScorer, units: Sequence[str], progress: Callable[[int], None]
    ) -> pl.DataFrame:
        """Implement ``Request.compute``; one row per pair."""
        return _scored([self.by_id[unit] for unit in units], engine, progress)

    @classmethod
    def compute_together(
        cls, pieces: Sequence[tuple[Self, Sequence[str]]], engine: Any, progress: Callable[[int], None]
    ) -> list[tuple[Sequence[str], pl.DataFrame]]:
        """Implement ``Request.compute_together``; one call of the engine, which runs shared tokens once."""
        documents = [request.by_id[unit] for request, units in pieces for unit in units]
        return split_rows(pieces, _scored(documents, engine, progress))

    def near(self, unit: str) -> str:
        return _shown(self.by_id[unit].pairs[0].context)

    def decode(self, frame: pl.DataFrame) -> ScoredPairs:
        known: dict[str, PairScores] = {}
        for (unit,), rows in frame.sort("item", "place").group_by("item", maintain_order=True):
            known[str(unit)] = PairScores(
                rows["logprob"].to_numpy(),
                rows["is_greedy"].to_numpy(),
                rows["n_tokens"].to_numpy().astype(np.int64),
                rows["n_cut"].to_numpy().astype(np.int64),
            )
        return known


def _scored(
    documents: Sequence[Document], engine: PairScorer, progress: Callable[[int], None]
) -> pl.DataFrame:
    """Return rows of a part, one per pair, in order."""
    pairs = [pair for document in documents for pair in document.pairs]
    scores = engine.score_pairs(pairs, progress)
    return pl.DataFrame(
        {
            "item": [document.id for document in documents for _ in document.pairs],
            "place": [place for document in documents for place in range(len(document.pairs))],
            "context": [_shown(pair.context) for pair in pairs],
            "continuation": [pair.continuation for pair in pairs],
            "logprob": scores.logprob,
            "n_tokens": scores.n_tokens,
            "is_greedy": scores.is_greedy,
            "n_cut": scores.n_cut,
        },
        schema_overrides={"place": pl.Int16, "n_tokens": pl.Int32, "n_cut": pl.Int32},
    )


def _as_lists(context: Context) -> Any:
    return context if isinstance(context, str) else [dict(message) for message in context]


def _shown(context: Context) -> str:
    """Return a context as text: raw text, or a conversation as JSON."""
    return context if isinstance(context, str) else json.dumps(_as_lists(context), ensure_ascii=False)
