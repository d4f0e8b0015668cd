"""Scores candidates with encoder-decoder models of T5's kind: teacher forcing after a sentinel.

The encoder reads the sentence with the sentinel <extra_id_0> in its blank. The decoder reads its start token
and the same sentinel, as in T5's pretraining, then a candidate's tokens c_1 … c_d. The probability is the
mean of p(c_i | sentence, sentinel, c_1 … c_{i-1}) over i (equation 2 of Zhou et al. 2025, with the decoder's
steps in place of masks), and the log-probability is the sum of their logs. No closing sentinel and no end
token is scored. Tokens are those of ``blanks``; the encoder reads the text after the blank, which is not
scored.

The encoder and the decoder's first two positions run once per sentence. Candidates share prefixes, so only
the inner nodes of their token trie run, as paths from its root to the lowest inner nodes. A node that several
paths share is read from the first one.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForSeq2SeqLM

from tasks.engines.local import blanks, context, devices, self_check
from tasks.engines.local.device_faults import guarded
from tasks.engines.local.proven import Proven
from tasks.engines.local.trie import IntArray, TokenTrie, build_trie
from tasks.engines.protocols import CandidateScores, Cloze, EngineError, Progress
from tasks.engines.specs import EngineSpec

SENTINELS = ("<extra_id_0>", "▁<extra_id_0>")
"""T5's name of its first sentinel, and the name in mT5's vocabulary."""


@dataclass(frozen=True)
class Paths:
    """Paths of a trie that run through the decoder together.

    Attributes:
        tokens: [n, longest] token ids, padded on the right.
        position: [m] positions in the flattened ``tokens`` of the nodes that are read here.
        row: [e] index into ``position`` of the node where an edge starts, ascending.
        edge: [e] the trie's edges that start at these nodes.
    """

    tokens: IntArray
    position: IntArray
    row: IntArray
    edge: IntArray


class Seq2SeqScorer(Proven):
    """An encoder-decoder transformers model with sentinels behind the ``CandidateScorer`` protocol."""

    def __init__(self, spec: EngineSpec, folder: str, proven: tuple[int, int] = (0, 0)) -> None:
        """Load the model and check that its scores equal those of plain passes (``self_check``).

        Args:
            proven: tokens of a text and of a pass up to which this engine was checked before.

        Raises:
            EngineError: not loadable, not an encoder-decoder model, without sentinels (BART), or its scores
                would differ from those of plain passes.
        """
        super().__init__(AutoModelForSeq2SeqLM, spec, folder)
        self.sentinel = _sentinel(self.tokenizer, self._head.vocabulary, spec.name)
        start = self.model.config.decoder_start_token_id
        if start is None:
            raise EngineError(f"config.json of {spec.name!r} names no decoder_start_token_id; add it (T5: 0)")
        self.opening = torch.tensor([[start, self.sentinel]], device=self.device)
        self.limit = context.longest_sentence(self.model, self.tokenizer)
        self.prove(self.limit, proven)

    def _measure(self) -> None:
        self_check.measure_seq2seq(self)

    def _compare(self, reach: self_check.Reach, is_longer: bool) -> None:
        self_check.compare_seq2seq(self, reach)

    @guarded
    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Implement ``CandidateScorer.score_candidates``; NaN if the vocabulary cannot spell a candidate.

        Raises:
            EngineError: a candidate has no token, or a sentence is longer than the tokenizer's limit.
        """
        tokens, spelled, scores = blanks.candidate_tokens(self.tokenizer, cloze, candidates)
        sentences = blanks.sentences(self.tokenizer, cloze)
        self.check_tokens(sentences.right, *sentences.left, *itertools.compress(tokens, spelled))
        blanks.check_length(cloze, sentences, 1, self.limit)
        if not spelled.any():
            if progress:
                progress(scores.logprob.size)
            return scores
        columns = np.flatnonzero(spelled)
        trie = build_trie([tokens[i] for i in columns])
        longest = max((len(left) for left in sentences.left), default=0) + 1 + len(sentences.right)
        paths = self.paths(trie, longest)
        for subject in range(len(cloze.before)):
            edges = self.score_edges(sentences.filled(subject, [self.sentinel]), trie, paths)
            scores.logprob[subject, columns] = trie.sum_over_items(edges)
            scores.probability[subject, columns] = trie.sum_over_items(np.exp(edges)) / trie.item_lengths
            if progress:
                progress(len(candidates))
        return scores

    def paths(self, trie: TokenTrie, longest: int) -> list[Paths]:
        """Return a trie's paths for sentences of at most ``longest`` tokens."""
        return trie_paths(trie, self.spec.batch_tokens, longest + self.opening.shape[1])

    @torch.inference_mode()
    def score_edges(
        self, sentence: list[int], trie: TokenTrie, paths: Sequence[Paths]
    ) -> NDArray[np.float32]:
        """Return [n_edges] log-probability of each edge of the trie after one sentence."""
        device = self.device
        self.reach(max(len(sentence), 2 * (int(trie.depth.max(initial=0)) + 2)))
        edges = np.empty(len(trie.edge_token), dtype=np.float32)
        states, output = self._head.run(
            input_ids=torch.tensor([sentence], device=device), decoder_input_ids=self.opening, use_cache=True
        )
        root = np.flatnonzero(trie.edge_parent < 0)
        edges[root] = self._head.logprobs(states[0, -1:], np.zeros_like(root), trie.edge_token[root])
        for group in paths:
            n = len(group.tokens)
            cache = copy.deepcopy(output.past_key_values)
            cache.batch_repeat_interleave(n)
            states, _ = self._head.run(
                encoder_outputs=(output.encoder_last_hidden_state.expand(n, -1, -1),),
                decoder_input_ids=torch.from_numpy(group.tokens).to(device),
                past_key_values=cache,
                use_cache=True,
            )
            read = states.flatten(0, 1)[torch.from_numpy(group.position).to(device)]
            edges[group.edge] = self._head.logprobs(read, group.row, trie.edge_token[group.edge])
        return edges


def trie_paths(trie: TokenTrie, budget: int, context: int) -> list[Paths]:
    """Return paths from the root over all inner nodes of a trie, in groups that fit one pass.

    Args:
        budget: most token positions per pass.
        context: positions that every path attends to besides its own; their keys and values are held once
            per path.
    """
    inner = np.arange(trie.n_internal)
    lowest = np.setdiff1d(inner, trie.parent)
    paths = [np.append(trie.ancestors(int(node)), node) for node in lowest]
    is_read = np.zeros(trie.n_internal, dtype=bool)
    groups = []
    for batch in devices.batches([context + len(path) for path in paths], budget):
        tokens, _ = blanks.padded([trie.token[paths[i]] for i in batch], 0)
        table, mask = blanks.padded([paths[i] for i in batch], 0)
        nodes, first = np.unique(np.where(mask == 1, table, -1), return_index=True)
        is_new = (nodes >= 0) & ~is_read[nodes]
        nodes, position = nodes[is_new], first[is_new]
        is_read[nodes] = True
        edge = np.flatnonzero(np.isin(trie.edge_parent, nodes))
        edge = edge[np.argsort(trie.edge_parent[edge], kind="stable")]
        groups.append(Paths(tokens, position, np.searchsorted(nodes, trie.edge_parent[edge]), edge))
    return groups


def _sentinel(tokenizer: Any, vocabulary: int, name: str) -> int:
    """Return the id of the first sentinel, for which the model must have an embedding."""
    known = tokenizer.get_vocab()
    for sentinel in SENTINELS:
        if known.get(sentinel, vocabulary) < vocabulary:
            return int(known[sentinel])
    raise EngineError(
        f"the tokenizer of {name!r} has no sentinel token {SENTINELS[0]} for a blank; "
        "take a model of T5's kind (T5, mT5, flan-T5). BART and its like are not supported"
    )
