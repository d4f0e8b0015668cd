"""Which texts are recommendations: real outputs of embedded models and written ones, labelled by hand."""

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
MISSED = "**Final recommendation**\n\nDish name: Upma. Ingredients:"
"""The one text of the table that is known to be missed: no label of it begins a line or is marked."""


def read(text: Mapping[str, Any], speaker: str = RECOMMENDER) -> str | None:
    own = own_words(text["text"], VOICES[0], VOICES)[0]
    return recommendation_of(load_task(text["task"]), [Turn(speaker, own, text["text"])])


def test_the_table_holds_real_texts_of_both_embedded_models() -> None:
    models = [text.get("model") for text in TEXTS]
    assert len(TEXTS) >= 80
    assert sum(model is not None for model in models) >= 40
    assert set(models) == {"smollm2-135m", "gemma3-270m", None}


def test_hardly_one_is_missed_and_none_is_false() -> None:
    wrong = [text["text"] for text in TEXTS if (read(text) is not None) != text["is_recommendation"]]
    assert [text[: len(MISSED)] for text in wrong] == [MISSED]


def test_a_user_recommends_nothing() -> None:
    assert not [text["text"] for text in TEXTS if read(text, USER) is not None]


@pytest.mark.parametrize(
    ("text", "dish", "ingredients"),
    [
        ("### Dish name\nUpma\n\n### Ingredients\n- rice", "Upma", "- rice"),
        (
            "Here!\n#Dish name: (what the dish is called)\n#Dish name: Upma\n#Ingredients: rice",
            "Upma",
            "rice",
        ),
        ("| Dish name | Upma |\n| Ingredients | rice |", "Upma", "rice"),
        ("# Masala oats:\n\n**Ingredients (for 1):** rice\n\n**Method:** boil", "Masala oats", "rice"),
    ],
)
def test_sections_hold_what_stands_under_their_labels(text: str, dish: str, ingredients: str) -> None:
    sections = sections_of(load_task("breakfast"), text)
    assert (sections["Dish name"], sections["Ingredients"]) == (dish, ingredients)


def test_the_recommendation_begins_with_its_title() -> None:
    labelled = {"task": "breakfast", "text": "Thanks!\n\n#Dish name: Upma\n#Ingredients: rice"}
    assert read(labelled) == "#Dish name: Upma\n#Ingredients: rice"
    headed = {"task": "breakfast", "text": "Thanks!\n\n# Upma\n**Ingredients:** rice\n**Steps:** boil"}
    assert read(headed) == "Upma\n**Ingredients:** rice\n**Steps:** boil"


@pytest.mark.parametrize("unit", ["*", "# ", "(", "Ingredients ", "#Dish name ", "**Dish", "1. ", "<b>"])
def test_hostile_texts_are_read_at_once_and_hold_nothing(unit: str) -> None:
    text = (unit * 20_000)[:20_000]
    assert read({"task": "breakfast", "text": text}) is None
    assert read({"task": "breakfast", "text": f"# {text}?\n#Ingredients: rice\n#Steps: boil"}) is None
