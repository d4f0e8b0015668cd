"""Migrations, their guard, views and the comments that everything must have."""

import shutil
from pathlib import Path

import duckdb
import pytest

import warehouse.migrate as migrate_module
from warehouse import Warehouse, WarehouseError
from warehouse.migrate import apply_migrations

FIRST = migrate_module._SCHEMA / "001_core.sql"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the schema folder."""
    copy = tmp_path / "schema"
    copy.mkdir()
    (copy / FIRST.name).write_bytes(FIRST.read_bytes())
    return copy


def test_migrations_are_applied_once_and_in_order(folder: Path) -> None:
    (folder / "010_last.sql").write_text("INSERT INTO extra VALUES (1)")
    (folder / "002_extra.sql").write_text("CREATE TABLE extra (a INTEGER)")
    with duckdb.connect() as connection:
        apply_migrations(connection, folder)
        apply_migrations(connection, folder)
        assert connection.execute("SELECT version FROM migration").fetchall() == [(1,), (2,), (10,)]
        assert connection.execute("SELECT count(*) FROM extra").fetchone() == (1,)


def test_changed_and_newer_migrations_are_refused(folder: Path) -> None:
    newer = folder / "002_extra.sql"
    newer.write_text("CREATE TABLE extra (a INTEGER)")
    with duckdb.connect() as connection:
        apply_migrations(connection, folder)
        newer.unlink()
        with pytest.raises(WarehouseError, match="newer code wrote it"):
            apply_migrations(connection, folder)
    with duckdb.connect() as connection:
        apply_migrations(connection, folder)
        (folder / FIRST.name).write_text(FIRST.read_text() + "\n-- changed")
        with pytest.raises(WarehouseError, match=r"001_core\.sql was changed.*002_<name>\.sql"):
            apply_migrations(connection, folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [("002_bad.sql", r"002_bad\.sql failed"), ("extra.sql", r"such as 002_add_verdict\.sql")],
)
def test_failing_and_wrongly_named_migrations_are_refused(folder: Path, name: str, message: str) -> None:
    (folder / name).write_text("CREATE TABEL x (a INTEGER)")
    with duckdb.connect() as connection, pytest.raises(WarehouseError, match=message):
        apply_migrations(connection, folder)


def test_changed_view_is_created_again(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = tmp_path / "views"
    shutil.copytree(migrate_module._VIEWS, views)
    file = views / "shared" / "20_current_item.sql"
    file.write_text(file.read_text().replace("WHERE l.is_current", "WHERE l.is_current AND i.position = 0"))
    monkeypatch.setattr(migrate_module, "_VIEWS", views)
    Warehouse.open(warehouse.home)
    assert warehouse.query("SELECT max(position) FROM current_item").item() == 0


def test_a_view_that_cannot_be_created_names_its_file(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "views" / "shared").mkdir(parents=True)
    (tmp_path / "views" / "shared" / "99_bad.sql").write_text("CREATE OR REPLACE VIEW bad AS SELECT nothing")
    monkeypatch.setattr(migrate_module, "_VIEWS", tmp_path / "views")
    with pytest.raises(WarehouseError, match=r"view .*99_bad\.sql cannot be created"):
        Warehouse.open(warehouse.home)


def test_migration_008_keeps_rows_and_scraped_lists(folder: Path) -> None:
    """008 renames columns of run_request, and the names of reference files in the table state."""
    for file in sorted(migrate_module._SCHEMA.glob("00[2-7]_*.sql")):
        shutil.copy(file, folder)
    with duckdb.connect() as connection:
        apply_migrations(connection, folder)
        connection.execute("INSERT INTO run_request VALUES ('r', 'q', 'currency', 'currency-1')")
        for name, source in (("dishes", "dishes.csv"), ("religions", "a scraper")):
            connection.execute("INSERT INTO item_list VALUES (?, ?, 1, ?, now(), true)", [name, name, source])
        for name in ("dishes.csv", "religions.csv", "countries.csv"):
            connection.execute("INSERT INTO state VALUES (?, 'hash')", [f"reference/{name}"])
        shutil.copy(migrate_module._SCHEMA / "008_plain_names.sql", folder)
        apply_migrations(connection, folder)
        assert connection.execute("SELECT topic, label FROM run_request").fetchall() == [
            ("currency", "currency-1")
        ]
        names = connection.execute("SELECT name FROM state ORDER BY name").fetchall()
        assert names == [("reference/item_list/dishes.csv",), ("reference/item_list/religions.csv",)]
        sources = connection.execute("SELECT source FROM item_list ORDER BY item_list").fetchall()
        assert sources == [("item_list/dishes.csv",), ("a scraper",)]


def test_migration_023_marks_older_runs_of_servers(folder: Path) -> None:
    """The server behind their answers is unknown, since the address was not in the engine's identity."""
    for file in migrate_module._SCHEMA.glob("*.sql"):
        if file.name < "023":
            shutil.copy(file, folder)
    older = """
    INSERT INTO run BY NAME SELECT $kind AS run_id, 'e' AS evaluation, 'm' AS model, false AS is_null,
        'demo' AS profile, 'c' AS config_hash, 'h' AS engine_hash, '{}' AS params,
        json_object('kind', $kind) AS engine, '{}' AS item_lists, 'none' AS boundary_rule,
        '0.1.0' AS code_version, now() AS started_at, 'finished' AS status
    """
    with duckdb.connect() as connection:
        apply_migrations(connection, folder)
        for kind in ("openai", "vllm"):
            connection.execute(older, {"kind": kind})
        shutil.copy(migrate_module._SCHEMA / "023_servers.sql", folder)
        apply_migrations(connection, folder)
        servers = connection.execute("SELECT run_id, engine->>'server' FROM run ORDER BY ALL").fetchall()
    assert servers == [("openai", "unknown"), ("vllm", None)]


def test_every_table_view_and_column_has_a_comment(warehouse: Warehouse) -> None:
    uncommented = warehouse.query(
        """
        SELECT table_name AS name FROM duckdb_tables() WHERE NOT internal AND comment IS NULL
        UNION ALL
        SELECT view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL
        UNION ALL
        SELECT table_name || '.' || column_name FROM duckdb_columns() WHERE NOT internal AND comment IS NULL
        """
    )
    assert uncommented["name"].to_list() == []
    names = warehouse.query("SELECT DISTINCT table_name FROM duckdb_columns() WHERE NOT internal")
    assert {"metric_value", "item_logprob", "leaderboard_spectral"} <= set(names["table_name"])
