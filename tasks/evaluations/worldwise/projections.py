"""Texts and their vectors: what has to be embedded, and where it lies on every dimension. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.worldwise.materials import Scenario
from tasks.evaluations.worldwise.requests import Study
from tasks.metrics.projection import project_dimensions
from tasks.metrics.types import BoolArray, FloatArray


@dataclass(frozen=True)
class TextVectors:
    """Embedded texts.

    Attributes:
        row: text -> its row.
        vectors: float32 [texts, d]; zeros for a text without a vector.
        truncated: [texts] whether the text was longer than the embedder reads.
    """

    row: Mapping[str, int]
    vectors: NDArray[np.float32]
    truncated: BoolArray

    @classmethod
    def of(
        cls, texts: Sequence[str], vectors: NDArray[np.float32], truncated: Sequence[bool] | BoolArray
    ) -> Self:
        """From texts, each once, and their vectors in the same order."""
        row = {text: i for i, text in enumerate(texts)}
        flags = np.asarray(truncated, dtype=np.bool_)
        if not len(row) == len(texts) == len(vectors) == len(flags):
            raise ValueError(f"{len(row)} texts, {len(vectors)} vectors and {len(flags)} flags: one of each")
        return cls(row, vectors, flags)

    def take(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[len(texts), d]; raises KeyError for a text that was not embedded."""
        rows = np.array([self.row[text] for text in texts], dtype=np.intp)
        return self.vectors[rows]


@dataclass(frozen=True)
class Space:
    """The dimensions as vectors, and where the scenarios themselves lie on them.

    Attributes:
        poles: a pair (high, low) of float32 [statements, d] for each of k dimensions.
        scenario_scores: [scenarios, k] the scores of the scenarios' own texts, NaN without a vector.
    """

    poles: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    scenario_scores: FloatArray


def fixed_texts(study: Study) -> list[str]:
    """What is embedded whatever models answer: exemplars and scenarios, each once."""
    m = study.materials
    statements = {text for d in m.dimensions for text in (*d.high, *d.low)}
    return sorted(statements | {scenario_text(s) for s in m.scenarios})


def scenario_text(scenario: Scenario) -> str:
    """The scenario as if it were its own answer: the dilemma and both options."""
    return f"{scenario.text} {scenario.option_a} {scenario.option_b}"


def build_space(study: Study, vectors: TextVectors) -> Space:
    """From the vectors of ``fixed_texts``.

    Raises:
        ValueError: a statement has no vector.
    """
    m = study.materials
    poles = tuple((vectors.take(d.high), vectors.take(d.low)) for d in m.dimensions)
    own = vectors.take([scenario_text(s) for s in m.scenarios])
    return Space(poles, project_dimensions(own, poles))
