"""A score in Python, a file of a pack: read without running it, and run only with the user's permission.

    def score(item, answer):         # item: column -> cell; answer: the last text of the model
        return float(item["colour"] in answer)

With a parameter more, it gets the first text too: ``score(item, answer, first)``. It returns a number within
the headline's bounds, or None for an answer that it cannot score.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from tasks.engines.specs import TRUST, Trust, is_allowed
from tasks.evaluations.recipe.definition import Flaw
from tasks.evaluations.recipe.files import first_line
from tasks.parsing import text_of

NAME = "score"
PERMISSION: Trust = "pack-code"


def read(data: bytes) -> tuple[str, list[tuple[int | None, Flaw]]]:
    """Return the code of a file, and what is wrong with it, with the line. Nothing of it is run."""
    try:
        code = text_of(data)
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = f"it is not Python: {first_line(error)}"
        return "", [(getattr(error, "lineno", None), Flaw("", what, "correct it"))]
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == NAME]
    if not found:
        return code, [(None, Flaw("", f"it has no function {NAME}", f"write def {NAME}(item, answer)"))]
    own, todo = found[-1], f"write def {NAME}(item, answer) or def {NAME}(item, answer, first)"
    if not 2 <= len(_parameters(own)) <= 3 or own.args.vararg or own.args.kwonlyargs or own.args.kwarg:
        return code, [(own.lineno, Flaw("", f"{NAME} needs two or three parameters", todo))]
    return code, []


def refused(name: str, file: str) -> str:
    """Return why the code may not be run, in one line; "" if the user allows it."""
    if is_allowed(PERMISSION):
        return ""
    return (
        f"{name}: {file} is Python code that scores the answers: read it, then allow it with --trust, or "
        f"with {TRUST}={PERMISSION} in the environment"
    )


def scored(
    code: str, fields: Mapping[str, str], turns: Sequence[str], bounds: tuple[float, float]
) -> tuple[float | None, str]:
    """Return what the code's function gives for an answer, or None and the reason; it never raises.

    Args:
        turns: the model's texts, the last of which is scored.
    """
    if not is_allowed(PERMISSION):
        return None, "the score's code is not allowed (--trust)"
    try:
        function, takes = _compiled(code)
        value = function(dict(fields), *(turns[-1], turns[0])[: takes - 1])
    except (Exception, SystemExit) as error:
        return None, f"its score failed: {type(error).__name__}: {first_line(error)}"
    if value is None:
        return None, "its score is None"
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None, f"its score is no number: {first_line(ValueError(repr(value)))}"
    if not math.isfinite(number) or not bounds[0] <= number <= bounds[1]:
        return None, f"its score {number:g} is not within {bounds[0]:g} to {bounds[1]:g}"
    return number, ""


@lru_cache(maxsize=8)
def _compiled(code: str) -> tuple[Callable[..., Any], int]:
    """Return the function and its number of parameters, after running the file."""
    space: dict[str, Any] = {"__name__": NAME}
    exec(compile(code, f"{NAME}.py", "exec"), space)
    own = [each for each in ast.parse(code).body if isinstance(each, ast.FunctionDef) and each.name == NAME]
    return space[NAME], len(_parameters(own[-1]))


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args]
