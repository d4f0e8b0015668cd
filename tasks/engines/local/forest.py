"""Passes over a trie of whole texts: what is shared runs once, documents run side by side.

Pairs of a call share prefixes: few-shot examples and instructions first, then a document, then its options.
All tokens of all pairs make one trie. What many of them begin with is a *trunk*: it is run by itself, and its
keys and values are kept for all that follows it. The rest are *rows*: passes over several subtrees, each with
the few ancestors that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tasks.engines.local.trie import IntArray, TokenTrie

TRUNK = 64
"""Positions that a trunk has to save: about what a pass of its own costs."""


@dataclass(frozen=True)
class Trunk:
    """Nodes that all rows and trunks below share.

    Attributes:
        nodes: a path, from the top down; empty for the root.
        rows: sorted nodes, each row closed under ancestors but for those in trunks above.
        below: trunks that go on from this one.
    """

    nodes: IntArray
    rows: list[IntArray] = field(default_factory=list)
    below: list[Trunk] = field(default_factory=list)

    @property
    def n_nodes(self) -> int:
        """Nodes that are run in it and below, however often."""
        own = len(self.nodes) + sum(map(len, self.rows))
        return own + sum(trunk.n_nodes for trunk in self.below)


def grown(trie: TokenTrie, size: int) -> Trunk:
    """The whole trie as trunks and rows; every internal node is in at least one of them.

    size: nodes of a row; a subtree of no more is never cut.
    """
    root = Trunk(np.empty(0, dtype=np.int64))
    _grow(trie, size, root, 0, trie.n_internal, 0)
    return root


def _grow(trie: TokenTrie, size: int, trunk: Trunk, first: int, stop: int, n_shared: int) -> None:
    """Lay out the nodes ``first`` to ``stop``, a run of whole subtrees below a trunk of n_shared tokens."""
    packed: list[tuple[int, int]] = []
    for begin, end in _units(trie, size, first, stop):
        chain = _chain(trie, begin, end)
        if not _is_trunk(begin, chain, end, size):
            packed.append((begin, end))
            continue
        own = Trunk(np.arange(begin, chain))
        if above := _above(trie, begin, n_shared):
            own = Trunk(np.concatenate([above, own.nodes]))
        trunk.below.append(own)
        _grow(trie, size, own, chain, end, int(trie.depth[chain - 1]) + 1)
    trunk.rows.extend(_rows(trie, size, packed, n_shared))


def _is_trunk(begin: int, chain: int, end: int, size: int) -> bool:
    """Whether the path from ``begin`` to ``chain`` would be run again by too many rows below it."""
    return (chain - begin) * ((end - begin - 1) // size) >= TRUNK


def _units(trie: TokenTrie, size: int, first: int, stop: int) -> Iterator[tuple[int, int]]:
    """Runs of nodes: subtrees of at most a row, trunks with all below them, and single nodes of larger
    subtrees above these."""
    node = first
    while node < stop:
        end = int(trie.subtree_end[node])
        is_long = end - node > size and not _is_trunk(node, _chain(trie, node, end), end, size)
        yield node, (node + 1 if is_long else end)
        node = node + 1 if is_long else end


def _chain(trie: TokenTrie, begin: int, end: int) -> int:
    """One past the last node of the unbranched path that a subtree begins with."""
    ends = trie.subtree_end[begin:end]
    branched = np.flatnonzero(ends != end)
    return begin + (int(branched[0]) if len(branched) else end - begin)


def _above(trie: TokenTrie, node: int, n_shared: int) -> list[int]:
    """The ancestors of a node that no trunk holds."""
    return [int(a) for a in trie.ancestors(node) if trie.depth[a] >= n_shared]


def _rows(trie: TokenTrie, size: int, units: list[tuple[int, int]], n_shared: int) -> Iterator[IntArray]:
    """Units in rows of at most so many nodes, each with the ancestors that its nodes need."""
    nodes: set[int] = set()
    for begin, end in units:
        needed = {*_above(trie, begin, n_shared), *range(begin, end)}
        if nodes and len(nodes | needed) > size:
            yield np.array(sorted(nodes), dtype=np.int64)
            nodes = set()
        nodes |= needed
    if nodes:
        yield np.array(sorted(nodes), dtype=np.int64)
