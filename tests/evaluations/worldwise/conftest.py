"""A study by hand: three cultures, four scenarios on two dimensions, and texts that hold their own scores.

An explanation ends in "at (0.4, 0, 0.5)": its scores on individualism, power distance and achievement. The
vector of such a text has the coordinates 1 + r, 1 - r for each of them, with r = atanh(score / 2), and the
exemplars are the axes, so that (h - l) / (h + l) is r again and 2 tanh r the score.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tasks.engines.protocols import Embedded
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.read import (
    Space,
    WorldwiseScores,
    answer_texts,
    build_space,
    fixed_texts,
    read_completions,
    score_answers,
)
from tasks.evaluations.worldwise.study import Key, WorldwiseStudy, build_study
from tasks.loop.prompts import Completion

Rows = list[dict[str, Any]]
Tables = dict[str, Rows]
Scores = Mapping[str, Sequence[float]]
MakeStudy = Callable[..., WorldwiseStudy]

AXES = ("individualism", "power_distance", "achievement")
TARGETS = {"IN": (0.0, 1.5), "JP": (-1.0, 0.5), "MX": (1.0, -0.5)}
COUNTRIES = {"IN": "India", "JP": "Japan", "MX": "Mexico", "US": "the United States"}
VALUES = {
    "family_harmony": "Family Harmony",
    "future_planning": "Future Planning",
    "achievement_success": "Achievement & Success",
    "group_loyalty": "Group Loyalty",
}
SCENARIOS = {
    # dimension, category, is_multi, scores of its own text
    "i1": ("individualism", "family", False, (0, 0, 0)),
    "i2": ("individualism", "work", False, (-0.5, 0, 0)),
    "p1": ("power_distance", "family", False, (0, 0, 0)),
    "p2": ("power_distance", "work", True, (0, 1, 0)),
}
SCORES: Scores = {
    # on the primary dimension of i1, i2, p1, p2; the errors against TARGETS are
    "baseline": (0.5, 0.0, 0.5, 1.0),
    "IN": (0.4, 0.0, 1.1, 1.1),  # 0.4, 0, -0.4, -0.4
    "JP": (-0.6, -0.6, 0.5, 0.1),  # 0.4, 0.4, 0, -0.4
    "MX": (0.6, 1.0, 1.1, -0.5),  # -0.4, 0, 1.6, 0
}


def tables() -> Tables:
    """Return rows of the warehouse's tables."""
    return {
        "scenario": [
            {"scenario": name, "framework": "hofstede", "dimension": dimension, "category": category}
            | {"region": "Asia", "is_multi": is_multi, "other_dimensions": None, "pole_a": "high"}
            | {"text": f"What should {name} do?", "option_a": f"one of {name}", "option_b": f"other at {at}"}
            for name, (dimension, category, is_multi, at) in SCENARIOS.items()
        ]
        + [
            {"scenario": "s1", "framework": "schwartz", "dimension": "achievement", "category": "work"}
            | {"region": "none", "is_multi": False, "other_dimensions": None, "pole_a": "low"}
            | {"text": "What should s1 do?", "option_a": "one", "option_b": "other at (0, 0, 0)"}
        ],
        "exemplar": [
            {"framework": "schwartz" if name == "achievement" else "hofstede", "dimension": name}
            | {"pole": pole, "number": 1, "text": f"{pole} {name}"}
            for name in AXES
            for pole in ("high", "low")
        ],
        "guiding_value": [{"value": v, "label": label, "description": ""} for v, label in VALUES.items()],
        "culture_profile": [
            {"profile": "by_hand", "country": code, "framework": "hofstede", "dimension": axis}
            | {"score": score}
            for code, target in TARGETS.items()
            for axis, score in zip(AXES, target, strict=False)
        ],
        "country": [{"country": code, "name": name} for code, name in COUNTRIES.items()],
        "persona": [
            {"language": "en", "text": "You grew up in {country}."},
            {"language": "ja", "text": "{country}で育ちました。"},
        ],
        "stereotype": [{"phrase": "all of them are", "country_or_region": "any", "language": "en"}],
    }


@pytest.fixture(scope="session")
def make_study() -> MakeStudy:
    """A study of these rows and params; by default with one repetition and 20 half-samples."""

    def make(rows: Tables | None = None, **params: Any) -> WorldwiseStudy:
        chosen = {"models": ["m"], "targets": "by_hand", "repetitions": 1, "half_samples": 20} | params
        return build_study(WorldwiseParams(**chosen), rows or tables())

    return make


def embedded(texts: Sequence[str]) -> Embedded:
    """Return texts' vectors by the scores in them, zeros for "at nowhere"; "long" texts are truncated."""
    vectors = np.array([vector(text) for text in texts], dtype=np.float32).reshape(-1, 2 * len(AXES))
    n_tokens = np.array([len(text.split()) for text in texts], dtype=np.int64)
    return Embedded(vectors, n_tokens, np.array(["long" in text for text in texts], dtype=np.bool_))


def vector(text: str) -> NDArray[np.float64]:
    """Return the vector of a text with scores; the head of this file defines it."""
    for axis, name in enumerate(AXES):
        for side, pole in enumerate(("high", "low")):
            if text == f"{pole} {name}":
                return np.eye(2 * len(AXES))[2 * axis + side]
    if "at nowhere" in text:
        return np.zeros(2 * len(AXES))
    place = re.search(r"at \((.*?)\)", text)
    assert place, text
    r = [math.atanh(float(score) / 2) for score in place[1].split(",")]
    return np.array([side for x in r for side in (1 + x, 1 - x)])


def space_of(study: WorldwiseStudy) -> Space:
    """Return the dimensions and scenarios of a study as vectors."""
    return build_space(study, embedded(fixed_texts(study)))


def completion(
    explanation: str,
    decision: str = "A",
    values: Sequence[str] = ("Family Harmony", "Future Planning", "Achievement & Success"),
) -> Completion:
    """Return a JSON answer that used 100 and 20 tokens."""
    fields = {"decision": decision} | {f"value_{i + 1}": v for i, v in enumerate(values)}
    return Completion(json.dumps(fields | {"explanation": explanation}), "stop", 100, 20)


def placed_at(study: WorldwiseStudy, scores: Scores = SCORES, **about: Any) -> dict[Key, Completion]:
    """Return answers with these scores on their primary dimension, 0 on the other, 0.5 on achievement."""
    completed = {}
    dimensions = {s.scenario: s.dimension for s in study.content.scenarios}
    for sample in study.samples:
        culture, scenario, _ = sample.key
        if culture in scores:
            score = scores[culture][list(SCENARIOS).index(scenario)]
            at = [score if axis == dimensions[scenario] else 0 for axis in AXES[:2]]
            completed[sample.key] = completion(f"Because at ({at[0]}, {at[1]}, 0.5)", **about)
    return completed


def scored(study: WorldwiseStudy, completed: Mapping[Key, Completion]) -> WorldwiseScores:
    """Return the scores of these completions."""
    readings = read_completions(study, completed)
    vectors = embedded(answer_texts(study, readings))
    return score_answers(study, completed, readings, vectors, space_of(study))
