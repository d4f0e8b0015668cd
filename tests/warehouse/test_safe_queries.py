"""Queries may read the warehouse and its parts, and nothing else on this machine or beyond."""

import random
from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import pytest

from deployments.show.display import number
from tests.warehouse.rows import logprobs
from warehouse import Warehouse, WarehouseError, part_path, register_parts, verified, write_part
from warehouse.guard import TABLE_FUNCTIONS, check_query, functions
from warehouse.querying import ResultSet, to_frame, to_rows

# Some statements read files before their type is known; then the error is about the files.
REFUSED = "is not allowed: the warehouse runs only queries|file system operations are disabled"


def everything(home: Path) -> dict[Path, bytes]:
    """Return all files under the home with their contents."""
    return {file: file.read_bytes() for file in home.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '{home}/culturemeter.duckdb'",
        "COPY (SELECT 1) TO '{home}/parts/item_logprob/p1.parquet'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{home}/parts/item_logprob/p1.parquet'",
        "ATTACH '{home}/culturemeter.duckdb' AS other",
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
def test_statements_other_than_queries_are_refused_and_change_nothing(
    warehouse: Warehouse, statement: str
) -> None:
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
        "FROM read_text('{home}/parts/../culturemeter.duckdb')",
        "FROM read_text('{home}/parts/../../outside.csv')",
        "FROM query('FROM read_text(''{outside}'')')",
        "FROM read_parquet('https://example.com/a.parquet')",
        "SELECT * FROM sqlite_scan('{outside}', 't')",
        "FROM secret_rows",
    ],
)
def test_a_query_reads_no_file_outside_the_warehouse(
    warehouse: Warehouse, tmp_path: Path, query: str
) -> None:
    secret_rows = pl.DataFrame({"key": ["sk-secret"]})  # by default DuckDB takes Python variables for tables
    (tmp_path / "outside.csv").write_text("sk-secret,1\n")
    with pytest.raises(WarehouseError) as refusal:
        warehouse.query(query.format(home=warehouse.home, outside=tmp_path / "outside.csv"))
    assert "sk-secret" not in str(refusal.value)
    assert secret_rows.height == 1


def test_a_reader_connection_writes_attaches_and_unlocks_nothing(
    warehouse: Warehouse, tmp_path: Path
) -> None:
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
        "PIVOT country ON region IN ('Asia', 'Europe') USING count(*)",
        "WITH c AS (FROM country) PIVOT c ON region IN ('Asia') USING count(*)",
        "UNPIVOT (SELECT country, region, subregion FROM country) ON region, subregion",
        "SHOW country",
        "DESCRIBE SELECT 1",
        "FROM information_schema.tables",
        "FROM duckdb_tables",
        "FROM culturemeter.main.country",
        "SELECT least_rho(9), list_transform([1, 2], lambda x: x + 1), [x * 2 for x in [1]], {'a': 1}.a",
        "SELECT row_number() OVER (ORDER BY name DESC NULLS LAST), lag(name) OVER () FROM country",
        "SELECT CASE WHEN name LIKE 'a%' THEN 1 END, population BETWEEN 1 AND 2 FROM country",
        "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 3) FROM t LIMIT 5",
        "SELECT region FROM country GROUP BY ROLLUP (region) HAVING count(*) > 1 ORDER BY ALL",
        "FROM country USING SAMPLE 10 ROWS",
        "SELECT 1 UNION ALL BY NAME SELECT 2 AS b EXCEPT SELECT 3, 4",
        "SELECT 1 IN (1, 2)",
        "SELECT count(*) FROM item_logprob -- a comment; with a semicolon",
        *(
            "FROM range(3)",
            "FROM duckdb_columns()",
            "SELECT unnest([1, 2])",
            "SELECT random(), uuid(), now()",
        ),
    ],
)
def test_every_form_of_query_works(warehouse: Warehouse, query: str) -> None:
    assert not warehouse.query(query).is_empty()


def test_a_query_reads_parts_and_may_use_its_temporary_folder(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        register_parts(connection, [write_part(warehouse.home, "item_logprob", "p1", logprobs())])
    assert warehouse.query("SELECT count(*) FROM item_logprob").item() == 4
    with warehouse.read() as connection:
        settings = dict(connection.execute("SELECT name, value FROM duckdb_settings()").fetchall())
    assert settings["lock_configuration"] == "true"
    assert str(warehouse.home / "parts") in settings["allowed_directories"]
    assert settings["temp_directory"] in settings["allowed_directories"]


def test_two_queries_in_one_text_are_refused(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match="one query at a time: these are 2"):
        warehouse.query("SELECT 1; SELECT 2")
    assert warehouse.query("SELECT 1 AS one;").item() == 1


def test_progress_bars_are_off(warehouse: Warehouse) -> None:
    setting = "SELECT current_setting('enable_progress_bar')"
    with warehouse.read() as connection:
        assert connection.execute(setting).fetchall() == [(False,)]
    with warehouse.write() as connection:
        assert connection.execute(setting).fetchall() == [(False,)]


def table_functions() -> list[str]:
    """Return the names of all functions of the installed DuckDB."""
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions() "
            "WHERE function_type IN ('table', 'table_macro') ORDER BY 1"
        ).fetchall()
    return [name for (name,) in rows]


def test_table_functions_outside_the_list_are_refused_in_every_position(warehouse: Warehouse) -> None:
    others = [name for name in table_functions() if name not in TABLE_FUNCTIONS]
    assert {"enable_logging", "enable_profiling", "truncate_duckdb_logs", "query", "checkpoint"} < set(others)
    for name in others:
        for query in (
            f"FROM {name}('x')",
            f'SELECT (SELECT count(*) FROM main."{name.upper()}"()) AS n',
            f"WITH w AS MATERIALIZED (FROM {name}()) FROM w",
            f"PIVOT (FROM {name} /* here */ ()) ON range IN (1) USING count(*)",
            f"DESCRIBE FROM {name}()",
        ):
            with pytest.raises(WarehouseError, match=rf"{name}\(\) is not allowed"):
                warehouse.query(query)
    assert warehouse.query("SELECT 1 AS one").item() == 1


@pytest.mark.parametrize(
    "query", ["SELECT write_log('x')", "SELECT nextval('s')", "SELECT [sleep_ms(9)]", "SELECT stats(1)"]
)
def test_functions_with_effects_are_refused(warehouse: Warehouse, query: str) -> None:
    with pytest.raises(WarehouseError, match=r"\(\) is not allowed in a query"):
        warehouse.query(query)


BLANKS = (" ", "\t", "\u200b", "\ufeff", "\u00a0", "--x\r", "--x\n", "/**/", "/* /* */ */")


@pytest.mark.parametrize("gap", BLANKS)
@pytest.mark.parametrize(
    "query",
    [
        "PIVOT (FROM enable_logging{gap}(storage='file')) ON a USING count(*)",
        "FROM (PIVOT (FROM query_table{gap}('country')) ON a USING count(*))",
        "WITH c AS (FROM duckdb_settings{gap}()) PIVOT c ON name USING count(*)",
        "PIVOT country{gap}ON region USING count(*)",
        "PIVOT (FROM enable_logging{gap}(storage='file')) ON a IN (1) USING count(*)",
        "FROM enable_logging{gap}(storage='file')",
    ],
)
def test_what_has_no_parse_tree_or_is_on_no_list_is_refused(
    warehouse: Warehouse, query: str, gap: str
) -> None:
    with pytest.raises(WarehouseError, match=r"is not allowed|yntax"):
        warehouse.query(query.format(gap=gap))


def test_a_pivot_without_values_is_refused_with_the_form_that_works(warehouse: Warehouse) -> None:
    with pytest.raises(WarehouseError, match=r"list its values: PIVOT t ON column IN"):
        warehouse.query("PIVOT country ON region USING count(*)")


@pytest.mark.parametrize(
    "query",
    [
        "FROM duckdb_settings()", "FROM pg_catalog.pg_settings", "FROM pg_settings", "FROM duckdb_logs",
        "FROM duckdb_databases", "FROM system.main.duckdb_databases", "FROM pragma_database_list",
        "FROM memory.main.waiting", "FROM temp.main.country", "SHOW DATABASES", "SELECT getvariable('parts')",
        "SELECT current_setting('allowed_directories')", "SELECT [1].list_transform(lambda x: x.write_log())",
        "SELECT sum(nextval('s')) FILTER (true) OVER ()", "FROM range(nextval('s'))",
        "SELECT 1 ORDER BY write_log('x')", "WITH duckdb_logs AS (SELECT 1) FROM duckdb_logs",
        "SELECT json_serialize_plan('FROM enable_logging()')", "FROM '{parts}/item_logprob/_empty.parquet'",
        "SELECT 1\0", "PRAGMA show_tables", "CALL duckdb_settings()", "EXPLAIN SELECT 1",
    ],
)  # fmt: skip
def test_settings_variables_other_databases_and_files_are_refused(warehouse: Warehouse, query: str) -> None:
    with pytest.raises(WarehouseError, match=r"is not allowed|zero character"):
        warehouse.query(query.format(parts=warehouse.home / "parts"))


@pytest.mark.parametrize("depth", [900, 5000])
def test_deep_nesting_is_refused_in_one_line(warehouse: Warehouse, depth: int) -> None:
    with pytest.raises(WarehouseError) as refusal:
        warehouse.query(f"SELECT {'abs(' * depth}1{')' * depth}")
    assert len(str(refusal.value)) < 300


def test_every_function_is_on_the_list_or_refused(warehouse: Warehouse) -> None:
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT DISTINCT lower(function_name), bool_or(has_side_effects) FROM duckdb_functions() "
            "WHERE function_type IN ('scalar', 'aggregate', 'macro') GROUP BY ALL"
        ).fetchall()
        effects = {name for name, has_effects in rows if has_effects and name in functions()}
        assert effects <= {"random", "setseed", "gen_random_uuid", "uuid", "uuidv4", "uuidv7", "error"}
        for name in {name for name, _ in rows if name.isidentifier()} - functions():
            for query in (f'SELECT "{name.upper()}"()', f"SELECT 1 WHERE 1 = {name}(1)"):
                with pytest.raises((WarehouseError, duckdb.ParserException)):
                    check_query(connection, query)


def test_all_types_of_duckdb_become_a_frame() -> None:
    """Polars panics on some types that it lacks, and a panic is not an Exception."""
    with duckdb.connect(":memory:") as connection:
        names = [row[0] for row in connection.execute("DESCRIBE FROM test_all_types()").fetchall()]
        for name in names:
            for value in (f'"{name}"', f'["{name}"]', f"{{'a': \"{name}\"}}"):
                frame = to_frame(connection, f"SELECT {value} AS value FROM test_all_types()", None)
                assert len(frame.rows()) == 3
                assert str(frame)


def test_rows_are_printed_as_the_frame_is() -> None:
    with duckdb.connect(":memory:") as connection:
        names = [row[0] for row in connection.execute("DESCRIBE FROM test_all_types()").fetchall()]
        queries = [f'SELECT "{name}" FROM test_all_types()' for name in names if "hugeint" not in name]
        queries += ["SELECT 2::HUGEINT ** 70 AS n", "SELECT sum(range) FROM range(9)"]
        for query in [*queries, "SELECT 1 AS a, 2 AS A", "SELECT NULL AS n", "SELECT 1 WHERE false"]:
            rows, frame = (
                to_rows(connection, query, None),
                ResultSet.from_frame(to_frame(connection, query, None)),
            )
            assert rows[:2] == frame[:2], query
            printed, expected = ([list(map(number, row)) for row in each.rows] for each in (rows, frame))
            assert printed == expected, query


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT INTERVAL 1 MONTH AS a, 2 AS b;  -- the end", [("1 month", 2)]),
        ("SELECT union_value(a := 1) AS u", [("1",)]),
        ("SELECT DATE 'infinity' AS d, 1.5::DOUBLE AS x", [("infinity", 1.5)]),
        ("SELECT DATE '9999-12-31' AS d, DATE '0001-01-01' AS e", [(date.max, date.min)]),
        ('SELECT 1 AS "a ""b""", INTERVAL 1 DAY AS "a ""b""" /* twice */', [(1, "1 day")]),
        ("SELECT {'a': [1]} AS s, MAP {'k': 1} AS m", [({"a": [1]}, {"k": 1})]),
    ],
)
def test_types_that_polars_lacks_become_text(
    warehouse: Warehouse, query: str, rows: list[tuple[object, ...]]
) -> None:
    assert warehouse.query(query).rows() == rows


def test_differences_of_timestamps_are_queried(warehouse: Warehouse) -> None:
    assert "duration" in warehouse.query("SELECT finished_at - started_at AS duration FROM run").columns


def test_a_part_with_one_flipped_bit_is_refused_by_name(warehouse: Warehouse) -> None:
    """Flips 60 single bits, anywhere in the file; without the hash most were read as other numbers."""
    codes = warehouse.query("SELECT country FROM country")["country"]
    units = write_part(warehouse.home, "item_logprob", "p1", logprobs(" ".join(codes)))
    with warehouse.write() as connection:
        register_parts(connection, [units])
    path = part_path(warehouse.home, "item_logprob", units["part"][0])
    content, where = path.read_bytes(), random.Random(3)
    for query in (
        "SELECT sum(logprob) FROM item_logprob",
        "FROM unit_rows ORDER BY ALL",
    ):  # queried by name and through a view
        expected = warehouse.query(query)
        for _ in range(30):
            rotten = bytearray(content)
            rotten[where.randrange(len(content))] ^= 1 << where.randrange(8)
            path.unlink()
            path.write_bytes(rotten)
            with pytest.raises(WarehouseError, match=r"p1-\w+\.parquet is corrupt.*culturemeter check"):
                warehouse.query(query)
            assert warehouse.query("SELECT count(*) FROM country").height == 1, "no part is read for this"
        path.unlink()
        path.write_bytes(content)
        assert warehouse.query(query).equals(expected)


def test_each_part_is_hashed_once_per_process(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    sound = verified._is_sound
    monkeypatch.setattr(verified, "_sound", {})
    monkeypatch.setattr(verified, "_is_sound", lambda path: hashed.append(path) or sound(path))
    with warehouse.write() as connection:
        register_parts(connection, [write_part(warehouse.home, "item_logprob", "p1", logprobs())])
    for _ in range(3):
        warehouse.query("SELECT count(*) FROM item_logprob")
        warehouse.query("FROM leaderboard")
    assert len(hashed) == len(set(hashed)) == 3  # empty parts have no hash, so their content is checked
