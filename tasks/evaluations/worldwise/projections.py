"""Texts and their vectors: what has to be embedded, and where it lies on every dimension. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.engines.protocols import Embedded
from tasks.evaluations.worldwise.materials import Scenario
from tasks.evaluations.worldwise.requests import Study
from tasks.metrics.projection import project_dimensions
from tasks.metrics.types import FloatArray


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
    m = study.content
    statements = {text for d in m.dimensions for text in (*d.high, *d.low)}
    return sorted(statements | {scenario_text(s) for s in m.scenarios})


def scenario_text(scenario: Scenario) -> str:
    """The scenario as if it were its own answer: the dilemma and both options."""
    return f"{scenario.text} {scenario.option_a} {scenario.option_b}"


def build_space(study: Study, embedded: Embedded) -> Space:
    """From the vectors of ``fixed_texts``.

    Raises:
        ValueError: a statement has no vector.
    """
    row = {text: i for i, text in enumerate(fixed_texts(study))}

    def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
        return embedded.vectors[[row[text] for text in texts]]

    m = study.content
    poles = tuple((vectors(d.high), vectors(d.low)) for d in m.dimensions)
    return Space(poles, project_dimensions(vectors([scenario_text(s) for s in m.scenarios]), poles))
