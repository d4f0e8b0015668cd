"""The seq2seq scorer against one plain forward pass per sentence and candidate, on small random models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    MT5Config,
    MT5ForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)

from tasks.engines.local.seq2seq import Seq2SeqScorer, trie_paths
from tasks.engines.local.trie import build_trie
from tasks.engines.protocols import Cloze, EngineError
from tests.engines import tiny_models as tiny
from tests.engines.candidate_contract import (  # noqa: F401 - tests of every scorer of candidates
    Expected,
    test_batches_and_order_do_not_matter,
    test_half_precision_stays_near_float32,
    test_missing_model_is_refused,
    test_progress_adds_up,
    test_scores_equal_brute_force,
    test_sentence_longer_than_the_context_is_refused,
    test_unspellable_candidate_is_nan_and_changes_no_other,
)

SIZES = {
    "vocab_size": len(tiny.UNIGRAMS) + 6,  # T5 too has more rows than tokens
    "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4,
    "relative_attention_num_buckets": 8, "decoder_start_token_id": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Family:
    sentinel: str
    build: Callable[[], Any]


FAMILIES = {
    "t5": Family("<extra_id_0>", lambda: T5ForConditionalGeneration(T5Config(**SIZES))),
    # T5 1.1 and flan-T5 have their own head, without a scale in front of it.
    "flan": Family(
        "<extra_id_0>",
        lambda: with_own_head(
            T5ForConditionalGeneration(
                T5Config(**SIZES, tie_word_embeddings=False, feed_forward_proj="gated-gelu")
            )
        ),
    ),
    "mt5": Family("▁<extra_id_0>", lambda: with_own_head(MT5ForConditionalGeneration(MT5Config(**SIZES)))),
}


def with_own_head(model: Any) -> Any:
    model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    return model


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


@pytest.fixture(scope="module")
def folder(family: Family, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = tiny.t5_tokenizer(family.sentinel)
    tokenizer.model_max_length = 40
    return tiny.save(family.build, tokenizer, tmp_path_factory.mktemp("seq2seq"))


@pytest.fixture(scope="module")
def scorer(folder: Path) -> Seq2SeqScorer:
    return Seq2SeqScorer(tiny.spec(), str(folder))


@pytest.fixture(scope="module")
def n_rice() -> int:
    return 37  # the sentinel and the end token; the tokenizer's limit is 40


@pytest.fixture(scope="module")
def expected(family: Family, folder: Path) -> Expected:
    return partial(brute_force, family, folder)


def brute_force(
    family: Family, folder: Path, cloze: Cloze, texts: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute the definition with hand-written pieces and without our engine code."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").eval()
    logprob, probability = np.empty((2, len(cloze.before), len(texts)))
    n_tokens = np.array([len(tiny.unigrams(text, word_start=False)) for text in texts])
    for s, before in enumerate(cloze.before):
        right = tiny.unigrams(cloze.after, word_start=False)
        query = [*tiny.unigrams(before), family.sentinel, *right, "</s>"]
        for c, text in enumerate(texts):
            pieces = tiny.unigrams(text, word_start=False)
            ids, decoder_ids = (
                torch.tensor([tokenizer.convert_tokens_to_ids(p)])
                for p in (query, ["<pad>", family.sentinel, *pieces])
            )
            assert tokenizer.unk_token_id not in ids
            with torch.no_grad():
                logits = model(input_ids=ids, decoder_input_ids=decoder_ids).logits[0]
            logprobs = torch.log_softmax(logits, dim=-1)
            # Position 1 is the sentinel: it predicts the candidate's first token.
            steps = np.array([float(logprobs[1 + i, decoder_ids[0, 2 + i]]) for i in range(len(pieces))])
            logprob[s, c], probability[s, c] = steps.sum(), np.exp(steps).mean()
    return logprob, probability, n_tokens


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), min_size=1, max_size=12), st.integers(1, 40)
)
def test_trie_paths_read_every_edge_once_after_its_prefix(sequences: list[list[int]], budget: int) -> None:
    trie = build_trie(sequences)
    prefixes = [tuple(trie.token[[*trie.ancestors(i), i]]) for i in range(trie.n_internal)]
    met = list(np.flatnonzero(trie.edge_parent < 0))  # read from the root
    for group in trie_paths(trie, budget, context=3):
        n, longest = group.tokens.shape
        assert n == 1 or n * (3 + longest) <= budget
        assert (np.diff(group.row) >= 0).all()
        met += list(group.edge)
        for row, edge in zip(group.row, group.edge, strict=True):
            path, depth = divmod(int(group.position[row]), longest)
            assert tuple(group.tokens[path, : depth + 1]) == prefixes[trie.edge_parent[edge]]
    assert sorted(met) == list(range(len(trie.edge_token)))


def test_model_without_a_sentinel_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no sentinel token <extra_id_0>.*BART"):
        Seq2SeqScorer(tiny.spec(), str(tiny.save_bart(tmp_path)))


def test_sentinel_without_an_embedding_is_refused(tmp_path: Path) -> None:
    config = T5Config(**{**SIZES, "vocab_size": len(tiny.UNIGRAMS) + 3})
    folder = tiny.save(lambda: T5ForConditionalGeneration(config), tiny.t5_tokenizer(), tmp_path)
    with pytest.raises(EngineError, match="no sentinel token"):
        Seq2SeqScorer(tiny.spec(), str(folder))
