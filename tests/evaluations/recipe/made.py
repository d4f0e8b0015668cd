"""The shipped example definitions with changes, as files in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.evaluations.contract import Evaluation
from tasks.evaluations.recipe import DEFINITION, from_toml
from tasks.packs.shape import PackFault

EXAMPLES = Path(__file__).parents[3] / "tasks" / "evaluations" / "recipe" / "examples"
RECIPES = ("choice", "judged", "preference", "short_answer")

Change = Callable[[str], str]
Files = dict[str, bytes]


def example(recipe: str) -> Files:
    """Return the files of a shipped example."""
    return {path.name: path.read_bytes() for path in (EXAMPLES / recipe).iterdir()}


def swap(old: str, new: str) -> Change:
    """Return a change that replaces a text, and fails if the text is missing."""

    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, 1)

    return change


def without(field: str) -> Change:
    """Remove the line of a field from a definition."""
    return lambda text: re.sub(rf"(?m)^{field} = .*\n", "", text, count=1)


def changed(recipe: str, changes: Mapping[str, Change | str | None]) -> Files:
    """Return an example's files: each changed, replaced by a text, or removed (None)."""
    files = example(recipe)
    for name, change in changes.items():
        if change is None:
            del files[name]
        else:
            files[name] = (change if isinstance(change, str) else change(files[name].decode())).encode()
    return files


def read_from(files: Files) -> Callable[[str], bytes]:
    """Return a reader of files in memory."""

    def read(name: str) -> bytes:
        if name not in files:
            raise FileNotFoundError(name)
        return files[name]

    return read


def examined(files: Files) -> tuple[Evaluation[Any, Any, Any] | None, list[PackFault]]:
    """Return the evaluation that a pack of these files defines, and its faults."""
    return from_toml("made", read_from(files))


def evaluation(recipe: str, fields: Sequence[Change] = (), items: str = "", **more: str) -> Any:
    """Return the evaluation of an example with changes of its definition, other items and other files.

    Args:
        more: file, with _ for ., -> its text.
    """
    changes: dict[str, Change | str | None] = {name.replace("__", "."): text for name, text in more.items()}
    files = changed(recipe, changes | ({"items.csv": items} if items else {}))
    for change in fields:
        files[DEFINITION] = change(files[DEFINITION].decode()).encode()
    made, faults = examined(files)
    assert made is not None, faults
    return made
