"""The log of registrations: visibility to readers, the move to the file, and recovery after faults."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import duckdb
import polars as pl
import pytest

import warehouse.connection as connection_module
from tests.warehouse.rows import logprobs, start_python
from warehouse import Warehouse, WarehouseError, register_orphans, register_parts, run_checks, write_part
from warehouse.registrations import Position, Registrations
from warehouse.storage import now, sign_of

KIND = "item_logprob"
UNITS = "SELECT count(*) FROM part_unit"
SHOWN = "SELECT request_hash, country, item, part FROM item_logprob ORDER BY ALL"

PART = """
import os, pathlib, sys, time
import polars as pl
from warehouse import Warehouse, write_part
warehouse = Warehouse.open(pathlib.Path(sys.argv[1]))
def part(request):
    frame = pl.DataFrame({"request_hash": [request] * 2, "country": ["FR", "IT"]}).with_columns(
        run_id=pl.lit("r"), model=pl.lit("m"), domain=pl.lit("d"), question=pl.lit("d-1"),
        item=pl.lit("euro"), logprob=pl.lit(-1.0), n_tokens=pl.lit(1))
    return write_part(warehouse.home, "item_logprob", f"p-{request}", frame)
"""
REGISTERS = f"""{PART}
for step in range(20):
    warehouse.register(part(f"{{os.getpid()}}-{{step}}"))
"""
FOLDS = f"""{PART}
for step in range(5):
    with warehouse.write():
        pass
"""
READS = f"""{PART}
seen = [0]
while seen[-1] < 80:
    n = warehouse.query("SELECT count(*) FROM part_unit").item()
    shown, units = warehouse.query(
        "SELECT count(*), count(DISTINCT request_hash || country) FROM item_logprob").row(0)
    assert n % 2 == 0 and n <= shown == units, (n, shown, units)
    seen.append(n)
assert seen == sorted(seen), seen
"""
KILLS = f"""
import os, random, signal, time
def work(acknowledge):
{"".join(f"    {line}" for line in PART.splitlines(keepends=True))}
    n = 0
    while True:
        request = f"{{os.getpid()}}-{{n}}"
        warehouse.register(part(request))
        os.write(acknowledge, f"{{request}}\\n".encode())
        n += 1
        if n % 4 == 0:
            with warehouse.write():
                pass
import polars, warehouse  # once, not in every child
where = random.Random(12)
for _ in range(50):
    children = {{}}
    for _ in range(2):
        reads, writes = os.pipe()
        child = os.fork()
        if not child:
            work(writes)
        os.close(writes)
        children[child] = open(reads)
    for output in children.values():
        print(output.readline(), end="")
    time.sleep(where.uniform(0, 0.5))
    for child, output in children.items():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(output.read(), end="")
"""
FULL_DISK = f"""{PART}
import resource
from warehouse import WarehouseError
units = part("q")
resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))
try:
    for _ in range(1000):
        warehouse.register(units)
except WarehouseError as error:
    print(error)
    print(warehouse.query("SELECT count(*) FROM country").item())
"""
ONLY_READS = f"""{PART}
from warehouse import WarehouseError
warehouse.query("SELECT 1")  # imports what nobody may
os.setgid(65534)
os.setuid(65534)
print(warehouse.query("SELECT count(*) FROM part_unit").item())
try:
    warehouse.register(pl.read_parquet(warehouse.home / "units"))
except WarehouseError as error:
    print(error)
"""


def register(warehouse: Warehouse, frame: pl.DataFrame, name: str = "p") -> str:
    """Register a part; return its name."""
    units = write_part(warehouse.home, KIND, name, frame)
    warehouse.register(units)
    return str(units["part"][0])


def log_of(warehouse: Warehouse) -> Path:
    return warehouse.home / "registrations.sqlite"


def waiting(warehouse: Warehouse) -> int:
    """Return the number of registrations that are not in the file."""
    with sqlite3.connect(log_of(warehouse)) as log:
        return int(log.execute("SELECT count(*) FROM registration").fetchone()[0])


def in_file(warehouse: Warehouse) -> int:
    """Return the number of units visible to a program that opens only the file."""
    with duckdb.connect(str(warehouse.path), read_only=True) as outside:
        row = outside.execute(UNITS).fetchone()
        assert row
        return int(row[0])


def test_a_registration_shows_at_once_without_a_new_file(warehouse: Warehouse) -> None:
    version = sign_of(warehouse.path)
    first = register(warehouse, logprobs("FR IT"))
    assert warehouse.query(SHOWN)["part"].to_list() == [first] * 4
    second = register(warehouse, logprobs("JP", request="q2"), "p2")
    assert warehouse.query(SHOWN)["part"].to_list() == [first] * 4 + [second] * 2
    assert warehouse.query("SELECT DISTINCT kind, part, n_rows FROM part_unit ORDER BY ALL").rows() == [
        (KIND, first, 2), (KIND, second, 2),
    ]  # fmt: skip
    assert abs(warehouse.query("SELECT max(written_at) FROM part_unit").item() - now()) < timedelta(minutes=1)
    assert sign_of(warehouse.path) == version
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_write_moves_registrations_into_the_file_unless_it_fails(warehouse: Warehouse) -> None:
    register(warehouse, logprobs("FR IT"))
    before = warehouse.query("FROM part_unit ORDER BY ALL")
    with pytest.raises(ZeroDivisionError), warehouse.write():
        raise ZeroDivisionError
    assert (waiting(warehouse), in_file(warehouse), warehouse.query(UNITS).item()) == (2, 0, 2)
    with warehouse.write() as connection:
        assert connection.execute(UNITS).fetchone() == (2,)
    assert (waiting(warehouse), in_file(warehouse)) == (0, 2)
    assert warehouse.query("FROM part_unit ORDER BY ALL").equals(before)
    register(warehouse, logprobs("JP"), "p2")
    assert (waiting(warehouse), in_file(warehouse), warehouse.query(UNITS).item()) == (1, 2, 3)


def test_registrations_left_in_the_log_after_publishing_are_not_registered_twice(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(warehouse, logprobs("FR IT"))
    with monkeypatch.context() as patch:
        patch.setattr(Registrations, "forget", lambda *_: None)
        with warehouse.write():
            pass
    assert (waiting(warehouse), warehouse.query(UNITS).item()) == (2, 2)
    with warehouse.write() as connection:  # unregistered parts stay unregistered
        connection.execute("DELETE FROM part_unit_base")
    assert warehouse.query(UNITS).item() == 0
    register(warehouse, logprobs("FR"), "again")
    assert warehouse.query(UNITS).item() == 1


def test_the_first_registration_of_a_unit_wins_in_log_and_file(warehouse: Warehouse) -> None:
    parts = [register(warehouse, logprobs("FR"), "p0")]
    register(warehouse, logprobs("FR", base=-5.0), "late")
    assert warehouse.query(SHOWN)["part"].unique().to_list() == parts
    with warehouse.write():
        pass
    register(warehouse, logprobs("FR IT", base=-7.0), "later")  # FR is in the file, IT is new
    for _ in range(2):
        assert warehouse.query(UNITS).item() == 2
        assert warehouse.query("SELECT part FROM part_unit WHERE unit = 'FR'").item() == parts[0]
        with warehouse.write():
            pass
    assert register_orphans(warehouse, KIND).registered == []  # the late part has no new units
    assert warehouse.query("SELECT part FROM superseded_part").item().startswith("late")


def test_a_reader_keeps_its_registrations_across_later_ones_and_writes(warehouse: Warehouse) -> None:
    register(warehouse, logprobs("FR"))
    with warehouse.read() as old:
        register(warehouse, logprobs("IT"), "p2")
        with warehouse.read() as new:
            assert (old.execute(UNITS).fetchone(), new.execute(UNITS).fetchone()) == ((1,), (2,))
            with warehouse.write() as connection:
                connection.execute("DELETE FROM part_unit_base WHERE unit = 'FR'")
            register(warehouse, logprobs("JP"), "p3")
            assert (old.execute(UNITS).fetchone(), new.execute(UNITS).fetchone()) == ((1,), (2,))
        assert old.execute("SELECT count(*) FROM item_logprob").fetchone() == (2,)
    assert warehouse.query("SELECT unit FROM part_unit ORDER BY unit")["unit"].to_list() == ["IT", "JP"]


def test_a_reader_misses_no_registration_that_moves_to_the_file_meanwhile(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader's file does not yet have the registration, and the log no longer has it."""
    register(warehouse, logprobs("FR"))
    after, folds = Registrations.after, [True]

    def late(self: Registrations, position: Position) -> object:
        if folds and folds.pop():
            with Warehouse(warehouse.home).write():
                pass
        return after(self, position)

    monkeypatch.setattr(Registrations, "after", late)
    assert warehouse.query(UNITS).item() == 1
    assert in_file(warehouse) == 1


def test_many_registrations_in_the_log_move_to_the_file(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "_FOLD_AT", 10)
    folded = []
    for number in range(11):
        register(warehouse, logprobs("FR IT", request=f"q{number}"), f"p{number}")
        folded.append(in_file(warehouse))
    assert folded == [0] * 4 + [10] * 5 + [20] * 2
    assert warehouse.query(UNITS).item() == 22


def test_registrations_go_on_while_an_outside_program_writes(warehouse: Warehouse) -> None:
    log = warehouse.path.with_name(f"{warehouse.path.name}.wal")
    log.write_bytes(b"x")
    register(warehouse, logprobs("FR"))
    log.unlink()
    assert warehouse.query(UNITS).item() == 1


def damaged_log(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:2048] + Random(0).randbytes(len(content) - 2048))


def other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "damaged": damaged_log,
    "another": other_database,
    "no text": lambda path: path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE TABL\xfc")),
    "empty": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"not a database, but as long as one could be" * 500),
}
MEETS = ("reader", "writer", "registration")
QUICK = (
    "missing reader", "damaged writer", "another registration", "empty writer", "no database reader",
    "no text writer",
)  # fmt: skip
"""Who meets each damage in `make test`; all meet all in `make test-all`."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=() if case in QUICK else pytest.mark.heavy)
        for case in (f"{damage} {meets}" for damage in DAMAGES for meets in MEETS)
    ],
)
def test_a_lost_log_is_restored_from_the_parts(warehouse: Warehouse, case: str) -> None:
    damage, meets = case.rsplit(" ", 1)
    register(warehouse, logprobs("FR"))
    with warehouse.write():
        pass
    register(warehouse, logprobs("IT"), "waits")
    before = warehouse.query(SHOWN)
    DAMAGES[damage](log_of(warehouse))
    warehouse = Warehouse.open(warehouse.home)
    if meets == "reader":
        assert warehouse.query("SELECT unit FROM part_unit WHERE unit = 'FR'").height == 1
    elif meets == "writer":
        with warehouse.write():
            pass
    else:
        register(warehouse, logprobs("JP", request="q2"), "other")
    register_orphans(warehouse, KIND)
    assert warehouse.query(SHOWN).filter(request_hash="q1").equals(before)
    register(warehouse, logprobs("US", request="q3"), "new")
    assert warehouse.query("SELECT unit FROM part_unit WHERE request_hash = 'q3'").item() == "US"


def test_a_write_ahead_log_of_a_deleted_log_is_not_used(warehouse: Warehouse) -> None:
    register(warehouse, logprobs("FR"))
    with sqlite3.connect(log_of(warehouse)) as open_log:  # while the log is open, its write-ahead log stays
        open_log.execute("SELECT count(*) FROM registration").fetchall()
        register(warehouse, logprobs("IT"), "p2")
        wal_files = {path: path.read_bytes() for path in warehouse.home.glob("*-wal*")}
    assert wal_files
    open_log.close()
    log_of(warehouse).unlink()
    for path, content in wal_files.items():
        path.write_bytes(content)
    register(warehouse, logprobs("JP"), "p3")
    assert warehouse.query("SELECT unit FROM part_unit")["unit"].to_list() == ["JP"]


@pytest.mark.heavy
def test_an_older_file_shows_later_registrations_and_gets_forgotten_ones_from_parts(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    """Some registrations were lost: the others are visible, and the lost ones are restored from the parts."""
    shutil.copy(warehouse.path, tmp_path / "backup")
    register(warehouse, logprobs("FR"))
    with warehouse.write():
        pass
    register(warehouse, logprobs("IT"), "waits")
    (tmp_path / "backup").replace(warehouse.path)
    assert warehouse.query("SELECT unit FROM part_unit").item() == "IT"
    assert len(register_orphans(warehouse, KIND).registered) == 1
    assert warehouse.query(UNITS).item() == 2


@pytest.mark.heavy
def test_a_new_file_gets_the_registrations_of_an_old_log(warehouse: Warehouse) -> None:
    register(warehouse, logprobs("FR"))
    warehouse.path.unlink()
    again = Warehouse.open(warehouse.home)
    assert again.query(UNITS).item() == 1
    with again.write():
        pass
    assert (in_file(again), waiting(again)) == (1, 0)


@pytest.mark.heavy
@pytest.mark.parametrize("limit", [20_000, 60_000])
def test_a_full_disk_refuses_registrations_and_reading_goes_on(warehouse: Warehouse, limit: int) -> None:
    process = start_python(FULL_DISK.replace("ROOM", str(limit)), warehouse.home)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    error, readable = output.splitlines()
    assert "no room to write" in error
    assert readable == "170"
    unregistered = next((warehouse.home / "parts" / KIND).glob("p-*"))
    register(warehouse, pl.read_parquet(unregistered).drop("part"), "q")
    assert warehouse.query(UNITS).item() == 2


@pytest.mark.skipif(os.getuid() != 0, reason="root becomes a user who may only read")
def test_a_read_only_folder_is_read_and_refuses_registrations(blank: Path, tmp_path: Path) -> None:
    write_part(tmp_path, KIND, "new", logprobs("FR", request="q2")).write_parquet(tmp_path / "units")
    with TemporaryDirectory() as folder:  # pytest's folders are closed to other users
        home = Path(shutil.copytree(blank, Path(folder) / "home"))
        register(Warehouse.open(home), logprobs("FR"))
        shutil.copy(tmp_path / "units", home)
        for place in (Path(folder), home, *home.rglob("*")):
            place.chmod(0o755 if place.is_dir() else 0o644)
        output, errors = start_python(ONLY_READS, home).communicate(timeout=120)
    assert output.splitlines()[:1] == ["1"], errors
    assert "Set CULTUREMETER_HOME to a folder that you may write to" in output


@pytest.mark.heavy
def test_two_processes_register_while_others_write_and_read(warehouse: Warehouse) -> None:
    workers = [start_python(code, warehouse.home) for code in (REGISTERS, REGISTERS, FOLDS, READS)]
    for worker in workers:
        _, errors = worker.communicate(timeout=300)
        assert worker.returncode == 0, errors
    assert warehouse.query(UNITS).item() == 80
    assert warehouse.query("SELECT count(*) FROM item_logprob").item() == 80
    assert register_orphans(warehouse, KIND) == ([], [])


@pytest.mark.heavy
def test_a_hundred_kills_lose_no_acknowledged_registration(warehouse: Warehouse) -> None:
    """Two writers at a time, each killed somewhere in writing, registering or folding."""
    process = start_python(KILLS, warehouse.home)
    output, errors = process.communicate(timeout=3600)
    assert process.returncode == 0, errors
    acknowledged = set(output.split())
    registered = warehouse.query("SELECT request_hash, count(*) AS n FROM part_unit GROUP BY ALL")
    assert len(acknowledged) >= 100
    assert acknowledged <= set(registered["request_hash"])
    assert set(registered["n"]) == {2}
    shown = "SELECT count(*), count(DISTINCT request_hash || country) FROM item_logprob"
    assert warehouse.query(shown).row(0) == (2 * registered.height,) * 2
    register_orphans(warehouse, KIND)
    parts = list((warehouse.home / "parts" / KIND).glob("p-*"))
    assert warehouse.query(UNITS).item() == 2 * len(parts)
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_parts_are_registered_within_a_write(warehouse: Warehouse) -> None:
    """Parts that must become visible together with rows are registered in the rows' transaction."""
    register(warehouse, logprobs("FR"))
    with warehouse.write() as connection:
        units = write_part(warehouse.home, KIND, "p2", logprobs("FR", base=-9.0))
        register_parts(connection, [units], replace=True)
    assert warehouse.query("SELECT part FROM part_unit").item() == units["part"][0]


def test_a_log_locked_by_another_program_blocks_registrations_not_readers(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(warehouse, logprobs("FR"))
    monkeypatch.setattr("warehouse.registrations._PATIENCE_S", 0.1)
    with sqlite3.connect(log_of(warehouse), isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert warehouse.query(UNITS).item() == 1  # readers never wait
        with pytest.raises(WarehouseError, match=r"registrations\.sqlite cannot be used: database is locked"):
            register(warehouse, logprobs("IT"), "p2")
        other.execute("ROLLBACK")
    other.close()
