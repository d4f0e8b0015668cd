"""Answers that are right without a judge, and those that are not."""

from __future__ import annotations

import pytest

from tasks.evaluations.culturall.matching import chosen_letter, is_match, numbers, options, plain

QUESTION = "Which one is poured first? A. tea B. coffee C. cocoa D. water"


@pytest.mark.parametrize(
    ("answer", "gold", "language"),
    [
        ("表舅。", "表舅", "zh"),
        ("２４元", "24元", "zh"),
        ("24", "24元", "zh"),
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


@pytest.mark.parametrize("answer", ["", "A or B", "milk", "I do not know"])
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
