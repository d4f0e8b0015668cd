"""Score a whole item list after one prompt in one packed forward pass.

For every prefix the model runs ``[prefix | internal trie nodes]`` once (see ``trie`` and
``tree_attention``); each child's log-probability is read from its parent's logits, and leaves are never
run. What all prefixes of a call begin with (chat header, instruction) is run once for all of them.
Log-softmax is always in float32 on float32 logits: bfloat16 logits are quantised at about 0.1 nat.

Memory is bounded by ``spec.batch_tokens`` token positions a pass: large tries are cut into chunks of
subtrees, small ones share a pass among many prefixes. Of the logits only a slice of the vocabulary exists
at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer

from tasks.engines import prompting, tree_attention
from tasks.engines.cpu import half_precision_products, keep_freed_memory, log_sum_exp
from tasks.engines.devices import device
from tasks.engines.protocols import CandidateScores, Cloze, EngineError, Framed, Progress
from tasks.engines.specs import EngineSpec, resolved
from tasks.engines.trie import IntArray, TokenTrie, build_trie

VOCABULARY_SLICE = {"cpu": 4096, "cuda": 32768}
SELF_CHECK_TOLERANCE = {"float32": 1e-3, "bfloat16": 1.0, "float16": 0.25}
"""Nats an item may differ from a plain forward pass at load. Half precisions reorder their rounding; a
wrong mask or position is off by several nats."""

AttentionInterface.register(tree_attention.NAME, tree_attention.tree_attention)


class PackedTrieScorer:
    """A decoder-only transformers model behind the ``Scorer`` protocol."""

    def __init__(self, spec: EngineSpec, folder: str) -> None:
        """Load the model and prove on a small list that it gives what a plain forward pass gives.

        Args:
            folder: Hugging Face id or local folder (``spec.model`` resolved).

        Raises:
            EngineError: not loadable, or its architecture cannot take a tree mask (use kind "vllm").
        """
        self.spec = spec = resolved(spec)
        self.device = device(spec.device)
        if self.device.type == "cpu":
            keep_freed_memory()
        self.dtype: torch.dtype = getattr(torch, spec.dtype)
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(folder, revision=spec.revision)
            self.model = _load_model(folder, spec, self.dtype, self.device)
        except (OSError, ValueError, KeyError) as error:
            raise EngineError(f"model {spec.name!r} cannot be loaded from {folder!r}: {error}") from error
        self._windows = tree_attention.sliding_windows(self.model)
        head = self.model.get_output_embeddings()
        self._multiplies_into_float32 = self.device.type == "cuda" and self.dtype != torch.float32
        # Elsewhere a float32 copy of the head, so that its logits are not rounded to half precision.
        self._head: torch.Tensor = head.weight if self._multiplies_into_float32 else head.weight.float()
        self._head_bias: torch.Tensor | None = getattr(head, "bias", None)
        config = self.model.config.get_text_config()
        scale, divisor = getattr(config, "logit_scale", None), getattr(config, "logits_scaling", None)
        self._scale = float(scale or 1.0) / float(divisor or 1.0)
        self._soft_cap: float | None = getattr(config, "final_logit_softcapping", None)
        self._tries: dict[int, TokenTrie] = {}
        self._self_check()

    def frame(self, questions: Sequence[str]) -> Framed:
        """See ``Scorer.frame``."""
        return prompting.frame(self.tokenizer, questions, self.spec.prompt_style)

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> IntArray:
        """See ``Scorer.count_tokens``."""
        return np.array([len(t) for t in self._tokens(prefix, continuations)], dtype=np.int64)

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """See ``Scorer.score``."""
        return self._score(prefixes, prefixes[0], continuations, progress).logprob

    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """See ``CandidateScorer.score_candidates``; scored are the tokens of ``prompting.fill``.

        A candidate that the vocabulary cannot spell, so that the unknown token stands for it, is NaN.
        """
        rests = prompting.fill(cloze, candidates)
        scores = self._score(cloze.before, cloze.tail, rests, progress)
        unspelled = self._trie(cloze.tail, rests).items_with(self.tokenizer.unk_token_id)
        scores.logprob[:, unspelled] = scores.probability[:, unspelled] = np.nan
        return scores

    def close(self) -> None:
        """Give the model's memory back."""
        del self.model, self._head
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _score(
        self, prefixes: Sequence[str], tail: str, continuations: Sequence[str], progress: Progress | None
    ) -> CandidateScores:
        """Score all pairs; the continuations' tokens are those that they have after ``tail``."""
        trie = self._trie(tail, continuations)
        encoded = [prompting.prefix_tokens(self.tokenizer, p) for p in prefixes]
        beginning = self._run_beginning(encoded)
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        logprob = np.empty((len(prefixes), len(continuations)), dtype=np.float32)
        probability = np.empty_like(logprob)
        for batch in self._batches([len(encoded[i]) for i in order], trie):
            rows = [order[i] for i in batch]
            edges = self._score_edges([encoded[i] for i in rows], trie, beginning)
            logprob[rows] = trie.sum_over_items(edges)
            probability[rows] = trie.sum_over_items(np.exp(edges)) / trie.item_lengths
            if progress:
                progress(len(rows) * len(continuations))
        return CandidateScores(logprob, probability, trie.item_lengths)

    def _tokens(self, prefix: str, continuations: Sequence[str]) -> list[list[int]]:
        return prompting.continuation_tokens(self.tokenizer, prefix, continuations)

    def _trie(self, tail: str, continuations: Sequence[str]) -> TokenTrie:
        """The list's trie; the last one is kept, because countries come in several calls."""
        key = hash((tail[-32:], tuple(continuations)))
        if key not in self._tries:
            self._tries = {key: build_trie(self._tokens(tail, continuations))}
        return self._tries[key]

    def _batches(self, lengths: list[int], trie: TokenTrie) -> Iterator[range]:
        """Consecutive prefixes (sorted by length) that fit one pass together with the whole trie."""
        budget = self.spec.batch_tokens
        width = min(trie.n_internal + tree_attention.BLOCK, budget)
        start = 0
        while start < len(lengths):
            stop = start + 1
            while stop < len(lengths) and (stop - start + 1) * (lengths[stop] + width) <= budget:
                stop += 1
            yield range(start, stop)
            start = stop

    @torch.inference_mode()
    def _run_beginning(self, prefixes: list[list[int]]) -> tree_attention.Beginning:
        """Keys and values of what all prefixes begin with, but for the last token, whose logits are read."""
        columns = zip(*(prefix[:-1] for prefix in prefixes), strict=False)
        shared = [tokens[0] for tokens in takewhile(lambda tokens: len(set(tokens)) == 1, columns)]
        if len(prefixes) == 1 or not shared:
            return {}
        kept: tree_attention.Beginning = {}
        layout = tree_attention.TreeLayout(len(shared), kept=kept)
        self._hidden(np.array([shared]), np.arange(len(shared))[None], layout)
        return kept

    @torch.inference_mode()
    def _score_edges(
        self, prefixes: list[list[int]], trie: TokenTrie, beginning: tree_attention.Beginning
    ) -> NDArray[np.float32]:
        """[b, n_edges] log-probability of every single trie step after each prefix."""
        edges = np.zeros((len(prefixes), len(trie.edge_token)), dtype=np.float32)
        by_parent = np.argsort(trie.edge_parent, kind="stable")
        first_edge = np.searchsorted(trie.edge_parent[by_parent], np.arange(-1, trie.n_internal + 1))
        chunks = list(trie.chunks(self.spec.batch_tokens)) or [(np.empty(0, dtype=np.int64), 0)]
        for number, (nodes, n_context) in enumerate(chunks):
            hidden = self._run(prefixes, trie, nodes, beginning)
            skip = 0 if number == 0 else 1 + n_context  # the root and the context were read before
            parents = np.concatenate([[-1], nodes])[skip:]
            todo = by_parent[first_edge[parents[0] + 1] : first_edge[parents[-1] + 2]]
            row = np.searchsorted(parents, trie.edge_parent[todo])
            width = len(parents)
            rows = (np.arange(len(prefixes))[:, None] * width + row).ravel()
            tokens = np.tile(trie.edge_token[todo], len(prefixes))
            values = self._read_logprobs(hidden[:, skip:].reshape(-1, hidden.shape[-1]), rows, tokens)
            edges[:, todo] = values.reshape(len(prefixes), -1)
        return edges

    def _run(
        self,
        prefixes: list[list[int]],
        trie: TokenTrie,
        nodes: IntArray,
        beginning: tree_attention.Beginning,
    ) -> torch.Tensor:
        """[b, 1 + n, d] final hidden states: each prefix's last token, then the nodes."""
        b, lengths = len(prefixes), torch.tensor([len(p) for p in prefixes], device=self.device)
        width = int(lengths.max())
        layout = tree_attention.tree_layout(trie, nodes, lengths, width, self._windows, self.dtype, beginning)
        c = layout.n_shared
        own = width - c
        ids = np.zeros((b, own + len(nodes)), dtype=np.int64)
        positions = np.zeros_like(ids)
        positions[:, :own] = np.arange(c, width)
        for i, prefix in enumerate(prefixes):
            ids[i, : len(prefix) - c] = prefix[c:]
            positions[i, own:] = trie.depth[nodes] + len(prefix)
        ids[:, own:] = trie.token[nodes]
        hidden = self._hidden(ids, positions, layout)
        last = hidden[torch.arange(b, device=self.device), lengths - c - 1]
        return torch.cat([last[:, None], hidden[:, own:]], dim=1)

    def _hidden(self, ids: IntArray, positions: IntArray, layout: tree_attention.TreeLayout) -> torch.Tensor:
        """[b, n, d] final hidden states of [b, n] tokens at [b, n] positions."""
        states: torch.Tensor = self.model.base_model(
            input_ids=torch.from_numpy(ids).to(self.device),
            position_ids=torch.from_numpy(positions).to(self.device),
            use_cache=False,
            tree=layout,
        ).last_hidden_state
        return states

    def _read_logprobs(self, hidden: torch.Tensor, rows: IntArray, tokens: IntArray) -> NDArray[np.float32]:
        """log p(tokens[i] | hidden[rows[i]]): the vocabulary in slices, never all logits at once."""
        by_token = np.argsort(tokens, kind="stable")
        ordered = tokens[by_token]
        row = torch.from_numpy(rows[by_token]).to(self.device)
        token = torch.from_numpy(ordered).to(self.device)
        logit = torch.empty(len(rows), dtype=torch.float32, device=self.device)
        log_sum = torch.full((len(hidden),), -torch.inf, device=self.device)
        width = VOCABULARY_SLICE[self.device.type]
        states = hidden if self._multiplies_into_float32 else hidden.float()
        for start in range(0, len(self._head), width):
            logits = self._logits(states, start, start + width)
            log_sum = torch.logaddexp(log_sum, log_sum_exp(logits))
            low, high = np.searchsorted(ordered, [start, start + width])
            logit[low:high] = logits[row[low:high], token[low:high] - start]
        out = np.empty(len(rows), dtype=np.float32)
        out[by_token] = (logit - log_sum[row]).cpu().numpy()
        return out

    def _logits(self, states: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """[r, stop - start] float32 logits of a vocabulary slice, with the model's scale and soft cap."""
        head = self._head[start:stop]
        if self._multiplies_into_float32:
            logits = torch.mm(states, head.T, out_dtype=torch.float32)
        else:
            with half_precision_products(self.dtype == torch.bfloat16):
                logits = torch.mm(states, head.T)
        if self._head_bias is not None:
            logits += self._head_bias[start:stop].float()
        if self._scale != 1.0:
            logits *= self._scale
        return torch.tanh(logits / self._soft_cap) * self._soft_cap if self._soft_cap else logits

    @torch.inference_mode()
    def _self_check(self) -> None:
        """Compare with plain forward passes, so that an architecture that ignores the tree is refused."""
        frame = self.frame(["What do people eat?", "What is a common food in Peru?"])
        items = [frame.lead + w for w in ("bread", "bread soup", "fried rice", "fried rice with eggs", "tea")]
        advice = f'choose kind = "vllm" for {self.spec.name!r}'
        try:
            packed = self.score(frame.prefixes, items)
        except (NotImplementedError, TypeError, AttributeError, KeyError, RuntimeError) as error:
            raise EngineError(
                f"this model's architecture cannot take a tree mask ({error}); {advice}"
            ) from error
        self.model.set_attn_implementation("sdpa")
        pairs = [(0, 3), (1, 1)]  # the deepest item, and one whose prefix is padded
        plain = [self._plain_score(frame.prefixes[p], items[i]) for p, i in pairs]
        self.model.set_attn_implementation(tree_attention.NAME)
        worst = max(abs(float(packed[pair]) - own) for pair, own in zip(pairs, plain, strict=True))
        if not worst <= SELF_CHECK_TOLERANCE[self.spec.dtype]:
            raise EngineError(
                f"packed scores of this architecture differ from a plain forward pass by {worst:.2g} nats; "
                f"{advice}"
            )

    def _plain_score(self, prefix: str, continuation: str) -> float:
        """One sequence, no packing: the definition."""
        start = prompting.prefix_tokens(self.tokenizer, prefix)
        rest = self._tokens(prefix, [continuation])[0]
        ids = torch.tensor([start + rest], device=self.device)
        hidden = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state[
            0, len(start) - 1 : -1
        ]
        return float(self._read_logprobs(hidden, np.arange(len(rest)), np.array(rest)).sum())


def _load_model(folder: str, spec: EngineSpec, dtype: torch.dtype, device: torch.device) -> Any:
    """Load with the tree attention; architectures without the attention interface are refused."""
    try:
        model: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            revision=spec.revision,
            dtype=dtype,
            attn_implementation=tree_attention.NAME,
            **spec.options,
        )
    except (ValueError, AttributeError, ImportError) as error:
        if "attn_implementation" in str(error) or "attention" in str(error):
            raise EngineError(
                f"the architecture of {spec.name!r} has no exchangeable attention, so it cannot take a tree "
                f'mask; choose kind = "vllm": {error}'
            ) from error
        raise
    return model.to(device).eval().requires_grad_(False)
