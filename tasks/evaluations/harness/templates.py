"""Holds the templates of tasks in a sandbox, in which they run no code and make no huge number or text."""

from __future__ import annotations

from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined
from jinja2.exceptions import SecurityError
from jinja2.sandbox import SandboxedEnvironment

from tasks.engines.specs import is_allowed

LARGEST = 10_000_000
"""Most signs of a text, and bits of a number, that an operator of a template may make."""


class Bounded(SandboxedEnvironment):
    """A sandbox whose operators refuse what would take all time or memory, such as ``9 ** (9 ** 9)``."""

    intercepted_binops = frozenset({"**", "*", "%"})

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return the result of an operator; raises SecurityError if it would be too large."""
        if _size(operator, left, right) > LARGEST:
            raise SecurityError(f"{operator} of a template would make more than {LARGEST:,} signs")
        return super().call_binop(context, operator, left, right)


def _size(operator: str, left: Any, right: Any) -> float:
    """Return at most how large the result of an operator is."""
    if operator == "**":
        is_whole = isinstance(left, int) and isinstance(right, int)
        return left.bit_length() * max(0, right) if is_whole else 0
    if operator == "*":
        for text, n in ((left, right), (right, left)):
            if isinstance(text, str | bytes | list | tuple) and isinstance(n, int):
                return len(text) * max(0, n)
        is_whole = isinstance(left, int) and isinstance(right, int)
        return left.bit_length() + right.bit_length() if is_whole else 0
    widths = "".join(sign if sign.isdigit() else " " for sign in left) if isinstance(left, str) else ""
    return max((float(width[:12]) for width in widths.split()), default=0.0) if "%" in str(left) else 0.0


def hold(utils: Any) -> None:
    """Make the library fill prompts in the sandbox unless code is allowed; else templates could run any.

    utils: the library's module with the environment of its templates.
    """
    kind = Environment if is_allowed("remote-code") else Bounded
    filters = utils.env.filters
    utils.env = kind(loader=BaseLoader(), undefined=StrictUndefined, keep_trailing_newline=True)
    utils.env.filters.update(filters)
