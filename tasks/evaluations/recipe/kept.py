"""An evaluation's content as rows to store, and the evaluation of stored rows. Pure.

A run stores the definition, rubric and items that it used. So its numbers can be recomputed after any edit of
the user's files, and without them. Functions in Python are not stored: a benchmark has them in its file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tasks.evaluations.contract import Rows
from tasks.evaluations.recipe.checks import RECIPES
from tasks.evaluations.recipe.items import Item, LeftOut, LoadedRecipe, Member
from tasks.evaluations.recipe.study import RecipeStudy
from tasks.judging.rubric import Rubric
from tasks.parsing import parse_json

DEFINITION, RUBRIC, MEMBER, ITEM, COUNT, CODE = "definition", "rubric", "member", "item", "count", "code"


def content(study: RecipeStudy) -> Rows:
    """Return what a study was built from, as rows ``part_of`` and ``body``: only items that were chosen."""
    return [{"part_of": name, "body": json.dumps(body, ensure_ascii=False)} for name, body in _bodies(study)]


def loaded_of(name: str, rows: Iterable[Mapping[str, Any]], own: LoadedRecipe | None = None) -> LoadedRecipe:
    """Return the content of stored rows.

    Args:
        own: has the functions in Python of this name's evaluation, if there is one.

    Raises:
        ValueError: the rows are no content of an evaluation.
    """
    parts: dict[str, list[Any]] = {}
    for row in rows:
        parts.setdefault(str(row["part_of"]), []).append(parse_json(row["body"]))
    ((recipe, fields),) = parts.get(DEFINITION, [("", {})])
    if recipe not in RECIPES:
        raise ValueError(f"unknown recipe {recipe!r} in the stored content of {name}")
    used, left_out = parts.get(COUNT, [({}, [])])[0]
    loaded = LoadedRecipe(
        name,
        RECIPES[recipe].model_validate(fields),
        tuple(Item(*cells) for cells in parts.get(ITEM, ())),
        next((Rubric.model_validate(each) for each in parts.get(RUBRIC, ())), None),
        tuple(Member(*cells) for cells in parts.get(MEMBER, ())),
        used=used,
        left_out={LeftOut(*what): n for *what, n in left_out},
        code="".join(parts.get(CODE, ())),
    )
    return replace(loaded, score=own.score, derive=own.derive, knobs=own.knobs) if own else loaded


def _bodies(study: RecipeStudy) -> Iterator[tuple[str, Any]]:
    loaded = study.loaded
    yield DEFINITION, [loaded.definition.recipe, loaded.definition.model_dump(mode="json")]
    if loaded.rubric is not None:
        yield RUBRIC, loaded.rubric.model_dump(mode="json")
    if loaded.code:
        yield CODE, loaded.code
    for member in loaded.members:
        yield MEMBER, [*member]
    for item in study.chosen:
        yield ITEM, [item.name, item.cluster, dict(item.fields), item.line]
    yield COUNT, [dict(loaded.used), [[*what, n] for what, n in loaded.left_out.items()]]
