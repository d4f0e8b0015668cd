"""What a query may do: read the warehouse and its parts, and nothing else on this machine or beyond."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

from warehouse import Warehouse, WarehouseError, register_parts, write_part

LogprobRows = Callable[..., pl.DataFrame]

# Some statements are read from files before their type is known: then those files are what is refused.
REFUSED = "is not allowed: the warehouse answers queries only|file system operations are disabled"


def everything(home: Path) -> dict[Path, bytes]:
    """All files under the home with their contents."""
    return {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{home}/culturescope.duckdb'",
        "COPY (SELECT 1) TO '{home}/parts/item_logprob/p1.parquet'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{home}/parts/item_logprob/p1.parquet'",
        "ATTACH '{home}/culturescope.duckdb' AS other",
        "ATTACH '{home}/new.duckdb'",
        "EXPORT DATABASE '{home}/out'",
        "IMPORT DATABASE '{home}'",
        "CREATE TYPE mine AS ENUM ('a')",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA enable_profiling",
        "CHECKPOINT",
        "DELETE FROM country",
        "CREATE TABLE mine AS SELECT 1",
        "CREATE SECRET (TYPE s3)",
        "SELECT 1; DROP TABLE country",
        "DROP TABLE country; SELECT 1",
    ],
)
def test_only_queries_are_let_through(warehouse: Warehouse, statement: str) -> None:
    before = everything(warehouse.home)
    with pytest.raises(WarehouseError, match=REFUSED):
        warehouse.query(statement.format(home=warehouse.home))
    assert everything(warehouse.home) == before


@pytest.mark.parametrize(
    "query",
    [
        "FROM read_text('{outside}')",
        "FROM '{outside}'",
        "FROM read_csv('{outside}')",
        "FROM sniff_csv('{outside}')",
        "FROM glob('{outside}')",
        "FROM read_text('{home}/parts/../culturescope.duckdb')",
        "FROM query('FROM read_text(''{outside}'')')",
        "FROM read_parquet('https://example.com/a.parquet')",
        "SELECT * FROM sqlite_scan('{outside}', 't')",
        "FROM secret_rows",
    ],
)
def test_a_query_reads_no_other_file(warehouse: Warehouse, tmp_path: Path, query: str) -> None:
    secret_rows = pl.DataFrame({"key": ["sk-secret"]})  # DuckDB would take Python's variables for tables
    (tmp_path / "outside.csv").write_text("sk-secret,1\n")
    with pytest.raises(WarehouseError) as refusal:
        warehouse.query(query.format(home=warehouse.home, outside=tmp_path / "outside.csv"))
    assert "sk-secret" not in str(refusal.value)
    assert secret_rows.height == 1


def test_a_link_out_of_the_parts_gives_nothing_away(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "outside.csv").write_text("sk-secret\n")
    with pytest.raises(WarehouseError):
        warehouse.query(f"FROM read_text('{warehouse.home}/parts/../../outside.csv')")


def test_the_python_connection_is_held_to_the_same(warehouse: Warehouse, tmp_path: Path) -> None:
    before = warehouse.path.read_bytes()
    with warehouse.read() as connection:
        for statement in (
            f"COPY (SELECT 1) TO '{warehouse.path}'",
            f"ATTACH '{tmp_path}/new.duckdb'",
            "SET enable_external_access = true",
            "SET allowed_directories = ['/']",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
    assert warehouse.path.read_bytes() == before


@pytest.mark.parametrize(
    "query",
    [
        "FROM country",
        "DESCRIBE country",
        "SUMMARIZE country",
        "SHOW TABLES",
        "WITH c AS (FROM country) SELECT count(*) FROM c",
        "VALUES (1)",
        "PIVOT country ON region USING count(*)",
        "SELECT count(*) FROM item_logprob -- a comment; with a semicolon",
    ],
)
def test_every_form_of_query_works(warehouse: Warehouse, query: str) -> None:
    assert not warehouse.query(query).is_empty()


def test_parts_are_read_and_large_sorts_spill(warehouse: Warehouse, logprobs: LogprobRows) -> None:
    with warehouse.write() as connection:
        register_parts(connection, [write_part(warehouse.home, "item_logprob", "p1", logprobs())])
    assert warehouse.query("SELECT count(*) FROM item_logprob").item() == 4
    with warehouse.read() as connection:
        settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert settings["lock_configuration"] == "true"
    assert str(warehouse.home / "parts") in settings["allowed_directories"]
    assert settings["temp_directory"] in settings["allowed_directories"]


def test_two_queries_are_not_one_result(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="one query at a time: these are 2"):
        warehouse.query("SELECT 1; SELECT 2")
    assert warehouse.query("SELECT 1 AS one;").item() == 1


def test_no_progress_bar_goes_among_the_data(warehouse: Warehouse) -> None:
    setting = "SELECT current_setting('enable_progress_bar')"
    assert warehouse.query(setting).item() is False
    with warehouse.write() as connection:
        assert connection.execute(setting).fetchall() == [(False,)]
