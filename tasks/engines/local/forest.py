"""Passes over a trie of whole texts: what is shared runs once, documents run side by side.

Pairs of a call share prefixes: few-shot examples and instructions first, then a document, then its options.
All tokens of all pairs make one trie. What many of them begin with is a *trunk*: it is run by itself, and its
keys and values are kept for all that follows it. The rest are *rows* of at most ROW nodes, each with the few
ancestors that it needs, of which several make a pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tasks.engines.local.trie import IntArray, TokenTrie

ROW = 256
"""Nodes of a row of several subtrees: longer ones pay for masks, shorter ones for context."""
WHOLE = 1024
"""Nodes of a subtree that is never cut: one long document is a row of its own."""
TRUNK = 64
"""Nodes of a trunk that is worth a pass of its own."""


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


def grown(trie: TokenTrie) -> Trunk:
    """The whole trie as trunks and rows; every internal node is in at least one of them."""
    root = Trunk(np.empty(0, dtype=np.int64))
    _grow(trie, root, 0, trie.n_internal, 0)
    return root


def _grow(trie: TokenTrie, trunk: Trunk, first: int, stop: int, n_shared: int) -> None:
    """Lay out the nodes ``first`` to ``stop``, a run of whole subtrees below a trunk of n_shared tokens."""
    packed: list[tuple[int, int]] = []
    for begin, end in _units(trie, first, stop):
        chain = _chain(trie, begin, end)
        if end - begin <= WHOLE or chain - begin < TRUNK:
            packed.append((begin, end))
            continue
        own = Trunk(np.arange(begin, chain))
        if above := _above(trie, begin, n_shared):
            own = Trunk(np.concatenate([above, own.nodes]))
        trunk.below.append(own)
        _grow(trie, own, chain, end, int(trie.depth[chain - 1]) + 1)
    trunk.rows.extend(_rows(trie, packed, n_shared))


def _units(trie: TokenTrie, first: int, stop: int) -> Iterator[tuple[int, int]]:
    """Runs of nodes: subtrees of at most WHOLE nodes, trunks with all below them, and single nodes of larger
    subtrees above these."""
    node = first
    while node < stop:
        end = int(trie.subtree_end[node])
        is_long = end - node > WHOLE and _chain(trie, node, end) - node < TRUNK
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


def _rows(trie: TokenTrie, units: list[tuple[int, int]], n_shared: int) -> Iterator[IntArray]:
    """Units in rows of about ROW nodes, each with the ancestors that its nodes need."""
    nodes: set[int] = set()
    for begin, end in units:
        needed = {*_above(trie, begin, n_shared), *range(begin, end)}
        if nodes and len(nodes | needed) > ROW:
            yield np.array(sorted(nodes), dtype=np.int64)
            nodes = set()
        nodes |= needed
    if nodes:
        yield np.array(sorted(nodes), dtype=np.int64)
