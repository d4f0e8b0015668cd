"""Figure: seconds of an aggregate over ten million stored log-probabilities, against polars on the files."""

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
from warehouse import Warehouse, register_parts, write_part

BAR_S = 1.0
KIND = "item_logprob"

AGGREGATE = """
SELECT model, domain, country, count(*) AS n, avg(logprob) AS mean, max(logprob) AS best
FROM item_logprob GROUP BY ALL
"""


def queries(sizes: Sizes) -> None:
    """Print the seconds of the aggregate over all rows, by the warehouse and by polars."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as home:
        built = measure(build_warehouse, home=home, items=sizes.stored_items)
        ours = measure(query, home=home, repeats=sizes.repeats)
        polars = measure(polars_scan, home=home, repeats=sizes.repeats)
    show(
        f"warehouse {ours['seconds']:.3f} s {peak(ours)} · polars scan_parquet {polars['seconds']:.3f} s "
        f"{peak(polars)} — {built['n_rows']:,} log-probabilities, {built['bytes'] / 2**20:.0f} MiB of "
        f"Parquet; bar {BAR_S:.0f} s: {'met' if ours['seconds'] < BAR_S else 'missed'}",
        f"warehouse vs polars: {polars['seconds'] / ours['seconds']:.2f} x; writing took "
        f"{1e6 * built['seconds'] / built['n_rows']:.2f} µs a row {peak(built)}",
    )


def build_warehouse(home: str, items: int) -> Result:
    """Store 27 parts of 170 countries x ``items`` items."""
    warehouse = Warehouse.open(Path(home))
    questions = warehouse.query("SELECT question, domain FROM question ORDER BY question").rows()
    countries = warehouse.query("SELECT country FROM country ORDER BY country")["country"].to_list()
    start = time.perf_counter()
    for number, (question, domain) in enumerate(questions):
        frame = _answers(number, question, domain, countries, items)
        units = write_part(warehouse.home, KIND, f"part-{number:02d}", frame)
        with warehouse.write() as connection:
            register_parts(connection, [units])
    seconds = time.perf_counter() - start
    return {
        "n_rows": len(questions) * len(countries) * items,
        "seconds": seconds,
        "bytes": sum(part.stat().st_size for part in _parts(home)),
    }


def query(home: str, repeats: int) -> Result:
    """Return the median seconds of the aggregate, connection included, after a first run."""
    return {"seconds": median_seconds(partial(Warehouse.open(Path(home)).query, AGGREGATE), repeats)}


def polars_scan(home: str, repeats: int) -> Result:
    """Return the seconds of the aggregate from all Parquet files, registered or not."""
    value = pl.col("logprob")

    def scan() -> pl.DataFrame:
        lazy = pl.scan_parquet(_parts(home)).group_by("model", "domain", "country")
        return lazy.agg(pl.len(), value.mean().alias("mean"), value.max().alias("best")).collect()

    return {"seconds": median_seconds(scan, repeats)}


def _parts(home: str) -> list[Path]:
    return list((Path(home) / "parts" / KIND).glob("*.parquet"))


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
