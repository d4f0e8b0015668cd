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

from tasks.evaluations.worldwise.requests import Key, Study
from tasks.evaluations.worldwise.value_rows import value_rows
from tasks.generation.prompts import Completion
from tasks.metric_rows import Metric
from tasks.metrics.bootstrap import bootstrap_indices
from tests.evaluations.worldwise.conftest import MakeStudy, completion, scored
from tests.evaluations.worldwise.row_checks import check, one

LOYAL = ("Family Harmony", "Future Planning", "Group Loyalty")


def answers(study: Study) -> dict[Key, Completion]:
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
    study = make_study(bootstrap=2000)
    made = value_rows(study, scored(study, answers(study)))
    check(made)
    return made


def test_shares_by_hand(rows: list[Metric]) -> None:
    row = one(rows, "value_share", "IN:achievement_success")
    assert row.value == pytest.approx(3 / 12)
    assert row.null_value == pytest.approx(4 / 12)
    assert (row.n_scored, row.n_unscored) == (12, 0)
    # A second implementation: the scenario with Loyalty is drawn so many of 4 times.
    draws = bootstrap_indices(4, 2000, 0)
    ends = np.quantile([(draw != 0).sum() * 1 / 12 for draw in draws], [0.025, 0.975])
    assert (row.ci_low, row.ci_high) == pytest.approx(tuple(ends))
    baseline = one(rows, "value_share", "baseline:family_harmony")
    assert baseline.value == pytest.approx(1 / 3)
    assert baseline.null_value is None
    assert one(rows, "value_share", "MX:group_loyalty").value == pytest.approx(1 / 3)
    assert one(rows, "value_share", "MX:group_loyalty").null_value == 0.0
    assert one(rows, "value_share", "JP:group_loyalty").value == 0.0


def test_intervals_draw_all_repetitions_of_a_scenario(make_study: MakeStudy) -> None:
    study = make_study(repetitions=2)
    made = {sample.key: completion("Because at (0, 0, 0)") for sample in study.samples}
    made["IN", "i1", 1] = completion("Because at (0, 0, 0)", "A", LOYAL)
    row = one(value_rows(study, scored(study, made)), "value_share", "IN:group_loyalty")
    assert row.value == pytest.approx(1 / 24)
    drawn = [(draw == 0).sum() / 24 for draw in bootstrap_indices(4, 20, 0)]
    assert (row.ci_low, row.ci_high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))


def test_shift_by_hand(rows: list[Metric]) -> None:
    # IN: (|3 - 4| + |1 - 0|)/12/2. Relabelled within i1 the two differing answers lie as far apart.
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


def test_shift_interval_is_the_spread_of_the_resamples(rows: list[Metric]) -> None:
    # IN's distance is the number of times that i1 is drawn over 12.
    drawn = [(draw == 0).sum() / 12 for draw in bootstrap_indices(4, 2000, 0)]
    half = 1.959964 * np.std(drawn, ddof=1)
    row = one(rows, "value_shift", "IN")
    assert (row.ci_low, row.ci_high) == pytest.approx((max(0, 1 / 12 - half), 1 / 12 + half))
    row = one(rows, "value_shift", "MX")  # every resample has 1/3
    assert (row.ci_low, row.ci_high) == pytest.approx((1 / 3, 1 / 3))


def test_decisions_by_hand(rows: list[Metric]) -> None:
    assert [one(rows, "decision_share", f"IN:{d}").value for d in ("A", "B", "Decline")] == [0.5, 0.25, 0.25]
    row = one(rows, "decision_share", "IN:A")
    assert row.null_value == 1.0
    assert (row.n_scored, row.n_unscored) == (4, 0)
    # Wilson with z = 1.96: (0.5 + z^2/8 -+ z sqrt(0.0625 + z^2/64)) / (1 + z^2/4).
    z = 1.959964
    half = z * np.sqrt(0.25 / 4 + z * z / 64)
    expected = tuple((0.5 + z * z / 8 + side * half) / (1 + z * z / 4) for side in (-1, 1))
    assert (row.ci_low, row.ci_high) == pytest.approx(expected)
    assert one(rows, "decision_share", "baseline:A").value == 1.0
    assert one(rows, "decision_share", "baseline:A").null_value is None


def test_without_a_baseline_there_is_no_shift(make_study: MakeStudy) -> None:
    study = make_study()
    rows = value_rows(study, scored(study, {k: v for k, v in answers(study).items() if k[0] != "baseline"}))
    check(rows)
    assert one(rows, "value_shift").unscored_reason == "the baseline has no values to compare with"
    assert one(rows, "value_shift", "MX").unscored_reason == "the baseline has no values to compare with"
    assert one(rows, "value_share", "MX:group_loyalty").null_value is None
    assert one(rows, "value_share", "baseline:group_loyalty").unscored_reason == "not asked or not answered"
    assert one(rows, "decision_share", "baseline:A").unscored_reason == "not asked or not answered"
    assert one(rows, "decision_share", "IN:A").null_value is None


def test_a_culture_without_answers_leaves_the_mean_of_the_others(make_study: MakeStudy) -> None:
    study = make_study()
    rows = value_rows(study, scored(study, {k: v for k, v in answers(study).items() if k[0] != "IN"}))
    check(rows)
    assert one(rows, "value_shift").value == pytest.approx(4 / 24)
    assert (one(rows, "value_shift").n_scored, one(rows, "value_shift").n_unscored) == (2, 1)
    assert one(rows, "value_shift", "IN").unscored_reason == "not asked or not answered"


def test_named_twice_counts_once(make_study: MakeStudy) -> None:
    study = make_study()
    made = answers(study)
    made["JP", "i1", 0] = completion("Because at (0, 0, 0)", "A", ["Group Loyalty"] * 3)
    rows = value_rows(study, scored(study, made))
    row = one(rows, "value_share", "JP:group_loyalty")
    assert row.value == pytest.approx(1 / 10)
    assert (row.n_scored, row.n_unscored) == (10, 2)
