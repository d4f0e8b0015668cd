"""Figure: items scored a second, against lm-evaluation-harness and vLLM, at equal scores."""

from __future__ import annotations

from typing import Any

from benchmarks.process import Result, WorkerError, measure, peak, show
from benchmarks.sizes import Sizes

PEERS: tuple[tuple[str, str, tuple[dict[str, int], ...]], ...] = (
    ("lm_eval", "lm_eval (HF)", ({"batch_size": 1}, {"batch_size": 16})),
    ("vllm", "vLLM prompt_logprobs", ({},)),
)
"""Worker, name, and the settings of which the fastest counts."""


def figure(sizes: Sizes) -> None:
    """Speed in bfloat16, then how far the scores are apart in float32."""
    amount = {"limit": sizes.dishes, "sample": sizes.sample}
    speed: dict[str, Any] = {"dtype": "bfloat16", "style": "chat", "repeats": sizes.repeats, **amount}
    exact: dict[str, Any] = {"dtype": "float32", "style": "base", "repeats": 1, **amount}
    ours = measure("packed_trie", **speed)
    ours_exact = measure("packed_trie", **exact)
    for worker, name, variants in PEERS:
        try:
            results = [measure(worker, **speed, **variant) for variant in variants]
            theirs, best = max(zip(results, variants, strict=True), key=lambda pair: pair[0]["rate"])
            _show(name, ours, theirs, best)
            apart = _furthest(ours_exact, measure(worker, **exact, **best))
            show(f"scores in float32, {name}: {theirs['n_items']} items differ by {apart:.1e} nats at most")
        except WorkerError as error:
            show(f"{name}: not measured: {error}")


def _show(name: str, ours: Result, theirs: Result, setting: dict[str, int]) -> None:
    note = "".join(f", best with {key} {value}" for key, value in setting.items())
    show(
        f"packed_trie {ours['rate']:,.0f} items/s {peak(ours)} · {name} {theirs['rate']:.1f} items/s "
        f"{peak(theirs)} — smollm2-135m, bfloat16, {ours['n_items']:,} dishes, {ours['threads']} threads, "
        f"{ours['device']} ({name}: extrapolated from {theirs['n_items']} of them{note})",
        f"packed_trie vs {name}: {ours['rate'] / theirs['rate']:.1f} x",
    )


def _furthest(ours: Result, theirs: Result) -> float:
    """Largest difference in nats."""
    pairs = zip(ours["scores"], theirs["scores"], strict=True)
    return float(max(abs(a - b) for a, b in pairs))
