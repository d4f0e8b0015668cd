"""Tests of every candidate scorer on small random models; a module imports them and defines their fixtures.

``scorer`` is the engine, ``folder`` its model, ``n_rice`` the words before the verb of the longest sentence,
and ``expected`` returns log-probabilities, probabilities and numbers of tokens from one plain forward pass
per sentence and candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.engines.local import output_head
from tasks.engines.protocols import CandidateScorer, Cloze, EngineError
from tests.engines import tiny_models as tiny

Expected = Callable[[Cloze, list[str]], tuple[np.ndarray, np.ndarray, np.ndarray]]


@pytest.mark.parametrize("name", tiny.CLOZES)
def test_scores_equal_brute_force(name: str, expected: Expected, scorer: Any) -> None:
    assert isinstance(scorer, CandidateScorer)
    cloze = tiny.CLOZES[name]
    texts = tiny.candidates(cloze)
    logprob, probability, n_tokens = expected(cloze, texts)
    scores = scorer.score_candidates(cloze, texts)
    np.testing.assert_array_equal(scores.n_tokens, n_tokens)
    np.testing.assert_allclose(scores.logprob, logprob, atol=1e-5)
    np.testing.assert_allclose(scores.probability, probability, atol=1e-5)
    assert scores.logprob.dtype == scores.probability.dtype == np.float32
    assert set(n_tokens) == {1, 2, 3, 4}
    assert logprob[:, n_tokens == 1].std() > 0.05  # scores differ between candidates,
    assert np.ptp(logprob, axis=0).min() > 1e-3  # and between sentences


def test_batches_and_order_do_not_matter(scorer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = tiny.ENGLISH_CANDIDATES
    scores = scorer.score_candidates(tiny.ENGLISH, texts)
    generator = np.random.default_rng(0)
    rows, columns = generator.permutation(len(tiny.ENGLISH.before)), generator.permutation(len(texts))
    shuffled = replace(tiny.ENGLISH, before=tuple(tiny.ENGLISH.before[i] for i in rows))
    # One sentence or path per pass, so no padding, and a few tokens of the vocabulary at a time.
    monkeypatch.setattr(scorer, "spec", scorer.spec.model_copy(update={"batch_tokens": 1}))
    monkeypatch.setitem(output_head.VOCABULARY_SLICE, "cpu", 7)
    again = scorer.score_candidates(shuffled, [texts[i] for i in columns])
    np.testing.assert_allclose(again.logprob, scores.logprob[np.ix_(rows, columns)], atol=1e-5)
    np.testing.assert_allclose(again.probability, scores.probability[np.ix_(rows, columns)], atol=1e-5)
    np.testing.assert_array_equal(again.n_tokens, scores.n_tokens[columns])


def test_unspellable_candidate_is_nan_and_changes_no_other(scorer: Any) -> None:
    scores = scorer.score_candidates(tiny.ENGLISH, ["rice", "zebra", "rice zebra", "salt"])
    without = scorer.score_candidates(tiny.ENGLISH, ["rice", "salt"])
    assert np.isnan(scores.logprob[:, [1, 2]]).all()
    assert np.isnan(scores.probability[:, [1, 2]]).all()
    np.testing.assert_allclose(scores.logprob[:, [0, 3]], without.logprob, atol=1e-5)
    assert np.isnan(scorer.score_candidates(tiny.ENGLISH, ["zebra"]).logprob).all()


@pytest.mark.parametrize("texts", [["rice", "zebra", "rice pudding", "salt"], ["zebra"]])
def test_progress_adds_up(texts: list[str], scorer: Any) -> None:
    counts: list[int] = []
    scorer.score_candidates(tiny.ENGLISH, texts, counts.append)
    assert sum(counts) == len(tiny.ENGLISH.before) * len(texts)
    assert min(counts) > 0


def test_sentence_longer_than_the_context_is_refused(scorer: Any, n_rice: int) -> None:
    """With this number of "rice", "has", the blank and special tokens a sentence has 40 tokens, which fit."""
    fits = Cloze(before=("rice " * n_rice + "has",), lead=" ", after="", tail=" has")
    assert np.isfinite(scorer.score_candidates(fits, ["salt"]).logprob).all()
    too_long = replace(fits, before=("rice has", "salt " * (n_rice + 1) + "has"))
    with pytest.raises(EngineError, match=r"'salt salt .* has 41 tokens .* 40 at most \(1 such .* of 2\)"):
        scorer.score_candidates(too_long, ["salt"])


def test_missing_model_is_refused(scorer: Any, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be loaded"):
        type(scorer)(tiny.spec(), str(tmp_path / "nowhere"))


def test_half_precision_stays_near_float32(folder: Path, scorer: Any) -> None:
    half = type(scorer)(tiny.spec(dtype="bfloat16"), str(folder))
    scores = half.score_candidates(tiny.ENGLISH, tiny.ENGLISH_CANDIDATES)
    full = scorer.score_candidates(tiny.ENGLISH, tiny.ENGLISH_CANDIDATES)
    assert np.abs(scores.logprob - full.logprob).mean() < 0.2
