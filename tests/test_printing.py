"""Everything printed goes through deployments/show/display.py, which takes no text for markup."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from deployments.show import display
from tests.deployments.commands import call

ROOT = Path(__file__).parent.parent
ROOMS = ("culturemeter", "deployments", "flows", "scrapers", "tasks", "warehouse")
MAY = {
    "deployments/show/display.py",
    "deployments/cli/bars.py",  # draws bars with err; its columns take no markup
    "deployments/__init__.py",  # before anything is imported
    "deployments/cli/app.py",  # the version, without importing rich
    "tasks/pending/runner/local.py",  # of run.py, which imports nothing of ours
    "tasks/pending/runner/main.py",
}
WORDS = ("x [/x] y", "[bold", "[/]", "a[red]b", ":smile:", "\x1b[31m[/y]")


def printing(tree: ast.AST) -> Iterator[str]:
    """Yield calls that print in another way."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="print" | "Console" as name):
                yield name
            case ast.Attribute(attr="print" | "echo" | "secho" | "from_markup" | "Console" as name):
                yield name
            case ast.Attribute(attr="status" as name, value=ast.Name(id="err" | "console")):
                yield name
            case ast.Attribute(attr="write" as name, value=ast.Attribute(attr="stdout" | "stderr")):
                yield name


def test_no_other_file_prints() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {name}"
        for room in ROOMS
        for file in sorted((ROOT / room).rglob("*.py"))
        if file.relative_to(ROOT).as_posix() not in MAY and "reference/build" not in file.as_posix()
        for name in printing(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_the_lint_sees_what_prints() -> None:
    for text in ("print(1)", "err.print(x)", "typer.echo(x)", "sys.stdout.write(x)", "err.status(x)",
                 "rich.console.Console()", "Text.from_markup(x)"):  # fmt: skip
        assert list(printing(ast.parse(text)))


@pytest.mark.parametrize("words", WORDS)
def test_no_text_is_markup(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    display.say(words, words)
    display.out(words, words)
    display.show(pl.DataFrame({words: [words]}), display.Format.table, words, words, notes={words: words})
    with display.working(words) as status:
        status.update(words)
        assert str(status.renderable.text) == display.clean(words)  # type: ignore[attr-defined]
    printed = capsys.readouterr()
    assert display.clean(words) in printed.out
    assert "\x1b[31m[" not in printed.out + printed.err


def test_a_home_with_markup_in_its_name_is_reported(
    blank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(shutil.copytree(blank, tmp_path / "a [x] b" / "[" / "x] c"))
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    done = call("ingest", COLUMNS="999")
    assert str(home) in done.stderr.replace("\n", "")


def test_a_violation_with_markup_is_reported(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import warehouse
    from deployments.cli.warehouse import report_checks

    row = {"check": ["a [/x]"], "n_violations": [1], "example": ["[/y] :smile:"]}
    monkeypatch.setattr(warehouse, "run_checks", lambda _: pl.DataFrame(row))
    with pytest.raises(Exception, match="1"):
        report_checks(warehouse.Warehouse.open())
    assert "check failed a [/x]: 1 rows, such as [/y] :smile:" in capsys.readouterr().err
