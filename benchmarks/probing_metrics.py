"""Figure: seconds for the fmlama metrics of one model at the paper's size."""

from __future__ import annotations

from benchmarks.process import measure, peak, show
from benchmarks.sizes import Sizes

BAR_S = 10.0


def figure(sizes: Sizes) -> None:
    """Scoring and rows of a model, and what all models share."""
    ours = measure("probing_metrics", repeats=sizes.repeats)
    show(
        f"fmlama metrics {ours['seconds']:.2f} s {peak(ours)} — {ours['n_pairs']:,} pairs (1,549 dishes x "
        f"873 candidates x 10 templates), {ours['rows']} rows, one thread; bar {BAR_S:.0f} s: "
        f"{'met' if ours['seconds'] < BAR_S else 'missed'}",
        f"expectations and both baselines, once for all models: {ours['shared_seconds']:.2f} s",
    )
