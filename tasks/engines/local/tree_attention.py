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
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import scaled_dot_product_attention

from tasks.engines.local.trie import IntArray, TokenTrie

NAME = "packed_trie"
BLOCK = 32
KEYS = 32
"""Numbers of keys are multiples of this; half a cache line of bfloat16 more halves the softmax's speed."""
ALIKE = 0.75
"""Fewest keys of a block in a group, as a share of the most."""

Beginning = dict[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]]
"""Attention layer -> keys and values [1, kv_heads, C, d] of the shared beginning of all prefixes."""


@dataclass(frozen=True)
class TreeLayout:
    """Positions of the nodes of one chunk, and the keys that each attends to; tensors on the model's device.

    Attributes:
        prefix_width: width P of the right-padded prefixes, their shared beginning included.
        n_blocks: number of blocks of nodes after the prefixes; the last may be filled in part.
        query_index: [n_blocks, BLOCK] node of each row of a block; arbitrary after the last node.
        key_index: [n_blocks, k] position of each block's keys, prefix first, in the sequence of P + n tokens.
        mask: {window: [b, n_blocks, BLOCK, k]} additive masks in the model's dtype; window 0 means
            no sliding window.
        beginning: shared beginning of all prefixes, run before; {} if there is none.
        store: every layer puts its keys and values of this pass there; None: they are dropped.
    """

    prefix_width: int
    n_blocks: int = 0
    query_index: torch.Tensor = field(default_factory=lambda: torch.empty(0, 0, dtype=torch.long))
    key_index: torch.Tensor = field(default_factory=lambda: torch.empty(0, 0, dtype=torch.long))
    mask: dict[int, torch.Tensor] = field(default_factory=dict)
    beginning: Beginning = field(default_factory=dict)
    store: Beginning | None = None

    @property
    def n_shared(self) -> int:
        """Number of tokens C of the shared beginning."""
        return next((key.shape[2] for key, _ in self.beginning.values()), 0)


@dataclass(frozen=True)
class Blocks:
    """Blocks of a pass with about as many keys.

    Attributes:
        place: [m] their positions among the blocks of the pass.
        key_index: [m, k] position of each block's keys in the pass, without those of the beginning.
        mask: {window: [m, 1, BLOCK, 1, C + k]} additive masks in the model's dtype; window 0: no sliding
            window.
    """

    place: torch.Tensor
    key_index: torch.Tensor
    mask: dict[int, torch.Tensor]


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


def forest_layout(
    trie: TokenTrie,
    nodes: IntArray,
    n_shared: int,
    windows: set[int],
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
        groups.append(_blocks(trie, nodes, remaining[:n], n_shared, windows, dtype, device))
        remaining = remaining[n:]
    return ForestLayout(len(first), groups, beginning, store)


def _blocks(
    trie: TokenTrie, nodes: IntArray, place: IntArray, n_shared: int, windows: set[int], dtype: torch.dtype,
    device: torch.device,
) -> Blocks:  # fmt: skip
    """Return the blocks at these positions, with keys and masks."""
    query, key, visible = block_keys(trie, nodes, n_shared, place, n_shared)
    query_depth = np.where(query >= 0, trie.depth[nodes[query]], n_shared)[:, :, None]
    key_depth = np.where(key >= 0, trie.depth[nodes[key]], n_shared)[:, None, :]
    masks = {}
    for window in windows:
        seen, shared = visible, np.ones((*query.shape, n_shared), dtype=bool)
        if window:
            seen = visible & (query_depth - key_depth < window)
            shared = query_depth - np.arange(n_shared) < window
        allowed = torch.from_numpy(np.concatenate([shared, seen], axis=2)).to(device)
        mask = torch.zeros(allowed.shape, dtype=dtype, device=device)
        masks[window] = mask.masked_fill_(~allowed, torch.finfo(dtype).min)[:, None, :, None]
    places, keys = (torch.from_numpy(index).to(device) for index in (place, np.maximum(key, 0)))
    return Blocks(places, keys, masks)


def forest_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    forest: ForestLayout,
    scaling: float | None,
    window: int,
) -> torch.Tensor:
    """Return a pass's attention: [1, heads, n, d] queries, [1, kv_heads, n, d] keys -> [1, n, heads, d]."""
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
    out = torch.empty_like(by_block)
    for blocks in forest.groups:
        rows = _rows(blocks.key_index, 1, n, kv_heads)
        keys, values = (
            states[0]
            .transpose(0, 1)
            .reshape(-1, d)
            .index_select(0, rows)
            .view(len(blocks.place), kv_heads, -1, d)
            for states in (key, value)
        )
        block_queries = by_block[blocks.place].transpose(1, 2)
        attended = block_attention(block_queries, keys, values, blocks.mask[window], scaling, shared)
        out[blocks.place] = attended.transpose(1, 2)
    return out.view(1, -1, heads, d)[:, :n]


def sliding_windows(model: Any) -> set[int]:
    """Return the window sizes of the model's layers; 0 is full attention."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    return {0, int(window)} if window else {0}


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
    windows: set[int],
    dtype: torch.dtype,
    beginning: Beginning,
) -> TreeLayout:
    """Return the layout of one chunk for a batch of prefixes.

    Args:
        nodes: sorted internal nodes, closed under ancestors (``TokenTrie.chunks``); may be empty.
        prefix_lengths: [b] tokens of each prefix on the model's device, with the shared beginning and without
            right padding.
        windows: sliding windows of the model's layers; 0 is full attention.
    """
    if not len(nodes):
        return TreeLayout(prefix_width, beginning=beginning)
    device = prefix_lengths.device
    query, key, visible = block_keys(trie, nodes, prefix_width)
    n_blocks = len(key)
    seen = torch.from_numpy(visible).to(device)[None]
    column = torch.arange(prefix_width, device=device)
    query_depth = torch.zeros(n_blocks * BLOCK, dtype=torch.long, device=device)
    query_depth[: len(nodes)] = torch.from_numpy(trie.depth[nodes]).to(device)
    query_depth = query_depth.view(1, n_blocks, BLOCK, 1)
    key_depth = torch.from_numpy(np.where(key >= 0, trie.depth[nodes[key]], 0)).to(device)
    length = prefix_lengths.view(-1, 1, 1, 1)
    masks: dict[int, torch.Tensor] = {}
    for window in windows:
        in_prefix = (column < length).expand(-1, n_blocks, BLOCK, -1)
        in_tree = seen
        if window:
            in_prefix = in_prefix & (length + query_depth - column < window)
            in_tree = in_tree & (query_depth - key_depth[None, :, None, :] < window)
        allowed = torch.cat([in_prefix, in_tree.expand(len(prefix_lengths), -1, -1, -1)], dim=-1)
        mask = torch.zeros(allowed.shape, dtype=dtype, device=device)
        masks[window] = mask.masked_fill_(~allowed, torch.finfo(dtype).min)
    in_sequence = np.concatenate(
        [np.tile(np.arange(prefix_width), (n_blocks, 1)), prefix_width + np.maximum(key, 0)], axis=1
    )
    query_index, key_index = (torch.from_numpy(x).to(device) for x in (np.maximum(query, 0), in_sequence))
    return TreeLayout(prefix_width, n_blocks, query_index, key_index, masks, beginning)


def block_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scaling: float | None,
    shared: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Return the attention of many short blocks.

    On a CPU it is computed with plain products, which are faster on short blocks than PyTorch's fused kernel.

    Args:
        query: [n, kv_heads, q, g, d]; g heads share their keys.
        key, value: [n, kv_heads, k, d].
        mask: [n, 1, q, 1, c + k] additive.
        shared: keys and values [1, kv_heads, c, d] before those of every block.

    Returns:
        [n, kv_heads, q, g, d].
    """
    n, kv_heads, q, g, d = query.shape
    k = key.shape[2]
    c = shared[0].shape[2] if shared else 0
    if query.is_cuda:
        if shared:
            expanded = (states.expand(n, -1, -1, -1) for states in shared)
            key, value = (torch.cat(both, dim=2) for both in zip(expanded, (key, value), strict=True))
        by_head = query.transpose(2, 3).reshape(n, kv_heads * g, q, d)
        out = scaled_dot_product_attention(
            by_head, key, value, attn_mask=mask.squeeze(3), scale=scaling, enable_gqa=g > 1
        )
        return out.view(n, kv_heads, g, q, d).transpose(2, 3)
    # Heads that share their keys are rows of one product.
    rows = query.reshape(n, kv_heads, q * g, d)
    scores = rows @ key.transpose(2, 3)
    if shared:
        scores = torch.cat([_shared_product(rows, shared[0].transpose(2, 3)), scores], dim=-1)
    scores = scores.view(n, kv_heads, q, g, c + k)
    scale = scaling or d**-0.5
    # A power of two, as in most models, causes no rounding in half precision.
    if math.frexp(scale)[0] != 0.5:
        scores = scores.float()
    weights = torch.softmax(torch.add(mask, scores, alpha=scale, out=scores), dim=-1)
    weights = weights.to(value.dtype).view(n, kv_heads, q * g, c + k)
    out = weights[..., c:] @ value
    if shared:
        out += _shared_product(weights[..., :c], shared[1])
    return out.view(n, kv_heads, q, g, d)


def _shared_product(rows: torch.Tensor, shared: torch.Tensor) -> torch.Tensor:
    """Return [n, heads, r, x]: [n, heads, r, y] rows times a shared [1, heads, y, x], a product per head."""
    n, heads, r, _ = rows.shape
    together = rows.transpose(0, 1).reshape(heads, n * r, -1) @ shared[0]
    return together.view(heads, n, r, -1).transpose(0, 1)


def tree_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    tree: TreeLayout | ForestLayout | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **extra: Any,
) -> tuple[torch.Tensor, None]:
    """Return the attention of a layer; transformers calls this function (AttentionInterface).

    Args:
        query: [b, heads, P - C + n, d]: prefixes without their shared beginning, then n nodes.
        key, value: [b, kv_heads, P - C + n, d].

    Returns:
        [b, P - C + n, heads, d], and None for the attention weights.

    Raises:
        NotImplementedError: the layer needs something that this function does not compute.
    """
    if tree is None or softcap is not None or extra.get("s_aux") is not None:
        raise NotImplementedError("this architecture does not pass a tree through to its attention layers")
    if isinstance(tree, ForestLayout):
        return forest_attention(module, query, key, value, tree, scaling, sliding_window or 0), None
    p, c, n_blocks = tree.prefix_width, tree.n_shared, tree.n_blocks
    window = sliding_window or 0
    b, heads, _, d = query.shape
    kv_heads = key.shape[1]
    if tree.store is not None:
        tree.store[module] = (key, value)
    if c:
        key, value = (
            torch.cat([shared.expand(b, -1, -1, -1), states], dim=2)
            for shared, states in zip(tree.beginning[module], (key, value), strict=True)
        )

    prefix_mask = None
    if c or (window and p > window):
        distance = torch.arange(c, p, device=query.device)[:, None] - torch.arange(p, device=query.device)
        prefix_mask = (distance >= 0) & (distance < (window or p))
    prefix_out = scaled_dot_product_attention(
        query[:, :, : p - c], key[:, :, :p], value[:, :, :p],
        attn_mask=prefix_mask, is_causal=prefix_mask is None, scale=scaling, enable_gqa=heads != kv_heads,
    ).transpose(1, 2)  # fmt: skip
    if not n_blocks:
        return prefix_out, None
    group = heads // kv_heads
    n = query.shape[2] - (p - c)
    query_rows = _rows(p - c + tree.query_index, b, p - c + n, kv_heads)
    key_rows = _rows(tree.key_index, b, p + n, kv_heads)
    by_block = (b * n_blocks, kv_heads, -1, d)
    node_query, node_key, node_value = (
        states.transpose(1, 2).reshape(-1, width).index_select(0, rows)
        for states, width, rows in (
            (query, group * d, query_rows),
            (key, d, key_rows),
            (value, d, key_rows),
        )
    )
    node_out = block_attention(
        node_query.view(b * n_blocks, kv_heads, BLOCK, group, d),
        node_key.view(by_block),
        node_value.view(by_block),
        tree.mask[window].view(b * n_blocks, 1, BLOCK, 1, -1),
        scaling,
    )
    out = query.new_empty(b, p - c + n_blocks * BLOCK, heads, d)
    out[:, : p - c] = prefix_out
    by_node = out[:, p - c :].view(b, n_blocks, BLOCK, kv_heads, group, d)
    by_node.copy_(node_out.view(b, n_blocks, kv_heads, BLOCK, group, d).transpose(2, 3))
    return out[:, : p - c + n], None


def _rows(positions: torch.Tensor, b: int, length: int, kv_heads: int) -> torch.Tensor:
    """Return [b * n_blocks * kv_heads * m] rows of [b * length * kv_heads, w] states, at [n_blocks, m]."""
    sequence = torch.arange(b, device=positions.device).view(-1, 1, 1, 1) * length
    head = torch.arange(kv_heads, device=positions.device).view(-1, 1)
    return ((sequence + positions[:, None]) * kv_heads + head).flatten()
