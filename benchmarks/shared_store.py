"""Figures of a shared store: commits of eight writers at once, and a query of one request among many parts.

It needs an empty one, named by CULTURESCOPE_WAREHOUSE and CULTURESCOPE_PARTS. Every writer is a process with
a home of its own; the query is `culturescope sql` in a new process on a machine that has fetched nothing yet.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.process import Result, WorkerError, measure, show
from benchmarks.sizes import Sizes
from warehouse import Warehouse, write_part

WRITERS, UNITS = 8, 34
COMMIT_MS, QUERY_S = 500.0, 2.0
KIND = "item_logprob"
ASKED = f"SELECT country, item, logprob FROM {KIND} WHERE request_hash = 'writer-3-7'"
ALREADY = "SELECT count(*) AS n FROM part_unit"


def shared_store(sizes: Sizes) -> None:
    """Two lines: milliseconds of a commit, and seconds of the query."""
    if not os.environ.get("CULTURESCOPE_WAREHOUSE"):
        raise WorkerError("CULTURESCOPE_WAREHOUSE and CULTURESCOPE_PARTS are not set: name an empty store")
    with TemporaryDirectory(prefix="culturescope-bench-") as folder:
        there = measure(made, home=f"{folder}/first")["units"]
        if there:
            raise WorkerError(f"the store has {there} units already: name an empty one")
        each = sizes.shared_parts // WRITERS
        written = side_by_side(folder, each)
        n = f"{each * WRITERS:,} parts of {UNITS} units"
        met = "met" if written["commit"][1] < COMMIT_MS else "missed"
        show(
            f"{WRITERS} writers at once, {n}: a commit {in_words(written['commit'])}; with the upload of its "
            f"part {in_words(written['part'])}; bar p95 {COMMIT_MS:.0f} ms: {met}"
        )
        first, *later = [queried(f"{folder}/reader") for _ in range(1 + sizes.repeats)]
        met = "met" if max(first, *later) < QUERY_S else "missed"
        show(
            f"one request among {n}, in a new process each time: {first:.2f} s where nothing was fetched "
            f"yet, then {min(later):.2f} to {max(later):.2f} s; bar {QUERY_S:.0f} s: {met}"
        )


def side_by_side(folder: str, parts: int) -> dict[str, list[float]]:
    """Median, 95th percentile and maximum of milliseconds, over all writers at work together."""
    with ThreadPoolExecutor(WRITERS) as pool:
        calls = [
            pool.submit(measure, commits, home=f"{folder}/w{n}", writer=n, parts=parts)
            for n in range(WRITERS)
        ]
        sides = [call.result() for call in calls]
    seconds = {what: np.concatenate([side[what] for side in sides]) for what in ("commit", "part")}
    return {what: list(1e3 * np.quantile(taken, (0.5, 0.95, 1))) for what, taken in seconds.items()}


def in_words(milliseconds: list[float]) -> str:
    """Median, p95 and the longest."""
    middle, high, most = milliseconds
    return f"{middle:.0f} ms, p95 {high:.0f} ms, longest {most:.0f} ms"


def made(home: str) -> Result:
    """Make the store current; units that it has."""
    return {"units": Warehouse.open(Path(home)).query(ALREADY).item()}


def commits(home: str, writer: int, parts: int) -> Result:
    """Seconds of registering each part, and of that with writing it."""
    warehouse = Warehouse.open(Path(home))
    units = [f"C{n:02d}" for n in range(UNITS)]
    whole, commit = [], []
    for number in range(parts):
        frame = pl.DataFrame({"country": units}).with_columns(
            request_hash=pl.lit(f"writer-{writer}-{number}"),
            run_id=pl.lit(f"run-{writer}"),
            model=pl.lit("model"),
            domain=pl.lit("currency"),
            question=pl.lit("currency-1"),
            item=pl.lit("euro"),
            logprob=pl.lit(-1.0),
            n_tokens=pl.lit(1),
        )
        start = time.perf_counter()
        registered = write_part(warehouse.store, KIND, f"p-{writer}-{number}", frame)
        between = time.perf_counter()
        warehouse.register(registered)
        commit.append(time.perf_counter() - between)
        whole.append(time.perf_counter() - start)
    return {"commit": commit, "part": whole}


def queried(home: str) -> float:
    """Seconds of the command, start and all."""
    command = [sys.executable, "-m", "deployments.cli.app", "sql", ASKED, "--format", "csv"]
    start = time.perf_counter()
    done = subprocess.run(
        command, env=os.environ | {"CULTURESCOPE_HOME": home}, capture_output=True, text=True, check=False
    )
    took = time.perf_counter() - start
    if done.returncode or len(done.stdout.splitlines()) != UNITS + 1:
        raise WorkerError((done.stderr.strip() or done.stdout or "no output").splitlines()[-1])
    return took
