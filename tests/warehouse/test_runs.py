"""Runs, plans, numbers, and the leaderboards that show them."""

import math

import duckdb
import polars as pl
import pytest

from tests.warehouse.rows import logprobs, make_run, metrics, store_part
from warehouse import (
    Warehouse,
    WarehouseError,
    finish_run,
    missing_units,
    read_answers,
    read_requests,
    register_parts,
    run_checks,
    save_metrics,
    save_run,
    save_run_requests,
    write_part,
)

STATUS = "SELECT status, finished_at IS NOT NULL FROM run"


def test_a_run_goes_from_running_to_failed_to_finished_and_stays_finished(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        save_run(connection, make_run())
    assert warehouse.query(STATUS).row(0) == ("running", False)
    with warehouse.write() as connection:
        finish_run(connection, "r1", "failed")
    assert warehouse.query(STATUS).row(0) == ("failed", True)
    with warehouse.write() as connection:
        save_run(connection, make_run())
    assert warehouse.query(STATUS).row(0) == ("running", False)
    with warehouse.write() as connection:
        finish_run(connection, "r1")
        save_run(connection, make_run())
    assert warehouse.query(STATUS).row(0) == ("finished", True)
    assert warehouse.query("SELECT params->>'seed' FROM run").item() == "1"


def test_finishing_an_unknown_run_is_refused(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="unknown run 'r9'"), warehouse.write() as connection:
        finish_run(connection, "r9")


def test_missing_units_is_the_plan_without_stored_units(warehouse: Warehouse) -> None:
    frame = logprobs("FR IT", request="q1")
    wanted = pl.DataFrame(
        {"request_hash": ["q1", "q1", "q2"], "unit": ["FR", "JP", "FR"], "extra": [1, 2, 3]}
    )
    store_part(warehouse, frame)
    with warehouse.read() as connection:
        missing = missing_units(connection, "item_logprob", wanted).sort("extra")
        assert missing.rows() == [("q1", "JP", 2), ("q2", "FR", 3)]
        assert missing_units(connection, "item_logprob", wanted.clear()).columns == wanted.columns


def test_requests_are_stored_once(warehouse: Warehouse) -> None:
    requests = pl.DataFrame({"request_hash": ["q1"], "topic": ["currency"], "label": ["currency-1"]})
    for _ in range(2):
        with warehouse.write() as connection:
            save_run_requests(connection, "r1", requests)
    assert warehouse.query("FROM run_request").rows() == [("r1", "q1", "currency", "currency-1")]


def test_read_answers_reads_registered_rows_only(warehouse: Warehouse) -> None:
    for name, frame, replace in (
        ("p1", logprobs("FR IT"), False),
        ("p2", logprobs("IT", base=-5.0), True),
        ("other", logprobs("ES", request="q2"), False),
    ):
        store_part(warehouse, frame, name, replace=replace)

    def read(request: str, countries: list[str]) -> pl.DataFrame:
        columns = ("country", "item", "logprob", "n_tokens")
        return read_answers(warehouse, "item_logprob", request, countries, columns)

    answers = read("q1", ["FR", "IT", "ES"]).sort("country", "item")
    france, italy = (
        [("FR", "euro", -1, 1), ("FR", "yen", -2, 2)],
        [("IT", "euro", -5, 1), ("IT", "yen", -6, 2)],
    )
    assert answers.rows() == france + italy
    assert read("q1", ["FR"])["country"].to_list() == ["FR", "FR"]
    assert read("q9", ["FR"]).schema == answers.schema


def test_requests_that_share_a_part_each_get_their_own_units(warehouse: Warehouse) -> None:
    """One part holds two requests; units of a third one are in that part, but of other requests."""
    both = pl.concat([logprobs("FR IT"), logprobs("FR ES", request="q2", base=-5.0)])
    parts = [both, logprobs("JP", request="q2"), logprobs("FR", request="q3")]
    for number, frame in enumerate(parts):
        store_part(warehouse, frame, f"p{number}")
    units = {"q2": ["FR", "JP"], "q1": ["IT", "ES"], "q9": ["FR"]}
    answers = read_requests(warehouse, "item_logprob", units, ["country", "item"])
    assert {name: sorted(set(frame["country"])) for name, frame in answers.items()} == {
        "q2": ["FR", "JP"], "q1": ["IT"], "q9": []
    }  # fmt: skip
    assert {tuple(frame.columns) for frame in answers.values()} == {("country", "item")}
    assert read_requests(warehouse, "item_logprob", {}, ["country"]) == {}


def test_metrics_of_a_run_are_replaced_as_a_whole(warehouse: Warehouse) -> None:
    for frame in (pl.concat([metrics(), metrics("f1_LH", 0.2)]), metrics(value=0.7)):
        with warehouse.write() as connection:
            save_metrics(connection, "r1", frame)
    assert warehouse.query("SELECT metric, value FROM metric_value").rows() == [("macro_f1", 0.7)]


@pytest.mark.parametrize(
    "cells",
    [
        {"value": math.nan},
        {"value": 0.5, "unscored_reason": "both"},
        {"value": None, "unscored_reason": None},
        {"value": 0.5, "ci_low": math.nan},
    ],
)
def test_numbers_without_exactly_one_of_value_and_reason_are_refused(
    warehouse: Warehouse, cells: dict[str, object]
) -> None:
    with (
        pytest.raises(WarehouseError, match=r"metrics of run r1: 1 rows, first .*'metric': 'macro_f1'"),
        warehouse.write() as connection,
    ):
        save_metrics(connection, "r1", metrics(**cells))


@pytest.mark.parametrize("values", ["'NaN', NULL", "NULL, NULL", "1, 'why'"])
def test_the_table_refuses_numbers_without_exactly_one_of_value_and_reason(
    warehouse: Warehouse, values: str
) -> None:
    statement = """
        INSERT INTO metric_value_base
            (run_id, model, metric, slice_kind, slice, n_scored, n_unscored, value, unscored_reason)
        VALUES ('r', 'm', 'x', 'overall', 'all', 1, 0, """
    with pytest.raises(duckdb.ConstraintException), warehouse.write() as connection:
        connection.execute(statement + values + ")")


def test_unscored_and_infinite_values_are_stored(warehouse: Warehouse) -> None:
    frame = pl.concat([metrics(value=None), metrics("spectral_gap_ratio", math.inf)])
    with warehouse.write() as connection:
        save_metrics(connection, "r1", frame)
    rows = warehouse.query("SELECT value, unscored_reason FROM metric_value ORDER BY metric").rows()
    assert rows == [(None, "no answer"), (math.inf, None)]


def test_leaderboard_shows_the_newest_finished_run_of_each_model(warehouse: Warehouse) -> None:
    runs = [
        (make_run("old", "a"), 0.9),
        (make_run("new", "a"), 0.4),
        (make_run("b", "b"), 0.6),
        (make_run("none", "unscored"), None),
        (make_run("null", "null:uniform", is_null=True), 0.8),
        (make_run("other", "a", config_hash="newer"), 0.1),
    ]
    for run, value in runs:
        with warehouse.write() as connection:
            save_run(connection, run)
            frame = metrics(value=value, model=run.model, n_scored=20, n_unscored=7)
            save_metrics(connection, run.run_id, pl.concat([frame, metrics("f1_LH", 0.25, model=run.model)]))
            finish_run(connection, run.run_id)
    with warehouse.write() as connection:
        save_run(connection, make_run("unfinished", "c"))
        save_metrics(connection, "unfinished", metrics(model="c"))
    board = warehouse.query("FROM leaderboard_spectral")
    order = [("other", 0.1), ("b", 0.6), ("new", 0.4), ("none", None), ("null", 0.8)]
    assert board.select("run_id", "macro_f1").rows() == order
    assert board["f1_lh"].to_list() == [0.25] * 5
    assert board["coverage"][0] == pytest.approx(20 / 27)
    assert warehouse.query("FROM leaderboard WHERE metric = 'f1_LH'").height == 5


def test_spectral_by_domain_gives_the_category_of_each_question(warehouse: Warehouse) -> None:
    def question(name: str, er_high: float | None, sr_high: float | None) -> pl.DataFrame:
        values = {"effective_rank": 30.0, "spectral_gap_ratio": 2.0, "er_high": er_high, "sr_high": sr_high}
        return pl.concat([metrics(key, value, "question", name) for key, value in values.items()])

    with warehouse.write() as connection:
        save_run(connection, make_run())
        questions = [
            question("currency-1", 1, 0),
            question("currency-2", 0, 1),
            question("currency-3", None, 1),
        ]
        save_metrics(connection, "r1", pl.concat(questions))
        finish_run(connection, "r1")
    shown = warehouse.query(
        "SELECT question, er_sr_category, human_category, correct FROM spectral_by_domain"
    )
    assert shown.rows() == [
        ("currency-1", "HL", "HL", True),
        ("currency-2", "LH", "HL", False),
        ("currency-3", None, "HL", None),
    ]


def test_checks_pass_on_fresh_reference(warehouse: Warehouse) -> None:
    assert run_checks(warehouse).filter(pl.col("n_violations") > 0).rows() == []


@pytest.mark.heavy
def test_every_check_finds_its_violation(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        save_run(connection, make_run())
        ranges = pl.concat(
            [metrics(value=1.5), metrics("f1_LH", 0.5, ci_low=0.9, ci_high=0.1), metrics("made_up")]
        )
        save_metrics(connection, "r1", ranges)
        save_metrics(connection, "lost", metrics())
        requests = pl.DataFrame({"request_hash": ["q"], "topic": ["currency"], "label": ["currency-1"]})
        save_run_requests(connection, "lost", requests)
        units = write_part(warehouse.home, "item_logprob", "p1", logprobs("FR"))
        register_parts(connection, [units.with_columns(part=pl.lit("lost"))])
        connection.execute("UPDATE item_list SET is_current = false WHERE item_list = 'religions'")
        connection.execute("UPDATE item SET countries = ['XX'] WHERE item = 'Thai'")
        connection.execute("UPDATE item SET item = 'THAI' WHERE item = 'Tamil'")
        connection.execute("DELETE FROM item WHERE item = '17'")
        connection.execute("UPDATE question SET domain = 'weather' WHERE question = 'currency-3'")
    results = run_checks(warehouse)
    assert results.filter(n_violations=0)["check"].to_list() == []
    assert "'n_shown': 0" in results.filter(check="unit_without_rows")["example"].item()
