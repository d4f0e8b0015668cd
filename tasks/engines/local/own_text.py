"""Scores candidates along the text that the model itself writes, as FmLAMA's program does.

The model continues each prefix greedily (``eval_utils.py`` there). Token j of a candidate is scored by the
model's distribution at step j of its own text, whatever the tokens before it in the candidate are. Tokens
after the model's end token, or after ``MOST_STEPS``, are not scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from tasks.engines.local import devices
from tasks.engines.local.output_head import OutputHead
from tasks.engines.local.tree_attention import Beginning
from tasks.engines.local.trie import TokenTrie
from tasks.engines.protocols import CandidateScores, Progress
from tasks.engines.specs import EngineSpec

MOST_STEPS = 50
"""Number of tokens that FmLAMA's program lets a model write."""
READ = 8
"""Number of states whose whole distributions are read at once."""


class TrieScorer(Protocol):
    """Spec, model, head and forward pass of ``packed_trie``'s scorer."""

    spec: EngineSpec
    model: Any
    _head: OutputHead

    def _run(
        self, prefixes: list[list[int]], trie: TokenTrie, nodes: NDArray[np.int64], beginning: Beginning
    ) -> torch.Tensor:
        """Return [b, 1 + n, d] final hidden states: each prefix's last token, then the nodes."""


@torch.inference_mode()
def score_along(
    scorer: TrieScorer, encoded: Sequence[Sequence[int]], trie: TokenTrie, progress: Progress | None
) -> CandidateScores:
    """Return the scores of a trie's items along the model's own text after each prefix.

    Returns:
        logprob is the mean over an item's scored tokens times its number of tokens, so that the mean over
        tokens is that of the program, also where tokens are left out. NaN where none is scored.
    """
    tokens = _tokens(trie)
    n_steps = min(tokens.shape[1], MOST_STEPS)
    ends = _ends(scorer.model)
    logprob = np.empty((len(encoded), len(tokens)), dtype=np.float32)
    probability = np.empty_like(logprob)
    for rows in devices.batches([len(ids) + n_steps for ids in encoded], scorer.spec.batch_tokens):
        steps = _steps(scorer, [list(encoded[i]) for i in rows], tokens[:, :n_steps], trie, ends)
        counted = ~np.isnan(steps)
        n_scored = counted.sum(axis=2)
        share = np.divide(1.0, n_scored, out=np.full(n_scored.shape, np.nan), where=n_scored > 0)
        logprob[rows] = np.where(counted, steps, 0.0).sum(axis=2) * share * trie.item_lengths
        probability[rows] = np.where(counted, np.exp(steps), 0.0).sum(axis=2) * share
        if progress:
            progress(len(rows) * len(tokens))
    return CandidateScores(logprob, probability, trie.item_lengths)


def _tokens(trie: TokenTrie) -> NDArray[np.int64]:
    """Return [items, longest] tokens of the items, -1 after their ends."""
    tokens = np.full((len(trie.item_start), int(trie.item_lengths.max())), -1, dtype=np.int64)
    for item, (start, length) in enumerate(zip(trie.item_start, trie.item_lengths, strict=True)):
        tokens[item, :length] = trie.edge_token[trie.item_edges[start : start + length]]
    return tokens


def _ends(model: Any) -> frozenset[int]:
    """Return the tokens with which the model ends a text."""
    named = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    named = model.config.eos_token_id if named is None else named
    return frozenset([named] if isinstance(named, int) else named or ())


def _steps(
    scorer: TrieScorer,
    texts: list[list[int]],
    tokens: NDArray[np.int64],
    trie: TokenTrie,
    ends: frozenset[int],
) -> NDArray[np.float32]:
    """Return [texts, items, steps] log-probability of each item's token at each step; NaN if not scored."""
    found = np.full((len(texts), *tokens.shape), np.nan, dtype=np.float32)
    writing = list(range(len(texts)))
    for step in range(tokens.shape[1]):
        if not writing:
            break
        none = np.empty(0, dtype=np.int64)
        hidden = scorer._run([texts[i] for i in writing], trie, none, {})[:, 0]
        here = np.flatnonzero(tokens[:, step] >= 0)
        still = []
        for start in range(0, len(writing), READ):
            part = writing[start : start + READ]
            table = _distributions(scorer, hidden[start : start + READ])
            for row, i in zip(table, part, strict=True):
                found[i, here, step] = row[tokens[here, step]]
                texts[i].append(int(row.argmax()))
                still += [i] if texts[i][-1] not in ends else []
        writing = still
    return found


def _distributions(scorer: TrieScorer, hidden: torch.Tensor) -> NDArray[np.float32]:
    """Return [r, vocabulary] log-probabilities of all tokens in each state."""
    n, v = len(hidden), scorer._head.vocabulary
    rows, tokens = np.repeat(np.arange(n), v), np.tile(np.arange(v), n)
    return scorer._head.logprobs(hidden, rows, tokens).reshape(n, v)
