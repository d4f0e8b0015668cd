"""Every command in the documentation exists and has the options shown with it."""

from __future__ import annotations

import ast
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import typer

from deployments.cli.app import app

REPOSITORY = Path(__file__).parents[2]
PAGES = sorted([*(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "deployments/cluster").glob("*.md")])
SHOWN = re.compile(r"^(?: {4})?\$? ?(culturemeter [a-z].*)$|(?<!\*)`(culturemeter [a-z][^`]*)`", re.MULTILINE)


MADE = {"proverbs": "cure", "greetings": "cure"}
"""Evaluation that the reader of a page creates -> a shipped one with the same options."""


@cache
def below(name: str) -> Any:
    """Return the top-level command of this name; "" is the whole command line."""
    top: Any = typer.main.get_command(app)
    return top.get_command(typer.Context(top), name) if name else top


def commands() -> list[tuple[str, str]]:
    """Return (page, command) pairs, without comments and line continuations."""
    found = []
    for page in [REPOSITORY / "README.md", *PAGES]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line, inline in SHOWN.findall(text):
            command = " ".join((line or inline).split("  #")[0].split())
            found.append((page.name, re.split(r" [|>]|;| && | · |…$", command)[0]))
    return sorted(set(found))


def wrong(command: str) -> str:
    """Return the unknown parts of a command, or ""."""
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


def test_commands_and_options_shown_in_docs_exist() -> None:
    shown = commands()
    assert len(shown) > 60
    assert {f"{page}: {command}": fault for page, command in shown if (fault := wrong(command))} == {}


def test_unknown_command_and_option_are_detected() -> None:
    assert wrong("culturemeter run cure --no-such-option 3") == "--no-such-option"
    assert wrong("culturemeter dance") == "there is no command 'dance'"
    assert wrong("culturemeter run fmlama --models x") == "--models"


def options(command: Any) -> set[str]:
    """Return the options of a command and of all below it."""
    own = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    if not hasattr(command, "list_commands"):
        return own
    context = typer.Context(command)
    below_it = (command.get_command(context, name) for name in command.list_commands(context))
    return own.union(*(options(each) for each in below_it if each))


def test_options_named_alone_in_docs_are_of_some_command() -> None:
    known = options(below("")) | {"--help"}
    pages = [page for page in PAGES if page.parent.name in ("docs", "evaluations", "benchmarks")]
    unknown = {
        f"{page.name}: {named}"
        for page in pages
        for named in re.findall(r"(?<![`\w])`(--[a-z][a-z-]+)[^`\n]*`", page.read_text(encoding="utf-8"))
        if named not in known
    }
    assert unknown == NOT_OURS


NOT_OURS: set[str] = set()
"""Options of other programs that pages name."""


def printed() -> list[tuple[str, str]]:
    """Return (file, command) for every command in a text of the program; X stands for what is filled in."""
    found = []
    for room in ("tasks", "flows", "deployments"):
        for path in sorted((REPOSITORY / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                text = ""
                if isinstance(node, ast.JoinedStr):
                    parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
                    text = "".join(map(str, parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    text = node.value
                found += [(path.name, each.strip()) for each in PRINTED.findall(text)]
    return sorted(set(found))


PRINTED = re.compile(r"(culturemeter [a-z]+(?: [a-z]+)?(?: (?:--?[a-z][\w-]*|[\w./{}@:-]+))*)")


def test_options_of_commands_that_the_program_prints_exist() -> None:
    shown = [(file, command) for file, command in printed() if " -" in command]
    assert len(shown) > 10
    assert {f"{file}: {command}": fault for file, command in shown if (fault := wrong(command))} == {}
