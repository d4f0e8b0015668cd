"""Passes over a trie of whole texts: shared tokens run once, and several documents run in one pass.

Pairs of a call share prefixes: few-shot examples and instructions first, then a document, then its options.
The tokens of all pairs make one trie. A beginning that many pairs share is a *trunk*: it is run by itself,
and its keys and values are stored for the tokens after it. The other nodes are in *rows*: passes over several
subtrees, each with the few ancestors that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tasks.engines.local.trie import IntArray, TokenTrie

TRUNK = 64
"""Fewest positions that a trunk must save, about the cost of its own pass."""


@dataclass(frozen=True)
class Trunk:
    """A path of nodes that all rows and trunks below it share.

    Attributes:
        nodes: the path, from the top down; empty for the root.
        rows: sorted nodes; each row is closed under ancestors except for those in trunks above.
        below: trunks that continue this one.
    """

    nodes: IntArray
    rows: list[IntArray] = field(default_factory=list)
    below: list[Trunk] = field(default_factory=list)

    @property
    def n_nodes(self) -> int:
        """Number of nodes run in this trunk and below, repetitions included."""
        n = len(self.nodes) + sum(map(len, self.rows))
        return n + sum(trunk.n_nodes for trunk in self.below)


def grown(trie: TokenTrie, size: int) -> Trunk:
    """Return the trie as trunks and rows; every internal node is in at least one of them.

    size: most nodes of a row; smaller subtrees are never cut.
    """
    root = Trunk(np.empty(0, dtype=np.int64))
    _grow(trie, size, root, 0, trie.n_internal, 0)
    return root


def _grow(trie: TokenTrie, size: int, trunk: Trunk, first: int, stop: int, n_shared: int) -> None:
    """Add the nodes ``first`` to ``stop``, which are whole subtrees, to a trunk of n_shared tokens."""
    packed: list[tuple[int, int]] = []
    for begin, end in _units(trie, size, first, stop):
        chain = _chain(trie, begin, end)
        if not _is_trunk(begin, chain, end, size):
            packed.append((begin, end))
            continue
        path = np.arange(begin, chain)
        if above := _above(trie, begin, n_shared):
            path = np.concatenate([above, path])
        trunk.below.append(Trunk(path))
        _grow(trie, size, trunk.below[-1], chain, end, int(trie.depth[chain - 1]) + 1)
    trunk.rows.extend(_rows(trie, size, packed, n_shared))


def _is_trunk(begin: int, chain: int, end: int, size: int) -> bool:
    """Return whether too many rows below the path from ``begin`` to ``chain`` would run it again."""
    return (chain - begin) * ((end - begin - 1) // size) >= TRUNK


def _units(trie: TokenTrie, size: int, first: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield runs of nodes: subtrees that fit into a row, subtrees of trunks, and single nodes above these."""
    node = first
    while node < stop:
        end = int(trie.subtree_end[node])
        is_long = end - node > size and not _is_trunk(node, _chain(trie, node, end), end, size)
        yield node, (node + 1 if is_long else end)
        node = node + 1 if is_long else end


def _chain(trie: TokenTrie, begin: int, end: int) -> int:
    """Return the end (exclusive) of the unbranched path at the top of a subtree."""
    ends = trie.subtree_end[begin:end]
    branched = np.flatnonzero(ends != end)
    return begin + (int(branched[0]) if len(branched) else end - begin)


def _above(trie: TokenTrie, node: int, n_shared: int) -> list[int]:
    """Return the ancestors of a node that are in no trunk."""
    return [int(a) for a in trie.ancestors(node) if trie.depth[a] >= n_shared]


def _rows(trie: TokenTrie, size: int, units: list[tuple[int, int]], n_shared: int) -> Iterator[IntArray]:
    """Yield rows of units with the ancestors that they need, at most ``size`` nodes each."""
    nodes: set[int] = set()
    for begin, end in units:
        needed = {*_above(trie, begin, n_shared), *range(begin, end)}
        if nodes and len(nodes | needed) > size:
            yield np.array(sorted(nodes), dtype=np.int64)
            nodes = set()
        nodes |= needed
    if nodes:
        yield np.array(sorted(nodes), dtype=np.int64)
