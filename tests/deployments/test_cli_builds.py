"""The commands of builds: plans, refusals and counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app

pytestmark = pytest.mark.usefixtures("warehouse")


def run(*arguments: str) -> tuple[int, str]:
    """Return a command's exit code and output."""
    result = CliRunner().invoke(app, arguments)
    assert "Traceback" not in result.output
    return result.exit_code, " ".join(result.output.split())


@pytest.fixture
def build(tmp_path: Path) -> tuple[str, ...]:
    """Three excerpts, and one that is too short to have a language."""
    path = tmp_path / "pages.jsonl"
    texts = [f"In Britain the post is brought {n} times a day, and on Sundays never." for n in range(3)]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in [*texts, "112"]))
    return ("culturall", "build", "--pages", str(path))


def test_dry_run_stores_nothing_and_build_stores_drafts_with_their_faults(build: tuple[str, ...]) -> None:
    """The fake model writes nonsense: every draft is rejected, and the table says why."""
    code, text = run(*build, "-m", "fake-a", "--dry-run")
    assert code == 0
    for part in ("16 topics with 0 examples, 3 sources to draft", "rows left out: no_language 1", "3 of 3"):
        assert part in text
    nothing = "accepted –, revised –, rejected – (paper 75.0%, 8.1%, 16.9%)"
    assert nothing in run("culturall", "status")[1]
    code, text = run(*build, "-m", "fake-a", "--no-server")
    assert code == 0
    assert "rejected_by_checks" in text
    _, text = run("culturall", "status", "--format", "json")
    rows = json.loads(text[text.index("[") : text.rindex("]") + 1])
    assert {row["status"] for row in rows} == {"rejected_by_checks"}
    assert sum(row["n_drafts"] for row in rows if row["reason"] is None) == 3


def test_wrong_input_is_one_error(build: tuple[str, ...]) -> None:
    for arguments, message in (
        (build, "from the sources with --model"),
        ((*build, "-m", "nobody"), "unknown model 'nobody'"),
        ((*build, "-m", "smollm2-135m"), "only scores"),
        (("culturall", "build", "--pages", "none.csv"), "none.csv"),
        (("culturall", "elevate"), "--model"),
        (("culturall", "elevate", "-m", "fake-a", "--techniques", "magic"), "--techniques"),
        (("culturall", "release", "--queue", "no/where.csv"), "there is no folder no"),
        (("culturall", "release", "--same-meaning", "2"), "--same-meaning"),
        (("culturall", "review", "none.csv"), "none.csv: cannot be read"),
        (("specnorm", "build", "-m", "fake-a", "--yes-share", "2"), "--yes-share"),
        (("specnorm", "review", "none.csv"), "none.csv: cannot be read"),
    ):
        code, text = run(*arguments)
        assert code == 1, arguments
        assert message in text
        assert text.count("error:") == 1
