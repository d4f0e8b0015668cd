"""Which recipes there are: the class of each one's study, and of its definition."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.evaluations.recipe.definition import CHOICE, JUDGED, PREFERENCE, SHORT, Recipe
from tasks.evaluations.recipe.groups import Preference, PreferenceStudy
from tasks.evaluations.recipe.judged import Judged, JudgedStudy
from tasks.evaluations.recipe.options import Choice, ChoiceStudy
from tasks.evaluations.recipe.short_answers import ShortAnswer, ShortAnswerStudy
from tasks.evaluations.recipe.study import RecipeStudy

STUDIES: Mapping[str, type[RecipeStudy]] = {
    JUDGED: JudgedStudy, SHORT: ShortAnswerStudy, CHOICE: ChoiceStudy, PREFERENCE: PreferenceStudy,
}  # fmt: skip
RECIPES: Mapping[str, type[Recipe]] = {r.recipe: r for r in (Judged, ShortAnswer, Choice, Preference)}
