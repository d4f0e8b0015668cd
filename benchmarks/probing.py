"""Figure: (sentence, candidate) pairs of FmLAMA scored a second, against lm-evaluation-harness and vLLM."""

from __future__ import annotations

from typing import Any

from benchmarks.process import Result, WorkerError, measure, peak, show
from benchmarks.sizes import Sizes

BAR = 20.0
WARM_UP = 8
PEERS: tuple[tuple[str, str, tuple[dict[str, int], ...]], ...] = (
    ("probe_lm_eval", "lm_eval (HF)", ({"batch_size": 1}, {"batch_size": 16}, {"batch_size": 64})),
    ("probe_vllm", "vLLM prompt_logprobs", ({},)),
)
"""Worker, name, and the settings of which the fastest counts."""


def figure(sizes: Sizes) -> None:
    """Speed in bfloat16, then how far the scores are apart in float32. The bar is lm_eval's."""
    amount = {"templates": sizes.probe_templates, "warm_up": WARM_UP}
    speed: dict[str, Any] = {"dtype": "bfloat16", "candidates": sizes.candidates, **amount}
    exact: dict[str, Any] = {"dtype": "float32", "candidates": sizes.compared, "sentences": 1, **amount}
    ours = measure("probe_packed_trie", sentences=sizes.sentences, **speed)
    ours_exact = measure("probe_packed_trie", **exact)
    for worker, name, variants in PEERS:
        try:
            results = [measure(worker, sentences=1, **speed, **variant) for variant in variants]
            theirs, best = max(zip(results, variants, strict=True), key=lambda pair: pair[0]["rate"])
            _show(name, ours, theirs, best)
            apart = _furthest(ours_exact, measure(worker, **exact, **best))
            show(f"scores in float32, {name}: {theirs['n_items']:,} differ by {apart:.1e} nats at most")
        except WorkerError as error:
            show(f"{name}: not measured: {error}")


def _show(name: str, ours: Result, theirs: Result, setting: dict[str, int]) -> None:
    note = "".join(f", best with {key} {value}" for key, value in setting.items())
    ratio = ours["rate"] / theirs["rate"]
    bar = f"; bar {BAR:.0f} x: {'met' if ratio >= BAR else 'missed'}" if "lm_eval" in name else ""
    show(
        f"packed_trie {ours['rate']:,.0f} items/s {peak(ours)} · {name} {theirs['rate']:.1f} items/s "
        f"{peak(theirs)} — smollm2-135m, bfloat16, {ours['n_items']:,} FmLAMA pairs, {ours['threads']} "
        f"threads, {ours['device']} ({name}: {theirs['n_items']:,} of them{note})",
        f"packed_trie vs {name}: {ratio:.1f} x{bar}",
    )


def _furthest(ours: Result, theirs: Result) -> float:
    """Largest difference in nats."""
    sentences = zip(ours["scores"], theirs["scores"], strict=True)
    return float(max(abs(x - y) for a, b in sentences for x, y in zip(a, b, strict=True)))
