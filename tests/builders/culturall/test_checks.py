"""Planted faults of each kind are named; items without one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tasks.builders.culturall.checks import DOUBTS, Labels, draft_faults, release_faults, unchanged
from tasks.evaluations.culturall.items import Item, Texts
from tests.builders.culturall.model_server import items, with_texts

REGIONS = {"JP", "KZ", "RU", "ES", "KH", "GB"}
SPOKEN = {"JP": ["ja"], "KZ": ["kk", "ru"], "RU": ["ru"], "KH": ["km"]}

GOOD = Item(
    item="a",
    language="en",
    region="GB",
    topic="Habitat",
    form="free",
    native=Texts(
        "Mira rents a room on the first floor of an old house in Leeds. Her aunt from Kansas, who has never "
        "been abroad, comes to visit and stands at the front door with her suitcase.",
        "How many flights of stairs does the aunt have to climb to the room?",
        "One",
        "In Britain the floor at street level is the ground floor.",
    ),
)
CHOICE = replace(
    GOOD,
    form="choice",
    native=Texts(
        GOOD.native.scenario,
        "Where is the room?\nA. at the street\nB. one up\nC. two up\nD. three up",
        "B",
        "So.",
    ),
)


def reasons(item: Item, **labels: Any) -> set[str]:
    return {fault.reason for fault in release_faults(item, Labels(**labels), REGIONS, SPOKEN)}


def test_good_items_pass() -> None:
    assert reasons(GOOD) == reasons(CHOICE) == set()
    shipped = items("ar be bn en es ja kk km ko ms ru sr vi zh")
    faulty = {item.item: {fault.reason for fault in draft_faults(item)} for item in shipped}
    assert [name for name, faults in faulty.items() if faults - DOUBTS] == []
    assert 0 < sum(map(bool, faulty.values())) < 0.05 * len(shipped)  # doubts


@pytest.mark.parametrize(
    ("planted", "reason"),
    [
        (with_texts(GOOD, answer=" "), "incomplete"),
        (with_texts(GOOD, scenario="a b " * 600), "too_long"),
        (with_texts(GOOD, answer="one " * 13), "too_long"),
        (with_texts(CHOICE, question="Where?\nA. here\nB. there\nC. nowhere"), "broken_choice"),
        (with_texts(CHOICE, question="Where?\nA. here\nB. there\nC. Here\nD. up"), "broken_choice"),
        (with_texts(CHOICE, answer="E"), "broken_choice"),
        (with_texts(GOOD, answer="the first floor"), "answer_leaked"),
        (replace(with_texts(GOOD, answer="1st"), variants=("First Floor!",)), "answer_named"),
        (with_texts(CHOICE, scenario=CHOICE.native.scenario + " It is one up."), "answer_leaked"),
        (with_texts(GOOD, answer="flights"), "answer_named"),
        (replace(GOOD, language="es"), "wrong_language"),
        (replace(GOOD, language="kk"), "wrong_language"),
        (replace(GOOD, region="UX"), "unknown_region"),
        (replace(GOOD, region=""), "unknown_region"),
        (replace(GOOD, region="KZ"), "region_language"),
        (replace(GOOD, topic="Weather"), "unknown_topic"),
        (with_texts(GOOD, explanation="Ask mira.smith@example.org about it."), "personal_data"),
        (with_texts(GOOD, explanation="Call +44 113 496 0000 about it."), "personal_data"),
    ],
)
def test_planted_faults_are_named(planted: Item, reason: str) -> None:
    assert reason in reasons(planted)


def test_a_leak_is_found_in_scripts_without_spaces() -> None:
    item = next(item for item in items("ja") if item.form == "free" and len(item.native.answer) > 2)
    leaked = with_texts(item, scenario=f"{item.native.scenario}{item.native.answer}だ。")
    assert "answer_leaked" not in {fault.reason for fault in draft_faults(item)}
    assert "answer_leaked" in {fault.reason for fault in draft_faults(leaked)}


def test_models_only_cast_doubt() -> None:
    said = {"region": "KZ", "topic": "Food", "content": "offensive"}
    assert reasons(GOOD, **said) == {"region_differs", "topic_differs", "sensitive"} < DOUBTS


def test_a_translation_is_held_to_its_source() -> None:
    item = next(item for item in items("ru") if item.form == "free" and item.region == "RU")
    assert item.english
    assert reasons(item) & {"not_translated", "translation_differs"} == set()
    assert "not_translated" in reasons(replace(item, english=None))
    assert "not_translated" in reasons(replace(item, english=item.native))
    same = (item.native.scenario, item.native.question, item.native.answer)
    assert "translation_differs" not in reasons(item, back=same)
    assert "translation_differs" in reasons(item, back=(*same[:2], "что-то иное"))
    assert "translation_differs" in reasons(item, back=("Кот спит на диване.", "Где он спит?", same[2]))
    lost = with_texts(item, scenario=item.native.scenario + " Он заплатил 1917 рублей.")
    assert "translation_differs" in reasons(lost)
    dated = with_texts(item, scenario=f"{item.native.scenario} Сегодня 01.03.2024.")
    assert "translation_differs" not in reasons(dated)  # the translation may write a date in words
    choice = next(item for item in items("ru") if item.form == "choice")
    assert choice.english
    other = "ABCD".replace(choice.native.answer, "")[0]
    turned = replace(choice, english=choice.english._replace(answer=other))
    assert "broken_choice" in reasons(turned)


def test_options_and_answer_of_a_source_stay() -> None:
    choices = ["at the street", "one up", "two up", "three up"]
    assert unchanged(CHOICE, choices, "B") == []
    assert [f.reason for f in unchanged(CHOICE, choices, "C")] == ["answer_changed"]
    assert [f.reason for f in unchanged(CHOICE, choices[::-1], "B")] == ["choice_changed"]
    assert [f.reason for f in unchanged(GOOD, choices, "B")] == ["choice_changed"]
    assert unchanged(GOOD, [], "one") == []
    assert [f.reason for f in unchanged(GOOD, [], "Two")] == ["answer_changed"]
