"""What the commands share: options, the embedded models' names, and how errors are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.markup import escape

from deployments import profiles
from deployments.display import Format, err
from deployments.server import ServerError
from scrapers.model import ScrapeError
from tasks.engines.protocols import EngineError
from warehouse import WarehouseError

Models = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", help="catalogue name, Hugging Face id or folder; repeat it"),
]
Profile = Annotated[str, typer.Option(help=f"how much: {', '.join(profiles.names())}")]
Refresh = Annotated[bool, typer.Option(help="score again what is stored")]
DryRun = Annotated[bool, typer.Option(help="show what would be done, and stop")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="show Prefect's log")]
As = Annotated[Format, typer.Option("--format", "-f", help="table for people, csv or json for programs")]
Config = Annotated[str | None, typer.Option(help="config_hash; default: the newest")]


@contextmanager
def errors() -> Iterator[None]:
    """Expected errors are one clear message and exit code 1; anything else keeps its traceback."""
    from pydantic import ValidationError

    try:
        yield
    except (WarehouseError, EngineError, ScrapeError, ServerError, ValueError) as error:
        if isinstance(error, ValidationError):
            raise
        err.print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise typer.Exit(1) from error
    except OSError as error:
        err.print("[bold red]error:[/]", escape(str(error)), highlight=False)
        raise typer.Exit(1) from error


def split(text: str | None) -> list[str] | None:
    """The parts of a comma-separated option."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def validated(model: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """The parameters; a ValueError that names the fields if they are wrong."""
    from pydantic import ValidationError

    try:
        return model(**values)
    except ValidationError as error:
        raise ValueError(
            "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        ) from error
