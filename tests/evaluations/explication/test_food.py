"""Classes of foods, dietary rules, minutes of recipes, phrases and questions."""

from __future__ import annotations

import csv
from collections import Counter

import pytest

from tasks.evaluations.explication.materials import Checks, load_task
from tasks.evaluations.explication.measures import Dishes, check, classes_of, stated_minutes
from tasks.evaluations.explication.texts import is_denied, is_in, is_new, kinds, questions
from tests.evaluations.explication.conftest import DISHES, PERSONAS, REFERENCE

BREAKFAST = load_task("breakfast")


def plain(classes: set[str] | None) -> set[str] | None:
    return None if classes is None else {name for name in classes if not name.startswith("unsure")}


@pytest.mark.parametrize(
    ("ingredient", "classes"),
    [
        ("2 eggs", {"egg"}),
        ("1 eggplant", set()),
        ("100 ml coconut milk", set()),
        ("a cup of almond milk", {"tree_nut"}),
        ("peanut butter", {"peanut"}),
        ("chickpea flour", set()),
        ("gluten-free flour", set()),
        ("wheat flour", {"gluten"}),
        ("vegan butter", set()),
        ("turkey bacon", {"poultry"}),
        ("no sugar", set()),
        ("sugar-free jam", set()),
        ("nutmeg", set()),
        ("soy sauce", {"soy", "gluten", "salty"}),
        ("smoked salmon", {"fish", "costly"}),
        ("quibble", None),
    ],
)
def test_food_is_classified_by_its_longest_phrase(ingredient: str, classes: set[str] | None) -> None:
    assert plain(classes_of(ingredient)) == classes


@pytest.mark.parametrize(
    ("rule", "ingredients", "follows"),
    [
        ("halal", "rice, ham", False),
        ("halal", "rice, chicken", None),
        ("halal", "rice, halal chicken", True),
        ("halal", "rice, lentils", True),
        ("kosher", "beef, cheese", False),
        ("kosher", "salmon, cream cheese, rice", True),
        ("jain", "rice, ginger", False),
        ("coeliac", "barley, beans", False),
        ("vegan", "tofu, oat milk, maple syrup", True),
        ("vegetarian", "florb, quibble, rice", None),
        ("no_beef", "minced meat, rice", None),
    ],
)
def test_recipe_follows_breaks_or_leaves_a_rule_open(
    rule: str, ingredients: str, follows: bool | None
) -> None:
    persona = PERSONAS["leila-lyon"].model_copy(update={"checks": Checks(rules=(rule,))})
    text = f"#Dish name: X\n#Ingredients: {ingredients}\n#Instructions: Mix."
    assert check(persona, BREAKFAST, text, Dishes.of(DISHES))[f"rule:{rule}"] is follows


def test_dish_without_ingredients_is_looked_up() -> None:
    dishes = Dishes.of(DISHES)
    named = "#Dish name: Bibimbap my way\n#Ingredients:\n#Instructions: Mix it."
    assert check(PERSONAS["leila-lyon"], BREAKFAST, named, dishes)["rule:vegan"] is False
    unknown = named.replace("Bibimbap", "Surprise")
    assert check(PERSONAS["leila-lyon"], BREAKFAST, unknown, dishes)["rule:vegan"] is None
    assert dishes.find("Warm ta'amiya with bread") == "ta'amiya"
    assert dishes.find("Bread") is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("Cook for 10 minutes, then bake half an hour.", 40),
        ("Simmer 10-15 min.", 15),
        ("Rest for one hour and 5 minutes.", 65),
        ("Cook until done.", None),
    ],
)
def test_minutes_of_a_recipe_are_added_up(text: str, minutes: float | None) -> None:
    assert stated_minutes(text) == minutes


def test_phrases_match_whole_words_without_negation() -> None:
    assert is_in(["vegetarian*"], "We're all Vegetarians.")
    assert not is_in(["vegetarian"], "I am not vegetarian.")
    assert is_denied(["vegetarian"], "I am not a vegetarian.")
    assert is_in(["no onion*"], "There are no onions in it.")
    assert is_in(["carry-on"], "Only a carry on.")
    assert is_in(["creme"], "Crème")
    assert not is_in(["ham"], "champagne and hammer")


def test_questions_are_split_classified_and_compared() -> None:
    text = "Hello! How much time do you have? Please tell me.\nIs there anything you avoid?"
    assert questions(text) == ["How much time do you have?", "Is there anything you avoid?"]
    assert kinds("How much time do you have?") == {"time"}
    assert kinds("Anything else?") == set()
    assert is_new("Do you eat meat?", ["How much time do you have?"])
    assert not is_new("So how much time do you have?", ["How much time do you have?"])


def test_most_ingredients_of_the_shipped_dishes_are_classified() -> None:
    with (REFERENCE / "item_list" / "dishes.csv").open(encoding="utf-8", newline="") as file:
        cells = [row["ingredients"].split("|") for row in csv.DictReader(file) if row["ingredients"]]
    counts = Counter(ingredient for cell in cells for ingredient in cell)
    known = sum(n for ingredient, n in counts.items() if classes_of(ingredient) is not None)
    assert known / counts.total() > 0.8
