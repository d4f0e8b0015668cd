"""Choices by models that give no log-probabilities: they write letters, unless the user chose otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from tests.evaluations.recipe.made import evaluation, swap

UNSEEN = swap("\\n{{ choices }}", " Name the country.")


def settled(made: Any, *models: str, **more: Any) -> str:
    params = made.params.model_validate({"models": [*models], **more})
    return str(made.settled(params, lambda model: model.startswith("far")).by)


def test_letters_are_written_where_no_model_gives_log_probabilities() -> None:
    made = evaluation("choice")
    assert settled(made, "far", "far-2") == "letter"
    assert settled(made, "here") == settled(made, "here", "far") == "logprob"
    assert settled(made, "far", by="logprob") == "logprob"


def test_prompt_without_options_is_refused_only_where_a_letter_has_to_be_written() -> None:
    made = evaluation("choice", [UNSEEN])
    assert settled(made, "here") == "logprob"
    with pytest.raises(ValueError, match=r"add \{\{ choices \}\} to the prompt"):
        settled(made, "far")


@pytest.mark.parametrize("recipe", ["judged", "short_answer", "preference"])
def test_other_recipes_have_one_way(recipe: str) -> None:
    made = evaluation(recipe)
    params = made.params.model_validate({"models": ["far"]})
    assert made.settled(params, lambda model: True) == params
