"""Command groups that suggest similar names, and say errors in plain words."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any

from typer import BadParameter
from typer.core import TyperGroup

_PLAIN = (
    (r"^Value error, ", ""),
    (r"^Input should be a valid integer.*", "expected a whole number"),
    (r"^Input should be a valid number.*", "expected a number"),
    (r"^Input should be a valid string.*", "expected a text"),
    (r"^Input should be greater than or equal to (\S+)", r"expected at least \1"),
    (r"^Input should be greater than (\S+)", r"expected more than \1"),
    (r"^Input should be less than or equal to (\S+)", r"expected at most \1"),
    (r"^Input should be ", "expected "),
    (r"^List should have at least 1 item.*", "expected at least one"),
)
"""Pattern in pydantic's message -> our words."""


def plain(message: str) -> str:
    """Return pydantic's message on a value in plain words."""
    for pattern, words in _PLAIN:
        message = re.sub(pattern, words, message)
    return message


class Suggesting(TyperGroup):
    """A command group that suggests similar names for an unknown command."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; rewrite pydantic's words in errors on its options."""
        try:
            return super().invoke(ctx)
        except BadParameter as error:
            error.message = plain(error.message)
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the called command; the error for an unknown one suggests similar names."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            near = get_close_matches(args[0], known) or known
            meant = "Did you mean " if near is not known else "There are: "
            end = "?" if near is not known else "."
            ctx.fail(f"No such command {args[0]!r}. {meant}{', '.join(near)}{end}")
        return super().resolve_command(ctx, args)
