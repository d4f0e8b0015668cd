"""What is read of texts: letters of options, short answers in their languages."""

from __future__ import annotations

import pytest

from tasks.evaluations.recipe.normal import normalised, stands_in, steps_of
from tasks.evaluations.recipe.options import letter

DISHES = ("Vietnam", "Peru", "Norway", "Kenya")

LETTERS: tuple[tuple[str, int | None], ...] = (
    ("B", 1),
    ("b", 1),
    ("B.", 1),
    ("(B)", 1),
    ("[B]", 1),
    ("**B**", 1),
    ("`B`", 1),
    ("B)", 1),
    ("B: Peru", 1),
    ("B. Peru", 1),
    ("(b) Peru", 1),
    ("Ｂ", 1),
    ("Peru", 1),
    ("peru.", 1),
    ("**Peru**", 1),
    ("It is from Peru.", 1),
    ("The answer is B.", 1),
    ("The answer is (b).", 1),
    ("the answer is: b", 1),
    ("Answer: B", 1),
    ("Answer: **B**", 1),
    ("ANSWER: B", 1),
    ("Option B", 1),
    ("The correct option is B, not A.", 1),
    ("The correct answer is option B: Peru", 1),
    ("I think that it is B", 1),
    ("A dish like this is from the Andes, so B.", 1),
    ("I'd say B", 1),
    ("答案是 B。", 1),
    ("La réponse est B", 1),
    ("B\n\nBecause ceviche is Peruvian.", 1),
    ("Final answer\nB", 1),
    ("A", 0),
    ("A dish that I do not know", None),
    ("I do not know", None),
    ("A or B", None),
    ("B and C", None),
    ("Peru or Kenya", None),
    ("E", None),
    ("The answer is E", None),
    ("None of them", None),
    ("Bolivia", None),
    ("USB", None),
    ("", None),
)


@pytest.mark.parametrize(("text", "place"), LETTERS)
def test_a_letter_is_read_as_people_read_it(text: str, place: int | None) -> None:
    assert letter(text, DISHES) == place


def test_options_that_are_letters_or_numbers_are_read_by_their_text() -> None:
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
def test_answers_are_compared_in_the_form_of_their_language(language: str, text: str, plain: str) -> None:
    assert normalised(text, steps_of(STEPS, language)) == plain


def test_marks_go_where_a_definition_says_so() -> None:
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
def test_an_accepted_answer_stands_in_a_text_as_words(accepted: str, text: str, is_there: bool) -> None:
    assert stands_in(accepted, text) is is_there
