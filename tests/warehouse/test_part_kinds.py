"""Part kinds: declarations, refused declarations, and parts older than an added column."""

from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.warehouse.rows import store_part
from warehouse import (
    Warehouse,
    WarehouseError,
    read_part,
    write_part,
)
from warehouse.part_kinds import PartKind, create_empty_parts, kind_view, read_kinds, unit_rows_view
from warehouse.storage import fetched

DECLARED = """
[proverb]
comment = "Proverbs that a model's answers use (Parquet)."
unit = "country"
key = ["country", "proverb"]

[proverb.provenance]
model = "Model that said it."

[proverb.columns]
country = { type = "VARCHAR", comment = "Country: country.country." }
proverb = { type = "VARCHAR", comment = "The proverb." }
weight = { type = "FLOAT", comment = "Its weight." }
tags = { type = "VARCHAR[]", nullable = true, comment = "What it is about." }
origin = { type = "VARCHAR", added = true, comment = "Where it comes from." }

[proverb.computed]
initial = { sql = "left(proverb, 1)", comment = "Its first letter." }
"""


@pytest.fixture
def kind(tmp_path: Path) -> PartKind:
    """A kind that exists only in this test."""
    (tmp_path / "sayings.toml").write_text(DECLARED)
    return read_kinds(tmp_path)["proverb"]


def verdicts(**cells: object) -> pl.DataFrame:
    """Return one row of a part of the kind verdict."""
    row = {
        "request_hash": "q", "run_id": "r", "model": "m", "judge": "j", "judge_hash": "h", "rubric": "mes 1",
        "item": "Q1", "item_text": "soup", "group_name": "Japan", "judged": "salt", "verdict": "Correct",
        "reason": None, "value": 1.0, "unscored_reason": None, "graded": 0.9, "disagreement": None,
    }  # fmt: skip
    return pl.DataFrame([row | cells])


def store_verdicts(warehouse: Warehouse, name: str, frame: pl.DataFrame) -> Path:
    return store_part(warehouse, frame, name, "verdict")


def test_a_toml_file_declares_columns_and_keys(kind: PartKind) -> None:
    assert list(kind.columns) == [
        *("part", "request_hash", "run_id", "model"),
        *("country", "proverb", "weight", "tags", "origin"),
    ]
    assert kind.columns["weight"] == pl.Float32
    assert kind.columns["tags"] == pl.List(pl.String)
    assert kind.nullable == {"tags", "origin"}
    assert kind.added == {"origin"}
    assert (kind.unit, kind.key) == ("country", ("country", "proverb"))


def test_the_view_has_the_declared_and_computed_columns_with_their_comments(
    kind: PartKind, tmp_path: Path
) -> None:
    create_empty_parts(tmp_path)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE part_unit (kind VARCHAR, part VARCHAR, unit VARCHAR, request_hash VARCHAR)"
        )
        connection.execute("CREATE TABLE renamed_run AS SELECT 'r' AS run_id, 'm' AS saved, 'M' AS model")
        (tmp_path / "parts" / "proverb").mkdir()
        rows = {
            "country": "FR",
            "weight": 0.5,
            "tags": ["a"],
            "run_id": "r",
            "model": "m",
            "request_hash": "q",
        }
        new = pl.DataFrame([rows | {"part": "new", "proverb": "Qui vivra verra", "origin": "oral"}])
        old = pl.DataFrame([rows | {"part": "old", "proverb": "L'habit ne fait pas le moine"}])
        new.write_parquet(tmp_path / "parts" / "proverb" / "new.parquet")
        old.write_parquet(tmp_path / "parts" / "proverb" / "old.parquet")
        connection.execute(
            "INSERT INTO part_unit VALUES ('proverb', 'new', 'FR', 'q'), ('proverb', 'old', 'FR', 'q')"
        )
        for sql in (kind_view(kind), unit_rows_view([kind])):
            connection.execute(sql.replace("{parts}", str(tmp_path / "parts")))
        shown = fetched(connection.execute("FROM proverb ORDER BY part"))
        assert shown.columns == [
            *("run_id", "model", "country", "proverb", "weight", "tags", "origin", "initial"),
            *("request_hash", "part"),
        ]
        assert shown.select("proverb", "origin", "initial").rows() == [
            ("Qui vivra verra", "oral", "Q"),
            ("L'habit ne fait pas le moine", None, "L"),
        ]
        units = connection.execute("SELECT kind, unit, n_rows FROM unit_rows").fetchall()
        assert units == [("proverb", "FR", 1)] * 2
        comments = dict(
            connection.execute(
                "SELECT column_name, comment FROM duckdb_columns() WHERE table_name = 'proverb'"
            ).fetchall()
        )
        assert comments["model"] == "Model that said it."
        assert comments["initial"] == "Its first letter."
        assert "parts/proverb/<part>.parquet" in comments["part"]
        assert None not in comments.values()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("comment =", "remark ="), "unknown section 'remark'; known: columns, comment, "),
        (('unit = "country"', ""), "it lacks 'unit'"),
        (('unit = "country"', 'unit = "town"'), "unknown column 'town'; known: "),
        (('unit = "country"', 'unit = "weight"'), "its unit weight is not a VARCHAR"),
        (('key = ["country", "proverb"]', 'key = ["saying"]'), "unknown column 'saying'; known: "),
        (('"FLOAT"', '"REAL"'), "column weight: unknown type 'REAL'; known: VARCHAR, "),
        (('comment = "Its weight."', 'remark = "x"'), "unexpected keyword argument 'remark'"),
        (("nullable = true", "nullable = "), "Invalid value"),
        (("model =", "engine ="), r"\[provenance\] has an unknown column 'engine'; known: model, "),
        (("weight =", '"Weight 1" ='), "'Weight 1' is not a valid name"),
        (("initial =", "origin ="), "column 'origin' is declared twice"),
    ],
)
def test_a_wrong_declaration_is_refused_with_the_field(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    assert change[0] in DECLARED
    (tmp_path / "sayings.toml").write_text(DECLARED.replace(*change))
    with pytest.raises(WarehouseError, match=rf"sayings\.toml does not declare a part kind.*{message}"):
        read_kinds(tmp_path)


def test_missing_nullable_columns_are_filled_with_nulls(warehouse: Warehouse) -> None:
    path = store_verdicts(warehouse, "p1", verdicts(value=1).drop("reason", "graded", "unscored_reason"))
    row = read_part(warehouse.home, "verdict", path.stem).row(0, named=True)
    assert (row["value"], row["reason"], row["graded"]) == (1.0, None, None)
    with pytest.raises(WarehouseError, match="columns are"):
        write_part(warehouse.home, "verdict", "p2", verdicts().drop("judge"))


def test_the_empty_part_is_rewritten_after_a_change_of_its_declaration(warehouse: Warehouse) -> None:
    empty = warehouse.home / "parts" / "verdict" / "_empty.parquet"
    pl.read_parquet(empty).drop("item_text").write_parquet(empty)
    Warehouse.open(warehouse.home)
    assert "item_text" in pl.read_parquet_schema(empty)


def test_computed_columns_split_the_condition(warehouse: Warehouse) -> None:
    frame = pl.DataFrame(
        [
            {
                "request_hash": "r", "run_id": "r", "model": "m", "condition": "en:zh:yes", "template": "t",
                "dish": "Q1", "dish_name": "soup", "origin": "China", "rank": 1, "candidate": "salt",
                "outcome": "correct",
            }
        ]
    )  # fmt: skip
    store_part(warehouse, frame, kind="prediction")
    shown = warehouse.query("SELECT main_language, subject_language, country_mentioned FROM prediction")
    assert shown.rows() == [("en", "zh", True)]
