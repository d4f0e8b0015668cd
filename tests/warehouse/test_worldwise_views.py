"""The worldwise views over metric rows that are saved by hand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluations.worldwise.report.example_run import Row, around, model_rows, row, store
from warehouse import Warehouse

OVERALL = ("overall", "all")


def rows_of(warehouse: Warehouse, view: str) -> list[dict[str, Any]]:
    return warehouse.query(f"SELECT * FROM {view}").to_dicts()


def gain(value: float | None) -> list[Row]:
    """Return alignment 0.4 above 6.5, and its gain over the best null."""
    return [
        row("alignment", OVERALL, 6.9, **around(6.9, 0.2), null_value=6.5, n_scored=90, n_unscored=10),
        row("alignment_sd", OVERALL, 1.5),
        row(
            "alignment_gain", OVERALL, value, **({} if value is None else around(value, 0.1)), null_value=0.0
        ),
    ]


def test_the_leaderboard_row_has_the_gain_and_names_the_best_null(warehouse: Warehouse) -> None:
    nulls = {"zero": 6.4, "global_mean": 6.5, "scenario_text": 5.0, "shuffled": 6.5, "unprompted": 6.1}
    others = [
        row("hofstede_mae", OVERALL, 1.3, null_value=1.2),
        row("hofstede_mae", ("culture", "IN"), 9.9, null_value=9.9),
        row("value_shift", OVERALL, 0.35, null_value=0.1),
        row("stereotype_score", OVERALL, 8.5, null_value=9.4),
        row("persona_recognition", OVERALL, 0.4, ci_low=0.3, ci_high=0.5, null_value=0.0),
        row("persona_recognition", ("culture", "IN"), 0.9, null_value=0.0),
        row("answer_variety", OVERALL, 0.91, null_value=0.98),
        row("stereotype_score", ("culture", "IN"), 1.0),
        row("answered", OVERALL, 0.9),
    ]
    by_null = [row("alignment", ("null", n), v) for n, v in nulls.items()]
    by_null += [row("alignment_gain", ("null", "zero"), 0.5, **around(0.5, 0.1))]
    store(warehouse, "m", [*gain(0.4), *others, *by_null], "c1")
    (line,) = rows_of(warehouse, "leaderboard_worldwise")
    assert list(line)[:8] == [
        "config_hash", "place", "profile", "model", "is_null", "alignment_gain", "gain_low", "gain_high"
    ]  # fmt: skip
    assert (line["alignment_gain"], line["gain_low"], line["gain_high"]) == pytest.approx((0.4, 0.3, 0.5))
    assert line["best_null"] == "global_mean"  # equal to shuffled, which is later in the order
    assert (line["alignment"], line["ci_low"], line["ci_high"]) == pytest.approx((6.9, 6.7, 7.1))
    assert (line["alignment_sd"], line["null_alignment"]) == (1.5, 6.5)
    assert (line["hofstede_mae"], line["null_mae"]) == (1.3, 1.2)
    assert (line["value_shift"], line["null_shift"], line["stereotype_score"]) == (0.35, 0.1, 8.5)
    recognition = ("recognition", "recognition_low", "recognition_high", "variety", "null_variety")
    assert tuple(line[name] for name in recognition) == (0.4, 0.3, 0.5, 0.91, 0.98)
    assert (line["answered"], line["n_answers"], line["run_id"]) == (0.9, 100, "c1 m")


def test_the_leaderboard_is_ordered_by_configuration_gain_and_nulls(warehouse: Warehouse) -> None:
    store(warehouse, "elsewhere", gain(2.0), "old")
    for model, value in (("worse", -0.3), ("better", 0.2), ("lost", None), ("null:zero", 0.0)):
        store(warehouse, model, gain(value), "new")
    lines = rows_of(warehouse, "leaderboard_worldwise")
    assert [(r["config_hash"], r["model"]) for r in lines] == [
        ("new", "better"), ("new", "worse"), ("new", "lost"), ("new", "null:zero"), ("old", "elsewhere")
    ]  # fmt: skip
    worse, unscored = lines[1], lines[2]
    assert (worse["alignment_gain"], worse["gain_high"]) == pytest.approx((-0.3, -0.2))
    assert (unscored["alignment_gain"], unscored["gain_low"], unscored["alignment"]) == (None, None, 6.9)
    assert [r["is_null"] for r in lines] == [False, False, False, True, False]


def test_the_closest_culture_is_the_nearest_scored_one(warehouse: Warehouse) -> None:
    distances = {"US": 1.1, "IN": 1.1, "JP": 1.4, "MX": None}
    rows = [row("baseline_distance", ("culture", c), d, null_value=1.3) for c, d in distances.items()]
    store(warehouse, "m", [*gain(0.1), *rows])
    (line,) = rows_of(warehouse, "leaderboard_worldwise")
    assert (line["closest_culture"], line["closest_distance"]) == ("IN", 1.1)  # ties by code


def test_the_decline_share_leaves_the_baseline_out(warehouse: Warehouse) -> None:
    shares = {
        "IN:Decline": (0.1, 30),
        "JP:Decline": (0.4, 10),
        "baseline:Decline": (1.0, 90),
        "IN:A": (0.9, 30),
    }
    rows = [
        row("decision_share", ("culture_decision", where), share, n_scored=n)
        for where, (share, n) in shares.items()
    ]
    unscored = row("decision_share", ("culture_decision", "MX:Decline"), None)
    store(warehouse, "m", [*gain(0.1), *rows, unscored])
    (line,) = rows_of(warehouse, "leaderboard_worldwise")
    assert line["decline_share"] == pytest.approx((0.1 * 30 + 0.4 * 10) / 40)


def test_a_model_without_any_value_keeps_its_row(warehouse: Warehouse) -> None:
    rows = [r | {"value": None, "unscored_reason": "refused", "n_scored": 0, "ci_low": None, "ci_high": None}
            for r in [*gain(0.1), row("alignment", ("null", "zero"), 6.4)]]  # fmt: skip
    store(warehouse, "m", rows)
    (line,) = rows_of(warehouse, "leaderboard_worldwise")
    names = ("alignment_gain", "alignment", "best_null", "closest_culture", "decline_share")
    assert [line[name] for name in names] == [None] * 5


def test_by_culture_has_one_row_for_the_baseline_too(warehouse: Warehouse) -> None:
    rows = [
        *gain(0.1),
        row("alignment", ("culture", "AE"), 7.0, **around(7.0, 0.2), null_value=6.6, n_unscored=4),
        row("alignment_gain", ("culture", "AE"), 0.3, **around(0.3, 0.1), null_value=0.0),
        row("hofstede_mae", ("culture", "AE"), 1.1, null_value=1.2),
        row("baseline_distance", ("culture", "AE"), 1.5, null_value=1.6),
        row("value_shift", ("culture", "AE"), 0.3, null_value=0.1),
        row("value_shift_p", ("culture", "AE"), 0.01),
        row("stereotype_score", ("culture", "AE"), 8.0, null_value=9.4),
        row("persona_recognition", ("culture", "AE"), 0.7, null_value=0.0),
        row("answer_variety", ("culture", "AE"), 0.9, null_value=0.97),
        row("stereotype_score", ("culture", "baseline"), 9.0, null_value=9.4),
        row("decision_share", ("culture_decision", "baseline:A"), 0.5),
        row("decision_share", ("culture_decision", "AE:A"), 0.6),
        row("decision_share", ("culture_decision", "AE:B"), 0.3),
        row("decision_share", ("culture_decision", "AE:Decline"), 0.1),
        row("alignment", ("culture_dimension", "AE:indulgence"), 1.0),
    ]
    store(warehouse, "m", rows)
    by_culture = {r["culture"]: r for r in rows_of(warehouse, "worldwise_by_culture")}
    assert set(by_culture) == {"AE", "baseline"}
    ae, baseline = by_culture["AE"], by_culture["baseline"]
    assert (ae["alignment"], ae["null_alignment"], ae["alignment_gain"]) == (7.0, 6.6, 0.3)
    intervals = (ae["gain_low"], ae["gain_high"], ae["ci_low"], ae["ci_high"])
    assert intervals == pytest.approx((0.2, 0.4, 6.8, 7.2))
    distances = (ae["hofstede_mae"], ae["null_mae"], ae["baseline_distance"], ae["null_distance"])
    assert distances == (1.1, 1.2, 1.5, 1.6)
    assert (ae["value_shift"], ae["null_shift"], ae["value_shift_p"]) == (0.3, 0.1, 0.01)
    assert (ae["recognition"], ae["variety"], ae["null_variety"]) == (0.7, 0.9, 0.97)
    assert (ae["share_a"], ae["share_b"], ae["share_decline"]) == pytest.approx((0.6, 0.3, 0.1))
    assert (ae["n_scored"], ae["n_unscored"], ae["culture_name"]) == (90, 4, "the United Arab Emirates")
    assert (baseline["alignment"], baseline["stereotype_score"], baseline["share_a"]) == (None, 9.0, 0.5)
    assert baseline["culture_name"] == "baseline"


def test_by_dimension_has_rows_over_all_cultures_and_of_each(warehouse: Warehouse) -> None:
    rows = [
        row("alignment", ("dimension", "indulgence"), 7.0, null_value=6.6),
        row("alignment_gain", ("dimension", "indulgence"), 0.4, null_value=0.0),
        row("hofstede_bias", ("dimension", "indulgence"), -0.2, null_value=0.1),
        row("alignment", ("culture_dimension", "IN:indulgence"), 6.0, null_value=6.5),
        row("projection", ("culture_dimension", "IN:indulgence"), 0.3, null_value=0.1),
        row("projection", ("culture_dimension", "baseline:schwartz_achievement"), -0.3, null_value=0.2),
    ]
    store(warehouse, "m", rows)
    by_dimension = {(r["dimension"], r["culture"]): r for r in rows_of(warehouse, "worldwise_by_dimension")}
    keys = {("indulgence", None), ("indulgence", "IN"), ("schwartz_achievement", "baseline")}
    assert set(by_dimension) == keys
    everywhere, india = by_dimension["indulgence", None], by_dimension["indulgence", "IN"]
    names = ("alignment", "alignment_gain", "projection", "hofstede_bias")
    assert [everywhere[name] for name in names] == [7.0, 0.4, None, -0.2]
    assert (india["alignment"], india["null_alignment"], india["alignment_gain"]) == (6.0, 6.5, None)
    assert (india["projection"], india["null_projection"]) == (0.3, 0.1)
    other = by_dimension["schwartz_achievement", "baseline"]
    assert (other["alignment"], other["projection"], other["n_scored"]) == (None, -0.3, None)


def test_values_have_a_shift_a_count_and_a_rank(warehouse: Warehouse) -> None:
    shares = {"IN:family_harmony": (0.4, 0.3), "IN:My own value": (0.1, 0.3), "IN:Group Loyalty": (0.4, 0.4),
              "baseline:family_harmony": (0.3, None)}  # fmt: skip
    rows = [
        row("value_share", ("culture_value", where), share, null_value=null, n_scored=270)
        for where, (share, null) in shares.items()
    ]
    unscored = row("value_share", ("culture_value", "JP:family_harmony"), None, null_value=0.3)
    store(warehouse, "m", [*rows, unscored])
    by_value = {(r["culture"], r["label"]): r for r in rows_of(warehouse, "worldwise_values")}
    harmony = by_value["IN", "Family Harmony"]
    assert (harmony["value"], harmony["share"], harmony["baseline_share"]) == ("family_harmony", 0.4, 0.3)
    assert (harmony["shift"], harmony["times"], harmony["rank"]) == (pytest.approx(0.1), 108, 1)
    # The label replaces the value's key; a value that the reference data lacks is its own label.
    loyalty, own = by_value["IN", "Group Loyalty"], by_value["IN", "My own value"]
    assert (loyalty["value"], loyalty["rank"]) == ("group_loyalty", 1)
    assert (own["value"], own["rank"]) == ("My own value", 3)
    assert by_value["baseline", "Family Harmony"]["shift"] is None
    japan = by_value["JP", "Family Harmony"]
    assert (japan["share"], japan["rank"], japan["unscored_reason"]) == (None, None, "refused")


def test_views_show_the_newest_run_of_worldwise_only(warehouse: Warehouse) -> None:
    store(warehouse, "m", [row("alignment", ("culture", "IN"), 6.0), *gain(0.1)])
    for view in ("leaderboard_worldwise", "worldwise_by_culture"):
        assert len(rows_of(warehouse, view)) == 1
    with warehouse.write() as connection:
        connection.execute("UPDATE run_base SET evaluation = 'other'")
    for view in (
        "leaderboard_worldwise",
        *(f"worldwise_{by}" for by in ("by_culture", "by_dimension", "values")),
    ):
        assert not rows_of(warehouse, view)


def test_every_metric_of_the_page_is_in_the_catalogue(warehouse: Warehouse) -> None:
    metrics = {r["metric"] for r in model_rows(0.1, ["IN", "JP"], ["other"], seed=0)}
    known = set(warehouse.query("SELECT metric FROM metric WHERE evaluation = 'worldwise'")["metric"])
    assert metrics == known
