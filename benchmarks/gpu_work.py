"""Packed scoring at the size of an 8B model on a GPU. Random weights: speed does not depend on them."""

from __future__ import annotations

import time
from statistics import median
from typing import Any
from unittest.mock import patch

import torch

from benchmarks import dishes
from benchmarks.orchestration_work import full_plan
from tasks.engines import embedded, packed_trie, tree_attention
from tasks.engines.specs import EngineSpec
from warehouse import home

BATCH_TOKENS = 32768


def llama_8b(prefixes: int, limit: int | None, repeats: int) -> dict[str, Any]:
    """The dish list after a question on ``prefixes`` countries; {"skipped": why} without a GPU."""
    if not torch.cuda.is_available():
        return {"skipped": "torch sees no CUDA device"}
    scorer = _scorer()
    items = dishes.items(limit)
    frame = scorer.frame(dishes.prompts(prefixes))
    texts = [frame.lead + item for item in items]
    seconds = []
    for _ in range(1 + repeats):
        start = time.perf_counter()
        scorer.score(frame.prefixes, texts)
        seconds.append(time.perf_counter() - start)
    return {
        "rate": prefixes * len(items) / median(seconds[1:]),
        "n_items": len(items),
        "n_full": full_plan(),
        "device": torch.cuda.get_device_name(),
        "gpu_peak_bytes": torch.cuda.max_memory_allocated(),
    }


def _scorer() -> packed_trie.PackedTrieScorer:
    """A scorer around a model built on the device, with the tokenizer of an embedded one.

    The scorer loads from a folder, and 16 GB of random weights are not worth a file: its loader is replaced.
    """
    folder = str(embedded.prepare("smollm2-135m", home() / "models"))
    spec = EngineSpec(name="llama-8b", model=folder, device="cuda", batch_tokens=BATCH_TOKENS)
    with patch.object(packed_trie, "_load_model", lambda *_: _random_llama()):
        return packed_trie.PackedTrieScorer(spec, folder)


def _random_llama() -> Any:
    from transformers import AutoModelForCausalLM, LlamaConfig

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
