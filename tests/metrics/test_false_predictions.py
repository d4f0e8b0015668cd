from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.metrics.false_predictions import confusions, foreign_share, inconsistency, local_candidates

#           tofu rice chili butter coffee
RELEVANT = [
    [1, 0, 1, 0, 0],  # mapo tofu, CN
    [0, 1, 1, 0, 0],  # fried rice, CN
    [0, 0, 0, 1, 0],  # croissant, FR
    [0, 0, 0, 1, 1],  # opera cake, FR
]
ORIGINS = ["CN", "CN", "FR", "FR"]
# Two templates, l predictions for each dish.
PREDICTED = [
    [[1, 0, 0, 0, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 1], [0, 1, 0, 1, 0]],
    [[0, 1, 1, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 0, 1], [1, 1, 0, 0, 0]],
]


def test_local_candidates_are_ingredients_of_other_dishes_of_the_origin() -> None:
    # Each origin has two dishes, so that the one's local candidates are the other's ingredients.
    expected = [RELEVANT[i] for i in (1, 0, 3, 2)]
    assert local_candidates(RELEVANT, ORIGINS).tolist() == expected
    # Of three dishes without origins, candidates of any other one.
    pooled = local_candidates(RELEVANT[:3], ["x"] * 3)
    assert pooled.tolist() == [[0, 1, 1, 1, 0], [1, 0, 1, 1, 0], [1, 1, 1, 0, 0]]
    assert not local_candidates(RELEVANT, ["a", "b", "c", "d"]).any()


def test_hand_calculation_gives_confusions() -> None:
    # Mapo tofu: coffee is foreign (coarse), rice is Chinese but not in it (fine). Fried rice: tofu is fine.
    # Croissant: coffee twice, in the other French dish: fine. Opera cake: rice twice and tofu, foreign.
    result = confusions(PREDICTED, RELEVANT, local_candidates(RELEVANT, ORIGINS))
    assert result.n_coarse.tolist() == [1, 0, 0, 3]
    assert result.n_fine.tolist() == [1, 1, 2, 0]


def test_hand_calculation_gives_foreign_share() -> None:
    # Mapo tofu: wrong are rice, butter and coffee; the last two are foreign: 2/3. Fried rice alike (tofu is
    # local). Croissant: tofu, rice, chili foreign, coffee local: 3/4. Opera cake: 3 of 3.
    values, scored = foreign_share(RELEVANT, local_candidates(RELEVANT, ORIGINS))
    assert values == pytest.approx([2 / 3, 2 / 3, 3 / 4, 1])
    assert scored.all()
    values, scored = foreign_share([[1, 1], [1, 0]], [[0, 0], [0, 1]])
    assert (values.tolist(), scored.tolist()) == ([0.0], [False, True])


def test_hand_calculation_gives_inconsistency() -> None:
    # Mapo tofu: {coffee} against {rice}: Jaccard 0. Fried rice errs under one template only: unscored.
    # Croissant: {coffee} both times: 1. Opera cake: {rice} against {tofu, rice}: 1/2.
    values, scored = inconsistency(PREDICTED, RELEVANT)
    assert values.tolist() == [1.0, 0.0, 0.5]
    assert scored.tolist() == [True, False, True, True]


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_inconsistency_equals_the_jaccard_distance_of_sets(seed: int, templates: int) -> None:
    rng = np.random.default_rng(seed)
    predicted, relevant = rng.random((templates, 4, 7)) < 0.25, rng.random((4, 7)) < 0.3
    expected = []
    for dish in range(4):
        errors = [set(np.flatnonzero(row[dish] & ~relevant[dish])) for row in predicted]
        pairs = list(combinations([e for e in errors if e], 2))
        expected.append(1 - np.mean([len(a & b) / len(a | b) for a, b in pairs]) if pairs else None)
    values, scored = inconsistency(predicted, relevant)
    assert values == pytest.approx([e for e in expected if e is not None])
    assert scored.tolist() == [e is not None for e in expected]


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="templates x 4 x 5"):
        inconsistency(PREDICTED[0], RELEVANT)
    with pytest.raises(ValueError, match=r"local has shape \(2, 5\)"):
        confusions(PREDICTED, RELEVANT, RELEVANT[:2])
    with pytest.raises(ValueError, match="must have one shape"):
        foreign_share(RELEVANT, RELEVANT[:1])
