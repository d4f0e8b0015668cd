"""What the tests of rows share: rows of a cohort, look-ups in them, and what every row must be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tasks.evaluations.spectral.read import ModelScore, QuestionAnswers
from tasks.evaluations.spectral.rows import Metric, model_rows, splits
from tasks.evaluations.spectral.study import SpectralQuestion, SpectralStudy
from tests.evaluations import row_checks

# ER and SR of four questions. Human: numbers LH, foods HH, faiths LL, coins HL.
# ER's lower median is 2, so coins and foods are high; SR's is 2, so numbers and faiths are.
# Categories: numbers LH (right), coins HL (right), foods HL, faiths LH.
A = {"numbers-1": (1.0, 9.0), "faiths-1": (2.0, 5.0), "foods-1": (3.0, 1.5), "coins-1": (4.0, 2.0)}
B = {"numbers-1": (4.2, 1.1), "faiths-1": (4.3, 1.2), "foods-1": (4.4, 1.3), "coins-1": (4.5, 1.4)}


def rows_of(study: SpectralStudy, models: dict[str, ModelScore], model: str = "a") -> list[Metric]:
    return model_rows(study, models[model], splits(models, models)[model])


def categories(rows: Sequence[Metric]) -> dict[str, str]:
    er, sr = (
        {r.slice: "H" if r.value else "L" for r in rows if r.metric == m} for m in ("er_high", "sr_high")
    )
    return {question: er[question] + sr[question] for question in er}


def check(rows: Sequence[Metric]) -> None:
    """What every row must be, and what spectral measures lie in their intervals."""
    row_checks.check(rows)
    for r in rows:
        if r.ci_low is not None and r.metric in ("effective_rank", "spectral_gap_ratio"):
            assert r.ci_low <= r.value <= r.ci_high, r


def random_answers(study: SpectralStudy, q: SpectralQuestion, seed: int) -> QuestionAnswers:
    rng = np.random.default_rng([seed, q.variant, len(q.domain)])
    table = rng.normal(-8, 3, (len(study.countries), len(study.lists[q.item_list].items)))
    return QuestionAnswers(table, np.ones(table.shape[1], dtype=np.int64))
