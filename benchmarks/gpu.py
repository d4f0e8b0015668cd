"""Figure: items scored a second by an 8B model on a GPU, and the time of the whole profile ``full``."""

from __future__ import annotations

from benchmarks.process import measure, peak, show
from benchmarks.sizes import Sizes


def figure(sizes: Sizes) -> None:
    """One line that says why where there is no GPU."""
    ours = measure("llama_8b", prefixes=sizes.gpu_prefixes, limit=sizes.dishes, repeats=sizes.repeats)
    if "skipped" in ours:
        show(f"skipped: {ours['skipped']}")
        return
    hours = ours["n_full"] / ours["rate"] / 3600
    show(
        f"packed_trie, Llama 8B shape, {ours['rate']:,.0f} items/s {peak(ours)}, GPU memory "
        f"{ours['gpu_peak_bytes'] / 2**30:.1f} GiB — random weights, bfloat16, {ours['n_items']:,} dishes, "
        f"{sizes.gpu_prefixes} countries, {ours['device']}",
        f"the whole profile full ({ours['n_full']:,} log-probabilities) at that speed: {hours:.2f} h",
    )
