"""Removal of a run with its numbers and, on request, its answers, but nothing that other runs need."""

import polars as pl
import pytest

from tasks.loop.candidates import CandidateRanking
from tasks.loop.items import ItemScores, OptionScores
from tasks.loop.pairs import Pairs
from tasks.loop.prompts import Prompts
from tasks.loop.texts import Texts
from tests.warehouse.rows import logprobs, make_run, metrics, store_part
from warehouse import (
    Warehouse,
    WarehouseError,
    finish_run,
    freeze_cohort,
    register_orphans,
    save_metrics,
    save_run,
    save_run_requests,
)
from warehouse.claims import working
from warehouse.part_kinds import KINDS
from warehouse.prune import prune
from warehouse.removal import ANSWERS, removable, remove

TABLES = ("run", "run_request", "metric_value", "cohort", "part_unit")


@pytest.fixture
def two_runs(warehouse: Warehouse) -> Warehouse:
    """A warehouse with runs aa and ab of two models: both name the request `common`, and each has another
    request and numbers.
    """
    for name, model in (("aa", "m"), ("ab", "n")):
        for request in (f"own-{name}", *(["common"] if name == "aa" else [])):
            store_part(warehouse, logprobs(request=request, run_id=name), f"{name}-{request}")
        requests = {"request_hash": ["common", f"own-{name}"], "topic": ["t"] * 2, "label": ["l"] * 2}
        with warehouse.write() as connection:
            save_run(connection, make_run(name, model))
            save_run_requests(connection, name, pl.DataFrame(requests))
            save_metrics(connection, name, metrics())
            finish_run(connection, name)
    return warehouse


def of(warehouse: Warehouse, table: str) -> set[str]:
    """Return the runs that a table names."""
    return set(warehouse.query(f"SELECT DISTINCT run_id FROM {table}")["run_id"])


def test_removing_a_run_removes_its_numbers_and_keeps_its_answers(two_runs: Warehouse) -> None:
    going = removable(two_runs, "aa")
    assert (going.evaluation, going.model, going.n_metrics) == ("spectral", "m", 1)
    assert (going.units.height, going.obstacle) == (0, "")
    assert of(two_runs, "run") == {"aa", "ab"}
    assert remove(two_runs, "aa").n_metrics == 1
    assert of(two_runs, "run") == of(two_runs, "metric_value") == of(two_runs, "run_request") == {"ab"}
    assert of(two_runs, "part_unit") == {"aa", "ab"}


def test_removing_with_answers_keeps_those_that_another_run_names(two_runs: Warehouse) -> None:
    remove(two_runs, "aa", answers=True)
    remaining = two_runs.query("SELECT DISTINCT request_hash FROM part_unit")["request_hash"]
    assert set(remaining) == {"common", "own-ab"}
    prune(two_runs)
    register_orphans(two_runs, "item_logprob")
    assert two_runs.query("SELECT count(*) AS n FROM part_unit")["n"][0] == 4


@pytest.mark.heavy
def test_a_run_of_a_shared_cohort_is_not_removed(two_runs: Warehouse) -> None:
    with two_runs.write() as connection:
        freeze_cohort(connection, "c", "first", ["aa", "ab"])
    before = {table: of(two_runs, table) for table in TABLES}
    with pytest.raises(WarehouseError, match="1 other runs have numbers computed over its cohort: --with"):
        remove(two_runs, "aa")
    assert {table: of(two_runs, table) for table in TABLES} == before


@pytest.mark.heavy
def test_a_run_goes_with_the_runs_that_are_compared_with_it(two_runs: Warehouse) -> None:
    """Run ab came after the cohort was frozen, and its numbers are computed over the cohort all the same."""
    with two_runs.write() as connection:
        freeze_cohort(connection, "c", "first", ["aa"])
        save_run(connection, make_run("ac", "other", config_hash="d"))
        finish_run(connection, "ac")
    assert "--with-cohort" in removable(two_runs, "aa").obstacle
    assert removable(two_runs, "ab").obstacle == "", "nobody is compared with it"
    going = removable(two_runs, "aa", answers=True, with_cohort=True)
    assert (going.others, going.n_metrics, going.obstacle) == (("ab",), 2, "")
    with working(two_runs.store, ["ab"]), pytest.raises(WarehouseError, match="working on ab"):
        remove(two_runs, "aa", with_cohort=True)
    remove(two_runs, "aa", answers=True, with_cohort=True)
    assert {table: of(two_runs, table) for table in TABLES} == {
        table: {"ac"} if table == "run" else set() for table in TABLES
    }


@pytest.mark.heavy
def test_a_run_whose_numbers_nobody_depends_on_always_goes(two_runs: Warehouse) -> None:
    with two_runs.write() as connection:
        freeze_cohort(connection, "c", "first", ["aa", "ab"])
    going = remove(two_runs, "aa", compares=False)
    assert (going.others, of(two_runs, "run"), of(two_runs, "cohort")) == ((), {"ab"}, {"ab"})


@pytest.mark.heavy
def test_removing_the_last_run_of_a_cohort_removes_the_cohort_and_its_null_models(
    two_runs: Warehouse,
) -> None:
    with two_runs.write() as connection:
        save_run(connection, make_run("na", "null: nobody", is_null=True))
        finish_run(connection, "na")
        freeze_cohort(connection, "c", "first", ["aa"])
    remove(two_runs, "ab")
    assert of(two_runs, "run") == {"aa", "na"}
    assert remove(two_runs, "aa").others == ("na",)
    assert of(two_runs, "cohort") == of(two_runs, "run") == set()


def test_a_run_under_way_is_not_removed_and_a_killed_one_is(two_runs: Warehouse) -> None:
    with two_runs.write() as connection:
        save_run(connection, make_run("ba"))
    with working(two_runs.store, ["ba"]), pytest.raises(WarehouseError, match="working on it"):
        remove(two_runs, "ba")
    assert remove(two_runs, "ba").status == "running"


@pytest.mark.parametrize(("named", "why"), [("zz", "culturemeter runs"), ("a", "2 runs begin with it")])
def test_an_unknown_or_ambiguous_run_id_is_refused(two_runs: Warehouse, named: str, why: str) -> None:
    with pytest.raises(WarehouseError, match=why):
        removable(two_runs, named)


def test_every_kind_of_request_has_its_parts_removed() -> None:
    request_kinds = (ItemScores, CandidateRanking, OptionScores, Pairs, Prompts, Texts)
    assert {request.kind for request in request_kinds} == set(ANSWERS)
    assert set(ANSWERS) < set(KINDS)
