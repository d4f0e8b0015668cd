"""Values, their shift and decisions: every number by hand.

Each culture answers four scenarios with three values each:

    baseline  Family, Planning, Achievement everywhere            4 4 4 0 of 12
    IN        the same, but Loyalty for Achievement once          4 4 3 1
    JP        as the baseline
    MX        Family, Planning, Loyalty everywhere                4 4 0 4
"""

from __future__ import annotations

import numpy as np
import pytest

from tasks.evaluations.worldwise.model_rows import NO_BASELINE, value_rows
from tasks.evaluations.worldwise.study import Key, WorldwiseStudy
from tasks.loop.prompts import Completion
from tasks.loop.replies import NO_ANSWER
from tasks.loop.rows import Metric
from tasks.metrics.intervals import SHARE, jackknife_interval, proportion_interval
from tests.evaluations.row_checks import check, one
from tests.evaluations.worldwise.conftest import MakeStudy, completion, scored, tables

LOYAL = ("Family Harmony", "Future Planning", "Group Loyalty")


def answers(study: WorldwiseStudy) -> dict[Key, Completion]:
    made = {}
    for sample in study.samples:
        culture, scenario, _ = sample.key
        loyal = culture == "MX" or (culture, scenario) == ("IN", "i1")
        decision = {"i1": "A", "i2": "A", "p1": "B", "p2": "Decline"}[scenario] if culture == "IN" else "A"
        about = {"values": LOYAL} if loyal else {}
        made[sample.key] = completion("Because at (0, 0, 0)", decision, **about)
    return made


@pytest.fixture(scope="module")
def rows(make_study: MakeStudy) -> list[Metric]:
    study = make_study(half_samples=2000)
    made = value_rows(study, scored(study, answers(study)))
    check(made)
    return made


def test_hand_calculation_gives_value_shares(rows: list[Metric]) -> None:
    row = one(rows, "value_share", "IN:achievement_success")
    assert row.value == pytest.approx(3 / 12)
    assert row.null_value == pytest.approx(4 / 12)
    assert (row.n_scored, row.n_unscored) == (12, 0)
    assert row.ci_low is None  # four scenarios are too few
    baseline = one(rows, "value_share", "baseline:family_harmony")
    assert baseline.value == pytest.approx(1 / 3)
    assert baseline.null_value is None
    assert one(rows, "value_share", "MX:group_loyalty").value == pytest.approx(1 / 3)
    assert one(rows, "value_share", "MX:group_loyalty").null_value == 0.0
    assert one(rows, "value_share", "JP:group_loyalty").value == 0.0


def test_hand_calculation_gives_value_shift(rows: list[Metric]) -> None:
    # IN: (|3 - 4| + |1 - 0|)/12/2. Exchanging the labels within i1 gives the same distance.
    row = one(rows, "value_shift", "IN")
    assert row.value == pytest.approx(1 / 12)
    assert row.null_value == pytest.approx(1 / 12)
    assert one(rows, "value_shift_p", "IN").value == 1.0
    assert (row.n_scored, row.n_unscored) == (8, 0)
    assert one(rows, "value_shift", "JP").value == 0.0
    assert one(rows, "value_shift", "JP").null_value == 0.0
    assert one(rows, "value_shift_p", "JP").value == 1.0
    # MX: (4 + 4)/12/2. With k of 4 scenarios swapped it is |4 - 2k|/12: (4 + 4 * 2 + 4 * 2 + 4)/16/12 in the
    # mean of k, and 4/12 for k = 0 and 4, that is 2 of 16.
    row = one(rows, "value_shift", "MX")
    assert row.value == pytest.approx(4 / 12)
    assert row.null_value == pytest.approx(1.5 / 12, abs=0.01)
    assert one(rows, "value_shift_p", "MX").value == pytest.approx(2 / 16, abs=0.03)
    overall = one(rows, "value_shift")
    assert overall.value == pytest.approx((1 + 0 + 4) / 36)
    floors = [one(rows, "value_shift", code).null_value for code in ("IN", "JP", "MX")]
    assert overall.null_value == pytest.approx(np.mean(floors))
    assert (overall.n_scored, overall.n_unscored) == (3, 0)


def test_intervals_of_shares_and_shifts_are_over_scenarios(make_study: MakeStudy) -> None:
    rows = tables()
    more = [row | {"scenario": f"{row['scenario']}b"} for row in rows["scenario"] if row["scenario"] != "s1"]
    study = make_study(rows | {"scenario": [*rows["scenario"][:-1], *more, rows["scenario"][-1]]})
    assert study.shape == (4, 8, 1)
    made = {sample.key: completion("Because at (0, 0, 0)") for sample in study.samples}
    for scenario in ("i1", "p1b"):
        made["MX", scenario, 0] = completion("Because at (0, 0, 0)", "A", LOYAL)
    made_rows = value_rows(study, scored(study, made))
    check(made_rows)
    row = one(made_rows, "value_share", "MX:group_loyalty")
    # 2 of 24; without one of its scenarios 1 of 21, without another 2 of 21.
    left_out = [1 / 21] * 2 + [2 / 21] * 6
    assert (row.ci_low, row.ci_high) == pytest.approx(jackknife_interval(2 / 24, left_out, SHARE))
    shift = one(made_rows, "value_shift", "MX")
    # Chance gives an equal shift.
    assert (shift.value, shift.ci_low) == (pytest.approx(2 / 24), 0.0)
    assert shift.ci_high == pytest.approx((jackknife_interval(2 / 24, left_out) or (0, 0))[1])


def test_hand_calculation_gives_decision_shares(rows: list[Metric]) -> None:
    assert [one(rows, "decision_share", f"IN:{d}").value for d in ("A", "B", "Decline")] == [0.5, 0.25, 0.25]
    row = one(rows, "decision_share", "IN:A")
    assert row.null_value == 1.0
    assert (row.n_scored, row.n_unscored) == (4, 0)
    assert row.ci_low is not None  # one answer to each scenario: two of four, by Clopper and Pearson
    assert (row.ci_low, row.ci_high) == pytest.approx(proportion_interval(2, 4))
    assert one(rows, "decision_share", "baseline:A").value == 1.0
    assert one(rows, "decision_share", "baseline:A").null_value is None


def test_missing_baseline_culture_or_value_is_counted_as_unscored(make_study: MakeStudy) -> None:
    study = make_study()
    rows = value_rows(study, scored(study, {k: v for k, v in answers(study).items() if k[0] != "baseline"}))
    check(rows)
    assert one(rows, "value_shift").unscored_reason == NO_BASELINE
    assert one(rows, "value_shift", "MX").unscored_reason == NO_BASELINE
    assert one(rows, "value_share", "MX:group_loyalty").null_value is None
    assert one(rows, "value_share", "baseline:group_loyalty").unscored_reason == NO_ANSWER
    assert one(rows, "decision_share", "baseline:A").unscored_reason == NO_ANSWER
    assert one(rows, "decision_share", "IN:A").null_value is None
    rows = value_rows(study, scored(study, {k: v for k, v in answers(study).items() if k[0] != "IN"}))
    check(rows)
    assert one(rows, "value_shift").value == pytest.approx(4 / 24)
    assert (one(rows, "value_shift").n_scored, one(rows, "value_shift").n_unscored) == (2, 1)
    assert one(rows, "value_shift", "IN").unscored_reason == NO_ANSWER
    # A value that is named three times counts once.
    repeated = answers(study)
    repeated["JP", "i1", 0] = completion("Because at (0, 0, 0)", "A", ["Group Loyalty"] * 3)
    row = one(value_rows(study, scored(study, repeated)), "value_share", "JP:group_loyalty")
    assert (row.value, row.n_scored, row.n_unscored) == (pytest.approx(1 / 10), 10, 2)


SAID = {
    "baseline": ("Family Harmony", "Inner Peace", "Future Planning"),
    "MX": ("Family Harmony", "Inner Peace", "Achievement & Success"),
}
"""Two values of the list, and one of the model's own words."""


def test_hand_calculation_counts_values_that_are_not_in_the_list(make_study: MakeStudy) -> None:
    """Counted, as in WorldWiseAI's program: one of three values differs. Left out: one of two."""
    shifts = {}
    for other, n in (("left_out", 8), ("counted", 12)):
        study = make_study(other_values=other)
        made = {
            s.key: completion("Because at (0, 0, 0)", values=SAID.get(s.key[0], SAID["baseline"]))
            for s in study.samples
        }
        rows = value_rows(study, scored(study, made))
        check(rows)
        shifts[other] = one(rows, "value_shift", "MX").value
        assert one(rows, "value_share", "MX:family_harmony").n_scored == n
    assert shifts == {"left_out": pytest.approx(1 / 2), "counted": pytest.approx(1 / 3)}
    assert len({make_study(other_values=other).config_hash() for other in shifts}) == 2
