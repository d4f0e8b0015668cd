"""The commands of a build, in this process: help, plans, refusals, figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app

runner = CliRunner()
pytestmark = pytest.mark.usefixtures("warehouse")


def said(*arguments: str) -> tuple[int, str]:
    result = runner.invoke(app, ["culturall", *arguments])
    assert "Traceback" not in result.output
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture
def excerpts(tmp_path: Path) -> str:
    path = tmp_path / "pages.jsonl"
    lines = [
        {"text": f"In Britain the post is brought {n} times a day, and on Sundays never."} for n in range(3)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*lines, {"text": "112"}]))
    return str(path)


@pytest.mark.parametrize("name", ["build", "elevate", "review", "release", "status"])
def test_every_command_has_an_example(name: str) -> None:
    code, text = said(name, "--help")
    assert code == 0
    assert f"culturescope culturall {name}" in text


def test_a_dry_run_shows_what_would_be_asked_and_does_nothing(excerpts: str) -> None:
    code, text = said("build", "--model", "fake-a", "--pages", excerpts, "--dry-run")
    assert code == 0
    assert "16 topics with 0 examples, 3 sources to draft" in text
    assert "rows left out: no_language 1" in text
    assert "3 of 3" in text
    assert "accepted –, revised –, rejected – (paper 75.0%, 8.1%, 16.9%)" in said("status")[1]


def test_drafts_that_are_no_items_are_kept_with_their_faults(excerpts: str) -> None:
    """The fake model writes nonsense: every draft is rejected, and the table says why."""
    code, text = said("build", "--model", "fake-a", "--pages", excerpts, "--no-server")
    assert code == 0
    assert "rejected_by_checks" in text
    code, text = said("status", "--format", "json")
    rows = json.loads(text[text.index("[") : text.rindex("]") + 1])
    assert {row["status"] for row in rows} == {"rejected_by_checks"}
    assert sum(row["n_drafts"] for row in rows if row["reason"] is None) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "--pages", "{excerpts}"], "name it with --model"),
        (["build", "--model", "nobody", "--pages", "{excerpts}"], "there is no model 'nobody'"),
        (["build", "--model", "smollm2-135m", "--pages", "{excerpts}"], "only scores"),
        (["build", "--pages", "none.csv"], "none.csv"),
        (["elevate"], "--model"),
        (["elevate", "--model", "fake-a", "--techniques", "magic"], "--techniques"),
        (["release", "--queue", "no/where.csv"], "there is no folder no"),
        (["release", "--same-meaning", "2"], "--same-meaning"),
        (["review", "none.csv"], "there is no readable review file"),
    ],
)
def test_wrong_input_is_refused_in_a_line(excerpts: str, arguments: list[str], message: str) -> None:
    code, text = said(*(text.replace("{excerpts}", excerpts) for text in arguments))
    assert code == 1
    assert message in text
    assert text.count("error:") == 1
