"""Two machines that evaluate one model at the same time store each answer once, also if one is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPOSITORY, environment
from tests.golden.harness import differences, golden_path, metric_rows, new_home, read_golden
from tests.waiting import until
from warehouse import Warehouse
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import store_at

psycopg = pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.heavy]

MACHINE = """
import sys
from pathlib import Path
from warehouse import claims
claims.LEASE_S, claims._POLL_S = 2.0, 0.05
from tests.golden.harness import run
run("spectral", Path(sys.argv[1]))
"""
REGISTERED = "SELECT count(*) FROM culturemeter.registration"
ONCE = f"{REGISTERED} GROUP BY kind, request_hash, unit HAVING count(*) > 1"


@pytest.fixture
def homes(
    blank: Path, tmp_path: Path, shared_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> list[Path]:
    """The homes of two machines on one shared store."""
    for name, value in shared_environment.items():
        monkeypatch.setenv(name, value)
    copy(Warehouse(LocalStore(blank)), store_at(tmp_path))
    first = new_home(blank, f"machine-of-{tmp_path.name}", "spectral", "http://127.0.0.1:9")
    (first / "culturemeter.duckdb").unlink()
    return [first, Path(shutil.copytree(first, first.with_name(f"other-{first.name}")))]


def started(home: Path, shared_environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MACHINE, str(home)], env=environment(home, None) | shared_environment,
        cwd=REPOSITORY, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def counted(url: str, sql: str) -> list[Any]:
    with psycopg.connect(url) as connection:
        return [n for (n,) in connection.execute(sql).fetchall()]


def ended(machine: subprocess.Popen[str]) -> None:
    _, errors = machine.communicate(timeout=500)
    assert machine.returncode == 0, errors


def test_two_machines_request_no_answer_twice(
    homes: list[Path], shared_environment: dict[str, str], postgres_url: str
) -> None:
    machines = [started(home, shared_environment) for home in homes]
    for machine in machines:
        ended(machine)
    assert counted(postgres_url, REGISTERED)[0] > 100
    assert counted(postgres_url, ONCE) == []
    assert counted(postgres_url, "SELECT count(*) FROM culturemeter.lease") == [0]
    recorded = read_golden(golden_path("spectral", "metric_value"))
    assert differences(recorded, metric_rows(homes[0], "spectral")) == []


def test_claims_of_a_killed_machine_are_answered_by_the_other(
    homes: list[Path], shared_environment: dict[str, str], postgres_url: str
) -> None:
    killed = started(homes[0], shared_environment)

    def has_claimed() -> bool:
        try:
            return counted(postgres_url, "SELECT count(*) FROM culturemeter.lease") != [0]
        except psycopg.errors.UndefinedTable:
            return False

    until(has_claimed, killed, every=0.002)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    ended(started(homes[1], shared_environment))
    assert counted(postgres_url, ONCE) == []
    recorded = read_golden(golden_path("spectral", "metric_value"))
    assert differences(recorded, metric_rows(homes[1], "spectral")) == []
