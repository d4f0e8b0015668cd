"""Answers that are right without a judge, and those that are not."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from tasks.evaluations.culturall.items import load_items
from tasks.evaluations.culturall.matching import chosen_letter, is_match, options, plain
from tasks.evaluations.culturall.quantities import numbers
from tasks.packs.published import read_rows

QUESTION = "Which one is poured first? A. tea B. coffee C. cocoa D. water"


@pytest.mark.parametrize(
    ("answer", "gold", "language"),
    [
        ("表舅。", "表舅", "zh"),
        ("２４元", "24元", "zh"),
        ("10 টাকা", "১০ টাকা", "bn"),
        ("1,00,000", "100000", "en"),
        ("1.000 đồng", "1000 đồng", "vi"),
        ("3,5", "3.5", "ru"),
        ("The mother-in-law", "mother in law", "en"),
        ("مُحَمَّد", "محمد", "ar"),
        ("2月10日", "2024年2月10日", "zh"),
        ("5 May", "May 5", "en"),
        ("15 тамыз", "15 тамыз 2024", "kk"),
    ],
)
def test_same_answers(answer: str, gold: str, language: str) -> None:
    assert is_match(answer, [gold], language)
    assert is_match(gold, [answer], language)


@pytest.mark.parametrize(
    ("answer", "gold", "language"),
    [
        ("25元", "24元", "zh"),
        ("24美元", "24元", "zh"),
        ("between 20 and 24", "24", "en"),
        ("May 6", "May 5", "en"),
        ("5 May 2023", "5 May 2024", "en"),
        ("an aunt or an uncle", "an aunt", "en"),
        ("?!", "...", "en"),
        ("", "24", "en"),
        ("-3", "3", "en"),
    ],
)
def test_other_answers(answer: str, gold: str, language: str) -> None:
    assert not is_match(answer, [gold], language)
    assert not is_match(gold, [answer], language)


def test_a_variant_is_as_good_as_the_gold_answer() -> None:
    assert is_match("saunavuoro", ["the sauna", "saunavuoro"], "fi")


@pytest.mark.parametrize("answer", ["B", "b", "(B)", "B. coffee", "coffee", "The answer is B", "В", "Ｂ"])
def test_a_letter_is_read(answer: str) -> None:
    assert chosen_letter(answer, QUESTION) == "B"


@pytest.mark.parametrize("answer", ["", "A or B", "milk", "I do not know", "Not B", "It is not B."])
def test_no_letter_is_guessed(answer: str) -> None:
    assert chosen_letter(answer, QUESTION) is None


def test_options_are_found_in_any_script() -> None:
    chinese = options("哪个？\nA、茶\nB、咖啡\nC、可可\nD、水")
    assert chinese == {"A": "茶", "B": "咖啡", "C": "可可", "D": "水"}
    assert options("A. one B. two") == {}


def test_a_number_has_each_value_that_its_marks_allow() -> None:
    assert numbers("1.000") == [frozenset({1.0, 1000.0})]
    assert numbers("1.000.000 or 1 000") == [frozenset({1e6}), frozenset({1000.0})]
    assert numbers("٣٫٥") == [frozenset({3.5})]


def test_plain_keeps_the_vowels_of_scripts_that_need_them() -> None:
    assert plain("ជំរាបសួរ!") == "ជំរាបសួរ"
    assert plain("  A  Cup, of TEA ") == "cup of tea"


PAIRS = list(csv.DictReader(Path(__file__).with_name("pairs.csv").open(encoding="utf-8")))


def test_pairs_are_many_of_every_language_and_kind() -> None:
    languages = Counter(pair["language"] for pair in PAIRS)
    assert len(PAIRS) >= 200
    assert (len(languages), min(languages.values()) >= 14) == (14, True)
    kinds = {"unit", "bare", "denial", "bound", "range", "hedge", "numeral", "decimal", "scale", "form"}
    assert kinds <= {pair["kind"] for pair in PAIRS}
    assert 0.3 < sum(pair["is_right"] == "1" for pair in PAIRS) / len(PAIRS) < 0.7


@pytest.mark.parametrize("language", sorted({pair["language"] for pair in PAIRS}))
def test_units_denials_bounds_and_numerals(language: str) -> None:
    wrong = [
        (pair["kind"], pair["answer"], pair["accepted"])
        for pair in PAIRS
        if pair["language"] == language
        and is_match(pair["answer"], pair["accepted"].split("|"), language, pair["question"])
        != (pair["is_right"] == "1")
    ]
    assert not wrong


def test_what_an_item_accepts_is_right_but_for_a_bare_number_whose_unit_the_question_does_not_name() -> None:
    folder = Path("warehouse/reference/culturall_item")
    rows = [row for path in sorted(folder.glob("*.csv")) for row in read_rows(path)]
    for item in load_items(rows, "culturall_item").items:
        for text in item.accepted if item.form == "free" else ():
            is_right = is_match(text, item.accepted, item.language, item.native.question)
            assert is_right or not any(map(str.isalpha, text)), (item.item, text)


def test_a_translation_and_the_original_are_read_each_in_its_language() -> None:
    """4.000 is four thousand in Spanish and four in English."""
    assert is_match("4.000 guaraníes", ["4.000 guaraníes"], "es")
    assert not is_match("4 guaraníes", ["4.000 guaraníes"], "es")
    assert not is_match("4.000 guaraníes", ["4,000 guaraníes"], "en")
