"""Figure: size of the database file, time of a publication and of leaderboards and to register a part, after
thousands of runs.

It measures the empty shared store that CULTUREMETER_WAREHOUSE and CULTUREMETER_PARTS name, else a folder.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import polars as pl

from benchmarks.process import Result, measure, median_seconds, peak, show
from benchmarks.sizes import Sizes
from warehouse import Warehouse, write_part

FILE_MB, LOCAL_S, SHARED_S, BOARD_S = 60.0, 1.0, 3.0, 0.3
REGISTERED = 2.0
"""Most times that a registration takes what it takes in an empty warehouse."""
PARTS, UNITS = 50, 170
"""Number of parts to register, and number of units of each."""
ROWS = 600
"""Number of rows of metric_value of a run."""
WRITE_RUNS = 2_500
"""Number of runs that one write finishes."""
STATEMENTS = {
    "leaderboard_cure": "SELECT * FROM leaderboard_cure",
    "leaderboard": "SELECT * FROM leaderboard",
    "one run": "SELECT count(*) FROM metric_value WHERE run_id = (SELECT min(run_id) FROM run)",
}

_RUNS = """
INSERT INTO run_base BY NAME SELECT md5('r' || i) AS run_id, if(i % 2 = 0, 'cure', 'fmlama') AS evaluation,
    'model-' || i // 2 % 100 AS model, false AS is_null, 'demo' AS profile, md5('c' || i % 2) AS config_hash,
    md5('e' || i // 2 % 100) AS engine_hash, md5('m' || i // 2 % 100) AS model_hash,
    json_object('seed', 1, 'benchmarks', ['a', 'b'], 'rest', repeat('p', 400)) AS params,
    json_object('kind', 'openai', 'model', 'model-' || i // 2 % 100) AS engine, '{{}}' AS item_lists,
    'none' AS boundary_rule, '1' AS code_version, TIMESTAMP '2025-01-01' + INTERVAL (i) MINUTE AS started_at,
    TIMESTAMP '2025-01-01' + INTERVAL (i) MINUTE AS finished_at, 'finished' AS status,
    'day-' || i // 200 AS occasion
FROM range({low}, {high}) AS t(i)
"""
_REQUESTS = """
INSERT INTO run_request SELECT md5('r' || i), md5('q' || i || '-' || n), 'topic', 'label ' || n
FROM range({low}, {high}) AS t(i), range(5) AS u(n)
"""
_UNITS = """
INSERT INTO part_unit_base SELECT 'response', md5('q' || i || '-' || n // 10), 'item-' || n,
    md5('q' || i || '-' || n // 10) || '-' || md5('p' || i), md5('r' || i), 1, TIMESTAMP '2025-01-01'
FROM range({low}, {high}) AS t(i), range(50) AS u(n)
"""
_METRICS = """
INSERT INTO metric_value_base SELECT md5('r' || i), 'model-' || i // 2 % 100, m.metric,
    CASE WHEN n = 0 THEN 'overall' WHEN n < 10 THEN 'benchmark' ELSE 'country' END,
    if(n = 0, 'all', 's' || n),
    random(), NULL, 40, 0, 0.4 * random(), 0.5 + 0.4 * random(), 0.3
FROM range({low}, {high}) AS t(i), range({rows} // 10) AS u(n), (
    FROM metric QUALIFY row_number() OVER (PARTITION BY evaluation ORDER BY rowid) <= 10
) AS m
WHERE m.evaluation = if(i % 2 = 0, 'cure', 'fmlama')
"""


def many_runs(sizes: Sizes) -> None:
    """Print a line for each number of runs."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as home:
        empty, n_stored = measure(registrations, home=home)["seconds"], 0
        for runs in sizes.finished_runs:
            measure(build, home=home, low=n_stored, high=runs)
            result, n_stored = measure(query_seconds, home=home, repeats=sizes.repeats), runs
            slower = measure(registrations, home=home)["seconds"] / empty
            seconds = {name: result[name] for name in STATEMENTS}
            bar_s = SHARED_S if result["is_shared"] else LOCAL_S
            missed = [name for name, value in seconds.items() if value >= BOARD_S]
            missed += ["file"] * (result["file_mb"] >= FILE_MB) + ["publication"] * (
                result["publication"] >= bar_s
            )
            missed += ["registration"] * (slower > REGISTERED)
            times = ", ".join(f"{name} {value:.3f} s" for name, value in seconds.items())
            place, rows = "shared" if result["is_shared"] else "local", runs * ROWS
            show(
                f"{place}, {runs:,} runs, {rows:,} rows of metric_value: file {result['file_mb']:.0f} MB, "
                f"{result['parts']} parts of {result['parts_mb']:.0f} MB; "
                f"publication {result['publication']:.2f} s; {times}; registration of a part of {UNITS} "
                f"units, on the processor, {slower:.2f} x that in an empty warehouse; "
                f"first query of a process {result['first']:.2f} s, later {result['processor']:.2f} s of "
                f"processor, {peak(result)}; "
                f"bars {FILE_MB:.0f} MB, {bar_s:.0f} s, {BOARD_S} s, {REGISTERED:.0f} x: "
                f"{'missed by ' + ', '.join(missed) if missed else 'met'}"
            )


def build(home: str, low: int, high: int) -> Result:
    """Store the runs from one number to another."""
    warehouse = Warehouse.open(Path(home))
    for first in range(low, high, WRITE_RUNS):
        values = {"low": first, "high": min(first + WRITE_RUNS, high), "rows": ROWS}
        with warehouse.write() as connection:
            for sql in (_RUNS, _REQUESTS, _UNITS, _METRICS):
                connection.execute(sql.format(**values))
    return {}


def registrations(home: str) -> Result:
    """Return the median seconds of the processor in which a part is registered, once it is written."""
    warehouse, kind, seconds = Warehouse.open(Path(home)), "item_logprob", []
    columns = {"model": "m", "domain": "currency", "question": "currency-1", "item": "euro", "run_id": "run"}
    for number in range(PARTS):
        request = f"registered {time.time_ns()} {number}"
        part = pl.DataFrame({"country": [f"C{n:03d}" for n in range(UNITS)]}).with_columns(
            pl.lit(request).alias("request_hash"), pl.lit(-1.0).alias("logprob"), pl.lit(1).alias("n_tokens"),
            *(pl.lit(value).alias(name) for name, value in columns.items()),
        )  # fmt: skip
        units = write_part(warehouse.store, kind, f"p-{number}", part)
        start = time.process_time()
        warehouse.register(units)
        seconds.append(time.process_time() - start)
    return {"seconds": median(seconds)}


def query_seconds(home: str, repeats: int) -> Result:
    """Return sizes in MB, and median seconds of each statement and of a publication that changes one row."""
    warehouse = Warehouse.open(Path(home))
    start = time.perf_counter()
    warehouse.query(STATEMENTS["leaderboard_cure"])
    first = time.perf_counter() - start
    start = time.process_time()
    warehouse.query(STATEMENTS["leaderboard_cure"])
    processor = time.process_time() - start
    seconds = {
        name: median_seconds(partial(warehouse.query, sql), repeats) for name, sql in STATEMENTS.items()
    }

    def publication() -> None:
        with warehouse.write() as connection:
            connection.execute("INSERT OR REPLACE INTO state VALUES ('benchmark', random()::VARCHAR)")

    parts = warehouse.store.part_sizes("metric_row")
    return {
        **seconds,
        "first": first,
        "processor": processor,
        "publication": median_seconds(publication, repeats),
        "file_mb": warehouse.path.stat().st_size / 1e6,
        "parts": len(parts),
        "parts_mb": sum(parts.values()) / 1e6,
        "is_shared": not warehouse.store.has_all_parts,
    }
