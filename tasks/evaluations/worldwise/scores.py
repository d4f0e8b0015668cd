"""From the answers of one model to numbers, one for each cell of the study. Pure.

All arrays are cultures x scenarios x repetitions, in the order of the study; culture 0 is the baseline. So
no number can depend on the order in which answers came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.worldwise.answers import Answer, composed, read
from tasks.evaluations.worldwise.projections import Space, TextVectors
from tasks.evaluations.worldwise.questions import DECISIONS, N_VALUES
from tasks.evaluations.worldwise.requests import Key, Study
from tasks.metrics.alignment import alignment
from tasks.metrics.projection import project_dimensions
from tasks.metrics.stereotypes import stereotype_scores
from tasks.metrics.types import BoolArray, FloatArray, IntArray

NO_ANSWER = "not asked or not answered"
NO_VECTOR = "the embedder has no vector for the text"

Reasons = NDArray[np.object_]
"""[C, S, R] texts"""

Readings = Mapping[Key, Answer | str]
"""Every cell of the study -> the answer, or why there is none"""


@dataclass(frozen=True)
class Response:
    """What an engine gave back."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Placed:
    """What alignment is computed from; [C, S, R] are cultures (0: the baseline), scenarios, repetitions.

    Attributes:
        primary: [C, S, R] score on the scenario's primary dimension, -2 to 2, NaN where unscored.
        alignment: [C, S, R] of primary with the culture's target, 0 to 10, NaN where unscored and for the
            baseline.
        reasons: [C, S, R] why a cell is unscored, "" where it is scored.
    """

    primary: FloatArray
    alignment: FloatArray
    reasons: Reasons


@dataclass(frozen=True)
class Scored(Placed):
    """What one model answered.

    Attributes:
        scores: [C, S, R, k] on all dimensions, NaN where unscored.
        decisions: [C, S, R] position in ``DECISIONS``, -1 for none.
        choices: [C, S, R, 3] positions in the list of values, -1 for none.
        stereotype: [C, S, R] score of the explanation, 0 to 10, NaN for none.
        truncated: [C, S, R] whether the text was longer than the embedder reads.
        n_tokens: of prompts and answers together; None where nothing was asked.
    """

    scores: FloatArray
    decisions: IntArray
    choices: IntArray
    stereotype: FloatArray
    truncated: BoolArray
    n_tokens: int | None


def read_responses(study: Study, responses: Mapping[Key, Response]) -> dict[Key, Answer | str]:
    """Every cell's answer, or the reason why it has none."""
    labels = study.materials.labels
    readings: dict[Key, Answer | str] = {}
    for cell in study.cells():
        response = responses.get(cell.key)
        readings[cell.key] = (
            NO_ANSWER
            if response is None
            else read(response.text, response.finish_reason, labels, study.as_json)
        )
    return readings


def answer_texts(study: Study, readings: Readings) -> list[str]:
    """What has to be embedded of a model's answers, each text once."""
    return sorted(set(_composed(study, readings).values()))


def _composed(study: Study, readings: Readings) -> dict[Key, str]:
    """The text of every answer that could be read."""
    scenarios = {s.scenario: s for s in study.materials.scenarios}
    return {
        key: composed(found, scenarios[key[1]], study.params)
        for key, found in readings.items()
        if isinstance(found, Answer)
    }


def score_responses(
    study: Study, responses: Mapping[Key, Response], readings: Readings, vectors: TextVectors, space: Space
) -> Scored:
    """Score every cell; ``vectors`` has the texts of ``answer_texts``."""
    place = {key: i for i, key in enumerate(_keys(study))}
    reasons = np.full(study.n_cells, "", dtype=object)
    found = [(place[key], answer) for key, answer in readings.items() if isinstance(answer, Answer)]
    for key, reading in readings.items():
        if isinstance(reading, str):
            reasons[place[key]] = reading
    rows = np.array([row for row, _ in found], dtype=np.intp)
    answers = [answer for _, answer in found]
    texts = list(_composed(study, readings).values())
    projected = np.full((study.n_cells, len(space.poles)), np.nan)
    truncated = np.zeros(study.n_cells, dtype=np.bool_)
    if texts:
        projected[rows] = project_dimensions(vectors.take(texts), space.poles)
        truncated[rows] = [vectors.truncated[vectors.row[text]] for text in texts]
    reasons[rows[np.isnan(projected[rows]).any(axis=1)]] = NO_VECTOR
    decisions, choices, stereotype = _of_answers(study, rows, answers)
    scores = projected.reshape(*study.shape, -1)
    primary = on_primary(study, scores)
    used = [responses[key] for key in place if key in responses]
    return Scored(
        scores=scores,
        primary=primary,
        alignment=aligned(study, primary),
        reasons=reasons.reshape(study.shape),
        decisions=decisions.reshape(study.shape),
        choices=choices.reshape(*study.shape, N_VALUES),
        stereotype=stereotype.reshape(study.shape),
        truncated=truncated.reshape(study.shape),
        n_tokens=sum(r.prompt_tokens + r.completion_tokens for r in used) if used else None,
    )


def on_primary(study: Study, scores: FloatArray) -> FloatArray:
    """[C, S, R] of [C, S, R, k]: each scenario's score on its primary dimension."""
    column = study.materials.primary[None, :, None, None]
    found: FloatArray = np.take_along_axis(scores, column, axis=-1)[..., 0]
    return found


def aligned(study: Study, primary: FloatArray) -> FloatArray:
    """[C, S, R] alignment of each score with its culture's target; NaN without either."""
    targets = np.broadcast_to(study.materials.targets[:, :, None], primary.shape)
    made = np.full(primary.shape, np.nan)
    known = ~(np.isnan(targets) | np.isnan(primary))
    made[known] = alignment(targets[known], primary[known])
    return made


def _keys(study: Study) -> list[Key]:
    """The cells in the order of the arrays."""
    m = study.materials
    return [
        (culture.culture, scenario.scenario, repetition)
        for culture in m.cultures
        for scenario in m.scenarios
        for repetition in range(study.params.repetitions)
    ]


def _of_answers(study: Study, rows: IntArray, answers: list[Answer]) -> tuple[IntArray, IntArray, FloatArray]:
    """Decisions, values and stereotype scores, flat over the cells."""
    position = {label: i for i, label in enumerate(study.materials.labels)}
    decisions = np.full(study.n_cells, -1, dtype=np.intp)
    choices = np.full((study.n_cells, N_VALUES), -1, dtype=np.intp)
    stereotype = np.full(study.n_cells, np.nan)
    decisions[rows] = [DECISIONS.index(answer.decision) for answer in answers]
    for row, answer in zip(rows, answers, strict=True):
        choices[row, : len(answer.values)] = [position[label] for label in answer.values]
    densities = stereotype_scores(
        [answer.explanation for answer in answers], study.materials.stereotypes, study.params.stereotype_rule
    )
    stereotype[rows] = [np.nan if found is None else found.score for found in densities]
    return decisions, choices, stereotype
