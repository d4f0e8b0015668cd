"""Figure: items scored a second by an 8B model on a GPU, and the time of the whole profile ``full``.

Weights are random: speed does not depend on them. What was measured, and on what, is written to ``REPORT``, a
file to send: it names no user, host or folder.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from benchmarks import inputs
from benchmarks.orchestration import full_plan
from benchmarks.process import Result, measure, peak, show
from benchmarks.scoring import SHARE
from benchmarks.sizes import Sizes
from deployments.cli_doctor import facts
from tasks.engines import packed_trie, pretrained, speed, tree_attention
from tasks.engines.specs import EngineSpec
from warehouse import home

BATCH_TOKENS = 32768
REPORT = Path("culturescope-gpu.json")


def gpu(sizes: Sizes) -> None:
    """One line that says why where there is no GPU; the file is written all the same."""
    ours = measure(llama_8b, prefixes=sizes.gpu_prefixes, limit=sizes.dishes, repeats=sizes.repeats)
    REPORT.write_text(json.dumps({"machine": facts(home()), "llama_8b": ours}, indent=2) + "\n")
    show(f"to send: {REPORT.resolve()}")
    if "skipped" in ours:
        show(f"skipped: {ours['skipped']}")
        return
    hours = ours["n_full"] / ours["rate"] / 3600
    show(
        f"packed_trie, Llama 8B shape, {ours['rate']:,.0f} items/s {peak(ours)}, GPU memory "
        f"{ours['gpu_peak_bytes'] / 2**30:.1f} GiB — random weights, bfloat16, {ours['n_items']:,} dishes, "
        f"{sizes.gpu_prefixes} countries, {ours['device']}",
        f"share of what plain products reach there ({ours['reachable'] / 1e12:,.0f} TFLOP/s): "
        f"{ours['flops'] / ours['reachable']:.0%}; bar {SHARE:.0%}",
        f"the whole profile full ({ours['n_full']:,} log-probabilities) at that speed: {hours:.2f} h",
    )


def llama_8b(prefixes: int, limit: int | None, repeats: int) -> Result:
    """The dish list after a question on ``prefixes`` countries; {"skipped": why} without a GPU."""
    if not torch.cuda.is_available():
        return {"skipped": "torch sees no CUDA device"}
    scorer = _scorer()
    items = inputs.dishes(limit)
    frame = scorer.frame(inputs.questions(prefixes))
    texts = [frame.lead + item for item in items]
    seconds = []
    for _ in range(1 + repeats):
        start = time.perf_counter()
        scorer.score(frame.prefixes, texts)
        seconds.append(time.perf_counter() - start)
    work = sum(speed.operations(scorer, prefix, texts) for prefix in frame.prefixes)
    return {
        "rate": prefixes * len(items) / median(seconds[1:]),
        "flops": work / median(seconds[1:]),
        "reachable": speed.reachable(scorer),
        "n_items": len(items),
        "n_full": full_plan(),
        "device": torch.cuda.get_device_name(),
        "gpu_peak_bytes": torch.cuda.max_memory_allocated(),
    }


def _scorer() -> packed_trie.PackedTrieScorer:
    """A scorer around a model built on the device, with the tokenizer of an embedded one.

    The scorer loads from a folder, and 16 GB of random weights are not worth a file: its loader is replaced.
    """
    folder = inputs.model_folder()
    spec = EngineSpec(name="llama-8b", model=folder, device="cuda", batch_tokens=BATCH_TOKENS)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with patch.object(pretrained, "load", lambda *_, **__: (tokenizer, _random_llama())):
        return packed_trie.PackedTrieScorer(spec, folder)


def _random_llama() -> Any:
    config = LlamaConfig(
        hidden_size=4096,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
        intermediate_size=14336,
        vocab_size=128256,
    )
    with torch.device("cuda"):
        return AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            config, dtype=torch.bfloat16, attn_implementation=tree_attention.NAME
        )
