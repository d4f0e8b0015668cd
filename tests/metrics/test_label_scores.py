"""Scores of labels by hand, against scikit-learn, and what guessing reaches."""

from __future__ import annotations

import random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score  # type: ignore[import-untyped]

from tasks.metrics.label_scores import (
    Unanswered,
    label_intervals,
    label_scores,
    majority_baseline,
    random_baseline,
)

LABELS = ["yes", "no", "neutral"]
pairs_of_labels = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, "perhaps", None])), min_size=1, max_size=30
)
Pairs = list[tuple[str, str | None]]

GOLD = ["yes", "yes", "yes", "no", "no", "neutral"]
SAID = ["yes", "yes", "no", "no", None, "yes"]


def test_by_hand() -> None:
    # Five answered, three right. yes: 2 hits, true 3, said 3: 4/6. no: 1 hit, true 1, said 2: 2/3. neutral:
    # never hit: 0.
    scores = label_scores(GOLD, SAID)
    assert scores is not None
    assert scores.exact_match == scores.f1_micro == pytest.approx(3 / 5)
    assert scores.f1 == pytest.approx({"yes": 2 / 3, "no": 2 / 3, "neutral": 0})
    assert scores.f1_macro == pytest.approx(4 / 9)
    assert (scores.n_scored, scores.n_unanswered) == (5, 1)


def test_unanswered_counted_as_wrong_by_hand() -> None:
    # Six items, three right. no: 1 hit, true 2, said 2: 1/2. Micro: 2 * 3 / (6 true + 5 said).
    scores = label_scores(GOLD, SAID, unanswered="wrong")
    assert scores is not None
    assert scores.exact_match == pytest.approx(1 / 2)
    assert scores.f1_micro == pytest.approx(6 / 11)
    assert scores.f1 == pytest.approx({"yes": 2 / 3, "no": 1 / 2, "neutral": 0})
    assert scores.f1_macro == pytest.approx(7 / 18)
    assert (scores.n_scored, scores.n_unanswered) == (6, 1)


@given(pairs_of_labels)
@settings(deadline=None)
def test_against_scikit_learn(pairs: Pairs) -> None:
    truth, answers = [t for t, _ in pairs], [p for _, p in pairs]
    for unanswered in get_args(Unanswered):
        used = [(t, "none" if p is None else p) for t, p in pairs if p is not None or unanswered == "wrong"]
        scores = label_scores(truth, answers, unanswered)
        if not used:
            assert scores is None
            continue
        assert scores is not None
        gold, said = [t for t, _ in used], [p for _, p in used]
        classes = sorted({*gold, *said} - {"none"})
        assert scores.exact_match == pytest.approx(accuracy_score(gold, said))
        assert scores.f1_micro == pytest.approx(
            f1_score(gold, said, labels=classes, average="micro", zero_division=0)
        )
        present = sorted(set(gold))
        per_class = f1_score(gold, said, labels=present, average=None, zero_division=0)
        assert scores.f1 == pytest.approx(dict(zip(present, per_class, strict=True)))
        assert scores.f1_macro == pytest.approx(per_class.mean())
        assert (scores.n_scored, scores.n_unanswered) == (len(used), answers.count(None))


def test_nothing_scored() -> None:
    assert label_scores(["yes"], [None]) is None
    assert label_scores([], []) is None
    wrong = label_scores(["yes"], [None], unanswered="wrong")
    assert wrong is not None
    assert (wrong.exact_match, wrong.f1_micro, wrong.f1_macro, wrong.f1) == (0, 0, 0, {"yes": 0})


def test_lengths_must_match() -> None:
    for score in (label_scores, lambda g, p: label_intervals(g, p, 10, 0)):
        with pytest.raises(ValueError, match="cannot compare 2 gold with 1 predicted"):
            score(["yes", "no"], ["yes"])


# --- intervals
# -------------------------------------------------------------------------------------------------


def some_answers(n: int) -> tuple[list[str], list[str | None]]:
    rng = np.random.default_rng(5)
    gold = rng.choice(LABELS, n, p=[0.6, 0.3, 0.1]).tolist()
    said = [
        g if right else str(rng.choice(LABELS)) for g, right in zip(gold, rng.random(n) < 0.6, strict=True)
    ]
    return gold, [None if missing else s for s, missing in zip(said, rng.random(n) < 0.1, strict=True)]


@pytest.mark.parametrize("unanswered", get_args(Unanswered))
def test_intervals_are_those_of_resampled_items(unanswered: Unanswered) -> None:
    gold, said = some_answers(300)
    ours = label_intervals(gold, said, 4000, seed=1, unanswered=unanswered)
    assert ours is not None
    used = [i for i in range(300) if said[i] is not None or unanswered == "wrong"]
    rng = np.random.default_rng(0)
    replicates = []
    for _ in range(1500):
        drawn = rng.choice(used, len(used))
        scores = label_scores([gold[i] for i in drawn], [said[i] for i in drawn], unanswered)
        assert scores is not None
        replicates.append((scores.exact_match, scores.f1_micro, scores.f1_macro))
    expected = np.quantile(replicates, [0.025, 0.975], axis=0).T
    assert np.array(ours) == pytest.approx(expected, abs=0.012)


def test_intervals_do_not_depend_on_order() -> None:
    gold, said = some_answers(60)
    order = list(range(60))
    random.Random(0).shuffle(order)
    shuffled = [gold[i] for i in order], [said[i] for i in order]
    assert label_intervals(*shuffled, 100, seed=2) == label_intervals(gold, said, 100, seed=2)
    assert label_intervals(gold, said, 100, seed=3) != label_intervals(gold, said, 100, seed=2)


def test_no_interval_of_one_item() -> None:
    assert label_intervals(["yes", "no"], ["yes", None], 100, seed=0) is None
    assert label_intervals(["yes", "no"], ["yes", None], 100, seed=0, unanswered="wrong") is not None


# --- guessing
# --------------------------------------------------------------------------------------------------


def test_majority_by_hand() -> None:
    # Three of six are yes: F1 = 2 * 3 / (3 + 6) = 2/3, the others 0.
    scores = majority_baseline(GOLD)
    assert (scores.exact_match, scores.f1_micro) == pytest.approx((1 / 2, 1 / 2))
    assert scores.f1_macro == pytest.approx(2 / 9)
    assert majority_baseline(["b", "a"]).f1 == pytest.approx({"a": 2 / 3, "b": 0})


def test_random_is_the_mean_over_shuffled_labels() -> None:
    scores = random_baseline(GOLD)
    # (3^2 + 2^2 + 1^2) / 6^2.
    assert (scores.exact_match, scores.f1_micro, scores.f1_macro) == pytest.approx((14 / 36, 14 / 36, 1 / 3))
    rng = np.random.default_rng(0)
    dealt = [label_scores(GOLD, rng.permutation(GOLD).tolist()) for _ in range(4000)]
    means = np.mean([(s.exact_match, s.f1_micro, s.f1_macro) for s in dealt if s], axis=0)
    assert means == pytest.approx((14 / 36, 14 / 36, 1 / 3), abs=0.015)
    assert scores.f1 == pytest.approx({"yes": 1 / 2, "no": 1 / 3, "neutral": 1 / 6})


def test_guessing_needs_labels() -> None:
    for baseline in (majority_baseline, random_baseline):
        with pytest.raises(ValueError, match="needs labels"):
            baseline([])
