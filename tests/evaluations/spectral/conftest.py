"""A small study: four domains, one of each human category, made without a warehouse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.read import ModelScore, QuestionScore
from tasks.evaluations.spectral.study import SpectralStudy, build_study

Rows = list[dict[str, Any]]
MakeStudy = Callable[..., SpectralStudy]
MakeScore = Callable[..., ModelScore]

# domain: (human score, human category, list)
DOMAINS = {
    "numbers": (1.0, "LH", "numbers"),
    "foods": (2.0, "HH", "dishes"),
    "faiths": (3.0, "LL", "faiths"),
    "coins": (4.0, "HL", "coins"),
}
COUNTRIES = {"FR": "France", "GM": "the Gambia", "IT": "Italy", "JP": "Japan", "US": "the United States"}
LISTS = {
    "numbers": {"1": "", "2": "", "3": "", "4": "", "5": "", "6": ""},  # names no country
    "dishes": {"benachin": "GM", "pizza": "IT US", "ratatouille": "FR", "sushi": "JP", "burger": "US"},
    "faiths": {"Christianity": "FR IT US", "Islam": "GM", "Shinto": "JP"},
    "coins": {"dalasi": "GM", "euro": "FR IT", "US dollar": "US"},  # no item of Japan
}


@pytest.fixture(scope="session")
def country_rows() -> Rows:
    return [{"country": code, "name": name} for code, name in COUNTRIES.items()]


@pytest.fixture(scope="session")
def question_rows() -> Rows:
    return [
        {
            "question": f"{domain}-{variant}",
            "domain": domain,
            "variant": variant,
            "template": f"The {domain} ({variant}) of {{country}} are",
            "prefix": f"Answer about {domain}.",
            "item_list": items,
            "human_score": score,
            "human_category": category,
            "label": domain.title(),
        }
        for domain, (score, category, items) in DOMAINS.items()
        for variant in (1, 2, 3)
    ]


@pytest.fixture(scope="session")
def item_rows() -> Rows:
    return [
        {"item_list": name, "item": item, "countries": codes.split()}
        for name, items in LISTS.items()
        for item, codes in items.items()
    ]


@pytest.fixture(scope="session")
def make_study(country_rows: Rows, question_rows: Rows, item_rows: Rows) -> MakeStudy:
    """A study of these params; by default one phrasing and 20 half-samples."""

    def make(**params: Any) -> SpectralStudy:
        chosen = SpectralParams(**{"models": ["m"], "variants": [1], "half_samples": 20} | params)
        return build_study(chosen, country_rows, question_rows, item_rows)

    return make


@pytest.fixture(scope="session")
def make_score() -> MakeScore:
    """A model with this ER and SR of questions, equal in every half-sample."""

    def make(
        study: SpectralStudy, numbers: Mapping[str, tuple[float, float]], lost: str = "not asked"
    ) -> ModelScore:
        n, r = len(study.countries), study.params.half_samples
        questions = {
            q.question: QuestionScore(
                question=q,
                er=numbers[q.question][0],
                sr=numbers[q.question][1],
                er_halves=np.full(r, numbers[q.question][0]),
                sr_halves=np.full(r, numbers[q.question][1]),
                er_left_out=np.full(n, numbers[q.question][0]),
                sr_left_out=np.full(n, numbers[q.question][1]),
                similarity=np.eye(n) * 0.5 + 0.5,
                top=np.full(n, 0.4),
                mass=np.full(n, 0.5),
                mass_null=np.full(n, 0.25),
            )
            for q in study.questions
            if q.question in numbers
        }
        return ModelScore(questions, {q.question: lost for q in study.questions if q.question not in numbers})

    return make
