"""Groups of commands that are imported when they are called, and what was meant where none has a name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from typer.core import TyperGroup


class Suggesting(TyperGroup):
    """A group that names the commands that are like one that it does not have."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; the error on one that is not there names those it is like."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            near = get_close_matches(args[0], known) or known
            meant = "Did you mean " if near is not known else "There are: "
            end = "?" if near is not known else "."
            ctx.fail(f"No such command {args[0]!r}. {meant}{', '.join(near)}{end}")
        return super().resolve_command(ctx, args)
