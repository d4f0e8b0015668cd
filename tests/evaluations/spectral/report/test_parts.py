"""What the spectral page is made from: verdicts and ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from tasks.evaluations.spectral.report.data import shuffled_copies, verdicts
from tasks.evaluations.spectral.report.figures import sr_ranks
from tasks.evaluations.spectral.report.maps import Matrix, cluster, matrix_of, neighbours

COLUMNS = ["model", "is_null", "macro_f1", "ci_low", "ci_high", "null_macro_f1"]


def leaderboard(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """A leaderboard of the columns that verdicts look at."""
    return pl.DataFrame(
        rows,
        schema=dict.fromkeys(COLUMNS, pl.Float64) | {"model": pl.String, "is_null": pl.Boolean},
        orient="row",
    )


@pytest.mark.parametrize(
    ("low", "nulls", "guessing", "look_up"),
    [
        (0.4, [], False, False),
        (0.2, [], True, False),  # the interval touches what guessing scores
        (0.4, [("null:always-LH", True, 0.5, 0.5, 0.5, 0.5)], True, False),  # a tie counts
        (0.4, [("null:uniform-by-domain", True, 0.2, 0.1, 0.6, 0.2)], True, False),  # within its draws
        (0.4, [("null:uniform-by-domain", True, 0.2, 0.1, 0.4, 0.2)], False, False),
        (0.4, [("null:list-frequency", True, 0.5, 0.4, 0.6, 0.2)], False, True),
        (0.4, [("null:list-frequency", True, 0.3, 0.2, 0.6, 0.2)], False, False),
        (0.4, [("null:shuffled(m)", True, 0.5, 0.4, 0.6, 0.2)], False, False),  # a tie by construction
        (None, [], True, False),
    ],
)
def test_verdict(low: float | None, nulls: list[tuple[Any, ...]], guessing: bool, look_up: bool) -> None:
    verdict = verdicts(leaderboard(("m", False, 0.5, low, 0.6, 0.2), *nulls))["m"]
    assert (bool(verdict.guessing), bool(verdict.look_up)) == (guessing, look_up)


def test_unscored_model_is_not_told_from_guessing() -> None:
    assert verdicts(leaderboard(("m", False, None, None, None, 0.2)))["m"].badges == [
        ("warn", "not distinguishable from guessing")
    ]


def test_shuffled_copies() -> None:
    values = {"a": 0.5, "b": 0.5, "c": None, "null:shuffled(a)": 0.5, "null:shuffled(b)": 0.4}
    rows = [(m, m.startswith("null"), value, None, None, 0.2) for m, value in values.items()]
    assert shuffled_copies(leaderboard(*rows)) == ["a"]


def test_sr_ranks_infinity_is_most_common_and_ties_share() -> None:
    frame = pl.DataFrame(
        {"model": ["m"] * 5, "variant": [1] * 5, "spectral_gap_ratio": [2.0, float("inf"), 2.0, None, 1.5]}
    )
    assert sr_ranks(frame)["sr_rank"].to_list() == [2.5, 1.0, 2.5, 4.0]


def test_tree_puts_groups_side_by_side() -> None:
    near, far = 0.9, 0.1
    values = np.array([[1, far, near, far], [far, 1, far, near], [near, far, 1, far], [far, near, far, 1]])
    tree = cluster(Matrix(list("ABCD"), values))
    assert {frozenset(tree.order[:2]), frozenset(tree.order[2:])} == {frozenset({0, 2}), frozenset({1, 3})}
    assert np.nanmax(tree.x) == pytest.approx(1 - far)  # average linkage of the two groups


def test_matrix_of_pairs_is_symmetric() -> None:
    pairs = pl.DataFrame(
        {"country_a": ["A", "A", "B"], "country_b": ["B", "C", "C"], "similarity": [0.1, 0.2, 0.3]}
    )
    matrix = matrix_of(pairs)
    assert isinstance(matrix, Matrix)
    assert matrix.values.tolist() == [[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]
    assert neighbours(matrix, 1) == [("A", [("C", 0.2)]), ("B", [("C", 0.3)]), ("C", [("B", 0.3)])]
    assert matrix_of(pairs.head(2)) == "2 of 3 pairs of countries are stored"
    assert matrix_of(pairs.clear()) == "0 of 0 pairs of countries are stored"
