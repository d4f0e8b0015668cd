"""Candidates in a blank by decoder-only models: packed trie and vLLM against plain forward passes.

The masked and seq2seq scorers have their own tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    BertConfig,
    LlamaConfig,
    PreTrainedTokenizerBase,
    T5Config,
)

from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local.masked import MaskedScorer
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.local.seq2seq import Seq2SeqScorer
from tasks.engines.protocols import CandidateScorer, CandidateScores, Cloze, EngineError
from tests.engines import tiny_models as tiny

LLAMA = LlamaConfig(
    vocab_size=len(tiny.WORDPIECES), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, bos_token_id=2, eos_token_id=3, pad_token_id=0,
)  # fmt: skip
BERT = BertConfig(
    vocab_size=len(tiny.WORDPIECES), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=48,
)  # fmt: skip
T5 = T5Config(vocab_size=len(tiny.UNIGRAMS) + 6, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4)
T5.decoder_start_token_id = 0

SENTENCES = Cloze(
    before=("A recipe for Lomo saltado calls for", "In Peru, a recipe for Ají de gallina calls for"),
    lead=" ",
    after="",
    tail=" calls for",
)
TEXT_FOLLOWS = replace(SENTENCES, after=", among other things.")
INGREDIENTS = ["rice", "rice flour", "rice vinegar", "ají amarillo", "beef", "soy sauce", "soy", "egg yolk"]


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = tiny.bert_tokenizer()
    tokenizer.eos_token = "[SEP]"  # decoders name the closing token so
    return tiny.save(
        lambda: AutoModelForCausalLM.from_config(LLAMA), tokenizer, tmp_path_factory.mktemp("llama")
    )


@pytest.fixture(scope="module")
def scorer(llama_folder: Path) -> PackedTrieScorer:
    return PackedTrieScorer(tiny.spec(), str(llama_folder))


def brute_force(
    folder: Path, before: list[list[int]], rests: list[list[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of log-probabilities and means of probabilities, one plain forward pass per pair."""
    model: Any = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    logprob, probability = np.empty((2, len(before), len(rests)))
    for s, start in enumerate(before):
        for c, rest in enumerate(rests):
            with torch.no_grad():
                logits = model(torch.tensor([start + rest])).logits[0]
            logprobs = torch.log_softmax(logits, dim=-1)
            steps = np.array([float(logprobs[len(start) - 1 + i, token]) for i, token in enumerate(rest)])
            logprob[s, c], probability[s, c] = steps.sum(), np.exp(steps).mean()
    return logprob, probability


def assert_equal(scores: CandidateScores, expected: tuple[np.ndarray, np.ndarray], atol: float) -> None:
    np.testing.assert_allclose(scores.logprob, expected[0], atol=atol)
    np.testing.assert_allclose(scores.probability, expected[1], atol=atol)
    assert scores.logprob.dtype == scores.probability.dtype == np.float32


@pytest.mark.parametrize("name", tiny.CLOZES)
def test_scores_equal_brute_force(name: str, scorer: PackedTrieScorer, llama_folder: Path) -> None:
    cloze = tiny.CLOZES[name]
    texts = tiny.candidates(cloze)
    before = [[tiny.WORDPIECES.index(p) for p in ("[CLS]", *tiny.wordpieces(b))] for b in cloze.before]
    rests = [[tiny.WORDPIECES.index(p) for p in tiny.wordpieces(t + cloze.after)] for t in texts]
    scores = scorer.score_candidates(cloze, texts)
    expected = brute_force(llama_folder, before, rests)
    assert_equal(scores, expected, atol=1e-5)
    assert scores.n_tokens.tolist() == [len(rest) for rest in rests]
    assert np.ptp(expected[0], axis=0).min() > 1e-3  # sentences have different scores


def test_probability_is_the_arithmetic_mean_over_tokens(scorer: PackedTrieScorer) -> None:
    scores = scorer.score_candidates(tiny.ENGLISH_AT_THE_END, tiny.ENGLISH_CANDIDATES)
    geometric = np.exp(scores.logprob / scores.n_tokens)
    several = scores.n_tokens > 1
    np.testing.assert_allclose(scores.probability[:, ~several], geometric[:, ~several], rtol=1e-5)
    assert (scores.probability[:, several] > geometric[:, several]).all()


def test_batches_and_order_do_not_matter(scorer: PackedTrieScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    # Enough candidates for a trie of several blocks and, at 64 positions a pass, of several chunks.
    words = ["rice", "pudding", "salt", "ricecake", "peru", "food"]
    texts = [f"{a} {b} {c}" for a in words for b in words for c in words[:2]]
    counts: list[int] = []
    scores = scorer.score_candidates(tiny.ENGLISH, texts, counts.append)
    assert counts == [len(tiny.ENGLISH.before) * len(texts)]

    generator = np.random.default_rng(0)
    rows, columns = generator.permutation(len(tiny.ENGLISH.before)), generator.permutation(len(texts))
    shuffled = replace(tiny.ENGLISH, before=tuple(tiny.ENGLISH.before[i] for i in rows))
    monkeypatch.setattr(scorer, "spec", scorer.spec.model_copy(update={"batch_tokens": 64}))
    counts.clear()
    again = scorer.score_candidates(shuffled, [texts[i] for i in columns], counts.append)
    assert counts == [len(texts)] * len(tiny.ENGLISH.before)  # a sentence a pass
    expected = scores.logprob[np.ix_(rows, columns)], scores.probability[np.ix_(rows, columns)]
    assert_equal(again, expected, atol=1e-5)
    np.testing.assert_array_equal(again.n_tokens, scores.n_tokens[columns])


def test_text_after_the_blank_is_scored_too(scorer: PackedTrieScorer) -> None:
    alone = scorer.score_candidates(tiny.ENGLISH_AT_THE_END, tiny.ENGLISH_CANDIDATES)
    filled = scorer.score_candidates(tiny.ENGLISH, tiny.ENGLISH_CANDIDATES)
    assert set(filled.n_tokens - alone.n_tokens) == {3}  # " in it."
    assert (filled.logprob < alone.logprob).all()


def test_unspellable_candidates_are_nan(scorer: PackedTrieScorer) -> None:
    cloze = tiny.ENGLISH_AT_THE_END
    scores = scorer.score_candidates(cloze, ["rice", "zebra", "rice zebra", "salt"])
    without = scorer.score_candidates(cloze, ["rice", "salt"])
    assert np.isnan(scores.logprob[:, [1, 2]]).all()
    assert np.isnan(scores.probability[:, [1, 2]]).all()
    np.testing.assert_allclose(scores.logprob[:, [0, 3]], without.logprob, atol=1e-5)
    np.testing.assert_allclose(scores.probability[:, [0, 3]], without.probability, atol=1e-5)


def test_empty_candidate_is_refused(scorer: PackedTrieScorer) -> None:
    cloze = replace(tiny.CHINESE_CLOZE, after="")
    with pytest.raises(EngineError, match="no token in this model's vocabulary"):
        scorer.score_candidates(cloze, ["盐", ""])


@pytest.fixture
def nothing_loaded() -> Iterator[None]:
    load.unload()
    yield
    load.unload()


@pytest.mark.usefixtures("nothing_loaded")
def test_every_capable_kind_loads_as_a_candidate_scorer(llama_folder: Path, tmp_path: Path) -> None:
    bert = tiny.save(lambda: AutoModelForMaskedLM.from_config(BERT), tiny.bert_tokenizer(), tmp_path / "bert")
    t5 = tiny.save(lambda: AutoModelForSeq2SeqLM.from_config(T5), tiny.t5_tokenizer(), tmp_path / "t5")
    kinds: dict[str, tuple[type, object]] = {
        "packed_trie": (PackedTrieScorer, llama_folder),
        "masked": (MaskedScorer, bert),
        "seq2seq": (Seq2SeqScorer, t5),
        "fake": (FakeEngine, "x"),
    }
    for kind, (engine, model) in kinds.items():
        scorer = load.load(tiny.spec(kind=kind, model=str(model)), tmp_path, "candidates")
        assert type(scorer) is engine
        assert isinstance(scorer, CandidateScorer)


def test_kinds_that_only_generate_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r'tiny.*no log-probabilities.*use kind "packed_trie"'):
        load.load(tiny.spec(kind="openai", base_url="http://localhost:1/v1"), tmp_path, "candidates")


def real_tokens(
    tokenizer: PreTrainedTokenizerBase, before: list[str], rests: list[str]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return tokens of sentences and rests; a space starts a word, so both are tokenised alone."""
    starts: list[list[int]] = tokenizer(before).input_ids
    return starts, tokenizer(rests, add_special_tokens=False).input_ids


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("cloze", [SENTENCES, TEXT_FOLLOWS], ids=["blank at the end", "text after the blank"])
@pytest.mark.parametrize("model", ["smollm2", "gemma3"])
def test_real_models_equal_brute_force(model: str, cloze: Cloze, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(f"{model}_folder")
    tokenizer = request.getfixturevalue(f"{model}_tokenizer")
    rests = [f" {text}{cloze.after}" for text in INGREDIENTS]
    tokens = real_tokens(tokenizer, list(cloze.before), rests)
    scores = PackedTrieScorer(tiny.spec(), str(folder)).score_candidates(cloze, INGREDIENTS)
    assert_equal(scores, brute_force(folder, *tokens), atol=1e-3)
    assert scores.n_tokens.tolist() == [len(rest) for rest in tokens[1]]


@pytest.mark.slow
@pytest.mark.parametrize("style", ["chat", pytest.param("base", marks=pytest.mark.heavy)])
def test_framed_questions_are_scored_like_plain_passes(style: Any, smollm2_folder: Path) -> None:
    """A cloze made of framed prompts, whose candidates are answers."""
    scorer = PackedTrieScorer(tiny.spec(prompt_style=style), str(smollm2_folder))
    framed = scorer.frame(["What is in ceviche?", "What is in fufu?"])
    cloze = Cloze(tuple(framed.prefixes), framed.lead, "", framed.prefixes[0][-16:])
    scores = scorer.score_candidates(cloze, INGREDIENTS)
    tokenize = scorer.tokenizer
    starts = tokenize(list(framed.prefixes), add_special_tokens=False).input_ids
    rests = tokenize([framed.lead + text for text in INGREDIENTS], add_special_tokens=False).input_ids
    assert_equal(scores, brute_force(smollm2_folder, starts, rests), atol=1e-3)


@pytest.mark.slow
@pytest.mark.heavy
def test_vllm_equals_the_packed_trie(smollm2_folder: Path) -> None:
    pytest.importorskip("vllm", reason="the extra [cpu] or [gpu] is not installed")
    from tasks.engines.local.vllm_engine import VllmEngine

    packed = PackedTrieScorer(tiny.spec(), str(smollm2_folder))
    options = {"max_model_len": 256, "kv_cache_memory_bytes": 1 << 27, "max_num_seqs": 16}
    engine = VllmEngine(tiny.spec(kind="vllm", device="auto", options=options), str(smollm2_folder))
    try:
        for cloze in (SENTENCES, TEXT_FOLLOWS):
            scores, own = (e.score_candidates(cloze, INGREDIENTS) for e in (engine, packed))
            assert_equal(scores, (own.logprob, own.probability), atol=1e-3)
            np.testing.assert_array_equal(scores.n_tokens, own.n_tokens)
    finally:
        engine.close()
