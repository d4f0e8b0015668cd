"""Many writers on a shared store: locks end with their holder, and nothing is published without a lock."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import REPOSITORY
from tests.warehouse.rows import await_line, logprobs, start_to
from warehouse import Warehouse, WarehouseError, register_orphans, run_checks, verify_parts, write_part
from warehouse.prune import prunable, prune
from warehouse.registrations import Position

psycopg = pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
pytestmark = pytest.mark.slow


ADD = "INSERT INTO state VALUES (?, '')"
ADDED = "SELECT count(*) FROM state WHERE name LIKE 'test%'"
HOLDS = """
import sys, time
from warehouse import Warehouse
with Warehouse.open().write() as connection:
    connection.execute("INSERT INTO state VALUES ('test', '')")
    print("written", flush=True)
    time.sleep(60)
"""


PARTS, WRITERS = 50, 4

COMMON = """
import os, sys, time
import polars as pl
from warehouse import Warehouse, write_part
warehouse = Warehouse.open()
who = sys.argv[1]
def part(n):
    frame = pl.DataFrame({"request_hash": [f"{who}-{n}"] * 2, "country": ["FR", "IT"]}).with_columns(
        run_id=pl.lit(who), model=pl.lit("m"), domain=pl.lit("d"), question=pl.lit("d-1"),
        item=pl.lit("euro"), logprob=pl.lit(-1.0), n_tokens=pl.lit(1))
    return write_part(warehouse.store, "item_logprob", f"p-{who}-{n}", frame)
"""
WRITER = f"""{COMMON}
for n in range({PARTS}):
    if who == "killed" and n == 30:  # between the two halves of a registration, and with the write lock held
        from warehouse.shared.tables import _REGISTER
        from warehouse.registrations import COLUMNS
        with warehouse.write() as connection, warehouse.store.database._session() as session:
            connection.execute("INSERT INTO state VALUES ('test-killed-a', '')")
            units = part(n)
            session.execute("BEGIN")
            session.execute(_REGISTER, [units[name].to_list() for name in COLUMNS[:-1]])
            print("in transaction", flush=True)
            time.sleep(600)
    warehouse.register(part(n))
    if n % 10 == 9:
        with warehouse.write() as connection:
            for half in "ab":
                connection.execute("INSERT INTO state VALUES (?, '')", [f"test-{{who}}-{{n}}-{{half}}"])
"""
READER = f"""{COMMON}
before = n = 0
while before < {2 * PARTS * (WRITERS - 1)} + 60:
    units, parts, halves = warehouse.query(
        "SELECT (SELECT count(*) FROM part_unit), (SELECT count(DISTINCT part) FROM item_logprob), "
        "(SELECT count(*) FROM state WHERE name LIKE 'test-%')").row(0)
    assert units % 2 == halves % 2 == 0 and units == 2 * parts and units >= before, (units, parts, halves)
    before, n = units, n + 1
print(n)
"""


def end_connections(url: str, which: str) -> None:
    """End connections like a stopped server or a broken network. which: a condition on pg_locks."""
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND {which}"
        ).fetchall()
    assert ended == [(True,)]


def test_a_killed_writer_releases_its_lock_and_changes_nothing(shared: Warehouse) -> None:
    before = shared.store.version()
    process = start_to(HOLDS, shared.home, "written")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert shared.store.version() == before
    with shared.write() as connection:
        connection.execute(ADD, ["test"])
    assert shared.query(ADDED).item() == 1
    assert not list(shared.store.folder.glob("*.writing-*"))


def by_another(warehouse: Warehouse, key: str) -> None:
    """Write in another thread, which has separate locks."""

    def write() -> None:
        with warehouse.write() as connection:
            connection.execute(ADD, [key])

    with ThreadPoolExecutor(1) as pool:
        pool.submit(write).result()


def test_a_writer_whose_connection_ended_takes_its_lock_again(shared: Warehouse, postgres_url: str) -> None:
    with shared.write() as connection:
        connection.execute(ADD, ["test"])
        end_connections(postgres_url, "granted")
    assert shared.query(ADDED).item() == 1


def test_a_writer_whose_lock_was_lost_to_another_publishes_nothing(
    shared: Warehouse, postgres_url: str
) -> None:
    lost = pytest.raises(WarehouseError, match=r"a lock at .* was lost.*Nothing was published")
    with lost, shared.write() as connection:
        connection.execute(ADD, ["test"])
        end_connections(postgres_url, "granted")
        by_another(shared, "other")
    assert shared.query(ADDED).item() == 0
    with shared.write() as connection:
        connection.execute(ADD, ["test"])
    assert shared.query(ADDED).item() == 1


def test_a_write_under_a_lock_that_was_lost_publishes_nothing(shared: Warehouse, postgres_url: str) -> None:
    """A configuration's numbers are made while its lock is held, and written at the end of it."""
    with shared.locked("metrics-c"):
        end_connections(postgres_url, "granted")
        by_another(shared, "other")  # perhaps of this configuration, unknown to the numbers here
        with pytest.raises(WarehouseError, match="was lost"), shared.write() as connection:
            connection.execute(ADD, ["test"])
    assert shared.query(ADDED).item() == 0
    with shared.locked("metrics-c"), shared.write() as connection:
        end_connections(postgres_url, "granted AND pid <> pg_backend_pid() LIMIT 1")
        connection.execute(ADD, ["test"])
    assert shared.query(ADDED).item() == 1, "nobody has published since"


def test_a_write_inside_a_write_is_refused(shared: Warehouse) -> None:
    with shared.write(), pytest.raises(WarehouseError, match="write\\(\\) inside write"), shared.write():
        pass


def test_registrations_go_on_when_the_server_has_ended_its_connections(
    shared: Warehouse, postgres_url: str
) -> None:
    shared.register(write_part(shared.store, "item_logprob", "p1", logprobs("FR", "q1")))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        connection.execute(f"{others} AND datname = current_database()")
    shared.register(write_part(shared.store, "item_logprob", "p2", logprobs("FR", "q2")))
    assert shared.query("SELECT count(*) FROM part_unit").item() == 2


def test_a_follower_of_the_log_misses_no_registration(shared: Warehouse) -> None:
    """Otherwise a reader that has seen an id would never see a lower id that was committed later."""
    units = [write_part(shared.store, "item_logprob", f"p{n}", logprobs("FR IT", f"q{n}")) for n in range(40)]
    seen, done = list[str](), threading.Event()

    def follow() -> None:
        position, last = Position(), False
        while not last:
            last = done.is_set()
            tail = shared.store.log.after(position)
            seen.extend(row[2] for row in tail.registrations)
            position = tail.position

    with ThreadPoolExecutor(9) as pool:
        follower = pool.submit(follow)
        list(pool.map(shared.store.log.append, units))
        done.set()
        follower.result()
    assert sorted(seen) == sorted([f"q{n}" for n in range(40)] * 2)


def test_a_forked_process_opens_its_own_connections(shared: Warehouse) -> None:
    assert shared.query("SELECT 1").item() == 1
    child = os.fork()
    if not child:
        try:
            os._exit(0 if shared.store.version() is not None else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert shared.query("SELECT 1").item() == 1


def start(code: str, who: str, folder: Path) -> subprocess.Popen[str]:
    """Start a process with a separate home, as on another machine."""
    env = os.environ | {"CULTUREMETER_HOME": str(folder / who), "PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(
        [sys.executable, "-c", code, who], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.heavy
def test_four_writers_lose_and_double_nothing_when_one_is_killed(
    shared: Warehouse, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed, *writers = [start(WRITER, who, tmp_path) for who in ("killed", "one", "two", "three")]
    reader = start(READER, "reader", tmp_path)
    await_line(killed, "in transaction")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    for process in writers:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    reads, errors = reader.communicate(timeout=300)
    assert reader.returncode == 0, errors

    counted = "SELECT run_id, count(*) AS n FROM part_unit GROUP BY run_id ORDER BY run_id"
    assert shared.query(counted).rows() == [("killed", 60), ("one", 100), ("three", 100), ("two", 100)]
    orphans = register_orphans(shared, "item_logprob").registered
    assert len(orphans) == 1, "the part that was written and not registered"
    assert shared.query(counted).rows()[0] == ("killed", 62)
    rows = "SELECT count(*), count(DISTINCT (request_hash, country)) FROM item_logprob"
    assert shared.query(rows).row(0) == (362, 362)
    halves = shared.query("SELECT name FROM state WHERE name LIKE 'test-%'")["name"]
    assert len(halves) == 2 * (3 * 5 + 3)
    assert verify_parts(shared).is_empty()
    assert run_checks(shared)["n_violations"].sum() == 0
    with capsys.disabled():
        print(f"\n{reads.strip()} reads")


def test_the_file_of_a_publication_that_failed_is_pruned(shared: Warehouse) -> None:
    objects = shared.store.objects  # type: ignore[attr-defined]
    published = set(objects.sizes("published"))
    objects.put("published/00000099-of-a-killed-writer.duckdb", b"stray")
    assert shared.store.strays() == {}, "it may be published in a moment"

    def stray() -> list[tuple[object, ...]]:
        plan = prunable(shared).filter(pl.col("what") == "failed publications")
        return plan.select("goes", "n_files", "bytes").rows()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warehouse.shared.store._BEING_PUBLISHED", timedelta(hours=-1))
        assert stray() == [(True, 1, 5)]
        prune(shared)
        assert stray() == []
    assert "00000099-of-a-killed-writer.duckdb" not in objects.sizes("published")
    assert published <= set(objects.sizes("published"))
    assert shared.query("SELECT count(*) FROM country").item() == 170
