"""Every command that the documentation shows exists, and has the options that are shown with it."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import typer

from deployments.cli.app import app

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted([*(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "deployments/cluster").glob("*.md")])
SHOWN = re.compile(r"^(?: {4})?\$? ?(culturescope [a-z].*)$|(?<!\*)`(culturescope [a-z][^`]*)`", re.MULTILINE)


MADE = {"proverbs": "cure"}
"""An evaluation that a page has its reader make -> one with the same options."""


@cache
def below(name: str) -> Any:
    """The command of that name of the whole command line."""
    top: Any = typer.main.get_command(app)
    return top.get_command(typer.Context(top), name) if name else top


def commands() -> list[tuple[str, str]]:
    """Page and command, comments and continued lines put aside."""
    found = []
    for page in [REPOSITORY / "README.md", *PAGES]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line, inline in SHOWN.findall(text):
            command = " ".join((line or inline).split("  #")[0].split())
            found.append((page.name, re.split(r" [|>]|;| && | · |…$", command)[0]))
    return sorted(set(found))


def wrong(command: str) -> str:
    """What of a command there is not; "" if all is there."""
    words = shlex.split(command.replace("'", "’"), comments=True)[1:]
    here = below("")
    while words and hasattr(here, "get_command") and not words[0].startswith("-"):
        name = words.pop(0)
        top, name = here is below(""), MADE.get(name, name)
        here = below(name) if top else here.get_command(typer.Context(here), name)
        if here is None:
            return f"there is no command {name!r}" if re.fullmatch(r"[a-z-]+", name) else ""
    known = {option for param in here.params for option in (*param.opts, *param.secondary_opts)} | {"--help"}
    options = [re.split(r"[=|,.)…]", word)[0] for word in words if re.match(r"--?[a-z]", word)]
    return ", ".join(option for option in options if option not in known)


def test_what_is_shown_exists() -> None:
    shown = commands()
    assert len(shown) > 60
    assert {f"{page}: {command}": fault for page, command in shown if (fault := wrong(command))} == {}


def test_what_does_not_exist_is_noticed() -> None:
    assert wrong("culturescope run cure --no-such-option 3") == "--no-such-option"
    assert wrong("culturescope dance") == "there is no command 'dance'"
