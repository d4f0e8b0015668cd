"""Which evaluations exist: the one answer for shipped ones. Packs add theirs (``deployments.packs.recipes``).

A folder ``tasks/evaluations/<name>`` with ``evaluation.py`` is an evaluation, ``EVALUATION``; without
``params.py`` it is from a recipe. A file ``tasks/published/<name>.py`` is a benchmark whose
items users bring. An evaluation is imported when it is asked for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

EVALUATIONS = Path(__file__).resolve().parent / "evaluations"
PUBLISHED = EVALUATIONS.with_name("published")
TAKEN = frozenset({"all", "history", "published", "recipe", "recipes"})
"""Names of commands, views and folders that no evaluation may have."""


@cache
def shipped() -> frozenset[str]:
    """Return the evaluations that have a folder of their own."""
    return frozenset(file.parent.name for file in EVALUATIONS.glob("*/evaluation.py")) - {"recipe"}


@cache
def benchmarks() -> frozenset[str]:
    """Return the evaluations whose items users bring."""
    return frozenset(file.stem for file in PUBLISHED.glob("*.py") if not file.stem.startswith("_"))


@cache
def without_files() -> frozenset[str]:
    """Return the evaluations that need no ``about.py`` and no page: those from recipes, and benchmarks.

    A file that exists all the same is used.
    """
    own = (name for name in shipped() if not (EVALUATIONS / name / "params.py").exists())
    return benchmarks().union(own)


def about(name: str) -> Any:
    """Return a shipped evaluation's description in a file of its own, ``about.ABOUT``; None without one."""
    there = name in shipped() and (EVALUATIONS / name / "about.py").exists()
    return import_module(f"tasks.evaluations.{name}.about").ABOUT if there else None


def evaluation(name: str) -> Any:
    """Return a shipped evaluation or a benchmark; None if there is none of that name."""
    if name in benchmarks():
        module = f"published.{name}"
    elif name in shipped():
        module = f"evaluations.{name}.evaluation"
    else:
        return None
    return import_module(f"tasks.{module}").EVALUATION
