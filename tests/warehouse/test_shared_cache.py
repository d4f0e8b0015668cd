"""The cache of a shared store on real servers: below its limit, the least recently used part goes first.

`test_cache` has the rules of one cache without servers.
"""

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
from tests.warehouse.rows import await_line, logprobs
from tests.warehouse.test_shared_store import KIND, another_machine, cached, part
from warehouse import Warehouse

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
cache._SCAN_EVERY, cache._ROOM = 0, 10**12
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
cache._SCAN_EVERY, cache._ROOM = 0, 10**12
warehouse, random = Warehouse.open(), random.Random(sys.argv[1])
for _ in range(60):
    names = random.sample([f"q{n}" for n in range(12)], random.randint(1, 12))
    n = warehouse.query("SELECT count(*) FROM item_logprob WHERE request_hash IN (SELECT unnest(?))", [names])
    assert n.item() == 2 * len(names), (n.item(), names)
    one = warehouse.query("SELECT count(*) FROM item_logprob WHERE request_hash = ?", names[:1]).item()
    assert one == 2, names
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
    """A machine that has fetched only the database file."""
    reader = another_machine(shared, tmp_path / "reader")
    reader.query("SELECT 1")
    return reader


@pytest.fixture
def room_for(reader: Warehouse, parts: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Gigabytes:
    """Set the limit to the size of the published file and this number of parts of similar size."""
    published = sum(file.stat().st_size for file in reader.store.folder.glob("*.duckdb"))
    sizes = reader.store.part_sizes(KIND).values()
    size = max(sizes)
    assert size < 1.02 * min(sizes)

    def set_limit(n: float) -> None:
        cache._states.clear()  # as in a new process
        monkeypatch.setattr(cache, "_SCAN_EVERY", 0)
        monkeypatch.setattr(cache, "_ROOM", 10**12)
        monkeypatch.setenv("CULTUREMETER_CACHE_GB", f"{(published + n * size) / 1e9:.12f}")

    return set_limit


def start(code: str, home: Path, *arguments: str) -> "subprocess.Popen[str]":
    env = os.environ | {"CULTUREMETER_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def query(home: Path, *requests: str) -> None:
    """Run queries of one process in turn."""
    warehouse = Warehouse.open(home)
    for request in requests:
        assert warehouse.query(OF, [request]).item() == 2
        time.sleep(TICK_S)


def test_parts_that_another_process_reads_stay_until_it_ends(
    reader: Warehouse, room_for: Gigabytes, parts: dict[str, str]
) -> None:
    room_for(2.5)
    query(reader.home, "q0")
    holder = start(HOLDER, reader.home, " ".join(parts[f"q{n}"] for n in range(4)))
    await_line(holder, "fetched")
    query(reader.home, "q4", "q5")
    assert cached(reader) == ["q0", "q1", "q2", "q3", "q4", "q5"]  # all were used since the reader began
    holder.communicate("end\n")
    query(reader.home, "q6")
    assert cached(reader) == ["q5", "q6"]


def test_a_part_deleted_just_before_it_is_needed_is_fetched_again(
    reader: Warehouse, room_for: Gigabytes, parts: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trim has listed the part as unused when a reader begins to need it."""
    room_for(1.5)
    query(reader.home, "q0")
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


def test_three_processes_on_one_home_fetch_and_delete_without_errors(
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


def test_prune_and_doctor_report_the_size_of_the_cache(
    reader: Warehouse, parts: dict[str, str], shared_environment: dict[str, str]
) -> None:
    assert reader.query(ALL).item() == 24

    def run(*arguments: str, gigabytes: str) -> subprocess.CompletedProcess[str]:
        env = environment(reader.home, None) | shared_environment | {"CULTUREMETER_CACHE_GB": gigabytes}
        done = subprocess.run(command(*arguments), env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done

    size = "13 files, 0.0 of at most 3 GB (CULTUREMETER_CACHE_GB)"
    assert f"this machine keeps {size}" in run("prune", gigabytes="3").stderr
    doctor = run("doctor", "--no-measure", "--format", "json", gigabytes="3").stdout
    assert size in doctor
    assert " with s3://" in doctor
    assert PASSWORD not in doctor
    assert "this machine keeps 13 files" in run("prune", gigabytes="0").stderr
    # Pruning has published a new version.
    assert "this machine keeps 2 files" in run("prune", "--delete", gigabytes="0").stderr
    assert cached(reader) == []
