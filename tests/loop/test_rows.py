"""Rows have the points over which their headline is computed."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.loop.rows import (
    OVERALL,
    count_rows,
    difference_row,
    item_points,
    mean_row,
    points_frame,
    resampled_points,
    scored,
    slices,
    unless_lost_alone,
)
from tasks.metrics.intervals import half_samples, jackknife_groups

NAMES = [f"c{i}" for i in range(40)]


def test_points_of_a_mean_are_the_items_with_a_value() -> None:
    values = np.array([[1.0, np.nan], [0.0, 0.5]])
    row = mean_row("m", OVERALL, values, "", [["x", "x"], ["y", "y"]], items=[["a", "b"], ["c", "d"]])
    assert row.points == ("item", ("a", "c", "d"), (1.0, 0.0, 0.5), ("x", "y", "y"), 2)
    assert np.mean(row.points.values) == row.value
    assert mean_row("m", OVERALL, values, "").points is None
    assert item_points(["a"], np.array([np.nan])) is None


def test_resamples_are_named_by_the_units_they_keep() -> None:
    groups, order = jackknife_groups(40, 0), np.random.default_rng(0).permutation(40)
    points = resampled_points("left_out", NAMES, groups, range(len(groups)))
    place = np.argsort(order)
    turned = [np.sort(place[kept]) for kept in groups]
    again = resampled_points("left_out", [NAMES[i] for i in order], turned, range(len(groups)))
    assert points == again
    assert points is not None
    assert (points.n, len(set(points.units))) == (40, 36)
    others = resampled_points("left_out", [*NAMES[:-1], "new"], groups, range(len(groups)))
    assert others is not None
    assert len(set(others.units) & set(points.units)) == 1  # the row that leaves the other country out
    assert resampled_points("half", NAMES, [], []) is None


def test_a_repeated_half_sample_gets_another_name() -> None:
    """With few units a half-sample may repeat, and a part can have each name only once."""
    halves = [np.array(each) for each in ([0, 1], [0, 2], [1, 0])]
    points = resampled_points("half", ["a", "b", "c"], halves, [0.1, 0.2, 0.1])
    assert points is not None
    assert len(set(points.units)) == 3
    assert points.units[2] == f"{points.units[0]}-2"


def test_a_resample_without_a_value_is_stored_as_missing() -> None:
    halves = half_samples(40, 3, 0)
    row = scored("m", OVERALL, 0.5, (40, 0), points=resampled_points("half", NAMES, halves, [0.4, None, 0.6]))
    frame = points_frame([row, scored("other", OVERALL, 0.1, (1, 0))])
    assert frame["value"].to_list() == [0.4, None, 0.6]
    assert frame["n_clusters"].to_list() == [40] * 3
    assert points_frame([]).is_empty()
    with pytest.raises(ValueError, match="only an overall row"):
        points_frame([row._replace(slice_kind="country", slice="FR")])


def reasons(*texts: str) -> np.ndarray:
    return np.array(texts, dtype=object)


def test_a_difference_uses_points_that_both_sides_have() -> None:
    first = np.array([1.0, 0.5, np.nan, np.nan]), reasons("", "", "cut off", "cut off")
    second = np.array([0.0, np.nan, 1.0, np.nan]), reasons("", "no judge", "", "no judge")
    row = difference_row("gain", OVERALL, first, second)
    assert row[:7] == ("gain", *OVERALL, 1.0, None, 1, 3)
    assert row.null_value == 0.0
    none = difference_row("gain", OVERALL, (first[0][1:], first[1][1:]), (second[0][1:], second[1][1:]))
    # Two items have this reason, and one "no judge".
    assert (none.value, none.unscored_reason) == (None, "cut off")


def test_counts_give_coverage_and_the_share_of_each_reason() -> None:
    rows = count_rows(reasons("", "refused", "", "cut off"))
    assert [(row.metric, row.slice, row.value, row.n_scored, row.n_unscored) for row in rows] == [
        ("coverage", "all", 0.5, 4, 0), ("unanswered", "cut off", 0.25, 4, 0),
        ("unanswered", "refused", 0.25, 4, 0),
    ]  # fmt: skip


def test_slices_leave_out_empty_values() -> None:
    chosen_by_slice = {where: chosen.tolist() for where, chosen in slices({"region": ["PE", "", "JP"]}, 3)}
    japan, peru = [False, False, True], [True, False, False]
    assert chosen_by_slice == {OVERALL: [True] * 3, ("region", "JP"): japan, ("region", "PE"): peru}


def test_a_difference_of_only_lost_answers_is_unscored() -> None:
    why, lost = reasons("", "judge", "unasked"), reasons("cut", "", "x")
    alone = unless_lost_alone(np.array([0.0, np.nan, np.nan]), why, lost)
    assert np.isnan(alone[0]).all()
    assert alone[1].tolist() == ["judge", "judge", "unasked"]
    beside = unless_lost_alone(np.array([0.0, 1.0]), reasons("", ""), reasons("cut", ""))
    assert beside[0].tolist() == [0.0, 1.0]
    every = unless_lost_alone(np.array([0.0, 0.0]), reasons("", ""), reasons("cut", "cut"))
    assert every[0].tolist() == [0.0, 0.0]  # a model that loses all answers is wrong, and no judge failed
