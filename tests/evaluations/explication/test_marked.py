"""Counts in twenty conversations equal those of a person who read them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluations.explication.materials import RECOMMENDER, USER, end_of, load_task
from tasks.evaluations.explication.measures import Dishes, Measures, measure
from tasks.loop.dialogue import Dialogue, Talk, Voice
from tests.evaluations.explication.conftest import DISHES, PERSONAS

TALKS = tomllib.loads(Path(__file__).with_name("marked.toml").read_text(encoding="utf-8"))["talk"]
COUNTS = [
    "questions",
    "dish_requests",
    "elicited",
    "unasked",
    "contradicted",
    "divulged",
    "confused",
    "repeated",
]


def measured(marked: Mapping[str, Any]) -> tuple[Talk, Measures]:
    """Return the conversation and its measures."""
    task = load_task(marked.get("task", "breakfast"))
    voices = (Voice(RECOMMENDER), Voice(USER, role="simulator"))
    talk = Talk(Dialogue("marked", voices, lambda turns: end_of(task, turns), len(marked["turns"])))
    for turn in marked["turns"]:
        talk.add_turn(turn[3:], 1)
    return talk, measure(PERSONAS[marked["persona"]], task, talk.turns, Dishes.of(DISHES))


@pytest.mark.parametrize("marked", TALKS, ids=[f"{n}-{t['persona']}" for n, t in enumerate(TALKS, 1)])
def test_counts_of_a_conversation_equal_counts_by_hand(marked: Mapping[str, Any]) -> None:
    assert (len(TALKS), len({talk["persona"] for talk in TALKS}) >= 6) == (20, True)
    talk, measures = measured(marked)
    counted = {name: getattr(measures, name) for name in COUNTS}
    counted["new"] = round((measures.new_questions or 0) * measures.questions)
    counted["used"] = measures.used or 0
    counted["kinds"] = measures.question_kinds
    assert counted == {name: marked.get(name, 0) for name in counted}
    sections = load_task(marked.get("task", "breakfast")).sections
    of = (len(sections), len(sections), sum(section.words is not None for section in sections))
    shares = (measures.sections, measures.exact_labels, measures.near_length)
    form = [round((share or 0) * n) for share, n in zip(shares, of, strict=True)]
    assert form == marked.get("form", [0, 0, 0])
    assert sorted(measures.told) == sorted(marked.get("told", []))
    for verdict, name in ((False, "violated"), (True, "kept"), (None, "undecided")):
        named = [what for what, kept in measures.kept.items() if kept is verdict]
        assert sorted(named) == sorted(marked.get(name, [])), name
    is_recommended = "#Dish" in marked["turns"][-1] or "#Gift" in marked["turns"][-1]
    is_recommended |= "Celebration:**" in marked["turns"][-1]
    ended = "recommendation" if is_recommended else marked.get("ended_by", "turn limit")
    assert talk.ended_by == ended
