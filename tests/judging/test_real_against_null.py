"""Whether judge and metric tell real texts from null ones, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.judging.controls import best_null, told_apart_row
from tasks.metrics.intervals import sign_flip_p, sign_flip_p_two_sided

WHERE = ("benchmark", "normad")
NONE = np.full(8, "", dtype=object)
FULL = np.full(8, 0.5)
NAMES = list("abcdefgh")


def flag(real: np.ndarray, null: np.ndarray, clusters: list[str], why: str = "") -> tuple[object, ...]:
    reasons = np.where(np.isnan(real), why, "").astype(object)
    row = told_apart_row(WHERE, (real, reasons), (null, NONE), clusters, "personas", 0)
    assert (row.metric, row.slice_kind, row.slice) == ("tells_real_from_shuffled", *WHERE)
    return row[3:7]


def test_eight_gains_are_told_and_their_opposites_are_not() -> None:
    assert flag(FULL, FULL - 0.1, NAMES) == (1.0, None, 8, 0)  # 1 / 256 of all orders of signs
    assert flag(FULL, FULL + 0.1, NAMES) == (0.0, None, 8, 0)
    assert flag(FULL, FULL, NAMES) == (0.0, None, 8, 0)


def test_five_clusters_show_nothing_however_many_texts_there_are() -> None:
    few = list("aabbccde")
    assert flag(FULL, FULL - 0.1, few) == (None, "fewer than 6 personas cannot show a difference", 0, 8)
    lost = np.where(np.arange(8) < 3, np.nan, FULL)
    assert flag(lost, FULL - 0.1, NAMES, "cut off")[:2] == (
        None,
        "fewer than 6 personas cannot show a difference",
    )
    assert flag(np.full(8, np.nan), FULL, NAMES, "cut off") == (None, "cut off", 0, 8)


def test_the_best_null_is_the_highest_mean_of_what_is_known() -> None:
    unknown = np.full(2, np.nan)
    assert best_null([np.array([0.2, np.nan]), np.array([0.3, 0.0]), unknown]) == pytest.approx(0.2)
    assert best_null([unknown]) is None
    assert best_null([]) is None


def test_two_sides_are_twice_the_smaller_one() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert sign_flip_p(values) == 1 / 64
    assert sign_flip_p_two_sided(values) == sign_flip_p_two_sided([-v for v in values]) == 2 / 64
    assert sign_flip_p_two_sided([1.0, -1.0]) == 1.0
