"""Evaluations in one file: define prompts and right answers, and a recipe does the rest.

    from tasks.evaluations.recipe import SHARE, Metric, judged

    EVALUATION = judged(
        "idioms",
        title="Does a model know what sayings mean?",
        items="items.csv",
        prompt="What does this saying mean? {{ text }}",
        rubric="meaning.toml",
        metric=Metric("accuracy", bounds=SHARE, null=0.5),
        cluster="idiom",
    )

Other recipes are ``choice``, ``short_answer`` and ``preference``. Files are sought beside the calling file.
Fields: ``judged.Judged`` and so on; docs/add-an-evaluation.md has an example of each. A pack has the same
definition in ``evaluation.toml`` (``from_toml``).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tasks.evaluations.contract import Evaluation
from tasks.evaluations.recipe.checks import RECIPES
from tasks.evaluations.recipe.definition import CHOICE, JUDGED, PREFERENCE, SHORT
from tasks.evaluations.recipe.evaluation import evaluation_of
from tasks.evaluations.recipe.loading import Read, examine, load
from tasks.metrics.intervals import CORRELATION, SHARE, UNBOUNDED
from tasks.packs.files import tables_of
from tasks.packs.shape import PackFault

__all__ = [
    "CORRELATION", "SHARE", "UNBOUNDED", "Metric", "choice", "from_toml", "judged", "preference",
    "short_answer",
]  # fmt: skip

DEFINITION = "evaluation.toml"
"""A pack's definition; ``recipe`` names the recipe, the other fields are those of its class."""


def Metric(name: str, **fields: Any) -> dict[str, Any]:  # noqa: N802 - reads as a value in definitions
    """Return a headline (``definition.MetricPart``); ``bounds`` and ``null`` have no default."""
    return {"name": name, **fields}


def judged(name: str, **fields: Any) -> Evaluation[Any, Any, Any]:
    """Return an evaluation of texts that judges score by a rubric; fields: ``judged.Judged``.

    Raises:
        PackError: with all errors of the definition and its files, as in every recipe.
    """
    return _beside_caller(JUDGED, name, fields)


def short_answer(name: str, **fields: Any) -> Evaluation[Any, Any, Any]:
    """Return an evaluation of texts compared with accepted answers; fields: ``short_answers.ShortAnswer``."""
    return _beside_caller(SHORT, name, fields)


def choice(name: str, **fields: Any) -> Evaluation[Any, Any, Any]:
    """Return an evaluation of choices among options, one of them right; fields: ``options.Choice``."""
    return _beside_caller(CHOICE, name, fields)


def preference(name: str, **fields: Any) -> Evaluation[Any, Any, Any]:
    """Return an evaluation of whose items are likelier in contexts; fields: ``groups.Preference``."""
    return _beside_caller(PREFERENCE, name, fields)


def from_toml(name: str, read: Read) -> tuple[Evaluation[Any, Any, Any] | None, list[PackFault]]:
    """Return the evaluation of a pack's ``evaluation.toml``, or all errors in it.

    Args:
        read: returns a file of the pack by name.
    """
    fields, faults = tables_of(read(DEFINITION), DEFINITION)
    if faults:
        return None, faults
    recipe = fields.pop("recipe", None)
    if not isinstance(recipe, str) or recipe not in RECIPES:
        what = "it is missing" if recipe is None else f"unknown recipe {recipe!r}"
        return None, [PackFault(DEFINITION, None, "recipe", what, f"write one of {', '.join(RECIPES)}")]
    loaded, faults = examine(name, recipe, fields, read, DEFINITION)
    return (None if faults or loaded is None else evaluation_of(loaded)), faults


def _beside_caller(recipe: str, name: str, fields: dict[str, Any]) -> Evaluation[Any, Any, Any]:
    file = Path(sys._getframe(2).f_globals["__file__"])
    return evaluation_of(
        load(name, recipe, fields, lambda path: (file.parent / path).read_bytes(), file.name)
    )
