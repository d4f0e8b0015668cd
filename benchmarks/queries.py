"""Figure: seconds of queries on ten million stored log-probabilities, against polars on the same files."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks import inputs
from benchmarks.process import Result, measure, median_seconds, peak, show
from benchmarks.sizes import Sizes
from warehouse import (
    Run,
    Warehouse,
    finish_run,
    part_path,
    register_parts,
    save_metrics,
    save_run,
    save_run_requests,
    write_part,
)

BAR_S = 1.0
KIND = "item_logprob"
MODELS = 20
"""Number of models on the leaderboard; the log-probabilities are those of the first."""

AGGREGATE = """
SELECT model, domain, country, count(*) AS n, avg(logprob) AS mean, max(logprob) AS best
FROM item_logprob GROUP BY ALL
"""
STATEMENTS = {
    "leaderboard_spectral": "SELECT * FROM leaderboard_spectral",
    "leaderboard": "SELECT * FROM leaderboard",
    "aggregate": AGGREGATE,
}


def queries(sizes: Sizes) -> None:
    """Print the seconds of two leaderboards and of an aggregate over all rows."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as home:
        built = measure(build_warehouse, home=home, items=sizes.stored_items)
        ours = measure(query, home=home, repeats=sizes.repeats)
        polars = measure(polars_scan, home=home, repeats=sizes.repeats)
    missed = [name for name in STATEMENTS if ours[name] >= BAR_S]
    times = ", ".join(f"{name} {ours[name]:.3f} s" for name in STATEMENTS)
    verdict = f"missed by {', '.join(missed)}" if missed else "met"
    show(
        f"warehouse {times} {peak(ours)} · polars scan_parquet aggregate {polars['aggregate']:.3f} s "
        f"{peak(polars)} — {built['n_rows']:,} log-probabilities, "
        f"{built['bytes'] / 2**20:.0f} MiB of Parquet; bar {BAR_S:.0f} s each: {verdict}",
        f"warehouse vs polars, aggregate: {polars['aggregate'] / ours['aggregate']:.2f} x; writing took "
        f"{1e6 * built['seconds'] / built['n_rows']:.2f} µs a row {peak(built)}",
    )


def build_warehouse(home: str, items: int) -> Result:
    """Store 27 parts of 170 countries x ``items`` items, and the metrics of 20 finished runs."""
    warehouse = Warehouse.open(Path(home))
    questions = warehouse.query("SELECT question, domain FROM question ORDER BY question").rows()
    countries = warehouse.query("SELECT country FROM country ORDER BY country")["country"].to_list()
    metrics = warehouse.query("SELECT metric FROM metric WHERE evaluation = 'spectral'")["metric"].to_list()
    start = time.perf_counter()
    for number, (question, domain) in enumerate(questions):
        frame = _answers(number, question, domain, countries, items)
        units = write_part(warehouse.home, KIND, f"part-{number:02d}", frame)
        with warehouse.write() as connection:
            register_parts(connection, [units])
    seconds = time.perf_counter() - start
    requests = pl.DataFrame(
        [(f"request-{n:02d}", domain, question) for n, (question, domain) in enumerate(questions)],
        schema=["request_hash", "topic", "label"],
        orient="row",
    )
    with warehouse.write() as connection:
        for number in range(MODELS):
            run = _run(number)
            save_run(connection, run)
            save_run_requests(connection, run.run_id, requests)
            save_metrics(connection, run.run_id, _metrics(run.model, metrics, dict(questions), countries))
            finish_run(connection, run.run_id)
    parts = part_path(warehouse.home, KIND, "part-00").parent.glob("part-*")
    return {
        "n_rows": len(questions) * len(countries) * items,
        "seconds": seconds,
        "bytes": sum(p.stat().st_size for p in parts),
    }


def query(home: str, repeats: int) -> Result:
    """Return the median seconds of each statement, connection included, after a first run."""
    warehouse = Warehouse.open(Path(home))
    return {name: median_seconds(partial(warehouse.query, sql), repeats) for name, sql in STATEMENTS.items()}


def polars_scan(home: str, repeats: int) -> Result:
    """Return the seconds of the aggregate from all Parquet files, registered or not."""
    files = part_path(Path(home), KIND, "part-*")
    value = pl.col("logprob")

    def scan() -> pl.DataFrame:
        lazy = pl.scan_parquet(files).group_by("model", "domain", "country")
        return lazy.agg(pl.len(), value.mean().alias("mean"), value.max().alias("best")).collect()

    return {"aggregate": median_seconds(scan, repeats)}


def _answers(number: int, question: str, domain: str, countries: list[str], items: int) -> pl.DataFrame:
    """Return one question's rows, with values that do not compress."""
    rng = np.random.Generator(np.random.PCG64(number))
    n = len(countries) * items
    names = inputs.dishes()[:items]
    return pl.DataFrame(
        {
            "country": np.repeat(countries, items),
            "item": names * len(countries),
            "logprob": rng.normal(-20, 4, size=n).astype(np.float32),
            "n_tokens": np.tile(rng.integers(1, 12, size=items), len(countries)),
        }
    ).with_columns(
        request_hash=pl.lit(f"request-{number:02d}"),
        run_id=pl.lit("run-00"),
        model=pl.lit("model-00"),
        domain=pl.lit(domain),
        question=pl.lit(question),
    )


def _metrics(model: str, metrics: list[str], domain_of: dict[str, str], countries: list[str]) -> pl.DataFrame:
    """Return as many metric rows as in a real run: overall, by question, by country and domain."""
    slices = [("overall", "all")] + [("question", q) for q in domain_of]
    slices += [("country_domain", f"{c}/{d}") for c in countries for d in sorted(set(domain_of.values()))]
    rows = [
        (metric, kind, name)
        for kind, name in slices
        for metric in (metrics if kind == "overall" else metrics[:2])
    ]
    return pl.DataFrame(rows, schema=["metric", "slice_kind", "slice"], orient="row").with_columns(
        model=pl.lit(model),
        value=pl.lit(0.5),
        unscored_reason=pl.lit(None, pl.String),
        n_scored=pl.lit(27),
        n_unscored=pl.lit(0),
        ci_low=pl.lit(0.4),
        ci_high=pl.lit(0.6),
        null_value=pl.lit(0.2),
    )


def _run(number: int) -> Run:
    return Run(
        run_id=f"run-{number:02d}",
        evaluation="spectral",
        model=f"model-{number:02d}",
        is_null=False,
        profile="benchmark",
        config_hash="benchmark",
        engine_hash=f"engine-{number:02d}",
        params={},
        engine={},
        item_lists={},
        boundary_rule="none",
        code_version="none",
    )
