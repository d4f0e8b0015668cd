"""A run's writes to the warehouse: at its start, at a round with new requests, and with its rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from flows import records, runs
from flows.cohort import Selection
from flows.session import SHARED, RunSession
from tasks.evaluations.contract import FIRST, Detail, Tables
from tasks.loop.plan import Wanted
from tasks.loop.rows import OVERALL, Metric, mean_row
from tests.flows.sessions import prompts, session
from warehouse import Warehouse

RUNS = "SELECT model, is_null, status, occasion, engine->>'kind' FROM run ORDER BY model"
VALUES = "SELECT model, value FROM metric_value WHERE metric = 'accuracy' ORDER BY ALL"
ASKED = "SELECT run_id, request_hash, topic, label FROM run_request ORDER BY ALL"


def started(*models: str, occasion: str = "") -> RunSession:
    made = session(*models, occasion=occasion)
    made.wanted_by_model = {
        name: [Wanted(name, prompts("Hello?"), own)] for name, own in made.candidates.items()
    }
    records.start(made)
    return made


def row(value: float) -> Metric:
    return mean_row("accuracy", OVERALL, np.array([value] * 4), "unscored", items=["a", "b", "c", "d"])


def detail(value: float, key: str = "") -> Detail:
    frame = pl.DataFrame({"unit": ["u"], "value": [value]}).with_columns(
        metric=pl.lit("other"), cluster=pl.lit("u"), design=pl.lit("each"), n_clusters=pl.lit(1)
    )
    return Detail("headline_value", frame, key)


def save(made: RunSession, values: dict[str, float], is_frozen: bool = False) -> None:
    """Save rows of the session's models; all others are null models."""
    tables = Tables({name: [row(value)] for name, value in values.items()})
    records.save(made, tables, Selection(made.ids, made.ids, [], is_frozen))


def test_run_and_its_requests_are_stored_before_any_rows(warehouse: Warehouse) -> None:
    made = started("a", "b", occasion="may")
    assert warehouse.query(RUNS).rows() == [
        ("a", False, "running", "may", "fake"), ("b", False, "running", "may", "fake"),
    ]  # fmt: skip
    asked = [(made.ids[each.model], each.request_hash, "", "items") for each in made.wanted]
    assert warehouse.query(ASKED).rows() == sorted(asked)
    assert not runs.is_finished(made.ids["a"])
    assert runs.newest("config") == []


def test_round_without_new_requests_writes_nothing(warehouse: Warehouse) -> None:
    made = started("a", "b")
    version = warehouse.path.stat().st_ino
    records.add_requests(made)
    assert warehouse.path.stat().st_ino == version
    made.wanted_by_model["b"].append(Wanted("b", prompts("Right?", label="judge"), made.engines["judge"]))
    records.add_requests(made)
    assert warehouse.query(ASKED)["label"].to_list().count("judge") == 1
    assert warehouse.path.stat().st_ino != version


def test_requests_that_differ_only_in_units_are_one_row_with_all_labels(warehouse: Warehouse) -> None:
    made = session("a")
    labels = [f"{letter}-{k}" for k in range(5) for letter in "zyx"]
    own = made.candidates["a"]
    made.wanted_by_model["a"] = [
        Wanted("a", prompts(label=each, topic="same"), own) for each in [*labels, *labels]
    ]
    records.start(made)
    (asked,) = warehouse.query(ASKED).rows()
    assert asked[1:] == (made.wanted[0].request_hash, "same", ", ".join(labels))


def test_rows_finish_their_runs_and_freeze_the_cohort(warehouse: Warehouse) -> None:
    made = started("a", "b")
    save(made, {"a": 0.25, "b": 0.5, "null:x": 0.75})
    assert [line[:3] for line in warehouse.query(RUNS).rows()] == [
        ("a", False, "finished"), ("b", False, "finished"), ("null:x", True, "finished"),
    ]  # fmt: skip
    assert warehouse.query(VALUES).rows() == [("a", 0.25), ("b", 0.5), ("null:x", 0.75)]
    assert [run.model for run in runs.frozen("config", FIRST)] == ["a", "b"]
    assert runs.frozen("config", "another") == runs.frozen("another", FIRST) == []
    (run,) = (run for run in runs.newest("config") if run.model == "a")
    assert run.candidate == replace(made.candidates["a"], spec=None)
    assert runs.namesakes("config") == {name: {made.candidates[name].hash} for name in ("a", "b")}
    points = "SELECT DISTINCT model FROM headline_value ORDER BY ALL"
    assert warehouse.query(points)["model"].to_list() == ["a", "b"]  # null models are not compared


@pytest.mark.parametrize(("is_frozen", "failures"), [(True, []), (False, ["a judge failed"])])
def test_cohort_is_not_frozen_twice_or_after_a_failure(
    warehouse: Warehouse, is_frozen: bool, failures: list[str]
) -> None:
    made = started("a")
    made.failures = failures
    save(made, {"a": 0.25}, is_frozen)
    assert runs.is_finished(made.ids["a"])
    assert runs.frozen("config", FIRST) == []


def test_later_rows_replace_earlier_ones_except_of_unchanged_nulls_of_a_frozen_cohort(
    warehouse: Warehouse,
) -> None:
    made = started("a")
    made.updated, made.failures = {"a"}, ["a judge failed"]
    save(made, {"a": 0.25, "null:x": 0.75})
    save(made, {"a": 0.5, "null:x": 1.0})
    assert warehouse.query(VALUES).rows() == [("a", 0.5), ("null:x", 1.0)]
    save(made, {"a": 0.75, "null:x": 0.25, "null:y": 0.0}, is_frozen=True)
    assert warehouse.query(VALUES).rows() == [("a", 0.75), ("null:x", 1.0), ("null:y", 0.0)]
    made.updated = {"a", SHARED}
    save(made, {"a": 1.0, "null:x": 0.5}, is_frozen=True)
    assert warehouse.query(VALUES).rows() == [("a", 1.0), ("null:x", 0.5), ("null:y", 0.0)]
    values = "SELECT DISTINCT value FROM headline_value WHERE metric = 'accuracy'"
    assert warehouse.query(values)["value"].to_list() == [1.0]


def test_details_of_one_kind_are_stored_by_key(warehouse: Warehouse) -> None:
    made = started("a")
    tables = Tables({"a": [row(1.0)]}, {"a": [detail(1.0, "one"), detail(2.0, "two")]})
    records.save(made, tables, Selection(made.ids, made.ids, [], False))
    records.save(made, tables, Selection(made.ids, made.ids, [], True))
    values = "SELECT value FROM headline_value WHERE metric = 'other' ORDER BY ALL"
    assert warehouse.query(values)["value"].to_list() == [1.0, 2.0]
