"""Figure: seconds of a query on ten million stored log-probabilities, against polars on the same files."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from benchmarks.process import measure, peak, show
from benchmarks.sizes import Sizes

BAR_S = 1.0
NAMES = ("leaderboard_spectral", "leaderboard", "aggregate")


def figure(sizes: Sizes) -> None:
    """Two leaderboards and an aggregate over all rows."""
    with TemporaryDirectory(prefix="culturescope-bench-") as home:
        built = measure("build_warehouse", home=home, items=sizes.stored_items)
        ours = measure("query", home=home, repeats=sizes.repeats)
        polars = measure("polars_scan", home=home, repeats=sizes.repeats)
    missed = [name for name in NAMES if ours[name] >= BAR_S]
    times = ", ".join(f"{name} {ours[name]:.3f} s" for name in NAMES)
    verdict = f"missed by {', '.join(missed)}" if missed else "met"
    show(
        f"warehouse {times} {peak(ours)} · polars scan_parquet aggregate {polars['aggregate']:.3f} s "
        f"{peak(polars)} — {built['n_rows']:,} log-probabilities, "
        f"{built['bytes'] / 2**20:.0f} MiB of Parquet; bar {BAR_S:.0f} s each: {verdict}",
        f"warehouse vs polars, aggregate: {polars['aggregate'] / ours['aggregate']:.2f} x; writing took "
        f"{1e6 * built['seconds'] / built['n_rows']:.2f} µs a row {peak(built)}",
    )
