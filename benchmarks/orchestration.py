"""Figure: what Prefect, Parquet, DuckDB and the metrics add to the time that a model takes."""

from __future__ import annotations

from benchmarks.process import WorkerError, measure, peak, show
from benchmarks.sizes import Sizes

BAR = 0.05
GPU_RATE = 20_000.0


def figure(sizes: Sizes) -> None:
    """Overhead a log-probability, as a share of the engine's time on this machine and on a GPU."""
    ours = measure("flow", max_items=sizes.flow_items)
    overhead = (ours["seconds"] - ours["engine_seconds"]) / ours["n_rows"]
    show(
        f"spectral flow {ours['seconds']:.1f} s {peak(ours)}, of these {ours['engine_seconds']:.1f} s in "
        f"engine.score — {ours['n_rows']:,} log-probabilities of the {ours['n_full']:,} of the profile full, "
        f"27 questions, 170 countries; Prefect's start {ours['server_seconds']:.1f} s apart",
        f"overhead: {1e6 * overhead:.2f} µs a log-probability, {ours['n_full'] * overhead / 60:.1f} min for "
        f"the profile full",
        _share(overhead, GPU_RATE, "a GPU, assumed"),
    )
    try:
        engine = measure("packed_trie", dtype="bfloat16", repeats=1, limit=sizes.dishes, sample=sizes.sample)
        show(_share(overhead, engine["rate"], "packed_trie smollm2-135m here"))
    except WorkerError as error:
        show(f"packed_trie: not measured: {error}")


def _share(overhead: float, rate: float, where: str) -> str:
    share = overhead * rate
    met = "met" if share < BAR else "missed"
    return f"overhead vs engine at {rate:,.0f} items/s ({where}): {share:.1%}; bar {BAR:.0%}: {met}"
