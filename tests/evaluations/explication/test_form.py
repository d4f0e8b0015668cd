"""Recommendations in outputs of embedded models and in written texts, labelled by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluations.explication.materials import (
    RECOMMENDER,
    USER,
    load_task,
    recommendation_of,
    sections_of,
)
from tasks.loop.dialogue import Turn, Voice, own_words

TEXTS = tomllib.loads(Path(__file__).with_name("recommendations.toml").read_text(encoding="utf-8"))["text"]
VOICES = (Voice(RECOMMENDER), Voice(USER, role="simulator"))
FORMS = tomllib.loads(Path(__file__).with_name("forms.toml").read_text(encoding="utf-8"))
"""Batch -> texts, labelled before they were tried.

Missed and wrongly read at first contact: 27 of 65 and 0 of 42; then, each after the reader was mended: 10 of
42 and 1 of 32, 8 of 30 and 1 of 22, 7 of 25 and 0 of 12, 1 of 22 and 1 of 12, 4 of 20 and 0 of 10, 3 of 25
and 0 of 12, 3 of 20 and 1 of 10 (with further texts of what was mended then). Three of the four of the sixth
have labels in other languages than the form's: not read.
"""


def read(text: Mapping[str, Any], speaker: str = RECOMMENDER) -> str | None:
    own = own_words(text["text"], VOICES[0], VOICES)[0]
    return recommendation_of(load_task(text["task"]), [Turn(speaker, own, text["text"])])


def test_recommendations_are_read_from_labelled_texts() -> None:
    models = [text.get("model") for text in TEXTS]
    assert len(TEXTS) >= 80
    assert sum(model is not None for model in models) >= 40
    assert set(models) == {"smollm2-135m", "gemma3-270m", None}
    wrong = [text["text"] for text in TEXTS if (read(text) is not None) != text["is_recommendation"]]
    assert wrong == []
    assert not [text["text"] for text in TEXTS if read(text, USER) is not None]


@pytest.mark.parametrize("batch", FORMS)
def test_every_plain_form_of_a_recommendation_is_read_and_nothing_else(batch: str) -> None:
    for kind, is_wanted in (("recommended", True), ("not", False)):
        texts = [{"task": "breakfast", "text": text} for text in FORMS[batch][kind]]
        assert [each["text"] for each in texts if (read(each) is not None) is not is_wanted] == []


@pytest.mark.parametrize(
    ("text", "dish", "ingredients"),
    [
        ("### Dish name\nUpma\n\n### Ingredients\n- rice", "Upma", "- rice"),
        ("Here!\n#Dish name: (what it is called)\n#Dish name: Upma\n#Ingredients: rice", "Upma", "rice"),
        ("| Dish name | Upma |\n| Ingredients | rice |", "Upma", "rice"),
        ("#Dish name: {Upma}\n#Ingredients: {{rice}}", "Upma", "rice"),
        ('{"dish_name": "Upma", "ingredients": ["rice", "salt"]}', "Upma", "rice\nsalt"),
        ("I recommend **Upma**.\n\n**Ingredients:** rice", "Upma", "rice"),
        ("Let me suggest: Upma with peas\nIngredients: rice\nSteps: boil", "Upma with peas", "rice"),
        ("Upma it is!\n\nIngredients: rice\nInstructions: boil", "Upma it is", "rice"),
        ("<dish_name>Upma</dish_name>\n<ingredients>rice</ingredients>", "Upma", "rice"),
        ("# Masala oats:\n\n**Ingredients (for 1):** rice\n\n**Method:** boil", "Masala oats", "rice"),
    ],
)
def test_sections_are_read_by_their_labels(text: str, dish: str, ingredients: str) -> None:
    sections = sections_of(load_task("breakfast"), text)
    assert (sections["Dish name"], sections["Ingredients"]) == (dish, ingredients)


def test_recommendation_begins_with_its_title() -> None:
    labelled = {"task": "breakfast", "text": "Thanks!\n\n#Dish name: Upma\n#Ingredients: rice"}
    assert read(labelled) == "#Dish name: Upma\n#Ingredients: rice"
    said = {"task": "breakfast", "text": "Which? I'd recommend Upma.\n\nIngredients: rice"}
    assert read(said) == "I'd recommend Upma.\n\nIngredients: rice"
    headed = {"task": "breakfast", "text": "Thanks!\n\n# Upma\n**Ingredients:** rice\n**Steps:** boil"}
    assert read(headed) == "Upma\n**Ingredients:** rice\n**Steps:** boil"


@pytest.mark.parametrize("unit", ["*", "# ", "(", "Ingredients ", "#Dish name ", "**Dish", "1. ", "<b>"])
def test_long_hostile_texts_are_not_a_recommendation(unit: str) -> None:
    text = (unit * 20_000)[:20_000]
    assert read({"task": "breakfast", "text": text}) is None
    assert read({"task": "breakfast", "text": f"# {text}?\n#Ingredients: rice\n#Steps: boil"}) is None
