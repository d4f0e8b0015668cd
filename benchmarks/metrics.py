"""Figure: seconds for the metrics of one model at full size, against plain numpy."""

from __future__ import annotations

from benchmarks.process import measure, peak, show
from benchmarks.sizes import Sizes

BAR_S = 5.0


def figure(sizes: Sizes) -> None:
    """With bootstrap, without, and one eigvalsh a resample."""
    amount = {"matrices": sizes.matrices, "items": sizes.matrix_items, "resamples": sizes.resamples}
    ours = measure("score_questions", repeats=sizes.repeats, **amount)
    naive = measure("naive_bootstrap", **amount)
    apart = max(
        abs(a - b) / abs(b)
        for mine, theirs in zip(ours["replicates"], naive["replicates"], strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )
    met = "met" if ours["seconds"] < BAR_S else "missed"
    show(
        f"score_question {ours['seconds']:.2f} s {peak(ours)}, without bootstrap "
        f"{ours['plain_seconds']:.2f} s · naive numpy {naive['seconds']:.2f} s {peak(naive)} — "
        f"{sizes.matrices} matrices 170 x {sizes.matrix_items:,}, {sizes.resamples} resamples, one thread; "
        f"bar {BAR_S:.0f} s: {met}",
        f"score_question vs naive numpy: {naive['seconds'] / ours['seconds']:.1f} x "
        f"(replicates agree within {apart:.0e} relative); the bootstrap takes "
        f"{1 - ours['plain_seconds'] / ours['seconds']:.0%} of the time",
    )
