"""Scenarios, dimensions, values and cultures from rows; selection and refusals."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.study import WorldwiseMaterials, build_materials
from tasks.identity import UnknownName
from tests.evaluations.worldwise.conftest import MakeStudy, Tables, tables

REFERENCE = Path(__file__).parents[3] / "warehouse/reference"
NAMES = ["scenario", "exemplar", "guiding_value", "country", "culture_profile", "persona", "stereotype"]


def shipped() -> Tables:
    """Return rows of the reference files."""
    rows: Tables = {}
    for table in NAMES:
        with (REFERENCE / f"{table}.csv").open(encoding="utf-8", newline="") as text:
            rows[table] = [dict(row) for row in csv.DictReader(text)]
    for row in rows["scenario"]:
        row["is_multi"] = row["is_multi"] == "true"
    return rows


# --- scenarios and dimensions


def test_scenarios_are_of_the_targets_framework(make_study: MakeStudy) -> None:
    m = make_study().content
    assert [s.scenario for s in m.scenarios] == ["i1", "i2", "p1", "p2"]
    # Ordered by framework, then by name.
    assert [d.dimension for d in m.dimensions] == ["individualism", "power_distance", "achievement"]
    assert m.primary.tolist() == [0, 0, 1, 1]
    without = make_study(multi_dimensional=False).content
    assert [s.scenario for s in without.scenarios] == ["i1", "i2", "p1"]


def test_scenarios_per_dimension_ignore_row_order(make_study: MakeStudy) -> None:
    chosen = make_study(scenarios_per_dimension=1).content.scenarios
    assert [s.dimension for s in chosen] == ["individualism", "power_distance"]
    assert chosen == make_study(scenarios_per_dimension=1).content.scenarios
    rows = tables()
    rows["scenario"].reverse()
    assert chosen == make_study(rows, scenarios_per_dimension=1).content.scenarios


# --- cultures


def test_cultures_have_persona_and_targets_and_are_chosen_by_code_or_name(make_study: MakeStudy) -> None:
    baseline, india, japan, mexico = make_study().content.cultures
    assert (baseline.culture, baseline.persona, baseline.target) == ("baseline", "", {})
    assert (india.culture, india.name, india.persona) == ("IN", "India", "You grew up in India.")
    assert india.target == {"individualism": 0.0, "power_distance": 1.5}
    assert make_study().content.targets[2].tolist() == [-1, -1, 0.5, 0.5]
    assert (japan.culture, mexico.culture) == ("JP", "MX")
    named = make_study(cultures=["japan", " in ", "JP"]).content.cultures
    assert [c.culture for c in named] == ["baseline", "IN", "JP"]


def test_culture_without_a_target_is_left_out_or_refused_by_name(make_study: MakeStudy) -> None:
    rows = tables()
    rows["culture_profile"] = [
        r for r in rows["culture_profile"] if (r["country"], r["dimension"]) != ("JP", "power_distance")
    ]
    assert [c.culture for c in make_study(rows).content.cultures] == ["baseline", "IN", "MX"]
    with pytest.raises(UnknownName, match="Japan"):
        make_study(rows, cultures=["Japan"])


def test_persona_is_in_the_cultures_own_language(make_study: MakeStudy) -> None:
    rows = tables()
    rows["country_name"] = [
        {"country": "JP", "language": "ja", "name": "日本"},
        {"country": "MX", "language": "xx", "name": "?"},  # no prompt in it
    ]
    cultures = make_study(rows, persona_language="own").content.cultures
    assert [c.persona for c in cultures] == [
        "", "You grew up in India.", "日本で育ちました。", "You grew up in Mexico.",
    ]  # fmt: skip
    assert make_study(rows).content.cultures[2].persona == "You grew up in Japan."
    assert make_study(rows, persona_language="own").config_hash() != make_study(rows).config_hash()


# --- targets


def published(scores: dict[str, float]) -> Tables:
    """Return the tables with published scores 0 to 100, the same on both dimensions."""
    rows = tables()
    rows["culture_profile"] = [
        {"profile": "hofstede_published", "country": code, "framework": "hofstede"}
        | {"dimension": axis, "score": score}
        for code, score in scores.items()
        for axis in ("individualism", "power_distance")
    ]
    return rows


def test_published_scores_become_linear_or_bucketed_targets(make_study: MakeStudy) -> None:
    rows = published({"IN": 0, "JP": 68, "MX": 112})
    linear = make_study(rows, targets="hofstede_published").content.cultures[1:]
    # 68 / 25 - 2; a score beyond 100 is 2.
    assert [c.target["individualism"] for c in linear] == pytest.approx([-2, 0.72, 2])
    bucketed = make_study(rows, targets="hofstede_bucketed").content.cultures[1:]
    assert [c.target["individualism"] for c in bucketed] == [-2, 1.5, 2]


@pytest.mark.parametrize(
    ("change", "chosen", "message"),
    [
        (None, {"targets": "by_hnd"}, "by_hand"),
        (None, {"cultures": ["Jpan"]}, "Japan"),
        (None, {"persona_language": "own"}, "names in their own languages"),
        (lambda r: r["culture_profile"][0].update(score=-3), {}, "neither on 0..100 nor on -2..\\+2"),
        (lambda r: r["culture_profile"][0].update(country="XX"), {}, "XX: not in table country"),
        (lambda r: r["culture_profile"][0].update(framework="schwartz"), {}, "hofstede, schwartz"),
        (lambda r: r["scenario"][0].update(dimension="altitude"), {}, "no exemplars .* for altitude"),
        (lambda r: [s.update(framework="other") for s in r["scenario"]], {}, "the scenarios of other"),
        (lambda r: [s.update(is_multi=True) for s in r["scenario"]], {"multi_dimensional": False}, "set mul"),
        (lambda r: r["exemplar"].pop(), {}, "for \\['high'\\] only"),
        (lambda r: r["exemplar"][4].update(dimension="individualism"), {}, "has exemplars|rename one"),
        (lambda r: r["guiding_value"][0].update(label="future planning"), {}, "the same label"),
        (lambda r: r["guiding_value"][0].update(label="Peace, Quiet"), {}, "Peace, Quiet"),
        (lambda r: r["guiding_value"].__delitem__(slice(2, None)), {}, "2 values, but an answer names three"),
        (lambda r: r["stereotype"].clear(), {}, "no stereotype phrases"),
        (lambda r: [p.update(dimension="individualism") for p in r["culture_profile"]], {}, "no culture has"),
    ],
)  # fmt: skip
def test_inconsistent_tables_and_unknown_names_are_refused(
    change: Callable[[Tables], object] | None, chosen: dict[str, Any], message: str
) -> None:
    rows = tables()
    if change:
        change(rows)
    with pytest.raises(ValueError, match=message):
        build_materials(WorldwiseParams(models=["m"], **{"targets": "by_hand"} | chosen), rows)


# --- the shipped material


def test_shipped_tables_make_studies_of_each_target_profile() -> None:
    rows = shipped()

    def content(**params: Any) -> WorldwiseMaterials:
        return build_materials(WorldwiseParams(models=["m"], **params), rows)

    whole = content(targets="hofstede_published")
    assert len(whole.cultures) > 60  # the baseline and at least 60 cultures
    assert len(whole.scenarios) >= 60
    assert len(whole.dimensions) == 16
    assert {s.framework for s in whole.scenarios} == {"hofstede"}
    fewer = content(targets="hofstede_published", multi_dimensional=False)
    assert 0 < len(fewer.scenarios) < len(whole.scenarios)
    printed = content(targets="seed_bucketed").cultures
    assert [c.culture for c in printed[1:]] == sorted(["US", "IN", "JP", "MX", "AE"])
    assert printed[3].target["uncertainty_avoidance"] == 2.0  # Japan; WorldWiseAI 2024, section 7.4
    bucketed = content(targets="hofstede_bucketed", cultures=["IN"]).cultures[1]
    assert bucketed.target["power_distance"] == 1.5
