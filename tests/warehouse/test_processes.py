"""Real processes: writers and readers at once, kill -9, a full disk, an outside program."""

import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import warehouse.migrate as migrate_module
import warehouse.outside as outside_module
from tests.warehouse.rows import start_python, start_to
from warehouse import Warehouse, WarehouseError

COMMITS = 30

WRITER = """
import os, pathlib, sys
from warehouse import Warehouse
warehouse = Warehouse.open(pathlib.Path(sys.argv[1]))
for step in range(30):
    with warehouse.write() as connection:
        for half in "ab":
            connection.execute("INSERT INTO state VALUES (?, '')", [f"test-{os.getpid()}-{step}-{half}"])
"""
READER = """
import pathlib, sys
from warehouse import Warehouse
warehouse = Warehouse.open(pathlib.Path(sys.argv[1]))
seen = [0]
while seen[-1] < 120:
    seen.append(warehouse.query("SELECT count(*) FROM state WHERE name LIKE 'test%'").item())
assert seen == sorted(seen), seen
assert all(n % 2 == 0 for n in seen), seen
"""
NOTEBOOK = """
import pathlib, sys, duckdb
path = pathlib.Path(sys.argv[1]) / "culturemeter.duckdb"
connection = duckdb.connect(str(path), read_only=True)
print("open", flush=True)
sys.stdin.read()
assert connection.execute("SELECT count(*) FROM state WHERE name LIKE 'test%'").fetchone() == (0,)
"""
KILLED = """
import pathlib, sys, time
from warehouse import Warehouse
with Warehouse.open(pathlib.Path(sys.argv[1])).write() as connection:
    connection.execute("INSERT INTO state SELECT 'test' || range, repeat('x', 100) FROM range(200000)")
    connection.execute(STATEMENT)
    print("written", flush=True)
    sys.stdin.read()
"""
FULL_DISK = """
import pathlib, resource, signal, sys
from warehouse import Warehouse, WarehouseError
warehouse = Warehouse.open(pathlib.Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
limit = int(warehouse.path.stat().st_size * ROOM)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with warehouse.write() as connection:
        connection.execute("CREATE TABLE big AS SELECT md5(range::VARCHAR) AS a FROM range(1000000)")
except WarehouseError as error:
    print(error)
"""
FORKED = """
import os, pathlib, sys
from warehouse import Warehouse
warehouse = Warehouse.open(pathlib.Path(sys.argv[1]))
warehouse.query("SELECT 1")
child = os.fork()
rows = warehouse.query("SELECT count(*) FROM country").item()
os.write(1, f"{rows}\\n".encode())  # in one piece: print() writes a line and its end apart, unbuffered
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
OUTSIDE = """
import pathlib, sys, duckdb
connection = duckdb.connect(str(pathlib.Path(sys.argv[1]) / "culturemeter.duckdb"))
print("open", flush=True)
sys.stdin.read()
"""

OUTSIDE_WRITES = """
import pathlib, sys, duckdb
connection = duckdb.connect(str(pathlib.Path(sys.argv[1]) / "culturemeter.duckdb"))
connection.execute("INSERT INTO state VALUES ('outside', '')")
print("written", flush=True)
sys.stdin.read()
"""


@pytest.mark.heavy
def test_two_writers_a_reader_and_a_notebook_at_once_lose_nothing(warehouse: Warehouse) -> None:
    notebook = start_to(NOTEBOOK, warehouse.home, "open")
    workers = [start_python(code, warehouse.home) for code in (WRITER, WRITER, READER)]
    for worker in workers:
        _, errors = worker.communicate(timeout=120)
        assert worker.returncode == 0, errors
    _, errors = notebook.communicate("", timeout=30)
    assert notebook.returncode == 0, errors
    rows = warehouse.query("SELECT count(*) FROM state WHERE name LIKE 'test%'").item()
    assert rows == 2 * COMMITS * 2
    assert warehouse.query("SELECT count(*) FROM item").item() > 11_000


@pytest.mark.parametrize("statement", [pytest.param("SELECT 1", marks=pytest.mark.heavy), "COMMIT"])
def test_a_killed_writer_changes_nothing_and_its_copy_is_removed(
    warehouse: Warehouse, statement: str
) -> None:
    before = warehouse.path.read_bytes()
    process = start_to(KILLED.replace("STATEMENT", repr(statement)), warehouse.home, "written")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert warehouse.path.read_bytes() == before
    assert list(warehouse.home.glob("*.writing-*"))
    with warehouse.write() as connection:
        connection.execute("INSERT INTO state VALUES ('test', '')")
    assert warehouse.query("SELECT count(*) FROM state WHERE name LIKE 'test%'").item() == 1
    assert sorted(os.listdir(warehouse.home)) == ["culturemeter.duckdb", "culturemeter.duckdb.lock", "parts"]


@pytest.mark.parametrize("room", [pytest.param(0.5, marks=pytest.mark.heavy), 1.5])  # copying, committing
def test_a_full_disk_ends_a_write_and_changes_nothing(warehouse: Warehouse, room: float) -> None:
    before = warehouse.path.read_bytes()
    process = start_python(FULL_DISK.replace("ROOM", str(room)), warehouse.home)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert re.search(r"no room to write.*MB are needed.*MB are free", output)
    assert warehouse.path.read_bytes() == before
    assert sorted(os.listdir(warehouse.home)) == ["culturemeter.duckdb", "culturemeter.duckdb.lock", "parts"]


def test_a_file_held_by_an_outside_program_is_refused_until_it_ends(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = start_to(OUTSIDE, warehouse.home, "open")
    monkeypatch.setattr(outside_module, "_OUTSIDE_WRITER_PATIENCE_S", 0.2)
    with pytest.raises(WarehouseError, match=r"culturemeter\.duckdb open for writing.*duckdb -readonly"):
        warehouse.query("SELECT 1")
    with pytest.raises(WarehouseError, match=r"culturemeter\.duckdb open for writing"), warehouse.write():
        pass
    outside.communicate("")
    assert warehouse.query("SELECT 1").item() == 1


def test_an_idle_reader_does_not_block_an_outside_writer(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_module, "_OUTSIDE_WRITER_PATIENCE_S", 0.2)
    assert warehouse.query("SELECT 1").item() == 1
    outside = start_to(OUTSIDE_WRITES, warehouse.home, "written")
    with pytest.raises(WarehouseError, match="open for writing"):
        warehouse.query("SELECT 1")
    _, errors = outside.communicate("")
    assert outside.returncode == 0, errors
    assert warehouse.query("SELECT count(*) FROM state WHERE name = 'outside'").item() == 1


def test_a_reader_blocks_an_outside_writer(warehouse: Warehouse) -> None:
    with warehouse.read() as one:
        with warehouse.read():
            pass
        outside = start_python(OUTSIDE_WRITES, warehouse.home)
        _, errors = outside.communicate("")
        assert "Could not set lock" in errors
        assert one.execute("SELECT 1").fetchone() == (1,)


def test_a_forked_process_queries_and_ends(warehouse: Warehouse) -> None:
    process = start_python(FORKED, warehouse.home)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (0, "170\n170\n"), errors


@pytest.mark.heavy
def test_each_migration_runs_once_when_two_processes_open_a_fresh_home(tmp_path: Path) -> None:
    opening = (
        "import pathlib, sys; from warehouse import Warehouse; Warehouse.open(pathlib.Path(sys.argv[1]))"
    )
    for process in [start_python(opening, tmp_path / "fresh") for _ in range(2)]:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    applied = Warehouse.open(tmp_path / "fresh").query("SELECT name FROM migration")["name"]
    assert sorted(applied) == sorted(file.name for file in migrate_module._SCHEMA.glob("*.sql"))


class Ended(BaseException):
    """As Prefect raises when a flow run is to end."""


LONG = "SELECT count(*) FROM range(500000) AS a, range(500000) AS b"
"""Takes half a minute, and not for ever: DuckDB 2.0 waits for what another of its threads has begun."""


def write_for_ever(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute(LONG)


@pytest.mark.parametrize("work", [lambda warehouse: warehouse.query(LONG), write_for_ever])
def test_an_exception_of_a_signal_handler_passes_through_a_query(
    warehouse: Warehouse, work: Callable[[Warehouse], object]
) -> None:
    """DuckDB turns it into a RuntimeError, which would be shown as a fault of this program."""

    def end(*_: object) -> None:
        raise Ended

    before = signal.signal(signal.SIGTERM, end)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    try:
        timer.start()
        with pytest.raises(Ended):
            work(warehouse)
    finally:
        timer.join()
        signal.signal(signal.SIGTERM, before)
    with warehouse.write() as connection:
        connection.execute("INSERT INTO state VALUES ('test', '')")
    assert warehouse.query("SELECT count(*) FROM state WHERE name = 'test'").item() == 1
