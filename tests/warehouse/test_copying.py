"""A warehouse copied to a shared store and back: whole, verified, resumed after an interruption."""

import json
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from tests.conftest import command, environment
from tests.shared_store import PASSWORD
from tests.warehouse.rows import logprobs, make_run, metrics
from warehouse import (
    Warehouse,
    WarehouseError,
    finish_run,
    save_metrics,
    save_run,
    write_part,
)
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import Store, store_named

KIND = "item_logprob"
JOB = '{"ids": ["a"], "file": "file-0", "batch": "batch_0"}'
ROWS = (
    "SELECT request_hash, country, item, logprob, part FROM item_logprob ORDER BY ALL",
    "SELECT kind, request_hash, unit, part, run_id, n_rows, written_at FROM part_unit ORDER BY ALL",
    "FROM metric_value ORDER BY ALL",
    "FROM run ORDER BY ALL",
)


@pytest.fixture
def full(warehouse: Warehouse) -> Warehouse:
    """A local warehouse with a finished run, twelve parts (one registered since the last write), and a note
    on a job that was sent to a server."""
    with warehouse.write() as connection:
        save_run(connection, make_run("r1"))
        save_metrics(connection, "r1", metrics())
        finish_run(connection, "r1")
    for n in range(12):
        warehouse.register(write_part(warehouse.store, KIND, f"q{n}", logprobs("FR IT", f"q{n}")))
        if n == 10:
            with warehouse.write():
                pass
    with warehouse.store.jobs("asked").locked() as jobs:
        jobs.write("job", JOB)
    return warehouse


@pytest.fixture(params=["folder", pytest.param("shared", marks=[pytest.mark.slow, pytest.mark.heavy])])
def target(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store, as named on a command line."""
    if request.param == "folder":
        return store_named(str(tmp_path / "folder"))
    settings: dict[str, str] = request.getfixturevalue("shared_environment")
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "machine"))
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    for name in settings.keys() - {"CULTUREMETER_WAREHOUSE"}:
        monkeypatch.setenv(name, settings[name])
    return store_named(settings["CULTUREMETER_WAREHOUSE"].replace(f":{PASSWORD}", ""))


def assert_equal(one: Warehouse, other: Warehouse) -> None:
    for sql in ROWS:
        rows = one.query(sql)
        assert rows.height
        assert other.query(sql).equals(rows)


def test_a_warehouse_copied_to_another_store_and_back_is_equal(
    full: Warehouse, target: Store, tmp_path: Path
) -> None:
    progress: list[tuple[int, int]] = []
    verified = copy(full, target, lambda n, total: progress.append((n, total)))
    assert progress[-1] == (12, 12)
    assert verified.filter(what=f"parts of {KIND}").rows() == [(f"parts of {KIND}", 12, 12)]
    assert dict(verified.select("what", "n_target").rows())["part_unit_base"] == 24
    shared = Warehouse.open(target)
    assert_equal(full, shared)
    assert copy(full, target).equals(verified)  # a second copy is only verified again

    back = LocalStore(tmp_path / "back")
    copy(shared, back)
    assert_equal(full, Warehouse.open(back))
    for store in (target, back):
        assert store.job_requests() == ["asked"]
        assert [text for text, _ in store.jobs("asked").notes().values()] == [JOB]


@pytest.mark.heavy
def test_an_interrupted_copy_sends_no_part_twice(
    full: Warehouse, target: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(n: int, total: int) -> None:
        if n == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy(full, target, interrupt)
    assert target.version() is None
    there = set(target.part_sizes(KIND))
    assert 5 <= len(there) <= 12
    read = LocalStore.part
    sent: list[str] = []

    def count(self: LocalStore, kind: str, part: str, *, anew: bool = False) -> bytes:
        sent.extend([part] if self.home == full.home else [])
        return read(self, kind, part, anew=anew)

    monkeypatch.setattr(LocalStore, "part", count)
    copy(full, target)
    assert set(sent).isdisjoint(there)
    assert_equal(full, Warehouse.open(target))


@pytest.mark.heavy
def test_a_copy_replaces_no_other_warehouse(
    full: Warehouse, target: Store, copied_home: Callable[[], Path], blank: Path
) -> None:
    copy(Warehouse(LocalStore(blank)), target)  # the content of a new warehouse may be replaced
    copy(full, target)
    other = Warehouse.open(LocalStore(copied_home()))
    with pytest.raises(WarehouseError, match=r"there is a warehouse at .* already .*rows of"):
        copy(other, target)
    assert_equal(full, Warehouse.open(target))


@pytest.mark.slow
def test_the_commands_print_the_same_for_local_and_shared_stores(
    full: Warehouse, shared_environment: dict[str, str], tmp_path: Path
) -> None:
    url, parts = (shared_environment[f"CULTUREMETER_{name}"] for name in ("WAREHOUSE", "PARTS"))
    kept = {n: v for n, v in shared_environment.items() if n.startswith("AWS_") or n.endswith("ENDPOINT")}

    def run(*arguments: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        variables = environment(tmp_path / "machine", None) | kept | env
        return subprocess.run(command(*arguments), env=variables, capture_output=True, text=True)

    refused = run("copy", "--from", str(full.home), "--to", url, "--to-parts", parts, env={})
    assert refused.returncode == 1
    assert "set PGPASSWORD" in refused.stderr
    bare = url.replace(f":{PASSWORD}", "")
    done = run(
        "copy", "--from", str(full.home), "--to", bare, "--to-parts", parts, env={"PGPASSWORD": PASSWORD}
    )
    assert done.returncode == 0, done.stderr
    assert f"parts of {KIND}" in done.stdout
    there = {"CULTUREMETER_WAREHOUSE": url, "CULTUREMETER_PARTS": parts}
    sql = ("sql", "SELECT count(*) AS n FROM item_logprob WHERE request_hash = 'q3'", "--format", "json")
    for arguments in (sql, ("check",), ("prune",), ("leaderboard", "spectral", "--format", "json")):
        local = run(*arguments, env={"CULTUREMETER_HOME": str(full.home)})
        shared = run(*arguments, env=there)
        assert (shared.returncode, shared.stdout) == (local.returncode, local.stdout), shared.stderr
        assert PASSWORD not in shared.stdout + shared.stderr
    assert json.loads(run(*sql, env=there).stdout) == [{"n": 4}]
    code = "import culturemeter as cs; print(cs.sql('SELECT count(*) FROM run').item())"
    env = environment(tmp_path / "machine", None) | kept | there
    done = subprocess.run([command()[0], "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr
    assert os.listdir(tmp_path / "machine" / "shared")


def flipped(home: Path, number: int) -> None:
    """Flip one bit of one file of a home, chosen by a number."""
    rng = random.Random(number)
    ends = ("culturemeter.duckdb", "registrations.sqlite", f"parts/{KIND}/*-*.parquet")
    file = rng.choice(sorted(home.glob(ends[number % 3])))
    data = bytearray(file.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def content(warehouse: Warehouse) -> list[list[list[object]]]:
    """Return all rows without times: what a damaged log registered is registered again."""
    rows = [warehouse.query(query).rows() for query in ROWS]
    return [[[cell for cell in row if not isinstance(cell, datetime)] for row in of] for of in rows]


@pytest.mark.parametrize("n", [3, pytest.param(120, marks=[pytest.mark.slow, pytest.mark.heavy])])
def test_a_flipped_bit_of_any_file_is_never_copied_as_data(full: Warehouse, tmp_path: Path, n: int) -> None:
    for number in range(n):
        home = Path(shutil.copytree(full.home, tmp_path / f"home {number}"))
        flipped(home, number)
        try:
            copy(Warehouse.open(home), target := store_named(str(tmp_path / f"copy {number}")))
        except WarehouseError:
            continue
        assert content(Warehouse(target)) == content(full)
