"""The operations of a scoring, counted by hand, and the reachable speed they are compared with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.engines.local import speed
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.specs import EngineSpec
from tests.engines.test_packed_trie import ARCHITECTURES, save_random


@pytest.fixture(scope="module")
def scorer(smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> PackedTrieScorer:
    """A Llama of a few thousand random weights."""
    folder = save_random(
        ARCHITECTURES["llama, grouped queries"], smollm2_folder, tmp_path_factory.mktemp("llama")
    )
    return PackedTrieScorer(EngineSpec(name="tiny", model="x", dtype="float32"), str(folder))


@pytest.mark.slow
def test_operations_of_a_scoring_equal_a_hand_count(scorer: PackedTrieScorer) -> None:
    config = scorer.model.config
    d, inner, heads = config.hidden_size, config.intermediate_size, config.num_attention_heads
    keys = d * config.num_key_value_heads // heads
    body = config.num_hidden_layers * (2 * d * d + 2 * d * keys + 3 * d * inner)
    head = config.vocab_size * d
    prefix = "In Peru people eat"
    n_prefix = len(scorer.tokenizer(prefix).input_ids)
    # Single tokens have no inner node: only the prefix runs, and one state is read.
    assert speed.operations(scorer, prefix, [" rice", " tea"]) == 2 * (n_prefix * body + head)
    # One inner node, rice, which runs and is read.
    more = speed.operations(scorer, prefix, [" rice", " rice pudding"])
    assert more == 2 * ((n_prefix + 1) * body + 2 * head)


@pytest.mark.slow
def test_reachable_speed_is_plausible(scorer: PackedTrieScorer) -> None:
    assert 1e6 < speed.reachable(scorer) < 1e15
