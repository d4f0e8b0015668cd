"""What of a run stands in the warehouse: before it begins, with its rows, and beside null models."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from flows import runs
from tasks.engines.protocols import Sampling
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Detail, Params, Tables
from tasks.loop.plan import Wanted, lay_out
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine
from tasks.loop.rows import OVERALL, Metric, mean_row
from warehouse import Warehouse

RUNS = "SELECT model, is_null, status, occasion, engine->>'kind' FROM run ORDER BY model"
VALUES = "SELECT model, value FROM metric_value WHERE metric = 'accuracy' ORDER BY ALL"


def session_of(*models: str, occasion: str = "") -> Any:
    engines = {name: Engine.of(EngineSpec(name=name, kind="fake", model=name)) for name in models}
    study = SimpleNamespace(
        params=Params(models=list(models), occasion=occasion), config_hash=lambda: "config", materials={}
    )
    wanted = [wanted_of(name, engine, "Hello?") for name, engine in engines.items()]
    cure = SimpleNamespace(name="cure", described=None)
    return SimpleNamespace(evaluation=cure, study=study, candidates=engines, packs=(), wanted=wanted)


def wanted_of(model: str, engine: Engine, *texts: str, batch: int = 32) -> Wanted:
    prompts = tuple(Prompt([{"role": "user", "content": text}]) for text in texts)
    request = Prompts(prompts=prompts, sampling=Sampling(), topic="t", label="items", batch=batch)
    return Wanted(model, request, engine)


def row(value: float) -> Metric:
    return mean_row("accuracy", OVERALL, np.array([value] * 4), "unscored", items=["a", "b", "c", "d"])


def detail(value: float, key: str = "") -> Detail:
    frame = pl.DataFrame({"unit": ["u"], "value": [value]}).with_columns(
        metric=pl.lit("other"), cluster=pl.lit("u"), design=pl.lit("each"), n_clusters=pl.lit(1)
    )
    return Detail("headline_value", frame, key)


def saved(session: Any, values: dict[str, float], freeze: bool = False, keep_nulls: bool = False) -> None:
    """Rows of the session's models and of others, which are null models."""
    ids = {name: runs.run_id(session.study, [name]) for name in session.candidates}
    runs.start(session, ids)
    tables = Tables({name: [row(value)] for name, value in values.items()})
    runs.save(session, tables, ids, list(ids.values()) if freeze else None, keep_nulls)


def test_a_run_is_there_before_it_has_rows(warehouse: Warehouse) -> None:
    session = session_of("a", "b", occasion="may")
    runs.start(session, {"a": "run-a", "b": "run-b"})
    assert warehouse.query(RUNS).rows() == [
        ("a", False, "running", "may", "fake"), ("b", False, "running", "may", "fake"),
    ]  # fmt: skip
    asked = warehouse.query("SELECT run_id, request_hash FROM run_request ORDER BY ALL").rows()
    assert asked == [(f"run-{each.model}", each.request_hash) for each in session.wanted]
    assert not runs.is_finished("run-a")
    assert runs.finished("config") == []


def test_rows_finish_a_run_and_null_models_have_runs_of_their_own(warehouse: Warehouse) -> None:
    session = session_of("a", "b")
    saved(session, {"a": 0.25, "b": 0.5, "null:x": 0.75}, freeze=True)
    assert [line[:3] for line in warehouse.query(RUNS).rows()] == [
        ("a", False, "finished"), ("b", False, "finished"), ("null:x", True, "finished"),
    ]  # fmt: skip
    assert warehouse.query(VALUES).rows() == [("a", 0.25), ("b", 0.5), ("null:x", 0.75)]
    assert [past.engine.name for past in runs.frozen("config", session.study.params.cohort)] == ["a", "b"]
    assert runs.frozen("config", "another") == runs.frozen("another", session.study.params.cohort) == []
    assert sorted(past.engine.name for past in runs.finished("config")) == ["a", "b"]
    assert runs.namesakes("config") == {name: {session.candidates[name].hash} for name in ("a", "b")}
    points = "SELECT DISTINCT model FROM headline_value ORDER BY ALL"
    assert warehouse.query(points)["model"].to_list() == ["a", "b"]  # nobody compares null models


@pytest.mark.parametrize("keep", [True, False])
def test_later_rows_take_the_place_of_earlier_ones_but_for_nulls_that_are_kept(
    warehouse: Warehouse, keep: bool
) -> None:
    session = session_of("a")
    saved(session, {"a": 0.25, "null:x": 0.75})
    saved(session, {"a": 0.5, "null:x": 1.0, "null:y": 0.0}, keep_nulls=keep)
    assert warehouse.query(VALUES).rows() == [("a", 0.5), ("null:x", 0.75 if keep else 1.0), ("null:y", 0.0)]
    values = "SELECT DISTINCT value FROM headline_value WHERE metric = 'accuracy'"
    assert warehouse.query(values)["value"].to_list() == [0.5]


def test_points_stand_at_overall_rows_alone() -> None:
    assert runs._points([]).is_empty()
    assert runs._points([row(1.0)]).height == 4
    with pytest.raises(ValueError, match="only an overall row"):
        runs._points([row(1.0)._replace(slice_kind="country")])


def test_a_line_of_the_plan_adds_up_what_one_engine_does_for_one_model() -> None:
    a, b = (Engine.of(EngineSpec(name=name, kind="fake", model=name)) for name in "ab")
    first = wanted_of("a", a, "1", "2", "3", batch=2)
    both = [first, wanted_of("b", b, "1"), wanted_of("a", a, "3", "4")]
    hashes = {each.request_hash for each in both}
    units = {(each.request_hash, unit) for each in both for unit in each.request.units}
    answered = (first.request_hash, first.request.units[0])
    missing = pl.DataFrame(sorted(units - {answered}), ["request_hash", "unit"], orient="row")
    plan = lay_out(both, {first.request.kind: missing})
    assert len(hashes) == 2
    assert [(line.model, line.engine.name, line.role) for line in plan.lines] == [
        ("a", "a", "candidate"), ("b", "b", "candidate"),
    ]  # fmt: skip
    # What both requests of a want is done for the first: 2 and 3 there, 4 for the second.
    assert [(line.asked, line.left, len(line.work)) for line in plan.lines] == [(5, 3, 2), (1, 1, 1)]
    assert plan.left == 3
    assert [len(work.units) for work in plan.work] == [2, 1, 1]
    assert {work.units for work in plan.work if len(work.units) == 2} == {
        tuple(sorted(first.request.units[1:]))
    }


def test_requests_that_differ_in_units_alone_are_one_with_their_labels_in_order(warehouse: Warehouse) -> None:
    session = session_of("a")
    engine = session.candidates["a"]
    labels = [f"{letter}-{k}" for k in range(5) for letter in "zyx"]
    session.wanted = [
        Wanted("a", replace(session.wanted[0].request, label=label, topic="same"), engine)
        for label in [*labels, *labels]
    ]
    runs.start(session, {"a": "run-a"})
    asked = warehouse.query("SELECT request_hash, topic, label FROM run_request").rows()
    assert asked == [(session.wanted[0].request_hash, "same", ", ".join(labels))]
