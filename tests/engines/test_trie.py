"""The token trie against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.engines.local.tree_attention import BLOCK, KEYS, block_keys
from tasks.engines.local.trie import TokenTrie, build_trie

SEQUENCES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=40)


def path_of(trie: TokenTrie, node: int) -> tuple[int, ...]:
    """Return the tokens from the root to an internal node."""
    return tuple(int(trie.token[i]) for i in [*trie.ancestors(node), node])


@given(SEQUENCES)
def test_edges_of_an_item_are_its_tokens(sequences: list[list[int]]) -> None:
    trie = build_trie(sequences)
    ends = [*trie.item_start[1:], len(trie.item_edges)]
    for sequence, start, end in zip(sequences, trie.item_start, ends, strict=True):
        assert trie.edge_token[trie.item_edges[start:end]].tolist() == sequence


@given(SEQUENCES)
def test_internal_nodes_are_the_proper_prefixes(sequences: list[list[int]]) -> None:
    trie = build_trie(sequences)
    expected = {tuple(s[:k]) for s in sequences for k in range(1, len(s))}
    assert {path_of(trie, n) for n in range(trie.n_internal)} == expected
    assert trie.n_internal == len(expected)


@given(SEQUENCES, st.randoms(use_true_random=False))
def test_trie_does_not_depend_on_the_order_of_items(sequences: list[list[int]], random: object) -> None:
    shuffled = list(sequences)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = build_trie(sequences), build_trie(shuffled)
    np.testing.assert_array_equal(one.edge_token, other.edge_token)
    np.testing.assert_array_equal(one.parent, other.parent)


def test_item_sums_add_the_edges_of_their_path() -> None:
    # Items 1 | 1 2 | 1 3 share the edge "1". Edges in preorder: 1, 1>2, 1>3 at -1, -2, -4.
    trie = build_trie([[1], [1, 3], [1, 2]])
    sums = trie.sum_over_items(np.array([[-1.0, -2.0, -4.0]], dtype=np.float32))
    assert sums.tolist() == [[-1.0, -5.0, -3.0]]  # -1 | -1 + -4 | -1 + -2


@given(SEQUENCES, st.sampled_from([0, 3, 9, None]))
def test_items_with_a_token_are_found(sequences: list[list[int]], token: int | None) -> None:
    assert build_trie(sequences).items_with(token).tolist() == [token in s for s in sequences]


@given(SEQUENCES, st.integers(1, 12))
def test_chunks_cover_every_node_once_with_its_ancestors(sequences: list[list[int]], budget: int) -> None:
    trie = build_trie(sequences)
    seen: list[int] = []
    for nodes, n_context in trie.chunks(budget):
        assert (np.diff(nodes) > 0).all()
        assert {int(trie.parent[n]) for n in nodes} <= {*nodes.tolist(), -1}
        seen += nodes[n_context:].tolist()
    assert seen == list(range(trie.n_internal))


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=8), min_size=1, max_size=60),
    st.integers(0, 100),
)
def test_node_sees_only_its_ancestors_and_itself(sequences: list[list[int]], n_before: int) -> None:
    trie = build_trie(sequences)
    nodes = np.arange(trie.n_internal)
    query, key, visible = block_keys(trie, nodes, n_before)
    assert query.shape[1] == BLOCK
    assert (n_before + key.shape[1]) % KEYS == 0
    for block, row in zip(*np.nonzero(query >= 0), strict=True):
        node = int(query[block, row])
        assert set(key[block][visible[block, row]].tolist()) == {*trie.ancestors(node).tolist(), node}


@pytest.mark.parametrize("sequences", [[], [[1], []]])
def test_item_without_tokens_is_refused(sequences: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="at least one token"):
        build_trie(sequences)
