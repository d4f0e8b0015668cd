"""What a machine keeps of a shared store: below its limit, the least recently used goes, nothing in use."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY, command, environment
from tests.shared_store import PASSWORD
from tests.waiting import LONGEST_WAIT_S
from tests.warehouse.rows import logprobs
from tests.warehouse.test_shared_store import KIND, another_machine, cached, part, store_of
from warehouse import Warehouse, WarehouseError

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.shared import cache

pytestmark = pytest.mark.slow

Gigabytes = Callable[[float], None]

OF = f"SELECT count(*) FROM {KIND} WHERE request_hash = ?"
TICK_S = 0.02
"""Longer than the clock of files stands still: of two touched within 4 ms none is the older."""
ALL = f"SELECT count(*) FROM {KIND}"

HOLDER = """
import sys
from warehouse import Warehouse
from warehouse.shared import cache
cache._LOOK_EVERY, cache._ROOM = 0, 10**12
store = Warehouse.open().store
parts = [("item_logprob", name) for name in sys.argv[1].split()]
with store.reading():
    store.fetch(parts)
    print("fetched", flush=True)
    sys.stdin.readline()
"""
MANY = """
import random, sys
from warehouse import Warehouse
from warehouse.shared import cache
cache._LOOK_EVERY, cache._ROOM = 0, 10**12
warehouse, random = Warehouse.open(), random.Random(sys.argv[1])
for _ in range(60):
    asked = random.sample([f"q{n}" for n in range(12)], random.randint(1, 12))
    n = warehouse.query("SELECT count(*) FROM item_logprob WHERE request_hash IN (SELECT unnest(?))", [asked])
    assert n.item() == 2 * len(asked), (n.item(), asked)
    one = warehouse.query("SELECT count(*) FROM item_logprob WHERE request_hash = ?", asked[:1]).item()
    assert one == 2, asked
    if random.random() < 0.1:
        with warehouse.write():
            pass
"""


@pytest.fixture
def parts(shared: Warehouse) -> dict[str, str]:
    """Twelve parts of a shared store, by their requests."""
    return {f"q{n}": part(shared, logprobs("FR", f"q{n}"), f"q{n}") for n in range(12)}


@pytest.fixture
def reader(parts: dict[str, str], shared: Warehouse, tmp_path: Path) -> Warehouse:
    """A machine that has fetched nothing but the database file."""
    reader = another_machine(shared, tmp_path / "reader")
    reader.query("SELECT 1")
    return reader


@pytest.fixture
def room_for(reader: Warehouse, parts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Gigabytes:
    """Set the limit to the published file and so many parts, which are all of about a size."""
    published = sum(file.stat().st_size for file in reader.store.folder.glob("*.duckdb"))
    sizes = reader.store.part_sizes(KIND).values()
    size = max(sizes)
    assert size < 1.02 * min(sizes)

    def set_limit(n: float) -> None:
        cache._books.clear()  # as in a new process
        monkeypatch.setattr(cache, "_LOOK_EVERY", 0)
        monkeypatch.setattr(cache, "_ROOM", 10**12)
        monkeypatch.setenv("CULTURESCOPE_CACHE_GB", f"{(published + n * size) / 1e9:.12f}")

    return set_limit


def start(code: str, home: Path, *arguments: str) -> "subprocess.Popen[str]":
    env = os.environ | {"CULTURESCOPE_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def holding(home: Path, *names: str) -> "subprocess.Popen[str]":
    """A process that has fetched parts, and needs them until it is told to end."""
    process = start(HOLDER, home, " ".join(names))
    assert process.stdout is not None
    assert process.stdout.readline() == "fetched\n"
    return process


def ask(home: Path, *requests: str) -> None:
    """Queries of one process, in turn."""
    warehouse = Warehouse.open(home)
    for request in requests:
        assert warehouse.query(OF, [request]).item() == 2
        time.sleep(TICK_S)


def test_the_least_recently_used_goes(reader: Warehouse, room_for: Gigabytes) -> None:
    room_for(3.5)
    ask(reader.home, "q0", "q1", "q2")
    assert cached(reader) == ["q0", "q1", "q2"]
    ask(reader.home, "q0", "q3")
    assert cached(reader) == ["q0", "q2", "q3"]
    ask(reader.home, "q4", "q5")
    assert cached(reader) == ["q3", "q4", "q5"]
    kept = Warehouse.open(reader.home).store.cache_size()
    assert kept is not None
    assert (kept.n_files, kept.bytes <= kept.limit) == (4, True)


def test_what_is_read_by_python_counts_as_used(
    reader: Warehouse, room_for: Gigabytes, parts: dict[str, str]
) -> None:
    room_for(2.5)
    ask(reader.home, "q0", "q1")
    store_of(reader).part(KIND, parts["q0"])
    time.sleep(TICK_S)
    ask(reader.home, "q2")
    assert cached(reader) == ["q0", "q2"]


def test_a_query_has_all_that_it_needs_whatever_the_limit(reader: Warehouse, room_for: Gigabytes) -> None:
    room_for(0)
    assert Warehouse.open(reader.home).query(ALL).item() == 24
    assert cached(reader) == []  # it is over
    room_for(5.5)
    assert Warehouse.open(reader.home).query(ALL).item() == 24
    assert len(cached(reader)) == 5


def test_what_is_written_here_counts_too(reader: Warehouse, room_for: Gigabytes) -> None:
    room_for(2.5)
    warehouse = Warehouse.open(reader.home)
    for request in ("w0", "w1", "w2", "w3"):
        part(warehouse, logprobs("FR", request), request)
        time.sleep(TICK_S)
    assert cached(reader) == ["w2", "w3"]
    assert warehouse.query(ALL).item() == 32


def test_some_room_is_free_afterwards(
    reader: Warehouse, room_for: Gigabytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    room_for(8.5)
    ask(reader.home, *(f"q{n}" for n in range(8)))
    assert len(cached(reader)) == 8
    kept = Warehouse.open(reader.home).store.cache_size()
    assert kept is not None
    size = max(reader.store.part_sizes(KIND).values())
    monkeypatch.setattr(cache, "_ROOM", kept.limit // (3 * size))
    ask(reader.home, "q8")
    assert cached(reader) == ["q4", "q5", "q6", "q7", "q8"]


def test_files_are_looked_at_now_and_then(
    reader: Warehouse, room_for: Gigabytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    room_for(0)
    size = max(reader.store.part_sizes(KIND).values())
    monkeypatch.setattr(cache, "_LOOK_EVERY", 4 * size)
    ask(reader.home, *(f"q{n}" for n in range(5)))
    assert cached(reader) == ["q1", "q2", "q3", "q4"]  # since the first of this process
    ask(reader.home, "q5")
    assert cached(reader) == []


def test_what_another_process_reads_stays_until_it_ends(
    reader: Warehouse, room_for: Gigabytes, parts: dict[str, str]
) -> None:
    room_for(2.5)
    ask(reader.home, "q0")
    holder = holding(reader.home, *(parts[f"q{n}"] for n in range(4)))
    ask(reader.home, "q4", "q5")
    assert cached(reader) == ["q0", "q1", "q2", "q3", "q4", "q5"]  # all were used since it began
    holder.communicate("end\n")
    ask(reader.home, "q6")
    assert cached(reader) == ["q5", "q6"]


def test_what_was_used_before_anybody_began_to_read_goes(
    reader: Warehouse, room_for: Gigabytes, parts: dict[str, str]
) -> None:
    room_for(2.5)
    ask(reader.home, "q0", "q1")
    holder = holding(reader.home, parts["q2"])
    assert cached(reader) == ["q1", "q2"]
    ask(reader.home, "q3")
    assert cached(reader) == ["q2", "q3"]
    holder.communicate("end\n")


def test_a_part_that_is_about_to_go_when_it_is_needed_is_fetched_again(
    reader: Warehouse, room_for: Gigabytes, parts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files were looked at while it was unused."""
    room_for(1.5)
    ask(reader.home, "q0")
    room_for(0)
    looks, listed, goes_on = cache._parts, threading.Event(), threading.Event()

    def slowly(store: Path) -> list[cache._File]:
        files = looks(store)
        listed.set()
        goes_on.wait(LONGEST_WAIT_S)
        return files

    store = Warehouse.open(reader.home).store
    with ThreadPoolExecutor(1) as pool, store.reading(), monkeypatch.context() as patch:
        patch.setattr(cache, "_parts", slowly)
        trims = pool.submit(store.trim)
        assert listed.wait(LONGEST_WAIT_S)
        threading.Timer(0.3, goes_on.set).start()
        store.fetch([(KIND, parts["q0"])])
        trims.result()
        assert cached(reader) == ["q0"]


def test_a_killed_reader_keeps_nothing(reader: Warehouse, room_for: Gigabytes, parts: dict[str, str]) -> None:
    room_for(1.5)
    killed = holding(reader.home, parts["q0"], parts["q1"])
    killed.kill()
    killed.communicate()
    marks = reader.store.home / "shared" / ".reading"
    assert len(list(marks.iterdir())) == 1
    ask(reader.home, "q2")
    assert cached(reader) == ["q2"]
    assert not list(marks.iterdir())


def test_replaced_files_go_when_nobody_reads_them(reader: Warehouse, shared: Warehouse) -> None:
    """Not before ten minutes, nor before a process that began to read in time has ended."""
    files = reader.store.folder

    def published() -> list[int]:
        return sorted(int(file.name[:8]) for file in files.glob("*.duckdb"))

    def replace(minutes_ago: float) -> None:
        """A new version, which came here so long ago."""
        with shared.write():
            pass
        came(reader.path, minutes_ago)

    def came(path: Path, minutes_ago: float) -> None:
        os.utime(path, (time.time() - 60 * minutes_ago,) * 2)

    first = published()[0]
    os.utime(reader.path, (0, 0))
    replace(minutes_ago=9)
    reader.store.trim()
    assert published() == [first, first + 1]
    came(reader.path, minutes_ago=40)
    holder = holding(reader.home)
    (mark,) = (reader.home / "shared" / ".reading").iterdir()
    came(mark, minutes_ago=60)
    replace(minutes_ago=30)
    reader.store.trim()
    assert published() == [first, first + 1, first + 2]  # it has the first
    came(mark, minutes_ago=35)
    reader.store.trim()
    assert published() == [first + 1, first + 2]  # it has the second
    holder.communicate("end\n")
    reader.store.trim()
    assert published() == [first + 2]
    assert reader.query("SELECT count(*) FROM country").item() == 170


def test_a_reader_keeps_the_file_that_it_has(reader: Warehouse, shared: Warehouse) -> None:
    with reader.read() as connection:
        path = reader.path
        path.unlink()  # as a trim of another process would, if it were as late as can be
        assert connection.execute("SELECT count(*) FROM country").fetchone() == (170,)
    assert reader.query("SELECT count(*) FROM country").item() == 170
    assert reader.path.exists()


def test_three_processes_on_one_home_fetch_and_delete_at_once(
    reader: Warehouse, room_for: Gigabytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    room_for(4.5)
    processes = [start(MANY, reader.home, str(seed)) for seed in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    Warehouse.open(reader.home).store.trim()
    assert len(cached(reader)) <= 4
    assert not list((reader.home / "shared" / ".reading").iterdir())


@pytest.mark.parametrize("given", ["lots", "-1", "nan", "inf"])
def test_an_invalid_size_is_a_one_line_error(
    shared: Warehouse, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("CULTURESCOPE_CACHE_GB", given)
    with pytest.raises(WarehouseError, match=f"CULTURESCOPE_CACHE_GB is '{given}': set it to"):
        Warehouse.open()


def test_the_cache_holds_twenty_gigabytes_by_default(
    shared: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CULTURESCOPE_CACHE_GB", raising=False)
    kept = Warehouse.open().store.cache_size()
    assert kept is not None
    assert kept.limit == 20e9


def test_prune_and_doctor_say_how_much_it_is(
    reader: Warehouse, parts: dict[str, str], shared_environment: dict[str, str]
) -> None:
    assert reader.query(ALL).item() == 24

    def run(*arguments: str, gigabytes: str) -> subprocess.CompletedProcess[str]:
        env = environment(reader.home, None) | shared_environment | {"CULTURESCOPE_CACHE_GB": gigabytes}
        done = subprocess.run(command(*arguments), env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    said = "13 files, 0.0 of at most 3 GB (CULTURESCOPE_CACHE_GB)"
    assert f"this machine keeps {said}" in run("prune", gigabytes="3").stderr
    doctor = run("doctor", "--no-measure", "--format", "json", gigabytes="3").stdout
    assert said in doctor
    assert " with s3://" in doctor
    assert PASSWORD not in doctor
    assert "this machine keeps 13 files" in run("prune", gigabytes="0").stderr
    assert "this machine keeps 2 files" in run("prune", "--delete", gigabytes="0").stderr  # a new version
    assert cached(reader) == []
