"""Dish sets: stored whole or not at all, refused rows, and the view that joins them with shipped dishes."""

import json
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl
import pytest

from warehouse import Ingest, Warehouse, WarehouseError, replace_dish_set, run_checks, save_ingest

SHIPPED_GROUPS = {
    "Italy", "U.S.", "Turkey", "Japan", "France", "U.K.", "Mexico", "India", "Germany", "China", "Iran",
    "Greece", "Spain", "Russia",
}  # fmt: skip


def dishes(*urls: str, language: str = "en", **cells: Any) -> pl.DataFrame:
    """Return one row per url."""
    row = {"language": language, "name": "soup", "origin": "Canada", "origin_name": None, "image": None}
    row |= {"ingredients": ["water", "salt"], "materials": []}
    types = {"origin_name": pl.String, "image": pl.String, "materials": pl.List(pl.String)}
    return pl.DataFrame([{"url": url} | row | cells for url in urls], schema_overrides=types)


def urls(warehouse: Warehouse, name: str) -> list[str]:
    return warehouse.query("SELECT url FROM dish WHERE dish_set = ? ORDER BY url", [name])["url"].to_list()


def test_a_dish_set_is_replaced_as_a_whole(warehouse: Warehouse) -> None:
    replace_dish_set(warehouse, "mine", dishes("Q1", "Q2"), "first", {"no_name": 3, "no_ingredient": 1})
    dropped = warehouse.query("SELECT dropped FROM dish_set")["dropped"][0]
    assert json.loads(dropped) == {"no_ingredient": 1, "no_name": 3}
    replace_dish_set(warehouse, "other", dishes("Q1"), "other", {})
    # Q2 again with other cells, Q1 gone, Q3 in two languages.
    new = pl.concat([dishes("Q2", name="stew"), dishes("Q3"), dishes("Q3", language="zh")])
    replace_dish_set(warehouse, "mine", new, "second", {})
    assert urls(warehouse, "mine") == ["Q2", "Q3", "Q3"]
    assert urls(warehouse, "other") == ["Q1"]
    (row,) = warehouse.query("SELECT * FROM dish_set WHERE dish_set = 'mine'").to_dicts()
    assert (row["source"], row["n_dishes"], row["n_rows"]) == ("second", 2, 3)
    assert json.loads(row["dropped"]) == {}
    stored = warehouse.query("SELECT * EXCLUDE (dish_set) FROM dish WHERE url = 'Q2'").to_dicts()
    assert stored == dishes("Q2", name="stew").to_dicts()


@pytest.mark.nets(3)
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (dishes("Q1").clear(), "dish set 'mine' from file has no dishes. The present set stays"),
        (dishes("Q7", "Q8", "Q7"), r"repeats \('Q7', 'en'\). Remove one"),
        (dishes("Q7", name=""), r"1 rows lack a name, an origin or an ingredient, first \('Q7'"),
        (dishes("Q7", name="  "), "1 rows lack"),
        (dishes("Q7", origin=""), "1 rows lack"),
        (dishes(""), "1 rows lack"),
        (dishes("Q7", ingredients=[]), "1 rows lack"),
        (dishes("Q7", ingredients=["salt", " "]), "1 rows lack"),
        (dishes("Q7", ingredients=["salt", None]), "1 rows lack"),
        (dishes("Q7").with_columns(name=pl.lit(None, pl.String)), "1 rows lack"),
        (dishes("Q7").with_columns(ingredients=pl.lit(None, pl.List(pl.String))), "1 rows lack"),
        (dishes("Q7").drop("image"), "columns are .*, expected"),
        (dishes("Q7").with_columns(more=pl.lit(1)), "columns are .*, expected"),
    ],
)
def test_a_wrong_dish_set_is_refused_and_changes_nothing(
    warehouse: Warehouse, rows: pl.DataFrame, message: str
) -> None:
    replace_dish_set(warehouse, "mine", dishes("Q1"), "first", {})
    before = warehouse.query("SELECT * FROM dish_set")
    with pytest.raises(WarehouseError, match=message):
        replace_dish_set(warehouse, "mine", rows, "file", {})
    assert urls(warehouse, "mine") == ["Q1"]
    assert warehouse.query("SELECT * FROM dish_set").equals(before)


def test_a_failed_replacement_changes_nothing(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    from warehouse import ingest as module

    replace_dish_set(warehouse, "mine", dishes("Q1"), "first", {})
    monkeypatch.setattr(module, "_PUT_SET", "SELECT * FROM no_such_table WHERE $name = $source")
    with pytest.raises(duckdb.Error):
        replace_dish_set(warehouse, "mine", dishes("Q2"), "second", {})
    assert urls(warehouse, "mine") == ["Q1"]
    assert warehouse.query("SELECT source FROM dish_set")["source"].to_list() == ["first"]


def test_the_shipped_set_is_not_replaced(warehouse: Warehouse) -> None:
    with pytest.raises(
        WarehouseError, match=r"'shipped' is made from warehouse/reference/item_list/dishes\.csv"
    ):
        replace_dish_set(warehouse, "shipped", dishes("Q1"), "file", {})


def test_the_view_joins_shipped_and_loaded_dishes(warehouse: Warehouse) -> None:
    replace_dish_set(warehouse, "mine", dishes("Q1", language="zh"), "file", {})
    shown = warehouse.query("SELECT * FROM fmlama_dish WHERE dish_set = 'mine'").to_dicts()
    assert shown == [{"dish_set": "mine"} | dishes("Q1", language="zh").to_dicts()[0]]
    shipped = warehouse.query("SELECT * FROM fmlama_dish WHERE dish_set = 'shipped'")
    assert set(shipped["language"]) == {"en"}
    assert shipped["url"].is_unique().all()
    assert (shipped["ingredients"].list.len() > 0).all()
    listed = warehouse.query(
        "SELECT item FROM current_item WHERE item_list = 'dishes' AND len(countries) = 1 "
        "AND len(ingredients) > 0"
    )
    assert set(shipped["name"]) == set(listed["item"])
    # The article stands in the sentence, not in the name of the origin.
    american = shipped.filter(origin="United States")
    assert set(american["origin_name"]) == {"the United States"}


def test_shipped_dishes_cover_all_groups_of_the_paper(warehouse: Warehouse) -> None:
    groups = warehouse.query(
        "SELECT origin_group, count(*) AS n FROM fmlama_dish JOIN origin_group USING (origin) "
        "WHERE dish_set = 'shipped' GROUP BY ALL"
    )
    assert set(groups["origin_group"]) == SHIPPED_GROUPS
    assert groups["n"].min() >= 6  # what the demo profile takes of each


def test_every_ingest_is_stored_with_its_outcome(warehouse: Warehouse) -> None:
    at = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    save_ingest(warehouse, Ingest("wikidata", at, "failed", "http://u", message="no answer"))
    later = datetime(2026, 1, 3, tzinfo=UTC)
    replaced = Ingest("wikidata", later, "replaced", "http://u", 3, 99, "ab", 7, {"no_name": 2})
    save_ingest(warehouse, replaced)
    first, second = warehouse.query("SELECT * FROM ingest ORDER BY started_at").to_dicts()
    assert (first["status"], first["message"], first["n_kept"]) == ("failed", "no answer", None)
    assert first["started_at"] == at.replace(tzinfo=None)
    assert json.loads(second["dropped"]) == {"no_name": 2}
    assert (second["n_pages"], second["bytes"], second["sha256"], second["n_kept"]) == (3, 99, "ab", 7)
    assert second["finished_at"] > second["started_at"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_an_ingest_of_unknown_status_is_refused(warehouse: Warehouse) -> None:
    wrong = Ingest("wikidata", datetime.now(UTC), "fine", "u")  # type: ignore[arg-type]
    with pytest.raises(duckdb.ConstraintException):
        save_ingest(warehouse, wrong)
    assert warehouse.query("SELECT * FROM ingest").is_empty()
