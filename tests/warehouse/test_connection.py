"""Opening, reading and writing within one process, and outside programs that hold the file."""

import os
import pickle
import shutil
import stat
import threading
from pathlib import Path

import duckdb
import pytest

import warehouse.connection as connection_module
import warehouse.local_store as local_store_module
import warehouse.published as published_module
from tests.warehouse.rows import logprobs, store_part
from warehouse import Warehouse, WarehouseError, home
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.migrate import is_up_to_date
from warehouse.store import Store

ADD = "INSERT INTO state VALUES (?, ?)"
COUNT = "SELECT count(*) FROM state WHERE name LIKE 'test%'"


def count(warehouse: Warehouse) -> int:
    return int(warehouse.query(COUNT).item())


def test_home_is_the_folder_of_the_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "a" / "b"))
    assert home() == tmp_path / "a" / "b"
    assert home().is_dir()
    (tmp_path / "file").touch()
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "file" / "b"))
    with pytest.raises(WarehouseError, match="Set CULTUREMETER_HOME to a folder"):
        home()


def test_first_open_creates_everything_and_the_second_writes_nothing(warehouse: Warehouse) -> None:
    assert warehouse.query("SELECT count(*) FROM country").item() == 170
    assert warehouse.query("SELECT count(*) FROM item_logprob").item() == 0
    before = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in warehouse.home.rglob("*")}
    Warehouse.open(warehouse.home)
    after = {file: (file.stat().st_ino, file.stat().st_mtime_ns) for file in warehouse.home.rglob("*")}
    assert after == before


def test_opening_again_does_not_read_the_file(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    Warehouse.open(warehouse.home)
    with warehouse.write() as connection:
        connection.execute(ADD, ["test", "1"])
    monkeypatch.setattr(connection_module, "is_up_to_date", lambda *_: pytest.fail("looked"))
    assert count(Warehouse.open(warehouse.home)) == 1


def test_opening_repairs_a_file_that_another_process_replaced(
    warehouse: Warehouse, blank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    def look(connection: duckdb.DuckDBPyConnection) -> bool:
        looked.append("looked")
        return is_up_to_date(connection)

    monkeypatch.setattr(connection_module, "is_up_to_date", look)
    shutil.copy(blank / warehouse.path.name, warehouse.home / "copy")
    (warehouse.home / "copy").replace(warehouse.path)  # the copy's views read the parts of another folder
    Warehouse.open(warehouse.home)
    assert looked == ["looked"]
    Warehouse.open(warehouse.home)
    Warehouse.open(warehouse.home)
    assert looked == ["looked"]  # the process remembers its own repair


def test_a_file_replaced_before_a_write_is_repaired_by_the_next_open(
    warehouse: Warehouse, blank: Path
) -> None:
    shutil.copy(blank / warehouse.path.name, warehouse.home / "copy")
    (warehouse.home / "copy").replace(warehouse.path)
    with warehouse.write() as connection:
        connection.execute(ADD, ["test", "1"])
    Warehouse.open(warehouse.home)
    assert warehouse.query("SELECT value FROM state WHERE name = 'home'").item() == str(warehouse.home)


def test_a_deleted_home_is_refused_until_one_is_there_again(warehouse: Warehouse, blank: Path) -> None:
    with warehouse.write() as connection:
        connection.execute(ADD, ["test", "1"])
    assert count(warehouse) == 1
    shutil.rmtree(warehouse.home)
    with pytest.raises(WarehouseError, match="is gone: the warehouse was moved or deleted"):
        warehouse.query("SELECT 1")
    shutil.copytree(blank, warehouse.home)
    assert count(Warehouse.open(warehouse.home)) == 0


def test_error_in_a_write_leaves_the_file_untouched(warehouse: Warehouse) -> None:
    before = warehouse.path.read_bytes()

    def fail_after_adding() -> None:
        with warehouse.write() as connection:
            connection.execute(ADD, ["test", "1"])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_after_adding()
    assert warehouse.path.read_bytes() == before
    assert [file.name for file in warehouse.home.glob("*.writing-*")] == []


def test_write_inside_write_is_refused_at_once(warehouse: Warehouse) -> None:
    with (
        warehouse.write(),
        pytest.raises(WarehouseError, match=r"inside write.*Use the outer connection"),
        warehouse.write(),
    ):
        pass
    with warehouse.write():
        pass


def test_a_write_is_published_as_a_whole_and_earlier_readers_keep_their_version(warehouse: Warehouse) -> None:
    with warehouse.read() as old:
        with warehouse.write() as connection:
            connection.execute(ADD, ["test", "1"])
        assert old.execute(COUNT).fetchone() == (0,)
        assert count(warehouse) == 1


def test_readers_share_one_instance_until_the_file_is_replaced(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached: list[Path] = []
    attach = published_module._attached

    def count_attached(path: Path, store: Store) -> published_module._Version:
        attached.append(path)
        return attach(path, store)

    monkeypatch.setattr(published_module, "_attached", count_attached)
    with warehouse.write() as connection:
        connection.execute(ADD, ["test", "1"])
    with warehouse.read() as one, warehouse.read() as two:
        one.execute("CREATE TEMP TABLE mine AS SELECT 1")
        assert not two.execute("FROM duckdb_tables() WHERE table_name = 'mine'").fetchall()
        assert count(warehouse) == 1
    assert len(attached) == 1
    with warehouse.write() as connection:
        connection.execute(ADD, ["test-2", "1"])
    assert count(warehouse) == 2
    assert len(attached) == 2


def test_threads_lose_no_write(warehouse: Warehouse) -> None:
    def work(number: int) -> None:
        for step in range(2):
            with warehouse.write() as connection:
                connection.execute(ADD, [f"test-{number}-{step}", ""])
            warehouse.query(COUNT)

    threads = [threading.Thread(target=work, args=[number]) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(warehouse) == 6


def test_a_forked_process_reads_and_writes_as_its_parent_does(warehouse: Warehouse) -> None:
    assert count(Warehouse.open(warehouse.home)) == 0
    with warehouse.read() as old:
        child = os.fork()
        if not child:
            status = 1
            try:
                with Warehouse.open(warehouse.home).write() as connection:
                    connection.execute(ADD, ["test", "1"])
                status = 0 if count(warehouse) == 1 else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0) == (child, 0)
        assert old.execute(COUNT).fetchone() == (0,)
    assert count(Warehouse.open(warehouse.home)) == 1


def test_a_warehouse_can_be_pickled(warehouse: Warehouse) -> None:
    assert count(pickle.loads(pickle.dumps(warehouse))) == 0


@pytest.mark.parametrize("name", ["moved", "it's a [strange] *place", "kind=x"])
def test_moved_home_reads_its_own_parts(warehouse: Warehouse, tmp_path: Path, name: str) -> None:
    store_part(warehouse, logprobs())
    moved = Warehouse.open(warehouse.home.rename(tmp_path / name))
    assert moved.query("SELECT * FROM item_logprob").height == 4
    assert moved.query("SELECT columns(*)::VARCHAR FROM item_logprob").columns[-1] == "part"


def test_home_that_duckdb_cannot_open_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match=r"what\? has a question mark.*CULTUREMETER_HOME"):
        Warehouse.open(tmp_path / "what?")


def test_a_damaged_file_is_refused_with_the_way_to_a_new_one(warehouse: Warehouse) -> None:
    warehouse.path.write_bytes(b"not a database, but long enough to look like a file" * 1000)
    with pytest.raises(WarehouseError, match=r"cannot be opened.*move it away: `culturemeter ingest`"):
        Warehouse.open(warehouse.home)


def test_damage_found_by_a_query_or_a_write_is_the_same_error(warehouse: Warehouse) -> None:
    size = warehouse.path.stat().st_size
    with warehouse.path.open("r+b") as file:  # the header and the index of tables stay intact
        file.seek(12288 + 262144)
        file.write(os.urandom(size // 2))
    tables = ("item", "country", "scenario", "metric", "exemplar", "cure_item")
    everything = " UNION ALL ".join(f"SELECT max(hash(t)) AS h FROM {table} AS t" for table in tables)
    what_to_do = r"cannot be opened.*`culturemeter ingest` makes a new one"
    with pytest.raises(WarehouseError, match=what_to_do):
        warehouse.query(everything)
    with pytest.raises(WarehouseError, match=what_to_do), warehouse.write() as connection:
        connection.execute(f"CREATE TABLE copied AS {everything}")


@pytest.mark.heavy
def test_a_file_that_another_program_created_is_filled(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "culturemeter.duckdb")) as outside:
        outside.execute("CREATE TABLE notes (text VARCHAR)")
    assert Warehouse.open(tmp_path).query("SELECT count(*) FROM country").item() == 170


def test_only_registered_parts_are_opened(warehouse: Warehouse) -> None:
    store_part(warehouse, logprobs())
    (warehouse.home / "parts" / "item_logprob" / "torn.parquet").write_bytes(b"PAR1")
    assert warehouse.query("SELECT count(*) FROM item_logprob").item() == 4
    with duckdb.connect(str(warehouse.path), read_only=True) as outside:
        with pytest.raises(duckdb.Error, match="torn"):  # other programs list the folder
            outside.execute("FROM item_logprob")
        (warehouse.home / "parts" / "item_logprob" / "torn.parquet").unlink()
        assert outside.execute("SELECT count(*) FROM item_logprob").fetchone() == (4,)


def test_stale_copies_of_killed_writers_are_removed(warehouse: Warehouse) -> None:
    stale = warehouse.home / f"{warehouse.path.name}.writing-dead"
    shutil.copy(warehouse.path, stale)
    stale.with_name(f"{stale.name}.wal").touch()
    stale.with_name(f"{stale.name}.tmp").mkdir()
    with warehouse.write():
        pass
    assert sorted(os.listdir(warehouse.home)) == ["culturemeter.duckdb", "culturemeter.duckdb.lock", "parts"]


def test_a_held_write_lock_is_refused_with_the_command_that_finds_its_holder(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_store_module, "_WRITE_LOCK_PATIENCE_S", 0.05)
    errors: list[BaseException] = []

    def other() -> None:
        try:
            with warehouse.write():
                pass
        except WarehouseError as error:
            errors.append(error)

    with warehouse.write():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(errors) == 1
    assert "fuser" in str(errors[0])


def test_the_write_ahead_log_of_an_outside_writer_is_never_dropped(warehouse: Warehouse) -> None:
    warehouse.path.with_name(f"{warehouse.path.name}.wal").write_bytes(b"x")
    with pytest.raises(WarehouseError, match=r"outside program.*CHECKPOINT"), warehouse.write():
        pass


@pytest.mark.parametrize("is_there", [False, pytest.param(True, marks=pytest.mark.heavy)])
def test_a_new_home_is_readable_by_its_owner_only(
    tmp_path: Path, blank: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    assert stat.S_IMODE(blank.stat().st_mode) == 0o700, "as it was opened first"
    before = os.umask(0o022)
    try:
        for name, make in {
            **({"opened": lambda path: Warehouse.open(path)} if is_there else {}),
            "usual": lambda path: home(),
            "copied": lambda path: copy(Warehouse(LocalStore(blank)), LocalStore(path)),
        }.items():
            path = tmp_path / name
            monkeypatch.setenv("CULTUREMETER_HOME", str(path))
            if is_there:
                path.mkdir()
            make(path)
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        path.chmod(0o750)  # the owner may give a group access
        Warehouse.open(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o750
    finally:
        os.umask(before)
