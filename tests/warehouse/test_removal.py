"""A run and what goes with it: its numbers, its answers on request, and nothing that others rest on."""

from pathlib import Path

import polars as pl
import pytest

import warehouse.removal as removal
from tasks.loop.candidates import CandidateRanking
from tasks.loop.items import ItemScores, OptionScores
from tasks.loop.prompts import Prompts
from tasks.loop.texts import Texts
from tests.warehouse.rows import logprobs, make_run, metrics
from warehouse import (
    Warehouse,
    WarehouseError,
    finish_run,
    freeze_cohort,
    register_orphans,
    register_parts,
    save_metrics,
    save_run,
    save_run_requests,
    write_part,
)
from warehouse.at_work import working
from warehouse.prune import prune
from warehouse.removal import ANSWERS, removable, remove

TABLES = ("run", "run_request", "metric_value", "cohort", "part_unit")


@pytest.fixture
def two_runs(warehouse: Warehouse) -> Warehouse:
    """Runs aa and ab of two models: both name the request `common`; each has one of its own, and numbers."""
    for name, model in (("aa", "m"), ("ab", "n")):
        parts = [
            write_part(
                warehouse.home, "item_logprob", f"{name}-{request}", logprobs(request=request, run_id=name)
            )
            for request in (f"own-{name}", *(["common"] if name == "aa" else []))
        ]
        requests = {"request_hash": ["common", f"own-{name}"], "topic": ["t"] * 2, "label": ["l"] * 2}
        with warehouse.write() as connection:
            save_run(connection, make_run(name, model))
            save_run_requests(connection, name, pl.DataFrame(requests))
            register_parts(connection, parts)
            save_metrics(connection, name, metrics())
            finish_run(connection, name)
    return warehouse


def of(warehouse: Warehouse, table: str) -> set[str]:
    """The runs that a table names."""
    return set(warehouse.query(f"SELECT DISTINCT run_id FROM {table}")["run_id"])


def test_numbers_go_and_answers_stay(two_runs: Warehouse) -> None:
    going = removable(two_runs, "aa")
    assert (going.evaluation, going.model, going.n_metrics, going.units.height, going.obstacle) == (
        "spectral",
        "m",
        1,
        0,
        "",
    )
    assert of(two_runs, "run") == {"aa", "ab"}
    assert remove(two_runs, "aa").n_metrics == 1
    assert of(two_runs, "run") == of(two_runs, "metric_value") == of(two_runs, "run_request") == {"ab"}
    assert of(two_runs, "part_unit") == {"aa", "ab"}


def test_answers_that_no_other_run_names_go_with_it(two_runs: Warehouse) -> None:
    remove(two_runs, "aa", answers=True)
    left = two_runs.query("SELECT DISTINCT request_hash FROM part_unit")["request_hash"]
    assert set(left) == {"common", "own-ab"}
    prune(two_runs)
    register_orphans(two_runs, "item_logprob")
    assert two_runs.query("SELECT count(*) AS n FROM part_unit")["n"][0] == 4


@pytest.mark.heavy
def test_a_run_of_a_cohort_with_others_stays(two_runs: Warehouse) -> None:
    with two_runs.write() as connection:
        freeze_cohort(connection, "c", "first", ["aa", "ab"])
    before = {table: of(two_runs, table) for table in TABLES}
    with pytest.raises(WarehouseError, match="its cohort has 1 more"):
        remove(two_runs, "aa")
    assert {table: of(two_runs, table) for table in TABLES} == before


@pytest.mark.heavy
def test_a_run_alone_in_its_cohort_takes_it_along(two_runs: Warehouse) -> None:
    with two_runs.write() as connection:
        freeze_cohort(connection, "c", "first", ["aa"])
    remove(two_runs, "aa")
    assert of(two_runs, "cohort") == set()


def test_a_run_at_work_stays_and_a_killed_one_goes(two_runs: Warehouse) -> None:
    with two_runs.write() as connection:
        save_run(connection, make_run("ba"))
    with working(two_runs.store, ["ba"]), pytest.raises(WarehouseError, match="at work on it"):
        remove(two_runs, "ba")
    assert remove(two_runs, "ba").status == "running"


@pytest.mark.parametrize(("named", "why"), [("zz", "culturescope runs"), ("a", "2 runs begin with it")])
def test_a_run_is_named_by_the_beginning_of_its_id(two_runs: Warehouse, named: str, why: str) -> None:
    with pytest.raises(WarehouseError, match=why):
        removable(two_runs, named)


def test_every_kind_of_answer_is_known() -> None:
    asked = (ItemScores, CandidateRanking, OptionScores, Prompts, Texts)
    assert {request.kind for request in asked} == set(ANSWERS)
    files = Path(removal.__file__).parent.joinpath("kinds").glob("*.toml")
    assert set(ANSWERS) < {file.stem for file in files}
