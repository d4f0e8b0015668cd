"""What the spectral page is made from: verdicts and ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tasks.evaluations.spectral.report.data import shuffled_copies, verdicts
from tasks.evaluations.spectral.report.figures import sr_ranks
from tasks.evaluations.spectral.report.maps import Matrix, cluster, matrix_of, neighbours
from tests.evaluations.spectral.report.example_frames import doubts, example

COLUMNS = ["model", "is_null", "macro_f1", "ci_low", "ci_high", "null_macro_f1"]


def leaderboard(*rows: tuple[Any, ...]) -> pl.DataFrame:
    """A leaderboard of the columns that verdicts look at."""
    return pl.DataFrame(
        rows,
        schema=dict.fromkeys(COLUMNS, pl.Float64) | {"model": pl.String, "is_null": pl.Boolean},
        orient="row",
    )


FAR = ("m", "macro_f1", "null:uniform-by-domain reaches 0.60 in 2.5 % of its draws, the model 0.50")
RANDOM = ("m", "rank_spearman", "a random order of 9 domains reaches 0.70 in 2.5 % of cases")


@pytest.mark.parametrize(
    ("low", "doubt", "look_up", "guessing"),
    [
        (0.4, [], 0.3, []),
        (0.4, [RANDOM], 0.3, []),  # of another number
        (0.2, [], 0.3, ["its 95 % interval is 0.20 to 0.60; guessing scores 0.20 on average"]),
        (0.4, [FAR], 0.3, [FAR[2]]),
        (0.4, [("another", *FAR[1:])], 0.3, []),
        (0.4, [], 0.5, []),  # a tie with the look-up counts
        (None, [], 0.3, ["its macro-F1 has no interval"]),
    ],
)
def test_verdict(
    low: float | None, doubt: list[tuple[str, str, str]], look_up: float, guessing: list[str]
) -> None:
    nulls = [
        ("null:list-frequency", True, look_up, 0.2, 0.6, 0.2),
        ("null:shuffled(m)", True, 0.5, 0.4, 0.6, 0.2),
    ]
    board = leaderboard(("m", False, 0.5, low, 0.6, 0.2), *nulls)
    verdict = verdicts(replace(example(), leaderboard=board, doubts=doubts(*doubt)))["m"]
    assert verdict.guessing == guessing
    assert bool(verdict.look_up) == (look_up >= 0.5)


def test_unscored_model_is_not_told_from_guessing() -> None:
    data = replace(example(), leaderboard=leaderboard(("m", False, None, None, None, 0.2)))
    assert verdicts(data)["m"].badges == [("warn", "not shown to beat guessing")]


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
