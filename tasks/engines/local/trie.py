"""The token trie of an item list, as flat arrays.

A list of 3,700 dish names shares most of its first tokens, so its trie has far fewer nodes than the list
has tokens. Only nodes with children must be run through a model, because a child's log-probability is read
from its parent's logits. Everything here is numpy, without a loop over nodes.

Nodes are numbered in preorder over the *distinct token sequences in lexicographic order*. The scorer relies
on two properties that follow:

- the descendants of node ``a`` are exactly the nodes ``a < x < subtree_end[a]``;
- for any run of consecutive nodes, every ancestor that lies before the run is an ancestor of its first node.

Numbers do not depend on the order of the items.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class TokenTrie:
    """A trie over ``t`` token sequences.

    An *edge* is the step from a node to its child. An *internal* node is the end of an edge and has children,
    so it must be run. Internal nodes are in preorder.

    Attributes:
        edge_token: [n_edges] token that an edge adds.
        edge_parent: [n_edges] index of the internal node where the edge starts, -1 for the root.
        token: [n_internal] token of an internal node.
        depth: [n_internal] number of tokens before it, 0 for a child of the root.
        parent: [n_internal] index of its parent among the internal nodes, -1 for the root.
        subtree_end: [n_internal] one past its last internal descendant.
        item_edges: [sum of lengths] edges of every item, item after item.
        item_start: [t] position in ``item_edges`` where an item begins.
    """

    edge_token: IntArray
    edge_parent: IntArray
    token: IntArray
    depth: IntArray
    parent: IntArray
    subtree_end: IntArray
    item_edges: IntArray
    item_start: IntArray

    @property
    def n_internal(self) -> int:
        """Number of nodes that a model runs for one prefix, without the root (the prefix itself)."""
        return len(self.token)

    @property
    def item_lengths(self) -> IntArray:
        """[t] number of tokens of every item."""
        return np.diff(self.item_start, append=len(self.item_edges))

    def sum_over_items(self, edge_value: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return [..., t] sums over each item's tokens, from [..., n_edges] values of single tokens."""
        return np.add.reduceat(edge_value[..., self.item_edges], self.item_start, axis=-1)

    def items_with(self, token: int | None) -> NDArray[np.bool_]:
        """Return [t] bool: whether an item has this token."""
        return np.logical_or.reduceat((self.edge_token == token)[self.item_edges], self.item_start)

    def chunks(self, budget: int) -> Iterator[tuple[IntArray, int]]:
        """Yield runs of at most ``budget`` internal nodes, which can be scored one by one.

        Yields:
            nodes: sorted internal nodes, closed under ancestors.
            n_context: number of nodes at the front that are only context, scored in an earlier chunk.
        """
        start = 0
        while start < self.n_internal:
            path = self.ancestors(start)
            stop = min(self.n_internal, start + max(budget - len(path), 1))
            yield np.concatenate([path, np.arange(start, stop)]), len(path)
            start = stop

    def ancestors(self, node: int) -> IntArray:
        """Return the strict ancestors of an internal node, from the top down."""
        path: list[int] = []
        while (node := int(self.parent[node])) >= 0:
            path.append(node)
        return np.array(path[::-1], dtype=np.int64)


def build_trie(sequences: Sequence[Sequence[int]]) -> TokenTrie:
    """Return the trie of token-id sequences. Duplicate sequences are allowed and share all edges.

    Raises:
        ValueError: a sequence is empty (an item without a token has no probability).
    """
    lengths = np.array([len(s) for s in sequences], dtype=np.int64)
    if len(lengths) == 0 or lengths.min() == 0:
        raise ValueError("every item needs at least one token; an item list must not be empty")
    table = np.full((len(sequences), int(lengths.max())), -1, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = np.concatenate([np.asarray(s) for s in sequences])
    order = np.lexsort(table.T[::-1])
    table = table[order]

    # A cell begins a new edge if its row differs from the row above in any column up to its own.
    differs = np.ones(table.shape, dtype=bool)
    differs[1:] = np.logical_or.accumulate(table[1:] != table[:-1], axis=1)
    opens = differs & (table >= 0)
    edge_of = np.maximum.accumulate(np.where(opens, np.cumsum(opens).reshape(opens.shape) - 1, -1), axis=0)
    row, column = np.nonzero(opens)
    above = np.where(column > 0, edge_of[row, np.maximum(column - 1, 0)], -1)

    has_child = np.zeros(len(row), dtype=bool)
    has_child[above[above >= 0]] = True
    internal_of = np.where(has_child, np.cumsum(has_child) - 1, -1)
    edge_parent = np.where(above >= 0, internal_of[np.maximum(above, 0)], -1)
    depth = column[has_child]

    # Restore the caller's order; the valid cells of a row are its edges.
    item_edge = np.empty_like(edge_of)
    item_edge[order] = edge_of
    return TokenTrie(
        edge_token=table[row, column],
        edge_parent=edge_parent,
        token=table[row, column][has_child],
        depth=depth,
        parent=edge_parent[has_child],
        subtree_end=_subtree_end(depth),
        item_edges=item_edge[np.arange(item_edge.shape[1]) < lengths[:, None]],
        item_start=np.concatenate([[0], np.cumsum(lengths)[:-1]]),
    )


def _subtree_end(depth: IntArray) -> IntArray:
    """Return the end of each subtree in preorder, which is the next node that is not deeper."""
    n = len(depth)
    end = np.full(n, n, dtype=np.int64)
    for level in range(int(depth.max(initial=-1)) + 1):
        nodes = np.flatnonzero(depth == level)
        stops = np.flatnonzero(depth <= level)
        following = np.searchsorted(stops, nodes, side="right")
        end[nodes] = np.append(stops, n)[following]
    return end
