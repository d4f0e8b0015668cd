"""Letters of options and short answers, read from texts in many languages."""

from __future__ import annotations

import pytest

from tasks.evaluations.recipe.normal import normalised, stands_in, steps_of
from tasks.evaluations.recipe.options import letter

DISHES = ("Vietnam", "Peru", "Norway", "Kenya")

SECOND = (
    "B", "b", "B.", "(B)", "[B]", "**B**", "`B`", "B)", "B: Peru", "B. Peru", "(b) Peru", "Ｂ", "Peru",
    "peru.", "**Peru**", "It is from Peru.", "The answer is B.", "The answer is (b).", "the answer is: b",
    "Answer: B",
    "Answer: **B**", "ANSWER: B", "Option B", "The correct option is B, not A.",
    "The correct answer is option B: Peru", "I think that it is B",
    "A dish like this is from the Andes, so B.", "I'd say B", "答案是 B。", "La réponse est B",
    "B\n\nBecause ceviche is Peruvian.", "Final answer\nB",
)  # fmt: skip
NONE = (
    "A dish that I do not know", "I do not know", "A or B", "B and C", "Peru or Kenya", "E",
    "The answer is E", "None of them", "Bolivia", "USB", "",
)  # fmt: skip
LETTERS = [*((text, 1) for text in SECOND), ("A", 0), *((text, None) for text in NONE)]


@pytest.mark.parametrize(("text", "place"), LETTERS)
def test_letter_or_option_is_read_from_a_text(text: str, place: int | None) -> None:
    assert letter(text, DISHES) == place


def test_options_that_are_letters_or_numbers_are_read_by_text() -> None:
    assert letter("B", ("B", "A")) == 0
    assert letter("3", ("2", "3")) == 1
    assert letter("I", ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")) == 8


STEPS = {"en": ("nfkc", "casefold", "punctuation", "articles_en", "spaces"), "*": ("casefold", "spaces")}


@pytest.mark.parametrize(
    ("language", "text", "plain"),
    [
        ("en", "  The  “Rupee”!", "rupee"),
        ("en", "ＹＥＮ", "yen"),
        ("en", "the", "the"),  # nothing is left: the whole text
        ("en", "U.S. dollar", "u s dollar"),
        ("de", "Die  Straße", "die strasse"),
        ("xx", "A b", "a b"),
    ],
)
def test_answers_are_normalised_by_language(language: str, text: str, plain: str) -> None:
    assert normalised(text, steps_of(STEPS, language)) == plain


def test_diacritics_are_removed_only_on_request() -> None:
    assert normalised("złoty école", ("diacritics",)) == "złoty ecole"  # ł is a letter, no l with a mark
    assert normalised("हिन्दी", ("punctuation",)) == "हिन्दी"
    assert steps_of({}, "en") == ("nfkc", "casefold", "punctuation", "spaces")


@pytest.mark.parametrize(
    ("accepted", "text", "is_there"),
    [
        ("yen", "it is the yen", True),
        ("yen", "it is yens", False),
        ("real", "it is not really", False),
        ("brazilian real", "the brazilian real of today", True),
        ("円", "日本円です", True),
        ("บาท", "เงินบาทไทย", True),
        ("원", "한국 원화", False),  # Korean has spaces between words
        ("c++", "i know c++ well", True),
    ],
)
def test_accepted_answer_matches_whole_words(accepted: str, text: str, is_there: bool) -> None:
    assert stands_in(accepted, text) is is_there
