"""A lost answer (refused, empty, cut off) never raises a headline whose paper has it in the denominator."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from deployments.evaluations import evaluation, params
from flows.session import build
from tasks.engines.fake import FakeEngine
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Cohort, Completions
from tasks.loop.requests import CANDIDATE, Engine
from tasks.loop.rows import OVERALL
from tests.conftest import REPOSITORY
from tests.golden.harness import write_engine
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
    **{("spectral", m): LIKELIHOODS for m in ("macro_f1", "rank_spearman", "reference_mass")},
    ("worldwise", "alignment"): "the paper names none; what has no text has no place on a dimension",
    ("worldwise", "alignment_gain"): "ours; as alignment",
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


@dataclass
class Loop:
    """The rounds of ``flows/evaluation.py`` on a dictionary."""

    name: str
    study: Any
    engines: Mapping[str, Engine]
    store: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    lost: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Unit of the candidate -> cells that replace its own."""

    def read(self, kind: str, name: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        rows = [
            self.store[name, unit] | self.lost.get(unit, {}) for unit in units if (name, unit) in self.store
        ]
        schema = {c: pl.Int64 if "tokens" in c or c == "seed" else pl.String for c in columns}
        return pl.DataFrame([{c: row.get(c) for c in columns} for row in rows], schema=schema)

    def headlines(self) -> dict[str, float]:
        """Return metric -> its overall value after all rounds."""
        of, model = evaluation(self.name), Engine("m", "fake", "m", "m")
        completions = Completions(model, self.engines, self.read)
        while todo := [
            (request, name, who, unit)
            for request in of.ask(self.study, completions)
            for who in (completions.engine(request),)
            for name in (request.hash(who),)
            for unit in request.units
            if (name, unit) not in self.store
        ]:
            for request, name, who, unit in todo:
                engine = FakeEngine(EngineSpec(name=who.name, kind="fake", model=who.model))
                frame = request.compute(engine, [unit], lambda n: None)
                (self.store[name, unit],) = frame.to_dicts()
        answers = {"m": of.read(self.study, completions, None)}
        checks = of.shared.read(self.study, replace(completions, candidate=None)) if of.shared else None
        tables = of.rows(self.study, Cohort(answers, answers, {"m": model}), checks)
        own = tables.metrics["m"]
        return {row.metric: row.value for row in own if row[1:3] == OVERALL and row.value is not None}

    def candidates_units(self) -> list[str]:
        completions = Completions(Engine("m", "fake", "m", "m"), self.engines, self.read)
        requests = evaluation(self.name).ask(self.study, completions)
        return [unit for request in requests if request.engine == CANDIDATE for unit in request.units]


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
    chosen = params(name)(models=["m"], judges=["fake-j"], **SMALL[name])
    study, engines, _ = build(evaluation(name), chosen)
    loop = Loop(name, study, engines)
    before = loop.headlines()
    counted = [metric for (of, metric), how in TREATMENT.items() if of == name and how == COUNTED]
    assert all(before[metric] > 0 for metric in counted)
    units, lower = loop.candidates_units(), set()
    for unit, (how, answer) in zip(units, cycle(LOST.items()), strict=False):
        loop.lost = {unit: answer | {"option_logprobs": None}}
        after = loop.headlines()
        for metric in counted:
            assert after[metric] <= before[metric] + 1e-12, (metric, how, unit)
            lower |= {metric} if after[metric] < before[metric] else set()
    assert lower == set(counted), "of each, a right and a wrong answer are lost"
    loop.lost = {unit: LOST["refused"] | {"option_logprobs": None} for unit in units}
    assert {loop.headlines()[metric] for metric in counted} == {0.0}
