"""The configuration that is shown: shipped content with the most answers, unless one is named."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest

from deployments.cli.which import of_hash
from deployments.show.configurations import other_configurations, shown_configuration
from deployments.show.report import configuration
from flows.comparison import ComparedRuns, chosen_pairs
from flows.runs import every_finished
from tests.deployments.commands import call, refused
from tests.report.stored import row
from tests.warehouse.rows import one_write
from warehouse import Run, Warehouse, WarehouseError, finish_run, save_metrics, save_run, save_run_requests
from warehouse.storage import execute_with

LARGE, SMALL, PACKED = "aa11", "aa22", "bb33"
TYPES = dict.fromkeys(("ci_low", "ci_high", "null_value"), pl.Float64) | {"unscored_reason": pl.String}


def store(
    warehouse: Warehouse,
    config: str,
    profile: str,
    n_answers: int,
    model: str = "m",
    pack: str | None = None,
    **knobs: Any,
) -> None:
    """Store a finished run of spectral with `n_answers` answers."""
    run = Run(
        run_id=f"{config} {model}", evaluation="spectral", model=model, is_null=False, profile=profile,
        config_hash=config, engine_hash=model, params=({"pack": [f"{pack}@1"]} if pack else {}) | knobs,
        engine={"kind": "fake"}, item_lists={}, boundary_rule="r", code_version="0.1.0",
    )  # fmt: skip
    request = f"request of {run.run_id}"
    units = pl.DataFrame({"unit": [f"u{n}" for n in range(n_answers)]}).with_columns(
        kind=pl.lit("item_logprob"), request_hash=pl.lit(request), part=pl.lit(f"part of {run.run_id}"),
        run_id=pl.lit(run.run_id), n_rows=pl.lit(1), written_at=pl.lit("2026-01-01 00:00:00"),
    )  # fmt: skip
    asked = pl.DataFrame({"request_hash": [request], "topic": ["t"], "label": ["l"]})
    numbers = pl.DataFrame([row("macro_f1", ("overall", "all"), 0.5)]).with_columns(model=pl.lit(model))
    with warehouse.write() as connection:
        save_run(connection, run)
        save_run_requests(connection, run.run_id, asked)
        if n_answers:
            execute_with(connection, units, "INSERT INTO part_unit_base BY NAME FROM incoming")
        save_metrics(connection, run.run_id, numbers.cast(TYPES))  # type: ignore[arg-type]
        finish_run(connection, run.run_id)


@pytest.fixture
def filled(warehouse: Warehouse) -> Warehouse:
    """A large run of shipped content, then a larger one of a pack, then a small one of shipped content."""
    with one_write(warehouse):
        for model in ("m", "other"):
            store(warehouse, LARGE, "demo", 5, model)
        store(warehouse, PACKED, "demo", 20, pack="mine")
        for model in ("m", "other"):
            store(warehouse, SMALL, "smoke", 2, model)
    return warehouse


def test_largest_configuration_of_shipped_content_is_shown(filled: Warehouse) -> None:
    assert shown_configuration(filled, "spectral") == LARGE
    assert configuration(filled, None, None) == ("spectral", LARGE, "demo")
    assert set(filled.query("SELECT config_hash FROM model_scores")["config_hash"]) == {LARGE}
    places = filled.query("SELECT configuration, n_answers FROM report_configuration ORDER BY place").rows()
    assert places == [(LARGE, 10), (SMALL, 4), (PACKED, 20)]
    (pair,) = chosen_pairs(every_finished(filled), ComparedRuns("m", "other"))
    assert {run.config_hash for run in pair} == {LARGE}


def test_profile_or_prefix_of_a_hash_selects_a_configuration(filled: Warehouse) -> None:
    assert shown_configuration(filled, "spectral", profile="smoke") == SMALL
    assert shown_configuration(filled, "spectral", config="bb") == PACKED
    assert shown_configuration(filled, "spectral", profile="demo", config="aa") == LARGE
    which: dict[str, str]
    for which, message in (
        ({"profile": "full"}, "has the profile 'full'; known: demo, smoke"),
        ({"config": "cc"}, f"has the configuration 'cc'; known: {LARGE}, {SMALL}, {PACKED}"),
        ({"config": "aa"}, f"several configurations of spectral begin with 'aa': {LARGE}, {SMALL}"),
    ):
        with pytest.raises(WarehouseError, match=message):
            shown_configuration(filled, "spectral", **which)
    with pytest.raises(WarehouseError, match="no finished run of cure to show"):
        shown_configuration(filled, "cure")
    assert of_hash(filled, "bb") == ("spectral", PACKED)
    for wrong in ("zz", ""):
        with pytest.raises(WarehouseError):
            of_hash(filled, wrong)
    assert f"config {PACKED}" in call("leaderboard", "--config", "bb").stdout
    unknown = refused("compare", "m", "other", "--config", "zz")
    assert "no finished run has the configuration 'zz'" in unknown


def test_one_model_in_two_engines_is_one_leaderboard_row(warehouse: Warehouse) -> None:
    base = Run(
        run_id="a", evaluation="spectral", model="m", is_null=False, profile="demo", config_hash="c",
        engine_hash="e1", params={}, engine={"kind": "packed_trie", "dtype": "float32"}, item_lists={},
        boundary_rule="r", code_version="0.1.0", model_hash="weights",
    )  # fmt: skip
    other: dict[str, Any] = {"run_id": "b", "model": "m#e2", "engine_hash": "e2"}
    half = dataclasses.replace(base, **other, engine={"kind": "vllm", "dtype": "bfloat16"})
    for run in (base, half):
        store_number(warehouse, run)
    board = warehouse.query("SELECT model, run_id FROM leaderboard_spectral").rows()
    assert board == [("m", "a")]  # float32 rounds least
    assert warehouse.query("SELECT n_engines FROM model_run").rows() == [(2,)]
    assert warehouse.query("SELECT count(*) FROM leaderboard_history").item() == 2


def store_number(warehouse: Warehouse, run: Run) -> None:
    """Store a finished run with one number."""
    numbers = pl.DataFrame([row("macro_f1", ("overall", "all"), 0.5)]).with_columns(model=pl.lit(run.model))
    with warehouse.write() as connection:
        save_run(connection, run)
        save_metrics(connection, run.run_id, numbers.cast(TYPES))  # type: ignore[arg-type]
        finish_run(connection, run.run_id)


def test_board_says_which_configurations_exist_and_how_they_differ(warehouse: Warehouse) -> None:
    with one_write(warehouse):
        store(warehouse, LARGE, "demo", 5, limit=None, seed=0, max_usd=1.0, texts=["a", "b"])
        store(warehouse, SMALL, "smoke", 2, limit=4, seed=0, max_usd=2.0, texts=["a"])
        store(warehouse, PACKED, "demo", 1, limit=None, seed=0, texts=["a", "b"])
    assert other_configurations(warehouse, "spectral", LARGE) == [
        f"Also: --config {SMALL}, profile smoke, 1 model: limit 4, here none; texts a, here a, b.",
        f"Also: --config {PACKED}, profile demo, 1 model: other content, or another version of the scores.",
    ]
    board = " ".join(call("leaderboard", "spectral").output.split())
    assert f"--config {SMALL}, profile smoke, 1 model: limit 4, here none" in board
    assert "Also:" not in call("leaderboard", "spectral", "--config", SMALL).output, "it was chosen"


def test_many_configurations_are_counted(warehouse: Warehouse) -> None:
    knobs = {f"k{n}": n for n in range(9)}
    with one_write(warehouse):
        for n in range(8):
            store(warehouse, f"c{n}", "p", 9 - n, **({} if n else knobs))
    lines = other_configurations(warehouse, "spectral", "c0")
    assert len(lines) == 6
    assert lines[0].endswith("k4 none, here 4; 4 more.")
    assert lines[-1] == "2 more configurations: culturemeter runs --evaluation spectral"
