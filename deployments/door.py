"""The type of doors; a file of its own, since both files and recipes make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Door:
    """An evaluation as people start it and see it.

    Attributes:
        title: the question, in one line: of the command's help and of the Prefect UI.
        models: those that are evaluated where none is named.
        examples: of its command, what follows ``culturescope run <name>``.
        caption: one line under the leaderboard: how to read it, whichever columns are shown.
        notes: column -> what it means, printed if the column is shown.
        columns: a row of the view ``leaderboard_<name>`` -> what people see of it, combined into fewer
            columns, the most important first: a screen shows the first ones that fit.
        judged: the numbers that only a judge can give; "": nothing is judged.
        in_all: whether ``run all`` runs it unasked; not one that cannot run before something is named.
    """

    title: str
    models: tuple[str, ...]
    examples: tuple[str, ...]
    caption: str
    columns: Callable[[Mapping[str, Any]], dict[str, Any]]
    judged: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    in_all: bool = True
