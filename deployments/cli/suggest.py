"""Groups of commands: what was meant where no command has a name, and errors without words of libraries."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from typer import BadParameter
from typer.core import TyperGroup

from tasks.parsing import plain


class Suggesting(TyperGroup):
    """A group that names the commands that are like one that it does not have."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error on one of its options is without pydantic's words."""
        try:
            return super().invoke(ctx)
        except BadParameter as error:
            error.message = plain(error.message)
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called; the error on one that is not there names those it is like."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            near = get_close_matches(args[0], known) or known
            meant = "Did you mean " if near is not known else "There are: "
            end = "?" if near is not known else "."
            ctx.fail(f"No such command {args[0]!r}. {meant}{', '.join(near)}{end}")
        return super().resolve_command(ctx, args)
