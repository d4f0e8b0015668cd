"""Score a whole item list after one prompt in one packed forward pass.

For every prefix the model runs ``[prefix | internal trie nodes]`` once (see ``trie`` and
``tree_attention``); each child's log-probability is read from its parent's logits, and leaves are never
run. Log-softmax is always in float32 on float32 logits: bfloat16 logits are quantised at about 0.1 nat.

Memory is bounded by ``spec.batch_tokens`` token positions a pass: large tries are cut into chunks of
subtrees, small ones share a pass among many prefixes. Logits exist for ``HEAD_ROWS`` positions at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AttentionInterface, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from tasks.engines import prompting, tree_attention
from tasks.engines.protocols import EngineError, Framed, Progress
from tasks.engines.specs import EngineSpec
from tasks.engines.trie import IntArray, TokenTrie, build_trie

HEAD_ROWS = 512
SOFTMAX_ROWS = 64  # rows whose logits stay in the CPU's cache between the passes of log-softmax
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
        self.spec = spec
        self.device = _device(spec.device)
        self.dtype: torch.dtype = getattr(torch, spec.dtype)
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(folder, revision=spec.revision)
            self.model = _load_model(folder, spec, self.dtype).to(self.device)
        except (OSError, ValueError, KeyError) as error:
            raise EngineError(f"model {spec.name!r} cannot be loaded from {folder!r}: {error}") from error
        self.model.eval().requires_grad_(False)
        self._windows = _sliding_windows(self.model)
        head = self.model.get_output_embeddings()
        # On CPU a float32 copy of the head, so that its logits are not rounded to half precision.
        self._head: torch.Tensor = head.weight if self.device.type == "cuda" else head.weight.float()
        self._head_bias: torch.Tensor | None = getattr(head, "bias", None)
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
        trie = self._trie(prefixes[0], continuations)
        encoded = [prompting.prefix_tokens(self.tokenizer, p) for p in prefixes]
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        scores = np.empty((len(prefixes), len(continuations)), dtype=np.float32)
        for batch in self._batches([len(encoded[i]) for i in order], trie):
            rows = [order[i] for i in batch]
            edges = self._score_edges([encoded[i] for i in rows], trie)
            scores[rows] = trie.sum_over_items(edges)
            if progress:
                progress(len(rows) * len(continuations))
        return scores

    def close(self) -> None:
        """Give the model's memory back."""
        del self.model, self._head
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _tokens(self, prefix: str, continuations: Sequence[str]) -> list[list[int]]:
        return prompting.continuation_tokens(self.tokenizer, prefix, continuations)

    def _trie(self, prefix: str, continuations: Sequence[str]) -> TokenTrie:
        """The list's trie; the last one is kept, because countries come in several calls."""
        key = hash((prefix[-32:], tuple(continuations)))
        if key not in self._tries:
            self._tries = {key: build_trie(self._tokens(prefix, continuations))}
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
    def _score_edges(self, prefixes: list[list[int]], trie: TokenTrie) -> NDArray[np.float32]:
        """[b, n_edges] log-probability of every single trie step after each prefix."""
        edges = np.zeros((len(prefixes), len(trie.edge_token)), dtype=np.float32)
        by_parent = np.argsort(trie.edge_parent, kind="stable")
        first_edge = np.searchsorted(trie.edge_parent[by_parent], np.arange(-1, trie.n_internal + 1))
        chunks = list(trie.chunks(self.spec.batch_tokens)) or [(np.empty(0, dtype=np.int64), 0)]
        for number, (nodes, n_context) in enumerate(chunks):
            hidden = self._run(prefixes, trie, nodes)
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

    def _run(self, prefixes: list[list[int]], trie: TokenTrie, nodes: IntArray) -> torch.Tensor:
        """[b, 1 + n, d] final hidden states: each prefix's last token, then the nodes."""
        b, lengths = len(prefixes), torch.tensor([len(p) for p in prefixes], device=self.device)
        width = int(lengths.max())
        layout = None
        n_nodes = 0
        if len(nodes):
            layout = tree_attention.tree_layout(trie, nodes, lengths, width, self._windows, self.dtype)
            n_nodes = layout.n_nodes
        else:
            layout = tree_attention.prefix_layout(width)
        ids = np.zeros((b, width + n_nodes), dtype=np.int64)
        positions = np.zeros_like(ids)
        positions[:, :width] = np.arange(width)
        for i, prefix in enumerate(prefixes):
            ids[i, : len(prefix)] = prefix
            positions[i, width : width + len(nodes)] = trie.depth[nodes] + len(prefix)
        ids[:, width : width + len(nodes)] = trie.token[nodes]
        hidden = self.model.base_model(
            input_ids=torch.from_numpy(ids).to(self.device),
            position_ids=torch.from_numpy(positions).to(self.device),
            use_cache=False,
            tree=layout,
        ).last_hidden_state
        last = hidden[torch.arange(b, device=self.device), lengths - 1]
        return torch.cat([last[:, None], hidden[:, width : width + len(nodes)]], dim=1)

    def _read_logprobs(self, hidden: torch.Tensor, rows: IntArray, tokens: IntArray) -> NDArray[np.float32]:
        """log p(tokens[i] | hidden[rows[i]]), ``rows`` sorted; logits for HEAD_ROWS rows at a time."""
        row, token = torch.from_numpy(rows).to(self.device), torch.from_numpy(tokens).to(self.device)
        out = torch.empty(len(rows), dtype=torch.float32, device=self.device)
        size = SOFTMAX_ROWS if self.device.type == "cpu" else HEAD_ROWS
        for start in range(0, len(hidden), HEAD_ROWS):
            logits = self._logits(hidden[start : start + HEAD_ROWS])
            for part in range(0, len(logits), size):
                low, high = np.searchsorted(rows, [start + part, start + min(part + size, len(logits))])
                if low < high:
                    logprobs = torch.log_softmax(logits[part : part + size], dim=-1)
                    out[low:high] = logprobs[row[low:high] - start - part, token[low:high]]
        return out.cpu().numpy()

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """[r, vocabulary] float32 logits, with the model's own scaling and soft cap."""
        if self.device.type == "cuda" and self.dtype != torch.float32:
            logits = torch.mm(hidden, self._head.T, out_dtype=torch.float32)
        else:
            with _half_precision_products(self.dtype == torch.bfloat16):
                logits = torch.mm(hidden.float(), self._head.T.float())
        if self._head_bias is not None:
            logits = logits + self._head_bias.float()
        config = self.model.config
        logits = logits * (getattr(config, "logit_scale", None) or 1.0)
        logits = logits / (getattr(config, "logits_scaling", None) or 1.0)
        cap = getattr(config, "final_logit_softcapping", None)
        return torch.tanh(logits / cap) * cap if cap else logits

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
        plain = np.array([[self._plain_score(p, c) for c in items] for p in frame.prefixes])
        self.model.set_attn_implementation(tree_attention.NAME)
        worst = float(np.abs(packed - plain).max())
        if not worst <= SELF_CHECK_TOLERANCE[self.spec.dtype]:
            raise EngineError(
                f"packed scores of this architecture differ from a plain forward pass by {worst:.2g} nats; {advice}"
            )

    def _plain_score(self, prefix: str, continuation: str) -> float:
        """One sequence, no packing: the definition."""
        start = prompting.prefix_tokens(self.tokenizer, prefix)
        rest = self._tokens(prefix, [continuation])[0]
        ids = torch.tensor([start + rest], device=self.device)
        hidden = self.model.base_model(input_ids=ids, use_cache=False).last_hidden_state[
            0, len(start) - 1 : -1
        ]
        logprobs = torch.log_softmax(self._logits(hidden), dim=-1)
        return float(logprobs[torch.arange(len(rest)), torch.tensor(rest)].sum())


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def _load_model(folder: str, spec: EngineSpec, dtype: torch.dtype) -> PreTrainedModel:
    """Load with the tree attention; architectures without the attention interface are refused."""
    try:
        model = AutoModelForCausalLM.from_pretrained(
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
    assert isinstance(model, PreTrainedModel)
    return model


def _sliding_windows(model: PreTrainedModel) -> set[int]:
    """Window sizes of the model's layers, 0 for full attention."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    return {0, int(window)} if window else {0}


@contextmanager
def _half_precision_products(enabled: bool) -> Iterator[None]:
    """Let oneDNN multiply float32 tensors that hold bfloat16 values at bfloat16 speed, summing in float32.

    Exact for such tensors; without it the head of a bfloat16 model takes twice as long on a CPU.
    """
    matmul = torch.backends.mkldnn.matmul
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16" if enabled else before
    try:
        yield
    finally:
        matmul.fp32_precision = before
