"""The seq2seq scorer against one plain forward pass a sentence and candidate, on small random models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
    BartConfig,
    BartForConditionalGeneration,
    MT5Config,
    MT5ForConditionalGeneration,
    T5Config,
    T5ForConditionalGeneration,
)

from tasks.engines.local import pretrained
from tasks.engines.local.seq2seq import Seq2SeqScorer, trie_paths
from tasks.engines.local.trie import build_trie
from tasks.engines.protocols import CandidateScorer, Cloze, EngineError
from tests.engines import tiny_models as tiny

SIZES = {
    "vocab_size": len(tiny.UNIGRAMS) + 6,  # rows to spare, as T5's
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "decoder_start_token_id": 0,
}


@dataclass(frozen=True)
class Family:
    sentinel: str
    build: Callable[[], Any]


FAMILIES = {
    "t5": Family("<extra_id_0>", lambda: T5ForConditionalGeneration(T5Config(**SIZES))),
    # T5 1.1 and flan-T5: a head of its own, and no scale in front of it.
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


def test_it_is_a_candidate_scorer(scorer: Seq2SeqScorer) -> None:
    assert isinstance(scorer, CandidateScorer)


@pytest.mark.parametrize("name", tiny.CLOZES)
def test_equals_brute_force(name: str, family: Family, folder: Path, scorer: Seq2SeqScorer) -> None:
    cloze = tiny.CLOZES[name]
    texts = tiny.candidates(cloze)
    logprob, probability, n_tokens = brute_force(family, folder, cloze, texts)
    scores = scorer.score_candidates(cloze, texts)
    np.testing.assert_array_equal(scores.n_tokens, n_tokens)
    np.testing.assert_allclose(scores.logprob, logprob, atol=1e-5)
    np.testing.assert_allclose(scores.probability, probability, atol=1e-5)
    assert scores.logprob.dtype == scores.probability.dtype == np.float32
    assert set(n_tokens) == {1, 2, 3, 4}
    assert logprob[:, n_tokens == 1].std() > 0.05  # the model tells candidates apart,
    assert np.ptp(logprob, axis=0).min() > 1e-3  # and sentences


def brute_force(
    family: Family, folder: Path, cloze: Cloze, texts: list[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The definition, with hand-written pieces and without any of our engine code."""
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


def test_batches_and_order_do_not_matter(scorer: Seq2SeqScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = tiny.ENGLISH_CANDIDATES
    scores = scorer.score_candidates(tiny.ENGLISH, texts)
    generator = np.random.default_rng(0)
    rows, columns = generator.permutation(len(tiny.ENGLISH.before)), generator.permutation(len(texts))
    shuffled = replace(tiny.ENGLISH, before=tuple(tiny.ENGLISH.before[i] for i in rows))
    # One path a pass, so no padding, and a few tokens of the vocabulary at a time.
    monkeypatch.setattr(scorer, "spec", scorer.spec.model_copy(update={"batch_tokens": 1}))
    monkeypatch.setitem(pretrained.VOCABULARY_SLICE, "cpu", 7)
    again = scorer.score_candidates(shuffled, [texts[i] for i in columns])
    np.testing.assert_allclose(again.logprob, scores.logprob[np.ix_(rows, columns)], atol=1e-5)
    np.testing.assert_allclose(again.probability, scores.probability[np.ix_(rows, columns)], atol=1e-5)
    np.testing.assert_array_equal(again.n_tokens, scores.n_tokens[columns])


@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=5), min_size=1, max_size=12),
    st.integers(1, 40),
)
def test_paths_read_every_edge_once_at_its_own_prefix(sequences: list[list[int]], budget: int) -> None:
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


def test_a_candidate_that_cannot_be_spelled_is_nan_and_changes_nothing(scorer: Seq2SeqScorer) -> None:
    scores = scorer.score_candidates(tiny.ENGLISH, ["rice", "zebra", "rice zebra", "salt"])
    without = scorer.score_candidates(tiny.ENGLISH, ["rice", "salt"])
    assert np.isnan(scores.logprob[:, [1, 2]]).all()
    assert np.isnan(scores.probability[:, [1, 2]]).all()
    np.testing.assert_allclose(scores.logprob[:, [0, 3]], without.logprob, atol=1e-5)
    nothing = scorer.score_candidates(tiny.ENGLISH, ["zebra"])
    assert np.isnan(nothing.logprob).all()


@pytest.mark.parametrize("texts", [["rice", "zebra", "rice pudding", "salt"], ["zebra"]])
def test_progress_adds_up(texts: list[str], scorer: Seq2SeqScorer) -> None:
    counts: list[int] = []
    scorer.score_candidates(tiny.ENGLISH, texts, counts.append)
    assert sum(counts) == len(tiny.ENGLISH.before) * len(texts)
    assert min(counts) > 0


def test_the_longest_sentence_is_scored_and_a_longer_one_refused(scorer: Seq2SeqScorer) -> None:
    # The subject's words, one for "has", the sentinel, the end token: the tokenizer says 40.
    fits = Cloze(before=("rice " * 37 + "has",), lead=" ", after="", tail=" has")
    assert np.isfinite(scorer.score_candidates(fits, ["salt"]).logprob).all()
    too_long = Cloze(before=("rice has", "salt " * 38 + "has"), lead=" ", after="", tail=" has")
    with pytest.raises(EngineError, match=r"'salt salt .* has 41 tokens .* 40 at most \(1 such .* of 2\)"):
        scorer.score_candidates(too_long, ["salt"])


def test_half_precision_stays_near_float32(folder: Path, scorer: Seq2SeqScorer) -> None:
    half = Seq2SeqScorer(tiny.spec(dtype="bfloat16"), str(folder))
    scores = half.score_candidates(tiny.ENGLISH, tiny.ENGLISH_CANDIDATES)
    full = scorer.score_candidates(tiny.ENGLISH, tiny.ENGLISH_CANDIDATES)
    assert np.abs(scores.logprob - full.logprob).mean() < 0.2


def test_bart_is_refused(tmp_path: Path) -> None:
    config = BartConfig(
        vocab_size=len(tiny.UNIGRAMS) + 5, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16,
    )  # fmt: skip
    folder = tiny.save(lambda: BartForConditionalGeneration(config), tiny.xlmr_tokenizer(), tmp_path)
    with pytest.raises(EngineError, match=r"no sentinel token <extra_id_0>.*BART"):
        Seq2SeqScorer(tiny.spec(), str(folder))


def test_a_sentinel_beyond_the_models_embeddings_is_no_sentinel(tmp_path: Path) -> None:
    config = T5Config(**{**SIZES, "vocab_size": len(tiny.UNIGRAMS) + 3})
    folder = tiny.save(lambda: T5ForConditionalGeneration(config), tiny.t5_tokenizer(), tmp_path)
    with pytest.raises(EngineError, match="no sentinel token"):
        Seq2SeqScorer(tiny.spec(), str(folder))


def test_another_kind_of_model_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be loaded"):
        Seq2SeqScorer(tiny.spec(), str(tmp_path / "nowhere"))
