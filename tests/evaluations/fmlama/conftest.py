"""Four dishes of two origins, in English and Chinese, made without a warehouse; and rankings as models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.read import (
    Cosines,
    ProbeScore,
    ScoreTables,
    expectations,
    score_model,
)
from tasks.evaluations.fmlama.study import FmlamaStudy, Probe, Template, build_study
from tasks.loop.requests import Engine
from tasks.loop.rows import Metric
from tasks.metrics.types import FloatArray
from tests.evaluations import row_checks

Rows = list[dict[str, Any]]
Rankings = Mapping[str, Mapping[str, str]]
MakeStudy = Callable[..., FmlamaStudy]
ScoresOf = Callable[..., list[ProbeScore]]

JUDGE = Engine("a judge", "fake", "judge", "hash of the judge")

# url: (origin, English name, English ingredients, Chinese name, Chinese ingredients)
DISHES = {
    "Q1": ("Italy", "pizza", "cheese flour", "披萨", "奶酪 面粉"),
    "Q2": ("Italy", "pasta", "flour", "意面", "面粉"),
    "Q3": ("Japan", "sushi", "rice", "寿司", "米"),
    "Q4": ("Japan", "onigiri", "rice salt", "饭团", "盐 米"),
}
MEXICAN = ("Mexico", "quesadilla", "cheese", "油炸玉米饼", "奶酪")
ORIGIN_NAMES = {"Italy": "意大利", "Japan": "日本", "Mexico": "墨西哥"}
TEMPLATES = {
    ("en", 1, False): "[X] is made of [Y]",
    ("en", 2, False): "[X] contains [Y]",
    ("en", 1, True): "In [C], [X] is made of [Y]",
    ("en", 2, True): "In [C], [X] contains [Y]",
    ("zh", 1, False): "[X]是用[Y]做的",
    ("zh", 2, False): "[X]含有[Y]",
    ("zh", 1, True): "在[C]，[X]是用[Y]做的",
    ("zh", 2, True): "在[C]，[X]含有[Y]",
}


def dish_rows(dishes: Mapping[str, tuple[str, str, str, str, str]] = DISHES) -> Rows:
    """Return rows of ``fmlama_dish`` in both languages."""
    rows: Rows = []
    for url, (origin, en, in_en, zh, in_zh) in dishes.items():
        for language, name, ingredients, origin_name in (
            ("en", en, in_en, origin),
            ("zh", zh, in_zh, ORIGIN_NAMES[origin]),
        ):
            rows.append(
                {"url": url, "language": language, "name": name, "origin": origin}
                | {"origin_name": origin_name, "ingredients": ingredients.split()}
            )
    return rows


def template_rows() -> Rows:
    """Return rows of ``template``: two wordings in each language, with and without the country."""
    return [
        {"template": f"t-{language}-{variant}{'c' if country else ''}", "language": language}
        | {"variant": variant, "mentions_country": country, "text": text}
        for (language, variant, country), text in TEMPLATES.items()
    ]


def one(rows: Sequence[Metric], metric: str, name: str = "en:en:no") -> Metric:
    """Return the row of a metric and slice, which is English in English unless it is named."""
    return row_checks.one(rows, metric, name)


@pytest.fixture(scope="session")
def make_study() -> MakeStudy:
    """A study of these params; by default English without the country."""

    def make(
        dishes: Rows | None = None, templates: Rows | None = None, groups: Rows | None = None, **params: Any
    ) -> FmlamaStudy:
        chosen = {"models": ["m"], "mention_country": "no", "variants": [1, 2]} | params
        return build_study(
            FmlamaParams(**chosen),
            dishes or dish_rows(),
            templates or template_rows(),
            groups or [],
            dict.fromkeys(chosen.get("judges", []), JUDGE),
        )

    return make


@pytest.fixture(scope="session")
def scores_of() -> ScoresOf:
    """A model's scores: template -> dish -> candidates from best to worst (see ``ranked``)."""

    def scores(study: FmlamaStudy, answers: ScoreTables, cosines: Cosines | None = None) -> list[ProbeScore]:
        vectors = cosines or {p.condition.slug: "no vectors" for p in study.probes}
        expected = {p.condition.slug: expectations(p, vectors) for p in study.probes}
        return score_model(study, expected, answers, vectors)

    return scores


def ranked(rankings: Rankings) -> ScoreTables:
    """Return scores by rank. A candidate not in a ranking cannot be spelled; a template not listed failed."""

    def answers(probe: Probe, template: Template) -> FloatArray | str:
        if template.template not in rankings:
            return "no answer came"
        table = np.full((len(probe.dishes), len(probe.candidates)), np.nan)
        for row, name in enumerate(probe.names):
            for rank, candidate in enumerate(rankings[template.template][name].split()):
                table[row, probe.candidates.index(candidate)] = -rank
        return table

    return answers


def any_answers(probe: Probe, template: Template) -> FloatArray:
    """Return scores that depend only on sentence and candidate."""
    return np.array(
        [[hash_of(template.text, name, candidate) for candidate in probe.candidates] for name in probe.names]
    )


def hash_of(*parts: str) -> float:
    """Return a number that is the same in every process."""
    from hashlib import blake2b

    return int.from_bytes(blake2b("|".join(parts).encode(), digest_size=4).digest()) / 2**32
