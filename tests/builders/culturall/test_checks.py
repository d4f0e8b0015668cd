"""Planted faults of texts, languages and duplicates are found; good items pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tasks.builders.culturall.checks import (
    DOUBTS,
    Labels,
    draft_faults,
    near_duplicates,
    release_faults,
    unchanged,
)
from tasks.builders.culturall.language import SCRIPTS, identify, wrong_language
from tasks.builders.culturall.params import ReleaseParams
from tasks.builders.culturall.release import easy
from tasks.evaluations.culturall.items import CulturallItem, ItemTexts
from tests.builders.culturall.model_server import items, with_texts

ALL = items("ar be bn en es ja kk km ko ms ru sr vi zh")
REGIONS = {"JP", "KZ", "RU", "ES", "KH", "GB"}
SPOKEN = {"JP": ["ja"], "KZ": ["kk", "ru"], "RU": ["ru"], "KH": ["km"]}

GOOD = CulturallItem(
    item="a", language="en", region="GB", topic="Habitat", form="free", native=ItemTexts(
        "Mira rents a room on the first floor of an old house in Leeds. Her aunt from Kansas, who has never "
        "been abroad, comes to visit and stands at the front door with her suitcase.",
        "How many flights of stairs does the aunt have to climb to the room?",
        "One",
        "In Britain the floor at street level is the ground floor.",
    ),
)  # fmt: skip
CHOICE = replace(
    GOOD,
    form="choice",
    native=ItemTexts(
        GOOD.native.scenario,
        "Where is the room?\nA. at the street\nB. one up\nC. two up\nD. three up",
        "B",
        "So.",
    ),
)


def reasons(item: CulturallItem, **labels: Any) -> set[str]:
    return {fault.reason for fault in release_faults(item, Labels(**labels), REGIONS, SPOKEN)}


def test_good_items_have_no_fault() -> None:
    assert reasons(GOOD) == reasons(CHOICE) == set()
    faulty = {item.item: {fault.reason for fault in draft_faults(item)} for item in ALL[::2]}
    assert [name for name, faults in faulty.items() if faults - DOUBTS] == []
    assert 0 < sum(map(bool, faulty.values())) < 0.05 * len(ALL) / 2  # only doubts


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
def test_planted_faults_are_named(planted: CulturallItem, reason: str) -> None:
    assert reason in reasons(planted)


def test_leaked_answer_is_found_in_scripts_without_spaces() -> None:
    item = next(item for item in items("ja") if item.form == "free" and len(item.native.answer) > 2)
    leaked = with_texts(item, scenario=f"{item.native.scenario}{item.native.answer}だ。")
    assert "answer_leaked" not in {fault.reason for fault in draft_faults(item)}
    assert "answer_leaked" in {fault.reason for fault in draft_faults(leaked)}


def test_labels_of_a_model_are_doubts_and_no_faults() -> None:
    labels = {"region": "KZ", "topic": "Food", "content": "offensive"}
    assert reasons(GOOD, **labels) == {"region_differs", "topic_differs", "sensitive"} < DOUBTS


def test_translation_is_checked_against_its_source() -> None:
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


def test_changed_options_or_answer_of_a_source_are_faults() -> None:
    choices = ["at the street", "one up", "two up", "three up"]
    assert unchanged(CHOICE, choices, "B") == unchanged(GOOD, [], "one") == []
    for item, options, answer, reason in (
        (CHOICE, choices, "C", "answer_changed"),
        (CHOICE, choices[::-1], "B", "choice_changed"),
        (GOOD, choices, "B", "choice_changed"),
        (GOOD, [], "Two", "answer_changed"),
    ):
        assert [fault.reason for fault in unchanged(item, options, answer)] == [reason]


def test_duplicates_are_found_within_and_across_languages() -> None:
    """A reworded and a translated copy are dropped; the original and items of one template are kept."""
    shipped = [item for item in items("ja kk") if item.english][:12]
    assert near_duplicates(shipped) == [None] * 12
    reworded = with_texts(replace(shipped[0], item="twin"), explanation="other words")
    reworded = with_texts(reworded, scenario=reworded.native.scenario.replace("。", "！"))
    abroad = replace(items("ru")[0], item="abroad", english=shipped[5].english)
    twins = near_duplicates([*shipped, reworded, abroad])
    assert twins[:12] == [None] * 12
    assert [twin.detail.split()[-1] for twin in twins[12:] if twin] == [shipped[0].item, shipped[5].item]


def test_duplicates_are_found_by_meaning() -> None:
    shipped = items("ja")[:4]
    vectors = np.eye(4, dtype=np.float32)
    assert near_duplicates(shipped, vectors) == [None] * 4
    vectors[3] = 7 * vectors[1] + 0.1
    twins = near_duplicates(shipped, vectors)
    assert twins[3] is not None
    assert shipped[1].item in twins[3].detail
    vectors[1] = vectors[2] = 0  # an item without a vector has no duplicate
    assert near_duplicates(shipped, vectors) == [None] * 4


def test_item_similar_only_to_a_duplicate_is_kept() -> None:
    """Each of three items is similar to the next: the second is dropped, the third is unlike the first."""
    vectors = np.array([[1, 0], [0.9, 0.436], [0.62, 0.785]], dtype=np.float32)
    twins = near_duplicates(items("ja")[:3], vectors)
    assert [twin is None for twin in twins] == [True, False, True]


def test_600_equal_items_are_one_item_and_599_duplicates() -> None:
    """Only kept items are compared, so that a model which repeats itself costs little time."""
    first, *_ = items("ja")
    twins = near_duplicates([replace(first, item=str(n)) for n in range(600)])
    assert [twin is None for twin in twins] == [True] + [False] * 599
    assert twins[-1] is not None
    assert twins[-1].detail == "100 % the same as 0"


def test_every_shipped_item_is_in_its_language_and_no_other() -> None:
    """Items of 14 languages, declared as each of the others: Serbian is not accepted as Russian, say."""
    for item in ALL[::6]:
        text = f"{item.native.scenario} {item.native.question}"
        passed = {language for language in SCRIPTS if wrong_language(text, language) is None}
        assert passed == {item.language}, item.item


@pytest.mark.parametrize(
    ("text", "language", "reason"),
    [
        ("Kato spava na kauču, a pas čeka ispred vrata.", "ru", "letters are of another script"),
        ("我今天早上在超市买了很多苹果和香蕉，因为它们很便宜。", "ja", "no kana"),
        ("今日はスーパーでりんごとバナナをたくさん買いました。", "zh", "HIRAGANA"),
        ("Сегодня утром мы купили в магазине хлеб и молоко.", "kk", "looks like ru"),
        ("Dnes ráno jsme v obchodě koupili chléb a mléko.", "en", "looks like cs"),
    ],
)
def test_wrong_declared_language_is_found_with_its_evidence(text: str, language: str, reason: str) -> None:
    assert reason in (wrong_language(text, language) or "")


def test_short_texts_and_unknown_languages_are_not_judged() -> None:
    assert identify("112") == ("", 0.0)
    assert wrong_language("Nein.", "km") is None
    assert wrong_language("Dnes ráno jsme v obchodě koupili chléb a mléko.", "chr") is None


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        # The paper leaves out items that all of its 15 settings solve. Three solvers leave out none.
        ({}, {(15, 15), (16, 16)}),
        ({"settings": 3}, {(3, 3), (15, 15), (16, 16)}),
        ({"settings": 3, "leave_out": "easy"}, {(2, 3), (3, 3), (10, 15), (14, 15), (15, 15), (16, 16)}),
        ({"settings": 1, "leave_out": "nothing"}, set()),
    ],
)
def test_option_sets_which_easy_items_are_left_out(
    given: dict[str, object], left_out: set[tuple[int, int]]
) -> None:
    params = ReleaseParams.model_validate(given)
    measured = [(0, 0), (1, 3), (2, 3), (3, 3), (9, 15), (10, 15), (14, 15), (15, 15), (16, 16)]
    assert {pair for pair in measured if easy(*pair, params)} == left_out
