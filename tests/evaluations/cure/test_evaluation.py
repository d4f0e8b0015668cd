"""Requests in the order in which they become possible, and rows from stored completions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from tasks.evaluations.contract import Cohort, Completions
from tasks.evaluations.cure.evaluation import EVALUATION, ask, later, size
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.read import CureAnswers, answers_of
from tasks.evaluations.cure.study import CureStudy
from tasks.judging.verdicts import UNANSWERED
from tasks.loop.budget import at_most
from tasks.loop.prompts import Completion, Prompts
from tasks.loop.replies import NO_ANSWER
from tasks.loop.requests import Engine
from tests.evaluations.cure.conftest import (
    MakeStudy,
    completion,
    judge,
    right_answers,
    samples_of,
    tables,
    verdict,
)
from tests.evaluations.row_checks import check, one

MODEL = Engine("m", "fake", "maker/Model", "hash of m")
JUDGES = (judge("j"), judge("k"))
N_ITEMS = {"normad": 6, "specnorm": 3}
# Four sources of each item, and three votes of SpecNorm's.
N_CALLS = 6 * 4 + 3 * 4 * 3

Stored = dict[tuple[str, str], Completion]
"""(request hash, prompt) -> its completion"""


@pytest.fixture
def study(make_study: MakeStudy) -> CureStudy:
    return make_study(judges=JUDGES, benchmarks=list(N_ITEMS), batch=5)


def completions(study: CureStudy, stored: Stored) -> Completions:
    """Return the contract's completions, read from what a test has stored."""

    def reader(kind: str, request_hash: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        assert kind == "response"
        rows = [
            vars(c)
            | {"item": unit, "option_logprobs": json.dumps(c.option_logprobs) if c.option_logprobs else None}
            for unit in units
            if (c := stored.get((request_hash, unit)))
        ]
        return pl.DataFrame([{c: row[c] for c in columns} for row in rows], schema=dict.fromkeys(columns))

    return Completions(MODEL, study.judges, reader)


def answer(
    study: CureStudy, requests: Sequence[Prompts], by_id: Callable[[str], Completion], stored: Stored
) -> None:
    """Store the completion of every prompt."""
    access = completions(study, stored)
    for request in requests:
        name = request.hash(access.engine(request))
        stored.update({(name, unit): by_id(unit) for unit in request.units})


def gold(study: CureStudy) -> Mapping[str, Completion]:
    """Return prompt id -> the right answer."""
    right = right_answers(study)
    return {sample.prompt.id: right[sample.key] for sample in samples_of(study)}


def answer_candidate(study: CureStudy, stored: Stored) -> list[Prompts]:
    """Store the right answers; returns the judges' requests that they make possible."""
    answer(study, ask(study, completions(study, stored)), gold(study).__getitem__, stored)
    return of_role(ask(study, completions(study, stored)), "judge")


def of_role(requests: Sequence[Prompts], role: str) -> list[Prompts]:
    return [request for request in requests if request.role == role]


def test_candidate_is_prompted_first_then_each_judge(study: CureStudy) -> None:
    stored: Stored = {}
    first = ask(study, completions(study, stored))
    assert [(r.role, r.engine, r.topic, r.label, r.batch) for r in first] == [
        ("candidate", "", benchmark, f"{benchmark} {mode}", 5)
        for benchmark in N_ITEMS
        for mode in ("thin", "thick")
    ]
    assert [len(r.units) for r in first] == [6, 6, 3, 3]
    answer(study, first, gold(study).__getitem__, stored)
    second = ask(study, completions(study, stored))
    judged = of_role(second, "judge")
    assert [r.units for r in of_role(second, "candidate")] == [r.units for r in first]
    # Each judge has one greedy vote on NormAd, then three votes on SpecNorm.
    assert [r.engine for r in judged] == ["j"] * 4 + ["k"] * 4
    assert [len(r.units) for r in judged] == [24, 12, 12, 12] * 2
    answer(study, judged, lambda unit: verdict(0.9), stored)
    assert [r.units for r in ask(study, completions(study, stored))] == [r.units for r in second]


def test_benchmark_is_judged_once_it_is_complete(study: CureStudy) -> None:
    """Shuffled explanations are drawn from all answers of a benchmark."""
    stored: Stored = {}
    answer_candidate(study, stored)
    missing = samples_of(study, "specnorm", "thick")[0].prompt.id
    part = {key: value for key, value in stored.items() if key[1] != missing}
    judged = of_role(ask(study, completions(study, part)), "judge")
    assert [len(r.units) for r in judged] == [24, 24]
    readings = answers_of(study, completions(study, part)).readings
    assert readings["specnorm", "thick", "specnorm-in-1"].label_reason == NO_ANSWER
    assert readings["specnorm", "thick", "specnorm-jp-1"].label == "no"


def test_thin_answers_are_not_judged(make_study: MakeStudy) -> None:
    assert EVALUATION.engines(CureParams(models=["m"], judges=["k", "j"])) == {"k": "judge", "j": "judge"}
    for study in (make_study(judges=[]), make_study(judges=JUDGES, modes=["thin"])):
        assert answer_candidate(study, {}) == []
        assert list(later(study)) == []


@pytest.mark.parametrize("nulls", [None, 2])
def test_planned_judge_calls_and_tokens_bound_the_real_ones(make_study: MakeStudy, nulls: int | None) -> None:
    study = make_study(judges=JUDGES, benchmarks=list(N_ITEMS), nulls=nulls)
    # NormAd: six explanations, and three nulls of two items. SpecNorm: three votes on three, and on 3 x 2.
    n = N_CALLS if nulls is None else (6 + 3 * 2) + 3 * (3 + 3 * 2)
    announced = list(later(study))
    assert [(each.role, each.engine, each.n) for each in announced] == [("judge", j, n) for j in "jk"]
    judged = answer_candidate(study, {})
    assert sum(len(r.units) for r in judged) == 2 * n
    most = [at_most(p.conversation, p.schema, r.sampling) for r in judged for p in r.prompts]
    tokens = [g.prompt_tokens + g.completion_tokens for g in most]
    assert max(tokens) <= announced[0].tokens < 2 * max(tokens)
    assert size(study).endswith("normad 2, specnorm 2") == (nulls == 2)


def test_size_names_rows_that_are_no_items_and_not_those_that_were_not_chosen(make_study: MakeStudy) -> None:
    study = make_study(judges=[])
    assert size(study) == "normad 6, casa 4, culturebank 6, specnorm 3"
    dropped = {"normad": {"duplicate": 2, "not_chosen": 3}, "casa": {"unchanged_query": 4}}
    dropped["casa"]["unknown_country"] = 1
    of_files = replace(study, chosen=replace(study.chosen, dropped=dropped))
    assert size(of_files).endswith("specnorm 3; rows left out: normad duplicate 2, casa unchanged_query 4")


def test_missing_judge_leaves_its_metrics_unscored_and_labels_scored(study: CureStudy) -> None:
    stored: Stored = {}
    judged = answer_candidate(study, stored)
    answer(study, [r for r in judged if r.engine == "j"], lambda unit: verdict(0.9), stored)
    answers = answers_of(study, completions(study, stored))
    cohort = Cohort({"m": answers}, {"m": answers}, {"m": MODEL})
    output = EVALUATION.rows(study, cohort, None)
    rows = output.metrics["m"]
    check(rows)
    assert one(rows, "exact_match", "normad:thick").value == 1.0
    coverage = one(rows, "coverage", "normad")
    assert (coverage.value, coverage.unscored_reason, coverage.null_value) == (None, UNANSWERED, None)
    assert one(rows, "judge_generic_refused", "normad:j").value == 0.0
    assert one(rows, "judge_generic_refused", "normad:k").unscored_reason == UNANSWERED
    # Both judges' verdicts are rows; missing verdicts have a reason.
    details = {(d.kind, d.key): d.frame for d in output.details["m"]}
    assert set(details) == {("cure_answer", ""), *(("verdict", f"{j} {b}") for j in "jk" for b in N_ITEMS)}
    assert details["verdict", "j normad"]["value"].null_count() == 0
    assert set(details["verdict", "k normad"]["unscored_reason"]) == {UNANSWERED}


def rambling(study: CureStudy, model: str) -> CureAnswers:
    """Return a model with explanations of different lengths, judged by the hash of the prompt."""
    stored: Stored = {}
    mixed = random.Random(model)
    words = {unit: "word " * mixed.randint(1, 30) + model for unit in gold(study)}
    answer(study, ask(study, completions(study, stored)), lambda u: completion("yes", words[u]), stored)
    judged = of_role(ask(study, completions(study, stored)), "judge")
    answer(study, judged, lambda unit: verdict(int(unit, 16) % 100 / 100), stored)
    return answers_of(study, completions(study, stored))


def test_a_models_rows_depend_on_no_other_model(make_study: MakeStudy) -> None:
    study = make_study(benchmarks=["culturebank"])
    a, b = rambling(study, "a"), rambling(study, "b")
    engines = {"a": MODEL, "b": Engine("b", "fake", "Qwen/Qwen3-8B", "hash of b")}
    alone = EVALUATION.rows(study, Cohort({"a": a}, {"a": a}, engines), None)
    new = EVALUATION.rows(study, Cohort({"b": b}, {"a": a}, engines), None)
    both = EVALUATION.rows(study, Cohort({"a": a, "b": b}, {"a": a, "b": b}, engines), None)
    assert set(new.metrics) == {"b", "null:majority", "null:prior"}
    assert set(new.details) == {"b"}
    assert alone.metrics["a"] == both.metrics["a"]
    assert new.metrics["b"] == both.metrics["b"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"benchmarks": ["casa"], "files": {"normad": "n.csv"}},
            "files of normad, which `benchmarks` does not name",
        ),
        ({"files": {"normad": "no-such-file.csv"}}, "no-such-file.csv: cannot be read"),
    ],
)
def test_unusable_benchmark_files_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EVALUATION.study(CureParams(models=["m"], **wrong), tables(), {})
