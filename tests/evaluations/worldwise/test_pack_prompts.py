"""Texts of a pack in place of the shipped ones: persona, question and embedded text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tasks.evaluations.worldwise.model_rows import stereotype_rows
from tasks.evaluations.worldwise.pack import PACK
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.read import WorldwiseAnswer, answer_texts
from tasks.evaluations.worldwise.rows import alignment_rows
from tasks.evaluations.worldwise.study import WorldwiseStudy, build_study
from tasks.loop.prompts import Completion
from tests.evaluations.worldwise.conftest import MakeStudy, placed_at, scored, space_of, tables

PROMPTS = {
    "persona": "You live in {{ place }}; your neighbours are {{ people }}.",
    "baseline": "You are asked by a stranger.",
    "question": "{{ scenario }} Say A or B, and three of: {{ values }}.",
    "embedded": "{{ explanation }} {{ decision }} {{ value_1 }} {{ value_2 }} {{ value_3 }}",
}
CULTURES = [
    {"country": "IN", "place": "Mysuru", "people": "Indian"},
    {"country": "JP", "place": "Kamakura", "people": "Japanese"},
]


def study(prompts: dict[str, str] = PROMPTS, rows: Any = None, **knobs: Any) -> WorldwiseStudy:
    own = {"prompts": [prompts], "culture": CULTURES} | (rows or {})
    knobs = {"models": ["m"], "targets": "by_hand"} | knobs
    return build_study(WorldwiseParams(**knobs), PACK.added(own, tables()))


def prompts_of(study: WorldwiseStudy, culture: str, scenario: str) -> list[str]:
    (sample,) = (s for s in study.samples if s.key == (culture, scenario, 0))
    return [str(message["content"]) for message in sample.prompt.conversation]


def test_persona_and_question_are_the_packs_and_change_the_config_hash() -> None:
    own = study()
    values = "Family Harmony; Future Planning; Achievement & Success; Group Loyalty"
    question = f"What should i1 do? Say A or B, and three of: {values}."
    assert prompts_of(own, "JP", "i1") == ["You live in Kamakura; your neighbours are Japanese.", question]
    assert prompts_of(own, "baseline", "i1") == ["You are asked by a stranger.", question]
    assert own.config_hash() != study({**PROMPTS, "embedded": "{{ explanation }}"}).config_hash()
    assert build_study(WorldwiseParams(models=["m"], targets="by_hand"), tables()).templates == {}


def test_cultures_missing_from_the_pack_are_left_out_or_refused_by_name() -> None:
    assert [c.culture for c in study().content.cultures] == ["baseline", "IN", "JP"]
    with pytest.raises(ValueError, match=r"uses place, people: add MX to culture\.csv"):
        study(cultures=["MX"])
    assert "MX" in [c.culture for c in study({"baseline": "Hello."}).content.cultures]


def test_embedded_text_follows_the_packs_template() -> None:
    own = study()
    reading = WorldwiseAnswer("A", ("Group Loyalty", "Future Planning"), "Kin first.")
    declined = WorldwiseAnswer("Decline", ("Group Loyalty",), "No.")
    texts = answer_texts(own, {("JP", "i1", 0): reading, ("JP", "i2", 0): declined})
    assert texts == ["Kin first. Option A Group Loyalty Future Planning", "No. Decline Group Loyalty"]


def test_scenarios_without_options_need_a_question() -> None:
    bare = {"scenario": "x1", "dimension": "individualism", "framework": "hofstede", "category": "c"}
    bare["text"] = "What?"
    assert prompts_of(study(rows={"scenario": [bare]}), "JP", "x1")[1].startswith("What? Say A or B")
    with pytest.raises(ValueError, match="x1: no options"):
        study({"baseline": "Hello."}, rows={"scenario": [bare]})


def test_tables_of_a_pack_replace_the_shipped_ones() -> None:
    values = [{"value": f"v{n}", "label": f"Value {n}"} for n in range(3)]
    targets = [
        {"profile": "seed_bucketed", "country": code, "framework": "hofstede", "dimension": d, "score": 1.0}
        for code in ("IN", "JP")
        for d in ("individualism", "power_distance")
    ]
    rows = {"guiding_value": values, "culture_profile": targets, "replaces": [{"files": ["guiding_value"]}]}
    own = study(rows=rows, targets="seed_bucketed")
    assert own.content.labels == ["Value 0", "Value 1", "Value 2"]
    assert own.content.cultures[1].target == {"individualism": 1.0, "power_distance": 1.0}


def test_unreadable_answer_is_unscored_or_zero_by_parameter(make_study: MakeStudy) -> None:
    for unread, expected in (("unscored", np.nan), ("zero", 0.0)):
        own = make_study(unread=unread, repetitions=1)
        answers = placed_at(own)
        for culture in ("IN", "baseline"):
            answers[culture, "i1", 0] = Completion("I would rather not say.", "stop", 1, 1)
        del answers["JP", "i1", 0]
        points = scored(own, answers).alignment[:, 0, 0]
        np.testing.assert_equal(points[[0, 1, 2]], [np.nan, expected, np.nan])
        assert points[3] > 0
        mean = next(row for row in alignment_rows(own, space_of(own), scored(own, answers)))
        assert (mean.metric, mean.n_scored) == ("alignment", 10 + (unread == "zero"))
    assert make_study(unread="unscored").config_hash() != make_study().config_hash()


def test_program_rule_counts_phrases_in_the_whole_response(make_study: MakeStudy) -> None:
    """The word "decision" occurs in the responses' JSON but in no explanation."""
    rows = {**tables(), "stereotype": [{"phrase": "decision"}]}
    scores = {}
    for rule in ("substring", "program"):
        knobs = WorldwiseParams(models=["m"], targets="by_hand", repetitions=1, stereotype_rule=rule)
        own = build_study(knobs, rows)
        first = next(iter(stereotype_rows(own, scored(own, placed_at(own)))))
        scores[rule] = first.value
    assert scores["substring"] == 10.0
    assert scores["program"] is not None
    assert scores["program"] < 10.0
