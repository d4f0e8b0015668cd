"""``culturescope pack from`` and ``pack new --as-published``, and a run with such a pack."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deployments.cli.app import app
from tests.papers.worldwise_clone import clone, program

runner = CliRunner()
pytestmark = pytest.mark.usefixtures("warehouse")


def call(*arguments: str) -> Result:
    """A command in this process."""
    return runner.invoke(app, arguments, env={"COLUMNS": "160"})


def test_a_clone_becomes_a_pack_with_which_a_run_has_the_papers_setting(home: Path, tmp_path: Path) -> None:
    data = str(clone(tmp_path / "clone"))
    made = call("pack", "from", "worldwise", "--data", data)
    assert made.exit_code == 0, made.output
    assert "scenario.csv: 30 rows of scenarios.py" in made.stderr
    assert "left out" not in made.stderr
    again = call("pack", "from", "worldwise", "--data", data)
    assert (again.exit_code, "--replace" in again.stderr) == (1, True)
    assert call("pack", "from", "worldwise", "--data", data, "--replace").exit_code == 0
    checked = call("pack", "check", "worldwise-published")
    assert checked.exit_code == 0, checked.output
    assert "persona (unused: country, called), with an example:" in checked.stderr
    assert "| You keep a shop in a town by the sea and always have." in checked.stderr
    run = ("run", "worldwise", "-m", "smollm2-135m-vllm", "--profile", "paper", "--dry-run")
    done = call(*run, "--pack", "worldwise-published")
    assert done.exit_code == 0, done.output
    assert "every setting is the paper's but the model" in done.stderr
    without = call(*run)
    assert "8 of 23 settings differ from the paper's, and so does the model" in without.stderr


def test_what_is_hostile_in_a_clone_is_said_and_not_run(home: Path, tmp_path: Path) -> None:
    program(tmp_path)
    prompts = tmp_path / "prompt_constructor.py"
    text = prompts.read_text().replace("You answer letters", "{{ ''.__class__ }} {% raw %} \\u202e letters")
    prompts.write_text(text)
    done = call("pack", "from", "worldwise", "--data", str(tmp_path), "--name", "odd")
    assert done.exit_code == 1
    assert "field baseline: it has the control character U+202E" in done.stderr
    prompts.write_text(text.replace("\\u202e", ""))
    assert (
        call("pack", "from", "worldwise", "--data", str(tmp_path), "--name", "odd", "--replace").exit_code
        == 0
    )
    assert "| {{ ''.__class__ }} {% raw %}  letters in a newspaper." in call("pack", "check", "odd").stderr


def test_what_cannot_be_imported(home: Path, tmp_path: Path) -> None:
    for arguments, complaint in (
        (("zebra", "--data", str(tmp_path)), "no importer of 'zebra'; known: "),
        (("worldwise", "--data", str(tmp_path / "none")), "no such folder"),
        (("worldwise", "--data", str(tmp_path)), "no known file in it"),
        (("worldwise", "--data", str(tmp_path), "--name", "../x"), "is not a valid pack name"),
    ):
        done = call("pack", "from", *arguments)
        assert (done.exit_code, complaint in done.stderr) == (1, True), done.stderr
    assert not (home / "packs").exists() or not list((home / "packs").iterdir())


def test_a_skeleton_is_filled_in(home: Path) -> None:
    made = call("pack", "new", "explication", "--as-published")
    assert made.exit_code == 0, made.output
    empty = call("pack", "check", "explication-published")
    assert empty.exit_code == 1
    assert "prompts.toml, field simulator: it is empty" in empty.stderr
    file = home / "packs" / "explication-published" / "explication" / "prompts.toml"
    file.write_text("simulator = 'You are {{ persona }}, and brief.'\ncontrol = 'Recommend something.'\n")
    checked = call("pack", "check", "explication-published")
    assert checked.exit_code == 0, checked.output
    assert "| You are Name: Ada. Likes: bread and cheese., and brief." in checked.stderr
    assert "quality: as shipped" in checked.stderr
    again = call("pack", "new", "explication", "--as-published")
    assert (again.exit_code, "already exists" in again.stderr) == (1, True)
    file.unlink()  # a pack of the authors' files has none, and gets one beside them
    assert call("pack", "new", "explication", "--as-published").exit_code == 0
    assert file.exists()
    assert "has no texts that a pack can replace" in call("pack", "new", "spectral", "--as-published").stderr
