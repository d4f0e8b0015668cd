"""What the tests of rows share: rows of a cohort, look-ups in them, and what every row must be."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tasks.evaluations.spectral.requests import Question, Study
from tasks.evaluations.spectral.rows import Metric, model_rows, splits
from tasks.evaluations.spectral.scores import Answers, ModelScore

REPOSITORY = Path(__file__).parents[3]
METRICS = {
    row["metric"]: row
    for row in csv.DictReader((REPOSITORY / "warehouse/reference/metric/spectral.csv").open(encoding="utf-8"))
    if row["evaluation"] == "spectral"
}

# ER and SR of four questions. Human: numbers LH, foods HH, faiths LL, coins HL.
# ER's lower median is 2, so coins and foods are high; SR's is 2, so numbers and faiths are.
# Categories: numbers LH (right), coins HL (right), foods HL, faiths LH.
A = {"numbers-1": (1.0, 9.0), "faiths-1": (2.0, 5.0), "foods-1": (3.0, 1.5), "coins-1": (4.0, 2.0)}
B = {"numbers-1": (4.2, 1.1), "faiths-1": (4.3, 1.2), "foods-1": (4.4, 1.3), "coins-1": (4.5, 1.4)}


def rows_of(study: Study, models: dict[str, ModelScore], model: str = "a") -> list[Metric]:
    return model_rows(study, models[model], splits(models, models)[model])


def one(rows: Sequence[Metric], metric: str, name: str = "all") -> Metric:
    (row,) = [r for r in rows if r.metric == metric and r.slice == name]
    return row


def categories(rows: Sequence[Metric]) -> dict[str, str]:
    er, sr = (
        {r.slice: "H" if r.value else "L" for r in rows if r.metric == m} for m in ("er_high", "sr_high")
    )
    return {question: er[question] + sr[question] for question in er}


def check(study: Study, rows: Sequence[Metric]) -> None:
    """What metric_value and the checks of the warehouse demand of every row."""
    keys = [(r.metric, r.slice_kind, r.slice) for r in rows]
    assert len(keys) == len(set(keys))
    for r in rows:
        assert (r.value is None) == (r.unscored_reason is not None), r
        assert r.unscored_reason != "", r
        numbers = [v for v in (r.value, r.ci_low, r.ci_high, r.null_value) if v is not None]
        assert all(type(v) is float and not math.isnan(v) for v in numbers), r
        assert (type(r.n_scored), type(r.n_unscored)) == (int, int), r
        assert r.n_unscored >= 0, r
        assert (r.n_scored > 0) == (r.value is not None), r
        assert r.n_scored + r.n_unscored > 0, r
        assert (r.ci_low is None) == (r.ci_high is None), r
        known = METRICS[r.metric]
        low, high = (float(known[end] or (math.inf)) for end in ("range_low", "range_high"))
        assert all(low - 1e-9 <= v <= high + 1e-9 for v in numbers), r
        if r.ci_low is not None and r.ci_high is not None:
            assert r.value is not None, r
            assert r.ci_low <= r.ci_high, r
            if r.metric in ("effective_rank", "spectral_gap_ratio"):
                assert r.ci_low <= r.value <= r.ci_high, r


def random_answers(study: Study, q: Question, seed: int) -> Answers:
    rng = np.random.default_rng([seed, q.variant, len(q.domain)])
    table = rng.normal(-8, 3, (len(study.countries), len(study.lists[q.item_list].items)))
    return Answers(table, np.ones(table.shape[1], dtype=np.int64))
