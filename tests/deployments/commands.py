"""Commands in this process, held to their exit code, and what they print."""

from __future__ import annotations

import json
from typing import Any

from typer.testing import CliRunner, Result

from deployments.cli.app import app


def call(*arguments: object, code: int = 0, **environment: str) -> Result:
    """Return the result of a command that ends with this exit code and no unexpected error."""
    env = {"COLUMNS": "200", **environment}
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(*arguments: object, **environment: str) -> str:
    """Return the error of a command that is refused, in one line."""
    return one_line(call(*arguments, code=1, **environment).stderr)


def table(*arguments: object, **environment: str) -> list[dict[str, Any]]:
    """Return the rows that a command prints as JSON."""
    rows: list[dict[str, Any]] = json.loads(call(*arguments, "--format", "json", **environment).stdout)
    return rows


def one_line(text: str) -> str:
    """Return a printed text without line breaks and borders of tables."""
    return " ".join(text.replace("│", " ").split())
