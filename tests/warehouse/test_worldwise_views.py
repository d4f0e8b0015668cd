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


def test_by_culture_has_recognition_and_variety_of_each_and_stereotypes_of_all(warehouse: Warehouse) -> None:
    rows = [
        row("alignment", ("culture", "AE"), 7.0, null_value=6.6),
        row("persona_recognition", ("culture", "AE"), 0.7, null_value=0.0),
        row("answer_variety", ("culture", "AE"), 0.9, null_value=0.97),
        row("stereotype_score", ("culture", "AE"), 8.0, null_value=9.4),
        row("stereotype_score", ("culture", "baseline"), 9.0, null_value=9.5),
    ]
    store(warehouse, "m", rows)
    names = ("culture_name", "recognition", "variety", "null_variety", "stereotype_score", "null_stereotype")
    query = f"SELECT {', '.join(names)} FROM worldwise_by_culture ORDER BY culture"
    assert warehouse.query(query).rows() == [
        ("the United Arab Emirates", 0.7, 0.9, 0.97, 8.0, 9.4), ("baseline", None, None, None, 9.0, 9.5),
    ]  # fmt: skip


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


def test_every_metric_of_the_page_is_in_the_catalogue(warehouse: Warehouse) -> None:
    metrics = {r["metric"] for r in model_rows(0.1, ["IN", "JP"], ["other"], seed=0)}
    known = set(warehouse.query("SELECT metric FROM metric WHERE evaluation = 'worldwise'")["metric"])
    assert metrics == known
