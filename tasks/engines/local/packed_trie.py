"""Scores a whole item list after one prompt in one packed forward pass.

For every prefix the model runs ``[prefix | internal trie nodes]`` once (see ``trie`` and
``tree_attention``). Each child's log-probability is read from its parent's logits, so leaves are never run.
The shared beginning of all prefixes of a call (chat header, instruction) is run once for all of them.
Log-softmax is always in float32 on float32 logits: bfloat16 logits are quantised at about 0.1 nat.

Memory is bounded by ``spec.batch_tokens`` token positions per pass: large tries are cut into chunks of
subtrees, and many prefixes share a pass over a small trie. Logits exist for one slice of the vocabulary at a
time. A model that is too large for a GPU has its layers on several (``spread``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM
from transformers.modeling_layers import GradientCheckpointingLayer

from tasks.engines import pairs as pairing
from tasks.engines import prompting
from tasks.engines.local import context, devices, own_text, self_check, spread, tree_attention
from tasks.engines.local.device_faults import guarded
from tasks.engines.local.forest import Trunk, grown
from tasks.engines.local.proven import Proven
from tasks.engines.local.trie import IntArray, TokenTrie, build_trie
from tasks.engines.prompting import ContinuationScorer
from tasks.engines.protocols import CandidateScores, Cloze, EngineError, PairScores, Progress, TextPair
from tasks.engines.specs import EngineSpec

PASS = {"cpu": 1024, "cuda": 2**30}
"""Most nodes of a pass over a forest: on a CPU so few that the states between products stay in cache."""
STATES = 4096
"""Number of hidden states that the output head reads at once."""


class PackedTrieScorer(Proven, ContinuationScorer):
    """A decoder-only transformers model behind the ``Scorer`` protocol."""

    def __init__(self, spec: EngineSpec, folder: str, proven: tuple[int, int] = (0, 0)) -> None:
        """Load the model and check that its scores equal those of plain forward passes (``self_check``).

        Args:
            proven: tokens of a text and of a pass up to which this engine was checked before.

        Raises:
            EngineError: not loadable, or its scores would differ from those of plain passes.
        """
        attention = {"attn_implementation": tree_attention.NAME}
        super().__init__(AutoModelForCausalLM, spec, folder, **attention, **spread.arguments(spec, folder))
        self._tries: dict[int, TokenTrie] = {}
        self.length = context.length(self.model, self.tokenizer)
        self.prove(self.length.tokens, proven, self_check.FIRST)
        if spec.compile:
            self._compile()
            self_check.compare_whole(self)

    def _measure(self) -> None:
        self_check.measure_decoder(self)

    def _compare(self, reach: self_check.Reach, is_longer: bool) -> None:
        self_check.compare_decoder(self, reach, is_longer)

    @guarded
    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Score as ``ContinuationScorer`` does, or along the model's own text; NaN for candidates with an
        unknown token.
        """
        trie = self._trie(cloze.tail, prompting.fill(cloze, candidates))
        if cloze.is_own:
            encoded = self._encoded(cloze.before, trie)
            scores = own_text.score_along(self, encoded, trie, progress)
        else:
            scores = super().score_candidates(cloze, candidates, progress)
        unspelled = trie.items_with(self.tokenizer.unk_token_id)
        scores.logprob[:, unspelled] = scores.probability[:, unspelled] = np.nan
        return scores

    @guarded
    def _score(
        self, prefixes: Sequence[str], tail: str, continuations: Sequence[str], progress: Progress | None
    ) -> CandidateScores:
        trie = self._trie(tail, continuations)
        return self.score_trie(self._encoded(prefixes, trie), trie, progress)

    def _encoded(self, prefixes: Sequence[str], trie: TokenTrie) -> list[list[int]]:
        """Return the tokens of prefixes; raises ``EngineError`` if they or the items do not fit."""
        encoded = [prompting.prefix_tokens(self.tokenizer, p) for p in prefixes]
        self.check_tokens(trie.edge_token, *encoded)
        longest = int(trie.item_lengths.max())
        context.check_lengths(prefixes, [len(ids) + longest - 1 for ids in encoded], self.length)
        return encoded

    def score_trie(
        self, encoded: list[list[int]], trie: TokenTrie, progress: Progress | None = None
    ) -> CandidateScores:
        """Return the scores of a trie's items after each prefix, both given as tokens."""
        self.reach(max(map(len, encoded)) + int(trie.depth.max(initial=-1)) + 1)
        beginning = self._run_beginning(encoded)
        n_items = len(trie.item_start)
        logprob = np.empty((len(encoded), n_items), dtype=np.float32)
        probability = np.empty_like(logprob)
        # A pass holds as many prefixes as fit, each with the whole trie.
        width = min(trie.n_internal + tree_attention.BLOCK, self.spec.batch_tokens)
        for rows in devices.batches([len(prefix) + width for prefix in encoded], self.spec.batch_tokens):
            edges = self._score_edges([encoded[i] for i in rows], trie, beginning)
            logprob[rows] = trie.sum_over_items(edges)
            probability[rows] = trie.sum_over_items(np.exp(edges)) / trie.item_lengths
            if progress:
                progress(len(rows) * n_items)
        return CandidateScores(logprob, probability, trie.item_lengths)

    @guarded
    def score_each(
        self,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        progress: Progress | None = None,
    ) -> list[NDArray[np.float32]]:
        """Implement ``Scorer.score_each``; shared tokens of the prefixes run once (``forest``)."""
        sequences, n_scored, lengths = list[list[int]](), list[int](), list[int]()
        for prefix, texts in zip(prefixes, continuations, strict=True):
            start = prompting.prefix_tokens(self.tokenizer, prefix)
            rests = prompting.continuation_tokens(self.tokenizer, prefix, texts)
            sequences += [start + rest for rest in rests]
            n_scored += map(len, rests)
            lengths.append(len(start) + max(map(len, rests), default=1) - 1)
        context.check_lengths(prefixes, lengths, self.length)
        logprob, _ = self.score_sequences(sequences, np.array(n_scored), progress)
        return np.split(logprob, np.cumsum([len(texts) for texts in continuations])[:-1])

    @guarded
    def score_pairs(self, pairs: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """Implement ``PairScorer.score_pairs``; shared tokens of the pairs run once (``forest``)."""
        variables = self.spec.chat_template_kwargs
        token_pairs = pairing.pair_tokens(self.tokenizer, pairs, self.length.tokens, variables)
        n_scored = np.array([pair.n_scored for pair in token_pairs], dtype=np.int64)
        sequences = [pair.tokens for pair in token_pairs]
        logprob, is_greedy = self.score_sequences(sequences, n_scored, progress, finds_best=True)
        n_cut = np.array([pair.n_cut for pair in token_pairs], dtype=np.int64)
        return PairScores(logprob, is_greedy, n_scored, n_cut)

    @torch.inference_mode()
    def score_sequences(
        self, sequences: Sequence[Sequence[int]], n_scored: IntArray, progress: Progress | None = None,
        finds_best: bool = False,
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:  # fmt: skip
        """Return [n] log-probability of the last n_scored[i] tokens of each sequence after those before.

        Also return, if ``finds_best``, whether each of these tokens is the most probable one.
        """
        trie = build_trie(sequences)
        self.check_tokens(trie.edge_token)
        self.reach(int(trie.depth.max(initial=0)) + 1)
        ends = trie.item_start + trie.item_lengths
        starts = np.concatenate([[0], np.cumsum(n_scored)[:-1]])
        place = np.arange(n_scored.sum()) - np.repeat(starts, n_scored)
        edges = trie.item_edges[np.repeat(ends - n_scored, n_scored) + place]
        wanted, row = np.unique(trie.edge_parent[edges], return_inverse=True)
        hidden = self._grow(trie, wanted, len(sequences), progress)
        logprob, is_best = self._read_edges(hidden, row, trie.edge_token[edges], finds_best)
        return np.add.reduceat(logprob, starts), np.logical_and.reduceat(is_best, starts)

    def _read_edges(
        self, hidden: torch.Tensor, row: IntArray, token: IntArray, finds_best: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return [n] log-probability of each token in its state, and whether it is the most probable there.

        Equal pairs of state and token are read once.
        """
        key, back = np.unique(row * self._head.vocabulary + token, return_inverse=True)
        rows, tokens = np.divmod(key, self._head.vocabulary)
        logprob, is_best = np.empty(len(key), dtype=np.float32), np.empty(len(key), dtype=np.bool_)
        for start in range(0, len(hidden), STATES):
            low, high = np.searchsorted(rows, [start, start + STATES])
            logprob[low:high], is_best[low:high] = self._head.read(
                hidden[start : start + STATES], rows[low:high] - start, tokens[low:high], finds_best
            )
        return logprob[back], is_best[back]

    def _grow(
        self, trie: TokenTrie, wanted: IntArray, n_texts: int, progress: Progress | None
    ) -> torch.Tensor:
        """Return [n, d] final hidden states of the wanted nodes, which are sorted.

        progress: called with the share of n_texts that equals the share of nodes just run.
        """
        states: list[torch.Tensor] = []
        nodes: list[IntArray] = []
        tree, n_reported, n_run = grown(trie, min(PASS[self.device.type], self.spec.batch_tokens)), 0, 0
        n_nodes = tree.n_nodes

        def report(n: int) -> None:
            nonlocal n_reported, n_run
            n_run += n
            n_new = n_texts * n_run // n_nodes - n_reported
            n_reported += n_new
            if progress and n_new:
                progress(n_new)

        def run(row: IntArray, layout: tree_attention.ForestLayout) -> None:
            hidden = self._hidden(trie.token[row][None], trie.depth[row][None], layout)[0]
            is_wanted = np.isin(row, wanted)
            nodes.append(row[is_wanted])
            states.append(hidden[torch.from_numpy(is_wanted).to(self.device)])
            report(len(row))

        def run_trunk(trunk: Trunk, beginning: tree_attention.Beginning, n_shared: int) -> None:
            if len(trunk.nodes):
                store: tree_attention.Beginning = {}
                run(trunk.nodes, self._forest(trie, trunk.nodes, n_shared, beginning, store))
                beginning, n_shared = store, int(trie.depth[trunk.nodes[-1]]) + 1
            for row in trunk.rows:
                run(row, self._forest(trie, row, n_shared, beginning))
            for below in trunk.below:
                run_trunk(below, beginning, n_shared)

        run_trunk(tree, {}, 0)
        _, first = np.unique(np.concatenate(nodes), return_index=True)
        return torch.cat(states)[torch.from_numpy(first).to(self.device)]

    def _forest(
        self, trie: TokenTrie, nodes: IntArray, n_shared: int, beginning: tree_attention.Beginning,
        store: tree_attention.Beginning | None = None,
    ) -> tree_attention.ForestLayout:  # fmt: skip
        return tree_attention.forest_layout(
            trie, nodes, n_shared, self.model.dtype, self.device, beginning, store
        )

    def _trie(self, tail: str, continuations: Sequence[str]) -> TokenTrie:
        """Return the list's trie; the last one is cached, because countries come in several calls."""
        key = hash((tail[-32:], tuple(continuations)))
        if key not in self._tries:
            self._tries = {
                key: build_trie(prompting.continuation_tokens(self.tokenizer, tail, continuations))
            }
        return self._tries[key]

    @torch.inference_mode()
    def _run_beginning(self, prefixes: list[list[int]]) -> tree_attention.Beginning:
        """Return keys and values of the shared beginning of all prefixes, without the last token of any."""
        columns = zip(*(prefix[:-1] for prefix in prefixes), strict=False)
        shared = [tokens[0] for tokens in takewhile(lambda tokens: len(set(tokens)) == 1, columns)]
        if len(prefixes) == 1 or not shared:
            return {}
        beginning: tree_attention.Beginning = {}
        length = torch.full((1, 1, 1, 1), len(shared), device=self.device)
        layout = tree_attention.TreeLayout(len(shared), self.model.dtype, length, store=beginning)
        self._hidden(np.array([shared]), np.arange(len(shared))[None], layout)
        return beginning

    @torch.inference_mode()
    def _score_edges(
        self, prefixes: list[list[int]], trie: TokenTrie, beginning: tree_attention.Beginning
    ) -> NDArray[np.float32]:
        """Return [b, n_edges] log-probability of each edge of the trie after each prefix."""
        edges = np.zeros((len(prefixes), len(trie.edge_token)), dtype=np.float32)
        by_parent = np.argsort(trie.edge_parent, kind="stable")
        first_edge = np.searchsorted(trie.edge_parent[by_parent], np.arange(-1, trie.n_internal + 1))
        chunks = list(trie.chunks(self.spec.batch_tokens)) or [(np.empty(0, dtype=np.int64), 0)]
        for number, (nodes, n_context) in enumerate(chunks):
            hidden = self._run(prefixes, trie, nodes, beginning)
            skip = 0 if number == 0 else 1 + n_context  # earlier chunks read the root and the context
            parents = np.concatenate([[-1], nodes])[skip:]
            chunk_edges = by_parent[first_edge[parents[0] + 1] : first_edge[parents[-1] + 2]]
            row = np.searchsorted(parents, trie.edge_parent[chunk_edges])
            width = len(parents)
            rows = (np.arange(len(prefixes))[:, None] * width + row).ravel()
            tokens = np.tile(trie.edge_token[chunk_edges], len(prefixes))
            values = self._head.logprobs(hidden[:, skip:].reshape(-1, hidden.shape[-1]), rows, tokens)
            edges[:, chunk_edges] = values.reshape(len(prefixes), -1)
        return edges

    def _run(
        self, prefixes: list[list[int]], trie: TokenTrie, nodes: IntArray, beginning: tree_attention.Beginning
    ) -> torch.Tensor:
        """Return [b, 1 + n, d] final hidden states: each prefix's last token, then the nodes."""
        b, lengths = len(prefixes), torch.tensor([len(p) for p in prefixes], device=self.device)
        width = int(lengths.max())
        layout = tree_attention.tree_layout(trie, nodes, lengths, width, self.model.dtype, beginning)
        c = layout.n_shared
        rest = width - c
        ids = np.zeros((b, rest + len(nodes)), dtype=np.int64)
        positions = np.zeros_like(ids)
        positions[:, :rest] = np.arange(c, width)
        for i, prefix in enumerate(prefixes):
            ids[i, : len(prefix) - c] = prefix[c:]
            positions[i, rest:] = trie.depth[nodes] + len(prefix)
        ids[:, rest:] = trie.token[nodes]
        hidden = self._hidden(ids, positions, layout)
        last = hidden[torch.arange(b, device=self.device), lengths - c - 1]
        return torch.cat([last[:, None], hidden[:, rest:]], dim=1)

    def _hidden(
        self,
        ids: IntArray,
        positions: IntArray,
        layout: tree_attention.TreeLayout | tree_attention.ForestLayout,
    ) -> torch.Tensor:
        """Return [b, n, d] states before the head, of [b, n] tokens at [b, n] positions.

        Raises:
            EngineError: passes of this width, or texts of this length, are not scored as plain passes are.
        """
        self.reach(int(positions.max(initial=0)) + 1, ids.shape[1])
        inputs = {
            "input_ids": ids,
            "position_ids": positions,
            # Without it, transformers takes a jump of positions for the beginning of another text.
            "attention_mask": np.ones_like(ids),
        }
        with tree_attention.laid_out(layout):
            on_device = {name: torch.from_numpy(values).to(self.device) for name, values in inputs.items()}
            return self._head.run(**on_device, use_cache=False)[0].to(self.device)

    def _compile(self) -> None:
        """Compile every layer for any length with torch; raises ``EngineError`` if torch cannot."""
        layers = [layer for layer in self.model.modules() if isinstance(layer, GradientCheckpointingLayer)]
        if not layers:
            raise EngineError(
                f"model {self.spec.name!r}: its architecture names no layers to compile; leave compile out "
                "of the engine's spec"
            )
        for layer in layers:
            layer.compile(dynamic=True)
        try:
            for n in (1, 2):  # a single sequence is compiled by itself
                self.score(["What do people eat?", "What do people drink?"][:n], [" bread", " bread soup"])
        except Exception as error:  # the compiler raises many kinds
            reason = str(error).strip().splitlines()[0]
            raise EngineError(
                f"model {self.spec.name!r}: torch cannot compile it here: {reason}; install a C++ "
                "compiler, or leave compile out of the engine's spec"
            ) from error
