"""Compares the packed trie's operations per second with a device's plain products.

The reference is measured on the device: products of the model's weight matrices in its dtype, and nothing
else. All other parts of a pass (attention, norms, log-softmax, tokenising, building the trie, repeated
context) count as time, not as work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tasks.engines import prompting
from tasks.engines.local import products
from tasks.engines.local.packed_trie import PackedTrieScorer

Clock = Callable[[], float]

ROWS = {"cpu": 1024, "cuda": 4096}
"""Rows of the plain products: enough to make fetching the weights cheap, and to fill a GPU."""


def operations(scorer: PackedTrieScorer, prefix: str, continuations: Sequence[str]) -> float:
    """Return the least floating-point operations for scoring a list after one prefix.

    They are every weight of the body once per token of the prefix and inner node of the list's trie, and the
    head once per state that is read.
    """
    trie = scorer._trie(prefix, continuations)
    body, head = operations_of_positions(scorer)
    positions = len(prompting.prefix_tokens(scorer.tokenizer, prefix)) + trie.n_internal
    return positions * body + (1 + trie.n_internal) * head


def operations_of_positions(scorer: PackedTrieScorer) -> tuple[float, float]:
    """Return the floating-point operations of one position in the model's body, and in its head."""
    head = int(scorer.model.get_output_embeddings().weight.numel())
    body = sum(weight.numel() for weight in _weights(scorer.model)) - head
    return 2.0 * body, 2.0 * head


@torch.inference_mode()
def reachable(scorer: PackedTrieScorer, clock: Clock = time.perf_counter) -> float:
    """Return the FLOP/s of plain products with all weight matrices; multiplications and additions count.

    The products run one after another, so that each matrix is fetched from memory as in a pass.

    Args:
        clock: returns seconds; ``time.process_time`` leaves out other programs on a busy processor.
    """
    rows, dtype = ROWS[scorer.device.type], scorer.model.dtype
    weights = _weights(scorer.model)
    kinds = {(weight.shape[1], weight.device) for weight in weights}
    states = {(n, where): torch.randn(rows, n, device=where).to(dtype) for n, where in kinds}
    work = sum(2.0 * rows * weight.numel() for weight in weights)
    return work / min(_seconds(states, weights, clock) for _ in range(4))  # the first sets kernels up


def _weights(model: Any) -> list[torch.Tensor]:
    """Return every matrix that states are multiplied with, the head's too, but no look-up tables."""
    layers = (module for module in model.modules() if not isinstance(module, torch.nn.Embedding))
    weights = (getattr(layer, "weight", None) for layer in layers)
    return [weight for weight in weights if weight is not None and weight.dim() == 2]


def _seconds(
    states: Mapping[tuple[int, torch.device], torch.Tensor], weights: Sequence[torch.Tensor], clock: Clock
) -> float:
    """Return the seconds of one product with each weight."""
    start = clock()
    for weight in weights:
        products.linear(states[weight.shape[1], weight.device], weight)
    for device in {weight.device for weight in weights if weight.is_cuda}:
        torch.cuda.synchronize(device)
    return clock() - start
