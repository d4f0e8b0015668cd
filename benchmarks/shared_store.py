"""Figure of a shared store: time of commits by eight writers at once, and of a query among many parts.

It needs an empty store, named by CULTUREMETER_WAREHOUSE and CULTUREMETER_PARTS. Every writer is a process
with a home of its own. The query is `culturemeter sql` in a new process with a home that has fetched nothing
yet.
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
REQUEST_QUERY = f"SELECT country, item, logprob FROM {KIND} WHERE request_hash = 'writer-3-7'"
COUNT_QUERY = "SELECT count(*) AS n FROM part_unit"


def shared_store(sizes: Sizes) -> None:
    """Print the milliseconds of a commit, and the seconds of the query."""
    if not os.environ.get("CULTUREMETER_WAREHOUSE"):
        raise WorkerError("CULTUREMETER_WAREHOUSE and CULTUREMETER_PARTS are not set: name an empty store")
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        n_units = measure(open_store, home=f"{folder}/first")["units"]
        if n_units:
            raise WorkerError(f"the store has {n_units} units already: name an empty one")
        n_parts = sizes.shared_parts // WRITERS
        times = commit_times(folder, n_parts)
        n = f"{n_parts * WRITERS:,} parts of {UNITS} units"
        met = "met" if times["commit"][1] < COMMIT_MS else "missed"
        show(
            f"{WRITERS} writers at once, {n}: a commit {as_text(times['commit'])}; with the upload of its "
            f"part {as_text(times['part'])}; bar p95 {COMMIT_MS:.0f} ms: {met}"
        )
        first_s, *later_s = [query_seconds(f"{folder}/reader") for _ in range(1 + sizes.repeats)]
        met = "met" if max(first_s, *later_s) < QUERY_S else "missed"
        show(
            f"one request among {n}, in a new process each time: {first_s:.2f} s where nothing was fetched "
            f"yet, then {min(later_s):.2f} to {max(later_s):.2f} s; bar {QUERY_S:.0f} s: {met}"
        )


def commit_times(folder: str, parts: int) -> dict[str, list[float]]:
    """Return median, 95th percentile and maximum of milliseconds over all writers, which work at once."""
    with ThreadPoolExecutor(WRITERS) as pool:
        calls = [
            pool.submit(measure, commit_parts, home=f"{folder}/w{n}", writer=n, parts=parts)
            for n in range(WRITERS)
        ]
        sides = [call.result() for call in calls]
    seconds = {what: np.concatenate([side[what] for side in sides]) for what in ("commit", "part")}
    return {what: list(1e3 * np.quantile(taken, (0.5, 0.95, 1))) for what, taken in seconds.items()}


def as_text(milliseconds: list[float]) -> str:
    """Return median, 95th percentile and maximum as text."""
    middle, high, most = milliseconds
    return f"{middle:.0f} ms, p95 {high:.0f} ms, longest {most:.0f} ms"


def open_store(home: str) -> Result:
    """Migrate the store, and return its number of units."""
    return {"units": Warehouse.open(Path(home)).query(COUNT_QUERY).item()}


def commit_parts(home: str, writer: int, parts: int) -> Result:
    """Return the seconds of registering each part, and of writing and registering it."""
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


def query_seconds(home: str) -> float:
    """Return the seconds of the command, including its start."""
    command = [sys.executable, "-m", "deployments.cli.app", "sql", REQUEST_QUERY, "--format", "csv"]
    start = time.perf_counter()
    done = subprocess.run(
        command, env=os.environ | {"CULTUREMETER_HOME": home}, capture_output=True, text=True, check=False
    )
    took = time.perf_counter() - start
    if done.returncode or len(done.stdout.splitlines()) != UNITS + 1:
        raise WorkerError((done.stderr.strip() or done.stdout or "no output").splitlines()[-1])
    return took
