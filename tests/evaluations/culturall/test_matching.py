"""Right and wrong answers, decided without a judge."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from tasks.evaluations.culturall.matching import is_match, is_right, plain
from tasks.evaluations.culturall.matching.choices import chosen_letter, options
from tasks.evaluations.culturall.matching.quantities import numbers

QUESTION = "Which one is poured first? A. tea B. coffee C. cocoa D. water"


@pytest.mark.parametrize(
    ("answer", "gold", "language", "is_equal"),
    [
        ("表舅。", "表舅", "zh", True),
        ("２４元", "24元", "zh", True),
        ("10 টাকা", "১০ টাকা", "bn", True),
        ("1,00,000", "100000", "en", True),
        ("1.000 đồng", "1000 đồng", "vi", True),
        ("3,5", "3.5", "ru", True),
        ("The mother-in-law", "mother in law", "en", True),
        ("مُحَمَّد", "محمد", "ar", True),
        ("2月10日", "2024年2月10日", "zh", True),
        ("5 May", "May 5", "en", True),
        ("15 тамыз", "15 тамыз 2024", "kk", True),
        ("25元", "24元", "zh", False),
        ("24美元", "24元", "zh", False),
        ("between 20 and 24", "24", "en", False),
        ("May 6", "May 5", "en", False),
        ("5 May 2023", "5 May 2024", "en", False),
        ("an aunt or an uncle", "an aunt", "en", False),
        ("?!", "...", "en", False),
        ("", "24", "en", False),
        ("-3", "3", "en", False),
    ],
)
def test_answers_match_by_value_and_language(answer: str, gold: str, language: str, is_equal: bool) -> None:
    assert is_match(answer, [gold], language) == is_equal
    assert is_match(gold, [answer], language) == is_equal
    assert is_match(answer, ["another", gold], language) == is_equal


@pytest.mark.parametrize(
    ("answer", "gold", "language", "is_it"),
    [
        ("3,2tr", "3,2 triệu", "vi", True),
        ("3,2 tr đồng", "3,2 triệu đồng", "vi", True),
        ("400 lucas", "400.000 pesos", "es", None),
        ("40 lucas", "400.000 pesos", "es", None),
        ("41 lucas", "400.000 pesos", "es", False),
    ],
)
def test_an_unknown_word_after_a_number_may_be_a_factor(
    answer: str, gold: str, language: str, is_it: bool | None
) -> None:
    assert is_right(answer, {language: (gold,)}, {language: ""}) is is_it


def test_separators_of_thousands_follow_the_language() -> None:
    """4.000 is four thousand in Spanish and four in English."""
    assert is_match("4.000 guaraníes", ["4.000 guaraníes"], "es")
    assert not is_match("4 guaraníes", ["4.000 guaraníes"], "es")
    assert not is_match("4.000 guaraníes", ["4,000 guaraníes"], "en")


@pytest.mark.parametrize(
    ("answer", "accepted", "language", "region", "is_right"),
    [
        ("$36", ["36元"], "zh", "HK", True),
        ("36港元", ["36元"], "zh", "HK", True),
        ("US$36", ["36元"], "zh", "HK", False),
        ("400.000 dólares", ["400.000 pesos"], "es", "AR", False),
        ("$ 400.000", ["400.000 pesos"], "es", "AR", True),
        ("4:3", ["4,3"], "es", "CL", False),
        ("27%", ["27"], "es", "AR", False),
        ("27", ["27%"], "es", "AR", False),
        ("El 5 de julio", ["5 de julio"], "es", "CO", True),
        ("5/7", ["5 de julio"], "es", "CO", True),
        ("7/5", ["5 de julio"], "es", "CO", False),
        ("5 July 2026", ["5 July", "5 July 2027"], "en", "CO", False),
        ("lunes 5 de julio", ["5 de julio", "5 de julio de 2027"], "es", "CO", True),
        ("martes 5 de julio", ["5 de julio", "5 de julio de 2027"], "es", "CO", False),
        ("В 16:00", ["16:00"], "ru", "RU", True),
        ("4 часа дня", ["16:00"], "ru", "RU", True),
        ("4 часа утра", ["16:00"], "ru", "RU", False),
        ("11:00 صباحًا", ["11 صباحًا"], "ar", "JO", True),
        ("11 مساءً", ["11 صباحًا", "11:00"], "ar", "JO", False),
        ("2028年（令和10年）", ["2028年"], "ja", "JP", True),
        ("2028年（令和9年）", ["2028年"], "ja", "JP", False),
        ("до 19. маја 2025.", ["19. мај", "19. мај 2025."], "sr", "RS", True),
        ("Vrlo dobar", ["Врло добар"], "sr", "RS", True),
        ("3,25 m", ["325 cm"], "vi", "VN", True),
        ("2 (two)", ["2"], "en", "", True),
        ("2 (three)", ["2"], "en", "", False),
    ],
)
def test_units_currencies_dates_and_times_are_read_by_place(
    answer: str, accepted: list[str], language: str, region: str, is_right: bool
) -> None:
    assert is_match(answer, accepted, language, "", region) == is_right


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        *dict.fromkeys(
            ("B", "b", "(B)", "(b)", "B. coffee", "coffee", "The answer is B", "B is correct", "В", "Ｂ"), "B"
        ).items(),
        *dict.fromkeys(
            (
                "",
                "A or B",
                "milk",
                "I do not know",
                "Not B",
                "It is not B.",
                "B. tea",
                "A. tea B. coffee",
                QUESTION,
            )
        ).items(),
    ],
)
def test_letter_is_read_and_never_guessed(answer: str, letter: str | None) -> None:
    assert chosen_letter(answer, QUESTION) == letter


def test_options_are_read_in_any_script() -> None:
    chinese = options("哪个？\nA、茶\nB、咖啡\nC、可可\nD、水")
    assert chinese == {"A": "茶", "B": "咖啡", "C": "可可", "D": "水"}
    assert options("A. one B. two") == {}


def test_ambiguous_number_has_each_possible_value() -> None:
    assert numbers("1.000") == [frozenset({1.0, 1000.0})]
    assert numbers("1.000.000 or 1 000") == [frozenset({1e6}), frozenset({1000.0})]
    assert numbers("٣٫٥") == [frozenset({3.5})]


def test_plain_text_drops_articles_and_punctuation_and_keeps_vowel_signs() -> None:
    assert plain("ជំរាបសួរ!") == "ជំរាបសួរ"
    assert plain("  A  Cup, of TEA ") == "cup of tea"


PAIRS = list(csv.DictReader(Path(__file__).with_name("pairs.csv").open(encoding="utf-8")))


def test_pairs_cover_languages_and_kinds() -> None:
    languages = Counter(pair["language"] for pair in PAIRS)
    assert len(PAIRS) >= 200
    assert (len(languages), min(languages.values()) >= 14) == (14, True)
    kinds = {"unit", "bare", "denial", "bound", "range", "hedge", "numeral", "decimal", "scale", "form"}
    assert kinds <= {pair["kind"] for pair in PAIRS}
    assert 0.3 < sum(pair["is_right"] == "1" for pair in PAIRS) / len(PAIRS) < 0.7


@pytest.mark.parametrize("language", sorted({pair["language"] for pair in PAIRS}))
def test_pairs_match_as_labelled(language: str) -> None:
    wrong = [
        (pair["kind"], pair["answer"], pair["accepted"])
        for pair in PAIRS
        if pair["language"] == language
        and is_match(pair["answer"], pair["accepted"].split("|"), language, pair["question"])
        != (pair["is_right"] == "1")
    ]
    assert not wrong


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("700 р.", True), ("700р", True), ("700 рб", None), ("700 долларов", False), ("70 р.", False)],
)
def test_signs_of_withdrawn_currencies_and_unknown_units_after_the_right_number(
    answer: str, expected: bool | None
) -> None:
    accepted = {"ru": ("700 рублей", "700"), "en": ("700 roubles", "seven hundred roubles", "700")}
    assert is_right(answer, accepted, {}, "RU") is expected
