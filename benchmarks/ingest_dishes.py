"""Figure: an ingest of 15,000 synthetic dishes from a SPARQL server on this machine."""

from __future__ import annotations

from benchmarks.process import measure, peak, show
from benchmarks.sizes import Sizes

DISHES = 15_000
BAR_S = 60.0
BAR_BYTES = 10**9


def figure(sizes: Sizes) -> None:
    """Seconds of fetch and join without pauses, and how much of them the server worked."""
    ours = measure("ingest_dishes", dishes=sizes.dishes or DISHES)
    met = ours["seconds"] < BAR_S and ours["peak_bytes"] < BAR_BYTES
    show(
        f"ingest {ours['seconds']:.1f} s {peak(ours)} — {ours['n_dishes']:,} dishes, "
        f"{ours['n_triples']:,} triples, {ours['queries']:,} queries, {ours['bytes'] / 2**20:.1f} MiB of "
        f"answers, {ours['n_rows']:,} rows in 2 languages; bar {BAR_S:.0f} s and {BAR_BYTES / 1e9:.0f} GB: "
        f"{'met' if met else 'missed'}",
        f"of these {ours['server_seconds']:.1f} s ({ours['server_seconds'] / ours['seconds']:.0%}) is the "
        f"server's processor time; join {ours['join_seconds']:.2f} s; loading the triples apart",
    )
