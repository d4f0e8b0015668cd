"""The evaluations that can be started, one package each: a new one adds a package and edits nothing here.

A package defines ``EVALUATION``. Importing it is cheap: functions import what is heavy when they need it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from warehouse import Warehouse


@dataclass(frozen=True)
class Leaderboard:
    """How a leaderboard is asked for, and how people see it.

    Attributes:
        title: first line of the command's help.
        newest: SQL, the config_hash to show where none is given.
        rows: SQL with the config_hash as its parameter.
        line: a row as people see it: fewer, combined columns.
    """

    title: str
    newest: str
    rows: str
    line: Callable[[Mapping[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Page:
    """A report: the file's usual name, and how the page of a configuration (None: the newest) is made."""

    file: str
    make: Callable[[Warehouse, str | None], str]


@dataclass(frozen=True)
class Evaluation:
    """What starts an evaluation and shows it.

    Attributes:
        title: one line for the Prefect UI.
        models: those that are asked where none is named.
        params: imports the typed knobs.
        flow: imports the flow when asked: Prefect reads its settings at import.
        show_plan: prints what is left to do, and returns whether anything is.
        command: ``culturescope run <name>``.
    """

    title: str
    models: tuple[str, ...]
    params: Callable[[], type[BaseModel]]
    flow: Callable[[], Any]
    show_plan: Callable[[Any], bool]
    command: Callable[..., None]
    leaderboard: Leaderboard
    page: Page


@cache
def evaluations() -> Mapping[str, Evaluation]:
    """By name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return {name: import_module(f"{__name__}.{name}").EVALUATION for name in names}
