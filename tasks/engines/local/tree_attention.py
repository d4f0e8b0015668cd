"""Attention for a prefix followed by a packed trie, as a transformers attention function.

The packed sequence is ``[prefix | node 0 | node 1 | ...]`` with the nodes in preorder. A node attends to the
prefix, its ancestors and itself. A dense mask over all nodes would cost n² scores for the few that are
needed, so nodes are cut into blocks of consecutive nodes: the keys of a block are the prefix, the block
itself and the few ancestors of its first node (see ``trie``), gathered once per layer. One call then computes
all blocks of all prefixes.

The shared beginning of all prefixes is not in the packed sequences. It is run once by itself, and the keys
and values that every layer computed for it are put before those of every prefix.

A forest has no prefixes: its nodes are those of one trie over whole texts (``forest``), cut into blocks in
the same way. Blocks with about as many keys are computed in one product.

Windows, chunks and the like are the model's own: transformers asks for a mask of every kind of layer, and
gets the rule by which the model sees keys (``LayerMask``) in place of a table. Among the nodes that are
ancestors, a query then sees those that the rule allows at their positions in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AttentionInterface, AttentionMaskInterface

from tasks.engines.local.attention import block_attention, prefix_attention
from tasks.engines.local.layer_masks import LayerMask, layer_mask
from tasks.engines.local.trie import IntArray, TokenTrie

NAME = "packed_trie"
BLOCK = 32
KEYS = 32
"""Numbers of keys are multiples of this; half a cache line of bfloat16 more halves the softmax's speed."""
ALIKE = 0.75
"""Fewest keys of a block in a group, as a share of the most."""
HARMLESS = frozenset({
    "dropout", "is_causal", "sliding_window", "return_dict", "use_cache", "position_ids", "cache_position",
    "position_embeddings", "deterministic",
})  # fmt: skip
"""Arguments of transformers' attention functions that change no score beside the mask; a layer with another
one is refused."""

Beginning = dict[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]
"""Attention layer -> keys and values [1, kv_heads, C, d] of the shared beginning of all prefixes."""
Masks = dict[tuple[LayerMask, torch.device], torch.Tensor]


@dataclass(frozen=True)
class TreeLayout:
    """Positions of the nodes of one chunk, and the keys that each attends to.

    Tensors are on the device of the model's inputs, where rules are evaluated. A layer elsewhere gets copies.

    Attributes:
        prefix_width: width P of the right-padded prefixes, their shared beginning included.
        dtype: the model's, of masks.
        length: [b, 1, 1, 1] tokens of each prefix.
        n_blocks: number of blocks of nodes after the prefixes; the last may be filled in part.
        query_index: [n_blocks, BLOCK] node of each row of a block; arbitrary after the last node.
        key_index: [n_blocks, k] position of each block's keys, prefix first, in the sequence of P + n tokens.
        seen: [n_blocks, BLOCK, k - P] bool: the key is the query or one of its ancestors.
        query_depth: [n_blocks, BLOCK, 1] tokens between a query and its prefix.
        key_depth: [n_blocks, 1, k - P] tokens between a key among the nodes and its prefix.
        beginning: shared beginning of all prefixes, run before; {} if there is none.
        store: every layer puts its keys and values of this pass there; None: they are dropped.
        masks, prefix_masks: those made in this pass, by rule, and by device those of the nodes.
    """

    prefix_width: int
    dtype: torch.dtype
    length: torch.Tensor
    n_blocks: int = 0
    query_index: torch.Tensor = field(default_factory=lambda: torch.empty(0, 0, dtype=torch.long))
    key_index: torch.Tensor = field(default_factory=lambda: torch.empty(0, 0, dtype=torch.long))
    seen: torch.Tensor = field(default_factory=lambda: torch.empty(0, 0, 0, dtype=torch.bool))
    query_depth: torch.Tensor = field(default_factory=lambda: torch.empty(0, 0, 1, dtype=torch.long))
    key_depth: torch.Tensor = field(default_factory=lambda: torch.empty(0, 1, 0, dtype=torch.long))
    beginning: Beginning = field(default_factory=dict)
    store: Beginning | None = None
    masks: Masks = field(default_factory=dict)
    prefix_masks: dict[LayerMask, torch.Tensor | None] = field(default_factory=dict)

    @property
    def n_shared(self) -> int:
        """Number of tokens C of the shared beginning."""
        return next((key.shape[2] for key, _ in self.beginning.values()), 0)

    def mask(self, rule: LayerMask, device: torch.device) -> torch.Tensor:
        """Return [b, n_blocks, BLOCK, k], the additive mask of the nodes under a layer's rule."""
        if (rule, device) not in self.masks:
            column = torch.arange(self.prefix_width, device=self.length.device)
            shape = (len(self.length), *self.seen.shape[:2], -1)
            in_prefix, in_tree = (column < self.length).expand(shape), self.seen.expand(shape)
            if not rule.is_causal:
                batch = torch.arange(len(self.length), device=self.length.device).view(-1, 1, 1, 1)
                query = self.length + self.query_depth
                in_prefix = in_prefix & rule(batch, query, column)
                in_tree = in_tree & rule(batch, query, self.length + self.key_depth)
            mask = _additive(torch.cat([in_prefix, in_tree], dim=-1), self.dtype)
            self.masks[rule, device] = mask.to(device)
        return self.masks[rule, device]

    def prefix_mask(self, rule: LayerMask, device: torch.device) -> torch.Tensor | None:
        """Return bool [P - C, P], the keys of the prefixes' queries; None: all before, if C is 0."""
        if rule not in self.prefix_masks:
            query = torch.arange(self.n_shared, self.prefix_width, device=self.length.device)[:, None]
            key = torch.arange(self.prefix_width, device=self.length.device)
            before = key <= query
            mask = before if rule.is_causal else before & rule(torch.zeros_like(key), query, key)
            is_plain = not self.n_shared and (rule.is_causal or bool((mask == before).all()))
            self.prefix_masks[rule] = None if is_plain else mask
        found = self.prefix_masks[rule]
        return None if found is None else found.to(device)


@dataclass(frozen=True)
class Blocks:
    """Blocks of a pass with about as many keys.

    Attributes:
        place: [m] their positions among the blocks of the pass.
        key_index: [m, k] position of each block's keys in the pass, without those of the beginning.
        seen: [m, BLOCK, k] bool: the key is the query or one of its ancestors.
        query_position, key_position: [m, BLOCK, 1] and [m, 1, k] tokens before a query or key in its text.
        n_shared: number of tokens C of the beginning.
        dtype: the model's, of masks.
        masks: those made in this pass, by rule and device.
    """

    place: torch.Tensor
    key_index: torch.Tensor
    seen: torch.Tensor
    query_position: torch.Tensor
    key_position: torch.Tensor
    n_shared: int
    dtype: torch.dtype
    masks: Masks = field(default_factory=dict)

    def mask(self, rule: LayerMask, device: torch.device) -> torch.Tensor:
        """Return [m, 1, BLOCK, 1, C + k], the additive mask under a layer's rule."""
        if (rule, device) not in self.masks:
            shared, seen = self.seen.new_ones((*self.seen.shape[:2], self.n_shared)), self.seen
            if not rule.is_causal:
                batch = torch.zeros_like(self.query_position)
                column = torch.arange(self.n_shared, device=seen.device)
                shared = shared & rule(batch, self.query_position, column)
                seen = seen & rule(batch, self.query_position, self.key_position)
            allowed = torch.cat([shared, seen], dim=-1)[:, None, :, None]
            self.masks[rule, device] = _additive(allowed, self.dtype).to(device)
        return self.masks[rule, device]


def _additive(allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a mask to add to attention scores: 0 where allowed, else the least number."""
    mask = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min)


@dataclass(frozen=True)
class ForestLayout:
    """Nodes of a trie in a sequence after a shared beginning, to which each attends, with ancestors and
    itself.

    Attributes:
        beginning, store: see ``TreeLayout``; the stored keys and values include the beginning.
    """

    n_blocks: int
    groups: list[Blocks]
    beginning: Beginning = field(default_factory=dict)
    store: Beginning | None = None


_current: ContextVar[TreeLayout | ForestLayout | None] = ContextVar("layout", default=None)


@contextmanager
def laid_out(layout: TreeLayout | ForestLayout) -> Iterator[None]:
    """Run a pass within this block with a layout."""
    token = _current.set(layout)
    try:
        yield
    finally:
        _current.reset(token)


def forest_layout(
    trie: TokenTrie,
    nodes: IntArray,
    n_shared: int,
    dtype: torch.dtype,
    device: torch.device,
    beginning: Beginning,
    store: Beginning | None = None,
) -> ForestLayout:
    """Return the layout of a pass.

    Args:
        nodes: sorted, closed under ancestors except for those in the beginning.
        n_shared: number of tokens C of the beginning, which are the first C of every path.
    """
    first = np.arange(0, len(nodes), BLOCK)
    n_keys = trie.depth[nodes[first]] + BLOCK
    remaining = np.argsort(-n_keys, kind="stable")
    groups = []
    while len(remaining):
        n = np.count_nonzero(n_keys[remaining] >= ALIKE * n_keys[remaining[0]])
        groups.append(_blocks(trie, nodes, remaining[:n], n_shared, dtype, device))
        remaining = remaining[n:]
    return ForestLayout(len(first), groups, beginning, store)


def _blocks(
    trie: TokenTrie, nodes: IntArray, place: IntArray, n_shared: int, dtype: torch.dtype, device: torch.device
) -> Blocks:
    """Return the blocks at these positions, with their keys."""
    query, key, visible = block_keys(trie, nodes, n_shared, place, n_shared)
    query_position = np.where(query >= 0, trie.depth[nodes[query]], n_shared)[:, :, None]
    key_position = np.where(key >= 0, trie.depth[nodes[key]], n_shared)[:, None, :]
    indices = (place, np.maximum(key, 0), visible, query_position, key_position)
    at, key_index, seen, of_query, of_key = (torch.from_numpy(index).to(device) for index in indices)
    return Blocks(at, key_index, seen, of_query, of_key, n_shared, dtype)


def forest_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    forest: ForestLayout,
    scaling: float | None,
    rule: LayerMask,
) -> torch.Tensor:
    """Return a pass's attention: [1, heads, n, d] queries, [1, kv_heads, n, d] keys -> [1, n, heads, v]."""
    shared = forest.beginning.get(module)
    if forest.store is not None:
        both = ((key, value),) if shared is None else (shared, (key, value))
        keys, values = (torch.cat(states, dim=2) for states in zip(*both, strict=True))
        forest.store[module] = keys, values
    _, heads, n, d = query.shape
    kv_heads = key.shape[1]
    group = heads // kv_heads
    queries = query.new_zeros(forest.n_blocks * BLOCK, heads, d)
    queries[:n] = query[0].transpose(0, 1)
    by_block = queries.view(forest.n_blocks, BLOCK, kv_heads, group, d)
    out = query.new_empty(*by_block.shape[:-1], value.shape[-1])
    for blocks in forest.groups:
        place = blocks.place.to(query.device)
        rows = _rows(blocks.key_index.to(query.device), 1, n, kv_heads)
        keys, values = (
            states[0]
            .transpose(0, 1)
            .reshape(-1, states.shape[-1])
            .index_select(0, rows)
            .view(len(place), kv_heads, -1, states.shape[-1])
            for states in (key, value)
        )
        block_queries, mask = by_block[place].transpose(1, 2), blocks.mask(rule, query.device)
        attended = block_attention(block_queries, keys, values, mask, scaling, shared)
        out[place] = attended.transpose(1, 2)
    return out.view(1, -1, heads, value.shape[-1])[:, :n]


def block_keys(
    trie: TokenTrie, nodes: IntArray, n_before: int = 0, place: IntArray | None = None, n_shared: int = 0
) -> tuple[IntArray, IntArray, NDArray[np.bool_]]:
    """Return the queries and keys of blocks of sorted nodes.

    Args:
        n_before: number of keys before those of every block; the sum is a multiple of KEYS.
        place: positions of the blocks; None: all.
        n_shared: number of nodes at the beginning of every path that are not among ``nodes``.

    Returns:
        query: [n_blocks, BLOCK] position in ``nodes``, -1 where padded.
        key: [n_blocks, k] position in ``nodes``, -1 where padded.
        visible: [n_blocks, BLOCK, k] bool: the key is the query or one of its ancestors.
    """
    n_blocks = -(-len(nodes) // BLOCK)
    position = np.arange(n_blocks * BLOCK)
    query = np.where(position < len(nodes), position, -1).reshape(n_blocks, BLOCK)
    if place is not None:
        query = query[place]
        n_blocks = len(query)
    paths = [np.searchsorted(nodes, trie.ancestors(int(nodes[first]))[n_shared:]) for first in query[:, 0]]
    width = max(len(p) for p in paths)
    width += -(n_before + width + BLOCK) % KEYS
    above = np.full((n_blocks, width), -1, dtype=np.int64)
    for i, path in enumerate(paths):
        above[i, : len(path)] = path
    key = np.concatenate([above, query], axis=1)
    q, k = nodes[query][:, :, None], nodes[key][:, None, :]
    visible = (k <= q) & (q < trie.subtree_end[k]) & (key >= 0)[:, None, :] & (query >= 0)[:, :, None]
    return query, key, visible


def tree_layout(
    trie: TokenTrie,
    nodes: IntArray,
    prefix_lengths: torch.Tensor,
    prefix_width: int,
    dtype: torch.dtype,
    beginning: Beginning,
) -> TreeLayout:
    """Return the layout of one chunk for a batch of prefixes.

    Args:
        nodes: sorted internal nodes, closed under ancestors (``TokenTrie.chunks``); may be empty.
        prefix_lengths: [b] tokens of each prefix on the model's device, with the shared beginning and without
            right padding.
    """
    length = prefix_lengths.view(-1, 1, 1, 1)
    if not len(nodes):
        return TreeLayout(prefix_width, dtype, length, beginning=beginning)
    query, key, visible = block_keys(trie, nodes, prefix_width)
    query_depth = np.where(query >= 0, trie.depth[nodes[query]], 0)[:, :, None]
    key_depth = np.where(key >= 0, trie.depth[nodes[key]], 0)[:, None, :]
    n_blocks = len(key)
    in_sequence = np.concatenate(
        [np.tile(np.arange(prefix_width), (n_blocks, 1)), prefix_width + np.maximum(key, 0)], axis=1
    )
    query_index, key_index, seen, query_depths, key_depths = (
        torch.from_numpy(index).to(prefix_lengths.device)
        for index in (np.maximum(query, 0), in_sequence, visible, query_depth, key_depth)
    )
    indices = query_index, key_index, seen, query_depths, key_depths
    return TreeLayout(prefix_width, dtype, length, n_blocks, *indices, beginning)


def tree_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: LayerMask | torch.Tensor | None,
    scaling: float | None = None,
    **extra: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention of a layer; transformers calls this function (AttentionInterface).

    Args:
        query: [b, heads, P - C + n, d]: prefixes without their shared beginning, then n nodes.
        key, value: [b, kv_heads, P - C + n, d] and [b, kv_heads, P - C + n, v].
        attention_mask: the layer's rule.

    Returns:
        [b, P - C + n, heads, v], and None for the attention weights.

    Raises:
        NotImplementedError: the layer needs something that this function does not compute.
    """
    tree = _current.get()
    given = [name for name, value in extra.items() if value is not None and value is not False]
    unknown = [name for name in given if name not in HARMLESS]
    if unknown or extra.get("is_causal") is False:
        raise NotImplementedError(f"its attention needs {', '.join(unknown) or 'keys after a query'}")
    if tree is None or not isinstance(attention_mask, LayerMask):
        raise NotImplementedError("its attention layers take a mask of their own")
    if isinstance(tree, ForestLayout):
        return forest_attention(module, query, key, value, tree, scaling, attention_mask), None
    p, c, n_blocks = tree.prefix_width, tree.n_shared, tree.n_blocks
    b, heads, _, d = query.shape
    kv_heads = key.shape[1]
    if tree.store is not None:
        tree.store[module] = (key, value)
    if c:
        key, value = (
            torch.cat([shared.expand(b, -1, -1, -1), states], dim=2)
            for shared, states in zip(tree.beginning[module], (key, value), strict=True)
        )

    prefix_mask = tree.prefix_mask(attention_mask, query.device)
    prefix_out = prefix_attention(
        query[:, :, : p - c], key[:, :, :p], value[:, :, :p], prefix_mask, scaling, query.is_cuda
    ).transpose(1, 2)
    if not n_blocks:
        return prefix_out, None
    group = heads // kv_heads
    n = query.shape[2] - (p - c)
    query_rows = _rows(p - c + tree.query_index.to(query.device), b, p - c + n, kv_heads)
    key_rows = _rows(tree.key_index.to(query.device), b, p + n, kv_heads)
    v, by_block = value.shape[-1], (b * n_blocks, kv_heads, -1)
    node_query, node_key, node_value = (
        states.transpose(1, 2).reshape(-1, width).index_select(0, rows)
        for states, width, rows in (
            (query, group * d, query_rows),
            (key, d, key_rows),
            (value, v, key_rows),
        )
    )
    node_out = block_attention(
        node_query.view(b * n_blocks, kv_heads, BLOCK, group, d),
        node_key.view(*by_block, d),
        node_value.view(*by_block, v),
        tree.mask(attention_mask, query.device).view(b * n_blocks, 1, BLOCK, 1, -1),
        scaling,
    )
    out = query.new_empty(b, p - c + n_blocks * BLOCK, heads, v)
    out[:, : p - c] = prefix_out
    by_node = out[:, p - c :].view(b, n_blocks, BLOCK, kv_heads, group, v)
    by_node.copy_(node_out.view(b, n_blocks, kv_heads, BLOCK, group, v).transpose(2, 3))
    return out[:, : p - c + n], None


def _rows(positions: torch.Tensor, b: int, length: int, kv_heads: int) -> torch.Tensor:
    """Return [b * n_blocks * kv_heads * m] rows of [b * length * kv_heads, w] states, at [n_blocks, m]."""
    sequence = torch.arange(b, device=positions.device).view(-1, 1, 1, 1) * length
    head = torch.arange(kv_heads, device=positions.device).view(-1, 1)
    return ((sequence + positions[:, None]) * kv_heads + head).flatten()


# Compiled, its gathers would be slower.
AttentionInterface.register(NAME, torch.compiler.disable(tree_attention))  # type: ignore[no-untyped-call]
AttentionMaskInterface.register(NAME, layer_mask)
