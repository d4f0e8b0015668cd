"""Command groups that suggest similar names, and say errors in plain words."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from typer import BadParameter
from typer.core import TyperGroup

from tasks.parsing import plain


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
