"""Migrations, their guard, views and the comments that everything must have."""

import shutil
from pathlib import Path

import duckdb
import pytest

import warehouse.migrate as migrate_module
from warehouse import Warehouse, WarehouseError, view_files
from warehouse.migrate import apply_migrations

FIRST = migrate_module._SCHEMA / "001_schema.sql"


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
        with pytest.raises(WarehouseError, match=r"001_schema\.sql was changed.*002_<name>\.sql"):
            apply_migrations(connection, folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [("002_bad.sql", r"002_bad\.sql failed"), ("extra.sql", r"such as 002_add_verdict\.sql")],
)
def test_failing_and_wrongly_named_migrations_are_refused(folder: Path, name: str, message: str) -> None:
    (folder / name).write_text("CREATE TABEL x (a INTEGER)")
    with duckdb.connect() as connection, pytest.raises(WarehouseError, match=message):
        apply_migrations(connection, folder)


ALTERS_AND_UPDATES = "ALTER TABLE state ADD COLUMN {0} VARCHAR; UPDATE state SET {0} = 'x' WHERE true"


def test_two_migrations_may_alter_and_update_one_filled_table(folder: Path) -> None:
    with duckdb.connect() as connection:
        apply_migrations(connection, folder)
        connection.execute("INSERT INTO state VALUES ('a', 'b')")
        for version, column in enumerate(("one", "two"), 2):
            (folder / f"{version:03d}_{column}.sql").write_text(ALTERS_AND_UPDATES.format(column))
        apply_migrations(connection, folder)
        assert connection.execute("FROM state").fetchall() == [("a", "b", "x", "x")]


def test_failed_migration_undoes_itself_and_not_those_before(folder: Path) -> None:
    (folder / "002_good.sql").write_text("CREATE TABLE good (a INTEGER)")
    (folder / "003_bad.sql").write_text("CREATE TABLE bad (a INTEGER); SELECT nothing")
    with duckdb.connect() as connection:
        with pytest.raises(WarehouseError, match=r"003_bad\.sql failed"):
            apply_migrations(connection, folder)
        assert connection.execute("SELECT max(version) FROM migration").fetchone() == (2,)
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert ("good",) in tables
        assert ("bad",) not in tables


def test_failed_migration_leaves_the_published_file(
    warehouse: Warehouse, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(migrate_module._SCHEMA, folder, dirs_exist_ok=True)
    (folder / "900_good.sql").write_text("CREATE TABLE good (a INTEGER)")
    (folder / "901_bad.sql").write_text("SELECT nothing")
    before = warehouse.path.read_bytes()
    monkeypatch.setattr(migrate_module, "_SCHEMA", folder)
    with pytest.raises(WarehouseError, match=r"901_bad\.sql failed"):
        Warehouse.open(warehouse.home)
    assert warehouse.path.read_bytes() == before
    assert not list(warehouse.home.glob("*.writing-*"))


@pytest.mark.parametrize("name", ["culturemeter.duckdb", "an-old-name.duckdb"])
def test_home_older_than_the_first_release_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    with duckdb.connect(str(tmp_path / name)) as connection:
        connection.execute(
            "CREATE TABLE migration AS SELECT 1 AS version, '001_core.sql' AS name, '' AS sha256"
        )
    for opened in (Warehouse.open, Warehouse.existing):
        with pytest.raises(
            WarehouseError, match=r"older than version 0\.2\.0.*`export`.*new folder"
        ) as error:
            opened(tmp_path)
        assert "\n" not in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_changed_view_is_created_again(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = tmp_path / "views"
    shutil.copytree(view_files.FOLDER, views)
    file = views / "runs.sql"
    file.write_text(file.read_text().replace("WHERE l.is_current", "WHERE l.is_current AND i.position = 0"))
    monkeypatch.setattr(view_files, "FOLDER", views)
    Warehouse.open(warehouse.home)
    assert warehouse.query("SELECT max(position) FROM current_item").item() == 0


def test_a_view_that_cannot_be_created_names_its_file(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "views").mkdir()
    shutil.copy(view_files.FOLDER / "columns.toml", tmp_path / "views")
    (tmp_path / "views" / "some.sql").write_text("CREATE OR REPLACE VIEW bad AS SELECT nothing")
    monkeypatch.setattr(view_files, "FOLDER", tmp_path / "views")
    with pytest.raises(WarehouseError, match=r"view bad of .*some\.sql cannot be created"):
        Warehouse.open(warehouse.home)


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
