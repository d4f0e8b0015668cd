"""Figure: seconds of leaderboards, their history and comparisons after 100 daily occasions of 20 models.

The models do not change, so every drift that ``culturemeter drift`` reports is a false alarm.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from benchmarks.process import Result, measure, median_seconds, peak, show
from benchmarks.sizes import Sizes
from flows.comparison import ComparedRuns, chosen_pairs, differences, last_two_occasions
from flows.runs import every_finished
from tasks.metrics.intervals import half_samples
from warehouse import Warehouse, register_parts, write_part

BAR_S = 1.0
MODELS = 20
ITEMS, COUNTRIES, HALVES = 600, 170, 200
CURE = ("exact_match", "coverage", "specificity", "connotation")
SLICES = 60
"""Number of further rows of ``metric_value`` for every metric of a run."""

RUNS = """
INSERT INTO run_base BY NAME SELECT run_id, evaluation, model, false AS is_null, 'demo' AS profile,
    evaluation AS config_hash, model AS engine_hash, '{}' AS params, '{"kind": "openai"}' AS engine,
    '{}' AS item_lists, 'none' AS boundary_rule, '0' AS code_version, ended AS started_at,
    ended AS finished_at, 'finished' AS status, occasion
FROM incoming
"""
METRICS = """
INSERT INTO metric_value_base BY NAME SELECT run_id, model, metric, slice_kind, slice, value,
    NULL AS unscored_reason, 1 AS n_scored, 0 AS n_unscored,
    value - 0.1 AS ci_low, value + 0.1 AS ci_high, 0.5 AS null_value
FROM incoming
"""


def history(sizes: Sizes) -> None:
    """Print the seconds of each statement, and the number of false alarms."""
    days = 100 if sizes.repeats > 1 else 3
    with TemporaryDirectory(prefix="culturemeter-bench-") as home:
        built = measure(build, home=home, days=days)
        times = measure(query_seconds, home=home, repeats=sizes.repeats)
        alarms = measure(false_alarms, home=home)
    seconds = {name: value for name, value in times.items() if name in STATEMENTS or name == "compare"}
    missed = [name for name, value in seconds.items() if value >= BAR_S]
    described = ", ".join(f"{name} {value:.3f} s" for name, value in seconds.items())
    show(
        f"{described} {peak(times)} — {built['n_runs']:,} runs of {MODELS} models on {days} days, "
        f"{built['database'] / 2**20:.0f} MiB of database, {built['parts'] / 2**20:.0f} MiB of parts; bar "
        f"{BAR_S:.0f} s each: {'missed by ' + ', '.join(missed) if missed else 'met'}",
        f"drift: {times['drift']:.2f} s; false alarms on {alarms['raised']} of {alarms['looks']} days",
    )


STATEMENTS = {
    "leaderboard": "SELECT * FROM leaderboard_cure",
    "leaderboard_history": "SELECT * FROM leaderboard_history",
    "one of it": "SELECT * FROM leaderboard_history WHERE evaluation = 'cure' AND model = 'model-07'",
}


def build(home: str, days: int) -> Result:
    """Store two evaluations of 20 models on every day, with values of items and of half-samples."""
    warehouse, rng = Warehouse.open(Path(home)), np.random.default_rng(0)
    items = [f"normad:thick:item-{i:04d}" for i in range(ITEMS)]
    halves = [f"{number:012x}" for number in rng.integers(0, 2**48, HALVES)]
    half_members = half_samples(COUNTRIES, HALVES, 0)
    skill = rng.beta(2, 1, (MODELS, ITEMS))
    effects = rng.normal(0.6, 0.1, (MODELS, COUNTRIES))
    runs, metrics, parts = [], [], []
    for day in range(days):
        day_start = datetime(2026, 1, 1) + timedelta(days=day)
        for model_number in range(MODELS):
            hits = (rng.random((len(CURE), ITEMS)) < skill[model_number]).astype(np.float64)
            day_effects = effects[model_number] + rng.normal(0, 0.1, COUNTRIES)
            resampled = day_effects[half_members].mean(axis=1)
            values = {
                "cure": dict(zip(CURE, hits, strict=True)),
                "spectral": {"macro_f1": resampled, "rank_spearman": resampled},
            }
            means = {"cure": hits.mean(axis=1), "spectral": [day_effects.mean()] * 2}
            for evaluation, metric_points in values.items():
                ids = {
                    "run_id": f"{evaluation}-{model_number:02d}-{day:03d}",
                    "model": f"model-{model_number:02d}",
                }
                run = ids | {
                    "evaluation": evaluation,
                    "ended": day_start,
                    "occasion": f"{day_start:%Y-%m-%d}",
                }
                runs.append(run)
                frame = pl.concat(
                    [
                        _points(metric, evaluation, points, items, halves)
                        for metric, points in metric_points.items()
                    ]
                ).with_columns(
                    request_hash=pl.lit(ids["run_id"]), **{name: pl.lit(value) for name, value in ids.items()}
                )
                parts.append(write_part(warehouse.home, "headline_value", ids["run_id"], frame))
                for metric, mean in zip(metric_points, means[evaluation], strict=True):
                    row = ids | {"metric": metric, "value": float(mean)}
                    metrics.append(row | {"slice_kind": "overall", "slice": "all"})
                    metrics += [row | {"slice_kind": "country", "slice": str(n)} for n in range(SLICES)]
    with warehouse.write() as connection:
        register_parts(connection, parts)
        for sql, rows in ((RUNS, runs), (METRICS, metrics)):
            connection.register("incoming", pl.DataFrame(rows))
            connection.execute(sql)
            connection.unregister("incoming")
    files = (warehouse.home / "parts" / "headline_value").glob("*.parquet")
    sizes = warehouse.path.stat().st_size, sum(file.stat().st_size for file in files)
    return {"n_runs": len(runs), "database": sizes[0], "parts": sizes[1]}


def _points(metric: str, evaluation: str, values: Any, items: list[str], halves: list[str]) -> pl.DataFrame:
    units = items if evaluation == "cure" else halves
    frame = pl.DataFrame({"unit": units, "cluster": units, "value": values})
    n = ITEMS if evaluation == "cure" else COUNTRIES
    design = "item" if evaluation == "cure" else "half"
    return frame.with_columns(metric=pl.lit(metric), design=pl.lit(design), n_clusters=pl.lit(n))


def query_seconds(home: str, repeats: int) -> Result:
    """Return the median seconds of the statements, a comparison and a drift check, connection included."""
    warehouse = Warehouse.open(Path(home))

    def compare() -> Any:
        return differences(
            warehouse, chosen_pairs(every_finished(warehouse), ComparedRuns("model-03", "model-07"))
        )

    def drift() -> Any:
        return differences(warehouse, last_two_occasions(every_finished(warehouse)))

    seconds = {
        name: median_seconds(partial(warehouse.query, sql), repeats) for name, sql in STATEMENTS.items()
    }
    return {**seconds, "compare": median_seconds(compare, repeats), "drift": median_seconds(drift, repeats)}


def false_alarms(home: str) -> Result:
    """Return the number of days with a significant difference to the day before, and of all compared days."""
    warehouse, n_alarms, n_days = Warehouse.open(Path(home)), 0, 0
    runs = every_finished(warehouse)
    days = sorted({run.occasion for run in runs})
    for previous, day in pairwise(days):
        pairs = last_two_occasions([run for run in runs if run.occasion in (previous, day)])
        n_alarms += bool((differences(warehouse, pairs)["p_holm"] < 0.05).any())
        n_days += 1
    return {"raised": n_alarms, "looks": n_days}
