"""Two machines that share no more than Postgres and S3 send each batch once, whoever is killed or cut off."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tasks.engines.specs import EngineSpec
from tests.conftest import REPOSITORY
from tests.engines.batch_server import BatchServer
from tests.loop import test_batches
from tests.loop.test_batches import complete
from tests.warehouse.rows import await_line
from tests.warehouse.test_shared_locks import end_connections
from warehouse import Warehouse, WarehouseError, run_checks
from warehouse.local_store import LocalStore
from warehouse.store import Store

psycopg = pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
pytestmark = pytest.mark.slow

MACHINE = """
import sys
from tests.loop.test_batches import EngineSpec, complete, openai_batch
from warehouse import claims
claims.LEASE_S, claims._POLL_S = 1.0, 0.05
openai_batch.FIRST_POLL_S = 0.05
spec = EngineSpec.model_validate_json(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
print(*(completion.text for completion in complete(spec)), sep="|")
"""
ANSWERS = "|".join(f"re: {text}" for text in "abcde")
TIMEOUT_S = 3.0

server = test_batches.server
Machine = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def served(server: BatchServer) -> EngineSpec:
    options = {"batch": 100, "max_retries": 0, "timeout": TIMEOUT_S}
    return EngineSpec(name="served", kind="openai", model="m", base_url=server.url, options=options)


@pytest.fixture
def machine(shared: Warehouse, served: EngineSpec, tmp_path: Path) -> Iterator[Machine]:
    """Start the same request in a process with a separate home; it begins when it gets a line."""
    processes: list[subprocess.Popen[str]] = []

    def start(name: str) -> subprocess.Popen[str]:
        env = os.environ | {"CULTUREMETER_HOME": str(tmp_path / name), "PYTHONPATH": str(REPOSITORY)}
        process = subprocess.Popen(
            [sys.executable, "-c", MACHINE, served.model_dump_json()],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        await_line(process, "ready")
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def printed(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output.strip()


def kill_when(machine: Machine, is_time: Callable[[], object]) -> None:
    """Start a machine on the request and kill it after a wait."""
    killed = machine("killed")
    begin(killed)
    is_time()
    killed.kill()
    killed.communicate()


def answers(served: EngineSpec) -> str:
    """Complete the request on this machine."""
    return "|".join(completion.text for completion in complete(served))


def test_two_machines_that_start_together_send_a_batch_once(
    shared: Warehouse, server: BatchServer, machine: Machine
) -> None:
    # Usually long enough for the other machine to reach the same point.
    server.stalls["POST", "/files"] = lambda: server.closing.wait(1.0)
    server.polls = 8
    machines = [machine("one"), machine("two")]
    for each in machines:
        begin(each)
    assert [printed(each) for each in machines] == [ANSWERS] * 2
    assert (server.count("POST", "/files"), len(server.sent)) == (1, 1)
    assert server.count("GET", "/content") == 1  # the other machine waited for the claimed units
    assert shared.query("SELECT count(*), count(DISTINCT part) FROM response").row(0) == (5, 1)
    assert run_checks(shared)["n_violations"].sum() == 0


@pytest.mark.parametrize(
    ("held", "uploads"),
    [
        (("POST", "/files"), 2),  # the first file's id was lost; a file costs nothing
        (("POST", "/batches"), 1),  # the batch began, but its id was never read
        (("GET", "/batches/batch_0"), 1),
    ],
)
def test_the_batch_of_a_killed_machine_is_awaited_by_the_other(
    server: BatchServer, served: EngineSpec, machine: Machine, held: tuple[str, str], uploads: int
) -> None:
    server.held.append(held)
    kill_when(machine, lambda: server.wait_for(*held))
    server.held.clear()
    assert answers(served) == ANSWERS
    assert (server.count("POST", "/files"), len(server.sent)) == (uploads, 1)


def test_a_batch_that_the_server_has_not_begun_yet_is_waited_for(
    server: BatchServer, served: EngineSpec, machine: Machine
) -> None:
    """Its sender has died, and the server has not yet begun it when the other machine first looks."""
    server.stalls["POST", "/batches"] = lambda: server.wait_until(lambda: server.count("GET", "/batches"))
    kill_when(machine, lambda: server.wait_until(lambda: server.count("POST", "/batches")))
    assert answers(served) == ANSWERS
    assert (server.count("POST", "/files"), len(server.sent)) == (1, 1)
    assert server.count("GET", "/batches") == 2


def test_a_batch_that_the_server_refused_is_begun_by_the_other_machine(
    server: BatchServer, served: EngineSpec, machine: Machine
) -> None:
    server.fails["POST", "/batches"] = 503
    killed = machine("killed")
    begin(killed)
    _, errors = killed.communicate(timeout=120)
    assert "failed after 1 try (503: no)" in errors
    server.fails.clear()
    assert answers(served) == ANSWERS
    assert (server.count("POST", "/files"), len(server.sent)) == (1, 1)


def test_a_machine_that_lost_its_lock_begins_no_batch(
    server: BatchServer, served: EngineSpec, machine: Machine, postgres_url: str
) -> None:
    """It loses its lock while it uploads a file, so it begins no batch, and another machine does."""
    ended = threading.Event()
    server.stalls["POST", "/files"] = ended.wait
    cut_off = machine("cut-off")
    begin(cut_off)
    server.wait_until(lambda: server.count("POST", "/files"))
    end_connections(postgres_url, "granted")
    ended.set()
    _, errors = cut_off.communicate(timeout=300)
    assert "was lost during the work" in errors.splitlines()[-1]
    assert (server.count("POST", "/files"), len(server.sent)) == (1, 0)
    assert answers(served) == ANSWERS
    assert (server.count("POST", "/files"), len(server.sent)) == (2, 1)
    again = machine("cut-off")
    begin(again)
    assert printed(again) == ANSWERS
    assert len(server.sent) == 1


def test_each_occasion_has_its_own_batch_notes(
    shared: Warehouse, server: BatchServer, served: EngineSpec
) -> None:
    """Two occasions of one request are two request hashes with one note each."""
    complete(served)
    complete(served, occasion="2026-w48")
    assert len(server.sent) == 2
    hashes = shared.store.job_requests()
    assert len(hashes) == 2
    for request_hash in hashes:
        assert len(shared.store.jobs(request_hash).notes()) == 1
    assert not list((shared.home / "batches").glob("**/*.json"))


def test_a_shared_store_knows_the_age_of_a_batch_note(
    shared: Warehouse, tmp_path: Path, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("DROP TABLE culturemeter.batch_job")  # as older code has left the store
    stores: dict[str, Store] = {"local": LocalStore(tmp_path / "local"), "shared": shared.store}
    ages = {}
    for name, store in stores.items():
        with store.jobs("asked").locked() as jobs:
            jobs.write("a", "first")
            jobs.write("a", "then")
            jobs.write("b", "gone")
            jobs.delete("b")
            ((text, ages[name]),) = store.jobs("asked").notes().values()
        assert text == "then"
    assert ages["local"] == float("inf")
    assert 0 <= ages["shared"] < 60
    assert "culturemeter.batch_job" in stores["shared"].jobs("asked").place("a")
    with pytest.raises(WarehouseError, match="was lost"), stores["shared"].jobs("asked").locked() as jobs:  # noqa: PT012
        end_connections(postgres_url, "granted")
        jobs.write("a", "too late")
    assert [text for text, _ in stores["shared"].jobs("asked").notes().values()] == ["then"]
