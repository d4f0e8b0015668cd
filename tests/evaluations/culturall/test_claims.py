"""Tests of the claims that are left of an answer without courtesies, reasons and calculations.

chats.csv has answers that one reader wrote and labelled before matching read them: in Markdown, in sentences,
with explanations, with denials and corrections.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tasks.evaluations.culturall.choices import chosen_letter
from tasks.evaluations.culturall.claims import claims
from tasks.evaluations.culturall.matching import is_match
from tasks.evaluations.culturall.read import matches
from tests.evaluations.culturall.test_shipped_items import LANGUAGES, shipped

CHATS = Path(__file__).with_name("chats.csv")


@pytest.mark.parametrize(
    ("answer", "language", "claim"),
    [
        ("**Answer:** 24\n\nNote: some say 20.", "en", "24"),
        ("Sure! It is 24.", "en", "It is 24"),
        ("6 × 4 = **24**", "en", "24"),
        ("24 (six times four)", "en", "24"),
        ("24, because six times four is 24.", "en", "24"),
        ("Six fours are needed, so 24", "en", "24"),
        ("Ответ: 17 марта\n\nПояснение: 3 марта + 14 дней.", "ru", "17 марта"),
        ("正解はBです。\n理由：結婚は一度きり。", "ja", "Bです"),
        ("答案：**D**", "zh", "D"),
        ("الإجابة الصحيحة هي: B", "ar", "B"),
    ],
)
def test_claim_of_an_answer_is_found(answer: str, language: str, claim: str) -> None:
    assert claim in claims(answer, language)


@pytest.mark.parametrize(
    ("answer", "claim"),
    [
        ("Answer: 24. Final answer: 20.", "24"),
        ("It was 24. Sorry, 20.", "It was 24"),
        ("24 (20)", "24"),
        ("A. one\nB. two\nC. three", "A. one"),
        ("24! Or 20.", "24"),
    ],
)
def test_what_is_replaced_listed_or_beside_another_value_is_no_claim(answer: str, claim: str) -> None:
    assert claim not in claims(answer, "en")


QUESTION = "Which drink? A. tea B. coffee C. milk D. water"


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B. Coffee is what guests are given, not tea.", "B"),
        ("A. coffee", None),
        ("B. No wait, C.", None),
        ("The answer is B.\n\nTea (A) is for the morning.", "B"),
        ("Sorry, the answer is C", "C"),
        ("A. tea\nB. coffee\nC. milk\nD. water", None),
    ],
)
def test_letter_is_that_of_the_claim(answer: str, letter: str | None) -> None:
    assert chosen_letter(answer, QUESTION) == letter


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ("She has to pay 24 pesos.", True),
        ("Rosa pays 24 pesos at the stall.", True),
        ("Rosa pays 24 tonnes.", False),
        ("24 business days", False),
        ("Rosa does not pay 24 pesos.", False),
        ("Rosa pays 24 or 25 pesos.", False),
    ],
)
def test_sentence_around_a_number_repeats_question_and_scenario(answer: str, is_right: bool) -> None:
    asked = "How many pesos does she pay at the stall?"
    assert is_match(answer, ["24 pesos"], "en", asked, "MX", "Rosa stands before it.") is is_right


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_of_chat_models_are_read_as_labelled(language: str) -> None:
    items = {item.item: item for item in shipped()}
    with CHATS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, strict=True) if row["language"] == language]
    read = [(row["is_right"] == "1", matches(items[row["item"]], row["answer"])) for row in rows]
    right, wrong = ([is_taken for is_right, is_taken in read if is_right is label] for label in (True, False))
    assert min(len(right), len(wrong)) >= 30
    assert sum(wrong) <= 0.01 * len(wrong)
    assert len(right) - sum(right) <= 0.11 * len(right)
