"""Scores along a model's own text, against transformers' greedy generation with its scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, GenerationConfig

from tasks.engines.local import own_text
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import EngineError
from tests.engines import tiny_models as tiny
from tests.engines.test_candidates import llama_folder, scorer

__all__ = ["llama_folder", "scorer"]

CLOZE = replace(tiny.ENGLISH, is_cut=True, is_own=True)
TEXTS = tiny.ENGLISH_CANDIDATES


def by_generation(folder: Path, ends: int | None) -> np.ndarray:
    """Return [sentences, candidates] the mean log-probability, as FmLAMA's program takes it."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    model.generation_config.eos_token_id = ends
    config = GenerationConfig(
        max_new_tokens=own_text.MOST_STEPS, do_sample=False, return_dict_in_generate=True, pad_token_id=0,
        eos_token_id=ends,
    )  # fmt: skip
    means = np.full((len(CLOZE.before), len(TEXTS)), np.nan)
    for s, before in enumerate(CLOZE.before):
        start = [tiny.WORDPIECES.index(p) for p in ("[CLS]", *tiny.wordpieces(before))]
        with torch.no_grad():
            written = model.generate(torch.tensor([start]), generation_config=config, output_scores=True)
        steps = [torch.log_softmax(scores[0].float(), dim=-1) for scores in written.scores]
        for c, text in enumerate(TEXTS):
            tokens = [tiny.WORDPIECES.index(p) for p in tiny.wordpieces(text)]
            means[s, c] = np.mean([float(step[t]) for step, t in zip(steps, tokens, strict=False)])
    return means


@pytest.mark.parametrize("ends", [3, None])
def test_scores_are_those_of_greedy_generation(
    ends: int | None, scorer: PackedTrieScorer, llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorer.model.generation_config, "eos_token_id", ends)
    monkeypatch.setattr(scorer.model.config, "eos_token_id", ends)
    counts: list[int] = []
    scores = scorer.score_candidates(CLOZE, TEXTS, counts.append)
    expected = by_generation(llama_folder, ends)
    np.testing.assert_allclose(scores.logprob / scores.n_tokens, expected, atol=1e-4)
    assert sum(counts) == len(CLOZE.before) * len(TEXTS)
    plain = scorer.score_candidates(replace(CLOZE, is_own=False), TEXTS)
    several = scores.n_tokens > 1
    np.testing.assert_allclose(scores.logprob[:, ~several], plain.logprob[:, ~several], atol=1e-5)
    assert not np.allclose(scores.logprob[:, several], plain.logprob[:, several], atol=1e-3)


def test_tokens_after_the_end_are_left_out_of_the_mean(
    scorer: PackedTrieScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_text, "_ends", lambda model: frozenset(range(scorer.n_tokens)))  # at once
    scores = scorer.score_candidates(CLOZE, TEXTS)
    first = scorer.score_candidates(CLOZE, [text.split()[0] for text in TEXTS])
    words = np.array([len(tiny.wordpieces(text.split()[0])) for text in TEXTS]) == 1
    np.testing.assert_allclose(
        (scores.logprob / scores.n_tokens)[:, words], first.logprob[:, words], atol=1e-5
    )


def test_batches_and_order_do_not_matter(scorer: PackedTrieScorer, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = scorer.score_candidates(CLOZE, TEXTS)
    monkeypatch.setattr(scorer, "spec", scorer.spec.model_copy(update={"batch_tokens": 8}))
    turned = replace(CLOZE, before=CLOZE.before[::-1])
    again = scorer.score_candidates(turned, TEXTS[::-1])
    np.testing.assert_allclose(again.logprob, scores.logprob[::-1, ::-1], atol=1e-5)
    np.testing.assert_allclose(again.probability, scores.probability[::-1, ::-1], atol=1e-6)


def test_candidate_with_an_unknown_token_has_no_score(scorer: PackedTrieScorer) -> None:
    scores = scorer.score_candidates(CLOZE, ["rice", "zebra"])
    assert np.isnan(scores.logprob[:, 1]).all()
    assert not np.isnan(scores.logprob[:, 0]).any()


def test_too_long_prefix_is_refused(scorer: PackedTrieScorer) -> None:
    long = replace(CLOZE, before=("rice " * 5000,), tail="rice")
    with pytest.raises(EngineError):
        scorer.score_candidates(long, ["salt"])
