"""``culturemeter pack from`` and ``pack new --as-published``, and a run with such a pack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.deployments.commands import call, refused
from tests.papers.worldwise_clone import clone, program

pytestmark = pytest.mark.usefixtures("warehouse")


def test_pack_from_a_clone_gives_a_run_the_papers_setting(home: Path, tmp_path: Path) -> None:
    pack = ("pack", "from", "worldwise", "--data", str(clone(tmp_path / "clone")))
    made = call(*pack).stderr
    assert "scenario.csv: 30 rows of scenarios.py" in made
    assert "left out" not in made
    assert "--replace" in refused(*pack)
    call(*pack, "--replace")
    checked = call("pack", "check", "worldwise-published").stderr
    assert "persona (unused: country, called)" in checked
    assert "| You keep a shop in a town by the sea and always have." in checked
    run = ("run", "worldwise", "-m", "smollm2-135m-vllm", "--profile", "paper", "--dry-run")
    # The program keeps decisions other than A, B and Decline.
    with_pack = call(*run, "--pack", "worldwise-published").stdout
    assert re.search(
        r"1 of \d+ settings differ from the paper's.*; \d+ of \d+ are the authors' only if", with_pack
    )
    assert re.search(r"9 of \d+ settings differ", call(*run).stdout)


def test_hostile_text_in_a_clone_is_refused_or_kept_as_text(tmp_path: Path) -> None:
    program(tmp_path)
    prompts = tmp_path / "prompt_constructor.py"
    text = prompts.read_text().replace("You answer letters", "{{ ''.__class__ }} {% raw %} \\u202e letters")
    prompts.write_text(text)
    pack = ("pack", "from", "worldwise", "--data", tmp_path, "--name", "odd")
    assert "field baseline: it has the control character U+202E" in refused(*pack)
    prompts.write_text(text.replace("\\u202e", ""))
    call(*pack, "--replace")
    assert "| {{ ''.__class__ }} {% raw %}  letters in a newspaper." in call("pack", "check", "odd").stderr


def test_pack_from_refuses_unknown_sources_folders_and_names(home: Path, tmp_path: Path) -> None:
    for arguments, complaint in (
        (("zebra", "--data", str(tmp_path)), "no importer of 'zebra'; known: "),
        (("worldwise", "--data", str(tmp_path / "none")), "no such folder"),
        (("worldwise", "--data", str(tmp_path)), "no known file in it"),
        (("worldwise", "--data", str(tmp_path), "--name", "../x"), "is not a valid pack name"),
    ):
        assert complaint in refused("pack", "from", *arguments)
    assert not (home / "packs").exists() or not list((home / "packs").iterdir())


def test_skeleton_pack_is_incomplete_until_its_texts_are_filled_in(home: Path) -> None:
    new = ("pack", "new", "explication", "--as-published")
    call(*new)
    check = ("pack", "check", "explication-published")
    assert "prompts.toml, field simulator: it is empty" in refused(*check)
    file = home / "packs" / "explication-published" / "explication" / "prompts.toml"
    file.write_text("simulator = 'You are {{ persona }}, and brief.'\ncontrol = 'Recommend something.'\n")
    checked = call(*check).stderr
    assert "| You are Name: Ada. Likes: bread and cheese., and brief." in checked
    assert "quality: as shipped" in checked
    assert "already exists" in refused(*new)
    file.unlink()  # a pack of the authors' files has none, and gets one beside them
    call(*new)
    assert file.exists()
    no_texts = refused("pack", "new", "spectral", "--as-published")
    assert "has no texts that a pack can replace" in no_texts
