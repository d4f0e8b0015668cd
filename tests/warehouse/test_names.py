"""Names that people give to models: which are taken, what finds a model, what a merge does with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.warehouse.rows import logprobs, make_run, metrics
from warehouse import Run, Warehouse, WarehouseError, finish_run, save_metrics, save_run, write_part
from warehouse.merging import merge
from warehouse.names import Renamed, rename_model, shown_name

FIRST, SECOND = "aaaa1111", "bbbb2222"
"""Hashes of two models."""
NAMES = "SELECT run_id, model FROM run ORDER BY ALL"


def run(run_id: str, model: str, model_hash: str, engine_hash: str = "", **more: object) -> Run:
    engine_hash = engine_hash or f"{model_hash[:4]}0000"
    changed: dict[str, object] = {"model_hash": model_hash, "engine_hash": engine_hash} | more
    return replace(make_run(run_id, model), **changed)  # type: ignore[arg-type]


def add(warehouse: Warehouse, *runs: Run) -> None:
    with warehouse.write() as connection:
        for each in runs:
            save_run(connection, each)
            save_metrics(connection, each.run_id, metrics(model=each.model))
            finish_run(connection, each.run_id)


@pytest.fixture
def two(warehouse: Warehouse) -> Warehouse:
    """A warehouse with a run of each of two models."""
    add(warehouse, run("r1", "one", FIRST), run("r2", "two", SECOND))
    return warehouse


def test_a_new_name_is_shown_in_place_of_the_saved_one(two: Warehouse) -> None:
    assert rename_model(two, "one", "Eins") == Renamed(FIRST, ("one",), "Eins", 1)
    assert two.query(NAMES).rows() == [("r1", "Eins"), ("r2", "two")]
    shown = two.query("SELECT model FROM leaderboard ORDER BY ALL")["model"].to_list()
    assert shown == ["Eins", "two"]
    assert two.query("SELECT model FROM run_base ORDER BY ALL")["model"].to_list() == ["one", "two"]


def test_parts_keep_the_saved_name_views_show_the_new_one_and_a_judge_keeps_its_own(two: Warehouse) -> None:
    for model in ("one", "judge"):
        rows = logprobs(request=model, run_id="r1").with_columns(model=pl.lit(model))
        two.register(write_part(two.store, "item_logprob", "p", rows))
    rename_model(two, "one", "Eins")
    shown = two.query("SELECT DISTINCT model FROM item_logprob ORDER BY ALL")["model"]
    assert shown.to_list() == ["Eins", "judge"]


def test_a_model_is_found_by_each_name_and_its_hash(two: Warehouse) -> None:
    before = "one"
    for by, name in (("one", "Eins"), ("one", "Uno"), ("Uno", "Un"), (FIRST, "Ein"), (FIRST[:6], "Een")):
        assert rename_model(two, by, name).before == (before,)
        assert two.query(NAMES).rows()[0] == ("r1", name)
        before = name


def test_its_own_earlier_name_undoes_a_rename(two: Warehouse) -> None:
    rename_model(two, "one", "Eins")
    rename_model(two, "Eins", "one")
    assert two.query("FROM model_name").is_empty()
    assert two.query(NAMES).rows()[0] == ("r1", "one")


def test_names_that_are_taken_empty_or_of_nobody_are_refused(two: Warehouse) -> None:
    rename_model(two, "two", "Zwei")
    for by, name, words in (
        *(("one", name, "the name of another model") for name in ("two", "TWO", "Zwei", "zwei")),
        ("one", "", "needs letters"),
        ("one", "a#b", "needs letters"),
        ("three", "Eins", "known: Zwei, one"),
        ("aaaa1", "Eins", "no run is of a model"),
    ):
        with pytest.raises(WarehouseError, match=words):
            rename_model(two, by, name)
    assert two.query(NAMES).rows() == [("r1", "one"), ("r2", "Zwei")]


def test_a_name_of_two_models_asks_for_a_hash(two: Warehouse) -> None:
    add(two, run("r3", "one", "cccc3333", config_hash="d"))
    with pytest.raises(WarehouseError, match=f"{FIRST}, cccc3333"):
        rename_model(two, "one", "Eins")
    assert shown_name(two, "one") == "one"
    rename_model(two, "cccc3333", "Drei")
    assert two.query(NAMES).rows() == [("r1", "one"), ("r2", "two"), ("r3", "Drei")]
    assert shown_name(two, "one") == "one", "it is still the other's"


def test_a_second_engine_of_a_model_keeps_its_suffix(two: Warehouse) -> None:
    add(two, run("r3", "one#cafe", FIRST, "cafe0000"), run("r4", "two#beef", "dddd4444", "beef0000"))
    rename_model(two, "one", "Eins")
    rename_model(two, "two#beef", "Vier")
    assert two.query(NAMES)["model"].to_list() == ["Eins", "two", "Eins#cafe", "Vier"]
    assert [shown_name(two, name) for name in ("one", "one#cafe", "two#beef", "nobody")] == [
        "Eins", "Eins#cafe", "Vier", "nobody",
    ]  # fmt: skip


def test_null_models_made_from_a_model_follow_its_name(two: Warehouse) -> None:
    nulls = ("null:shuffled(one)", "null:shuffled(one two)", "null:shuffled(x(one)", "null:one")
    add(two, *(run(f"n{i}", name, "null", "null", is_null=True) for i, name in enumerate(nulls)))
    rename_model(two, "one", "Eins (1)")
    shown = dict(two.query("SELECT run_id, model FROM run WHERE is_null").rows())
    assert [shown[f"n{i}"] for i in range(4)] == ["null:shuffled(Eins (1))", *nulls[1:]]


def test_later_runs_of_the_model_have_the_new_name(two: Warehouse) -> None:
    rename_model(two, "one", "Eins")
    add(two, run("r3", "other-spec", FIRST, config_hash="d"))
    assert two.query(NAMES).rows()[2] == ("r3", "Eins")
    assert rename_model(two, "other-spec", "Uno").n_runs == 2


def test_a_merge_takes_names_over_and_says_which_it_leaves(
    two: Warehouse, copied_home: Callable[[], Path]
) -> None:
    other = Warehouse.open(copied_home())
    add(other, run("r1", "one", FIRST), run("r3", "three", "cccc3333"), run("r4", "four", "dddd4444"))
    for model, name in (("one", "Uno"), ("three", "Tres"), ("four", "TWO")):
        rename_model(other, model, name)
    rename_model(two, "one", "Eins")
    merged = merge(two, other.store)
    assert dict(two.query(NAMES).rows()) == {"r1": "Eins", "r2": "two", "r3": "Tres", "r4": "four"}
    lines = [line for line in merged.conflicts if line.startswith("names of models")]
    assert lines == [
        "names of models: Uno is shown as Eins here, which stays",
        "names of models: TWO is the name of another model here: dddd4444 keeps its own",
    ]
    assert ("names of models", 1, 2) in merged.taken.rows()
    assert not merge(two, other.store).taken["n_taken"].sum()


@pytest.mark.slow
def test_a_shared_store_is_renamed_alike(shared: Warehouse) -> None:
    add(shared, run("r1", "one", FIRST))
    part = write_part(
        shared.store, "item_logprob", "p", logprobs(run_id="r1").with_columns(model=pl.lit("one"))
    )
    shared.register(part)
    rename_model(shared, "one", "Eins")
    assert shared.query(NAMES).rows() == [("r1", "Eins")]
    assert shared.query("SELECT DISTINCT model FROM item_logprob")["model"].to_list() == ["Eins"]
