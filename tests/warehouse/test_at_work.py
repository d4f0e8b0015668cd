"""Running runs are distinguished from killed ones: by a lock in a folder, by leases in a shared store."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from tests.warehouse.rows import await_line, logprobs, make_run, store_part
from warehouse import Warehouse, claims, finish_run, save_run, save_run_requests
from warehouse.claims import at_work, working
from warehouse.prune import prune
from warehouse.store import Store

WORKS = """
import sys, time
from pathlib import Path
from warehouse.claims import working
from warehouse.store import store_at
with working(store_at(Path(sys.argv[1])), ["aa"]):
    print("begun", flush=True)
    time.sleep(600)
"""


def test_a_run_is_at_work_within_the_block(warehouse: Warehouse) -> None:
    store = warehouse.store
    assert at_work(store) == []
    with working(store, ["aa", "ab"]):
        with working(store, ["aa"]):  # a second process may resume it
            assert at_work(store) == ["aa", "ab"]
        assert at_work(store) == ["aa", "ab"]
    assert at_work(store) == []


def test_the_run_of_a_killed_process_is_not_at_work(warehouse: Warehouse) -> None:
    command = [sys.executable, "-c", WORKS, str(warehouse.home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        await_line(process, "begun")
        assert at_work(warehouse.store) == ["aa"]
        process.kill()
    assert at_work(warehouse.store) == []


@pytest.mark.slow
def test_the_lease_of_a_run_ends_with_its_block_and_expires_after_a_kill(
    shared: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
    store: Store = shared.store
    monkeypatch.setattr(claims, "LEASE_S", 36_000.0)  # longer than the server is up
    with working(store, ["aa"]):
        assert at_work(store) == ["aa"]
    assert at_work(store) == []
    assert store.leases is not None
    store.leases.take([("run", "killed somewhere")], "somewhere", -1)
    assert at_work(store) == ["killed"], "a server that has just started knows no lease that has run out"
    monkeypatch.setattr(claims, "LEASE_S", -0.5)
    assert at_work(store) == []
    store.leases.take([("q", "FR")], "killed two days ago", -172_800)
    monkeypatch.setattr(claims, "LEASE_S", 60.0)
    with working(store, ["ab"]):
        pass
    leases = "SELECT unit FROM culturemeter.lease"
    assert store.leases.database.call(lambda c: c.execute(leases).fetchall()) == [("killed somewhere",)]  # type: ignore[attr-defined]


def test_prune_keeps_the_parts_of_a_run_under_way(warehouse: Warehouse) -> None:
    """A later occasion has finished, so only the running process keeps the parts of the first occasion."""
    for name, occasion in (("aa", "w1"), ("ab", "w2")):
        store_part(warehouse, logprobs(request=name, run_id=name), name)
        requests = {"request_hash": [name], "topic": ["t"], "label": ["l"]}
        with warehouse.write() as connection:
            save_run(connection, replace(make_run(name), occasion=occasion))
            save_run_requests(connection, name, pl.DataFrame(requests))
    with warehouse.write() as connection:
        finish_run(connection, "ab")
    runs = "SELECT DISTINCT run_id FROM part_unit ORDER BY ALL"
    with working(warehouse.store, ["aa"]):
        prune(warehouse, timedelta(0))
        assert warehouse.query(runs)["run_id"].to_list() == ["aa", "ab"]
    prune(warehouse, timedelta(0))
    assert warehouse.query(runs)["run_id"].to_list() == ["ab"]
