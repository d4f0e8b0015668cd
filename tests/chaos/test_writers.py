"""Four writers and two readers for ten minutes: nothing lost, nothing doubled, nobody waits for ever."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.conftest import SCALE
from tests.conftest import environment
from warehouse import Warehouse, register_orphans, run_checks

pytestmark = pytest.mark.heavy

SECONDS = 600 * SCALE

COMMON = """
import os, pathlib, sys, time
import polars as pl
from warehouse import Warehouse, write_part
warehouse = Warehouse.open(pathlib.Path(sys.argv[1]))
until, n = time.monotonic() + float(sys.argv[2]), 0
"""
WRITER = f"""{COMMON}
while time.monotonic() < until:
    request = f"{{os.getpid()}}-{{n}}"
    frame = pl.DataFrame({{"request_hash": [request] * 2, "country": ["FR", "IT"]}}).with_columns(
        run_id=pl.lit("r"), model=pl.lit("m"), domain=pl.lit("d"), question=pl.lit("d-1"),
        item=pl.lit("euro"), logprob=pl.lit(-1.0), n_tokens=pl.lit(1))
    warehouse.register(write_part(warehouse.home, "item_logprob", f"p-{{request}}", frame))
    n += 1
    if n % 50 == 0:
        with warehouse.write() as connection:
            connection.execute("INSERT INTO state VALUES (?, '')", [f"test-{{request}}"])
print(n)
"""
READER = f"""{COMMON}
before = longest = 0
while time.monotonic() < until:
    start = time.monotonic()
    units, rows = warehouse.query(
        "SELECT (SELECT count(*) FROM part_unit), (SELECT count(DISTINCT part) FROM item_logprob)").row(0)
    longest = max(longest, time.monotonic() - start)
    assert units % 2 == 0 and units == 2 * rows and units >= before, (before, units, rows)
    before, n = units, n + 1
print(n, round(longest, 2))
"""


def test_four_writers_and_two_readers_lose_and_double_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    warehouse = Warehouse.open(tmp_path / "home")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(warehouse.home), str(SECONDS)],
            env=environment(warehouse.home, None), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for code in [WRITER] * 4 + [READER] * 2
    ]  # fmt: skip
    start, printed = time.monotonic(), []
    for process in processes:
        output, errors = process.communicate(timeout=SECONDS + 600)
        assert process.returncode == 0, errors
        assert not errors
        printed.append(output.split())
    registered = sum(int(n) for n, *_ in printed[:4])
    assert warehouse.query("SELECT count(*) FROM part_unit").item() == 2 * registered
    assert register_orphans(warehouse, "item_logprob") == ([], [])
    folds = warehouse.query("SELECT count(*) FROM state WHERE name LIKE 'test-%'").item()
    assert folds == sum(int(n) // 50 for n, *_ in printed[:4])
    assert run_checks(warehouse)["n_violations"].sum() == 0
    with capsys.disabled():
        reads = ", ".join(f"{n} queries, the longest {longest} s" for n, longest in printed[4:])
        print(f"\n{time.monotonic() - start:.0f} s: {registered} parts, {folds} other writes; {reads}")
