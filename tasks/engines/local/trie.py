"""The token trie of an item list, as flat arrays.

A list of 3,700 dish names shares most of its first tokens, so its trie has far fewer nodes than the list
has tokens, and only the nodes that have children must ever be run through a model: a child's
log-probability is read from its parent's logits. Everything here is numpy, without a loop over nodes.

Nodes are numbered in preorder over the *distinct token sequences in lexicographic order*, which gives two
properties that the scorer rests on:

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

    An *edge* is any trie node below the root (the step from its parent to it); an *internal* node is an
    edge's end that has children of its own and so must be run. Internal nodes keep the preorder.

    Attributes:
        edge_token: [n_edges] the token that an edge adds.
        edge_parent: [n_edges] index of the internal node that the edge leaves, -1 for the root.
        token: [n_internal] the token of an internal node.
        depth: [n_internal] tokens before it, 0 for a child of the root.
        parent: [n_internal] its parent among the internal nodes, -1 for the root.
        subtree_end: [n_internal] one past its last internal descendant.
        item_edges: [sum of lengths] the edges of every item, item after item.
        item_start: [t] where in ``item_edges`` an item begins.
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
        """Nodes that a model has to run for one prefix, the root (the prefix itself) not counted."""
        return len(self.token)

    @property
    def item_lengths(self) -> IntArray:
        """[t] tokens of every item."""
        return np.diff(self.item_start, append=len(self.item_edges))

    def sum_over_items(self, edge_value: NDArray[np.float32]) -> NDArray[np.float32]:
        """[..., n_edges] values of single tokens -> [..., t] sums over each item's tokens."""
        return np.add.reduceat(edge_value[..., self.item_edges], self.item_start, axis=-1)

    def items_with(self, token: int | None) -> NDArray[np.bool_]:
        """[t] whether a token is among an item's."""
        return np.logical_or.reduceat((self.edge_token == token)[self.item_edges], self.item_start)

    def chunks(self, budget: int) -> Iterator[tuple[IntArray, int]]:
        """Cut the internal nodes into runs of at most ``budget`` nodes that can be scored one by one.

        Yields:
            nodes: sorted internal nodes, closed under ancestors.
            n_context: how many of them at the front are only context, scored in an earlier chunk.
        """
        start = 0
        while start < self.n_internal:
            path = self.ancestors(start)
            stop = min(self.n_internal, start + max(budget - len(path), 1))
            yield np.concatenate([path, np.arange(start, stop)]), len(path)
            start = stop

    def ancestors(self, node: int) -> IntArray:
        """The strict ancestors of an internal node, from the top down."""
        path: list[int] = []
        while (node := int(self.parent[node])) >= 0:
            path.append(node)
        return np.array(path[::-1], dtype=np.int64)


def build_trie(sequences: Sequence[Sequence[int]]) -> TokenTrie:
    """Build the trie of token-id sequences. Duplicate sequences are allowed and share all their edges.

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

    # A cell opens a new edge where its row differs from the row above anywhere up to its column.
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

    # Rows back in the caller's order; each row's valid cells are its edges.
    own = np.empty_like(edge_of)
    own[order] = edge_of
    return TokenTrie(
        edge_token=table[row, column],
        edge_parent=edge_parent,
        token=table[row, column][has_child],
        depth=depth,
        parent=edge_parent[has_child],
        subtree_end=_subtree_end(depth),
        item_edges=own[np.arange(own.shape[1]) < lengths[:, None]],
        item_start=np.concatenate([[0], np.cumsum(lengths)[:-1]]),
    )


def _subtree_end(depth: IntArray) -> IntArray:
    """Return the end of each subtree in preorder: the next node that is not deeper. One pass over depth
    levels.
    """
    n = len(depth)
    end = np.full(n, n, dtype=np.int64)
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == level)
        stops = np.flatnonzero(depth <= level)
        following = np.searchsorted(stops, here, side="right")
        end[here] = np.append(stops, n)[following]
    return end
