"""Grouping of a trie's nodes into passes: every node is run, with all its ancestors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.engines.local import forest
from tasks.engines.local.forest import Trunk, grown
from tasks.engines.local.trie import TokenTrie, build_trie


def laid_out(trunk: Trunk, above: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Yield every pass: the nodes of the trunks above it, and its own."""
    here = above + trunk.nodes.tolist()
    if len(trunk.nodes):
        yield above, trunk.nodes.tolist()
    for row in trunk.rows:
        yield here, row.tolist()
    for below in trunk.below:
        yield from laid_out(below, here)


SIZE = 256


def check(trie: TokenTrie, size: int = SIZE) -> int:
    """Check that every node is in a row with its ancestors, by depth; return the number of positions run."""
    ran = 0
    seen: set[int] = set()
    for above, own in laid_out(grown(trie, size), []):
        assert [int(trie.depth[node]) for node in above] == list(range(len(above)))
        known = {*above, *own}
        for node in own:
            assert set(trie.ancestors(node).tolist()) <= known
        assert own == sorted(own)
        seen |= set(own)
        ran += len(own)
    assert seen == set(range(trie.n_internal))
    return ran


TOKENS = st.lists(st.integers(0, 3), min_size=2, max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(TOKENS, min_size=1, max_size=25), st.integers(1, 3), st.integers(2, 8))
def test_every_node_is_run_with_its_ancestors(sequences: list[list[int]], trunk: int, row: int) -> None:
    before, forest.TRUNK = forest.TRUNK, trunk
    try:
        check(build_trie(sequences), row)
    finally:
        forest.TRUNK = before


def documents(shared: int, n: int, length: int = 100) -> list[list[int]]:
    """Return n documents with `shared` common tokens, `length` own ones and four options of five tokens."""
    numbers = np.random.default_rng(0).integers(10, 10_000, size=(n, length + 20)).tolist()
    head = list(range(shared))
    return [
        [*head, *own[:length], *own[length + 5 * option : length + 5 * option + 5]]
        for own in numbers
        for option in range(4)
    ]


def test_tokens_shared_by_all_documents_are_run_once() -> None:
    trie = build_trie(documents(shared=800, n=40))
    (trunk,) = grown(trie, SIZE).below
    assert trunk.nodes.tolist() == list(range(800))
    assert check(trie) == trie.n_internal == 800 + 40 * (100 + 4 * 4)


def test_documents_without_shared_tokens_are_rows_of_the_root() -> None:
    trie = build_trie(documents(shared=0, n=40))
    root = grown(trie, SIZE)
    assert root.below == []
    assert check(trie) == trie.n_internal
    assert {len(row) for row in root.rows} == {2 * 116}


def test_short_shared_prefix_is_repeated_in_each_row() -> None:
    trie = build_trie(documents(shared=1, n=40))
    assert grown(trie, SIZE).below == []
    assert check(trie) == trie.n_internal + 19  # 20 rows of two documents, each with the first token
