"""Figure: time to register a part in a warehouse with a long history, against an empty warehouse."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import polars as pl

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from warehouse import Warehouse, write_part

BAR = 2.0
KIND = "item_logprob"
PARTS, COUNTRIES = 200, 170
"""Number of parts to register, and number of units of each."""

HISTORY = (
    """
    INSERT INTO part_unit_base
    SELECT 'item_logprob', md5((range // 170)::VARCHAR), 'unit-' || range % 170, 'part-' || range // 1700,
        'run-' || range // 17000, 3750, TIMESTAMP '2026-11-22'
    FROM range({low}, {high})
    """,
    """
    INSERT INTO metric_value_base
    SELECT 'run-' || range // 5000, 'model', 'metric-' || range % 5, 'country_domain', range % 5000 // 5,
        random(), NULL, 27, 0, random(), random(), 0.2
    FROM range({low}, {high})
    """,
)
"""Statements that add rows of stored parts and of finished runs."""


def registration(sizes: Sizes) -> None:
    """Print the time to register the same parts in both warehouses."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        built = measure(build, home=f"{folder}/long", rows=[sizes.registered_units, sizes.metric_values])
        measure(build, home=f"{folder}/empty", rows=[0, 0])
        sides = {name: measure(work, home=f"{folder}/{name}") for name in ("empty", "long")}
    empty, long = sides["empty"], sides["long"]
    ratio = {name: long[name] / empty[name] for name in ("seconds", "cpu")}
    verdict = "met" if max(ratio.values()) <= BAR else "missed"
    for name, side in sides.items():
        show(
            f"{name}: registration {1e3 * side['seconds']:.1f} ms, {1e3 * side['cpu']:.1f} ms of them on the "
            f"processor; a reader's next query {1e3 * side['query']:.0f} ms and another write "
            f"{side['write']:.2f} s, on the processor {peak(side)}"
        )
    show(
        f"registration of a part of {COUNTRIES} units, {sizes.registered_units:,} part_unit and "
        f"{sizes.metric_values:,} metric_value rows ({built['bytes'] / 2**20:.0f} MiB) vs none: "
        f"{ratio['seconds']:.2f} x; on the processor {ratio['cpu']:.2f} x; bar {BAR:.0f} x: {verdict}"
    )


def build(home: str, rows: list[int]) -> Result:
    """Create a warehouse with these numbers of rows of part_unit and metric_value."""
    warehouse, max_rows = Warehouse.open(Path(home)), 1_000_000
    for sql, n in zip(HISTORY, rows, strict=True):
        for low in range(0, n, max_rows):
            with warehouse.write() as connection:
                connection.execute(sql.format(low=low, high=min(n, low + max_rows)))
    return {"bytes": warehouse.path.stat().st_size}


def work(home: str) -> Result:
    """Return median seconds of a registration and of a reader's query after every tenth, then of a write."""
    warehouse = Warehouse.open(Path(home))
    countries = warehouse.query("SELECT country FROM country ORDER BY country")["country"].to_list()
    count_query = "SELECT count(*) FROM part_unit WHERE request_hash = 'q-0'"
    warehouse.query(count_query)
    wall, cpu, query = [], [], []
    for number in range(PARTS):
        units = write_part(warehouse.home, KIND, f"p-{number}", _answers(number, countries))
        wall_seconds, cpu_seconds = _timed(lambda u=units: warehouse.register(u))  # type: ignore[misc]
        wall.append(wall_seconds)
        cpu.append(cpu_seconds)
        if number % 10 == 9:
            query.append(_timed(lambda: warehouse.query(count_query))[1])
    write = _timed(lambda: _write(warehouse))[1]
    return {"seconds": median(wall), "cpu": median(cpu), "query": median(query), "write": write}


def _write(warehouse: Warehouse) -> None:
    with warehouse.write():
        pass


def _timed(call: Callable[[], object]) -> tuple[float, float]:
    """Return a call's seconds, total and of the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def _answers(number: int, countries: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"country": countries}).with_columns(
        request_hash=pl.lit(f"q-{number}"),
        run_id=pl.lit("run"),
        model=pl.lit("model"),
        domain=pl.lit("currency"),
        question=pl.lit("currency-1"),
        item=pl.lit("euro"),
        logprob=pl.lit(-1.0),
        n_tokens=pl.lit(1),
    )
