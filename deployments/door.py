"""The type of doors, in a file of its own because both door files and recipes make them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Door:
    """The parts of an evaluation that users see: command, form and leaderboard columns.

    Attributes:
        title: the question in one line, for the command's help and the Prefect UI.
        models: the default models.
        examples: options for ``culturemeter run <name>``, shown in its help.
        caption: one line under the leaderboard on how to read it, always shown.
        notes: column -> what it means, printed if the column is shown.
        columns: turns a row of the view ``leaderboard_<name>`` into fewer columns for people, the most
            important first; a screen shows the first ones that fit.
        cohort: what of a model's rows the cohort of other models determines; "" if nothing.
        judged: the numbers that only a judge can give; "" if nothing is judged.
        in_all: whether ``run all`` includes it; false if it cannot run without some option.
        is_served: whether ``serve`` offers it; false if its runs come from elsewhere.
    """

    title: str
    models: tuple[str, ...]
    examples: tuple[str, ...]
    caption: str
    columns: Callable[[Mapping[str, Any]], dict[str, Any]]
    cohort: str = ""
    judged: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    in_all: bool = True
    is_served: bool = True
