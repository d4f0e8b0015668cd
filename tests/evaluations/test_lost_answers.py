"""A lost answer (refused, empty, cut off) never raises a headline whose paper has it in the denominator."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation, params
from flows.session import build
from tests.conftest import REPOSITORY
from tests.golden.harness import write_engine
from tests.golden.test_losses import Loop
from warehouse import Warehouse

COUNTED = "wrong, or of no worth"
LIKELIHOODS = "every candidate has a probability: no answer can be lost"
TREATMENT: Mapping[tuple[str, str], str] = {
    ("culturall", "accuracy"): COUNTED,
    (
        "culturall",
        "scenario_gain",
    ): "ours: a difference of two accuracies; a lost answer is wrong in the first, unscored in the second",
    **{("cure", m): COUNTED for m in ("exact_match", "coverage", "specificity", "connotation", "coherence")},
    **{
        ("explication", m): "a turn without text ends a conversation, which is judged as it stands"
        for m in ("apr", "interaction", "instruction_following")
    },
    **{("fmlama", metric): LIKELIHOODS for metric in ("map", "mws", "map_cv")},
    ("fmlama", "mes"): "the judge's loss, not the model's: unscored",
    **{
        ("spectral", m): LIKELIHOODS
        for m in ("macro_f1", "rank_spearman", "reference_mass", "language_agreement")
    },
    **{("worldwise", m): COUNTED for m in ("alignment", "alignment_gain")},
}
"""(evaluation, headline) -> treatment of a lost answer, as in docs/intervals.md."""

SMALL: Mapping[str, dict[str, Any]] = {
    "culturall": {"languages": ["zh"], "items_per_language": 8, "conditions": ["native"]},
    "cure": {"items_per_benchmark": 3, "nulls": 1, "judge_samples": 1},
}
LOST = {
    "refused": {"text": "", "finish_reason": "refusal"},
    "empty": {"text": " ", "finish_reason": "stop"},
    "cut off": {"text": '{"lab', "finish_reason": "length"},
}


def test_each_headline_has_a_treatment_of_lost_answers() -> None:
    headlines = set()
    for path in sorted((REPOSITORY / "warehouse" / "reference" / "metric").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["is_headline"] == "true"]
        headlines |= {(row["evaluation"], row["metric"]) for row in rows}
    assert set(TREATMENT) == headlines


@pytest.mark.nets(2)
@pytest.mark.parametrize("name", SMALL)
def test_lost_answer_never_raises_a_headline(warehouse: Warehouse, home: Path, name: str) -> None:
    write_engine(home, "fake-j")
    chosen = params(name)(models=["fake-a"], judges=["fake-j"], **SMALL[name])
    study, engines, _ = build(evaluation(name), chosen)
    loop = Loop(name, study, engines)
    counted = [metric for (of, metric), how in TREATMENT.items() if of == name and how == COUNTED]

    def headlines() -> dict[str, float]:
        rows = loop.rows()
        return {metric: rows[metric].value or 0.0 for metric in counted if rows[metric].value is not None}

    before = headlines()
    assert [*before] == counted
    assert min(before.values()) > 0
    units, lower = [unit for (_, unit), role in loop.roles.items() if role == "candidate"], set[str]()
    for unit, (how, answer) in zip(units, cycle(LOST.items()), strict=False):
        loop.lost = {("candidate", unit): answer}
        after = headlines()
        for metric in counted:
            assert after[metric] <= before[metric] + 1e-12, (metric, how, unit)
            lower |= {metric} if after[metric] < before[metric] else set()
    assert lower == set(counted), "of each, a right and a wrong answer are lost"
    loop.lost = {("candidate", unit): LOST["refused"] for unit in units}
    assert headlines() == dict.fromkeys(counted, 0.0)
