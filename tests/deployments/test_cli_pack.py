"""``culturescope pack``: new, check, list; and a run with one, whose leaderboard names it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from deployments.cli.app import app

runner = CliRunner()
pytestmark = pytest.mark.usefixtures("warehouse")


def call(*arguments: str) -> Result:
    """A command in this process."""
    return runner.invoke(app, arguments, env={"COLUMNS": "200"})


def test_a_new_pack_is_right_and_is_listed(home: Path) -> None:
    done = call("pack", "new", "sports", "--for", "spectral", "--for", "cure")
    assert done.exit_code == 0, done.output
    assert "run spectral --profile sports/smoke" in done.stderr
    assert (home / "packs" / "sports" / "spectral" / "question.csv").exists()
    checked = call("pack", "check")
    assert checked.exit_code == 0, checked.output
    assert "right sports: cure: item 6; spectral: domain 1, question 2, item 8" in checked.stderr
    (row,) = json.loads(call("pack", "list", "-f", "json").stdout)
    assert row["profiles"] == "sports/smoke"
    assert row["title"] == "My own content: sports"
    assert row["folder"] == str(home / "packs" / "sports")
    again = call("pack", "new", "sports", "--for", "spectral")
    assert again.exit_code == 1
    assert "already exists" in again.stderr


def test_what_is_no_pack_is_not_made(home: Path) -> None:
    wrong = {
        ("../out", "spectral"): "is not a valid pack name",
        ("mine", "zebra"): "no evaluation 'zebra' takes packs",
    }
    for (name, evaluation), complaint in wrong.items():
        done = call("pack", "new", name, "--for", evaluation)
        assert (done.exit_code, complaint in done.stderr) == (1, True)
    assert not (home / "out").exists()
    assert not (home / "packs" / "mine").exists()


def test_check_says_every_fault_of_every_part_and_profile(home: Path) -> None:
    call("pack", "new", "sports", "--for", "spectral", "--for", "fmlama", "--for", "culturall")
    folder = home / "packs" / "sports"
    (folder / "notes.txt").write_text("x")
    items = folder / "spectral" / "item.csv"
    items.write_text(items.read_text() + "national_sports,football,XX\n")
    dishes = folder / "fmlama" / "dish.csv"
    dishes.write_text(dishes.read_text().replace("ugali,sw,", "ugali,sw,=", 1))
    profiles = folder / "culturall" / "profiles.toml"
    profiles.write_text(
        '[a]\nmodels = ["m"]\ndocuments = "/etc"\n[b]\nlangages = ["de"]\n[c]\npassages = 99\n'
    )
    (folder / "worldwise").mkdir()
    done = call("pack", "check", "sports")
    assert done.exit_code == 1
    said = " ".join(done.stderr.split())
    for fault in (
        "notes.txt: unknown kind of file",
        "column item_list, item: ('national_sports', 'football') already exists: spectral/item.csv",
        "column countries: 'XX'",
        "column name: '=ugali'",
        "culturall/profiles.toml, field a.models: a pack's profile may not set this",
        "culturall/profiles.toml, field a.documents: a pack's profile may not name a file",
        "culturall/profiles.toml, field b: --langages",
        "field c: --passages: expected at most 20",
    ):
        assert fault in said
    run = call("run", "culturall", "--profile", "sports/c", "-m", "fake-a", "--dry-run")
    assert run.exit_code == 1
    assert "--passages" in run.stderr


def test_check_builds_every_study(home: Path) -> None:
    call("pack", "new", "sports", "--for", "fmlama")
    (home / "packs" / "sports" / "fmlama" / "dish.csv").unlink()
    done = call("pack", "check", "sports")
    assert done.exit_code == 1
    assert "fmlama/: no study can be built with sports/smoke: the dish set" in " ".join(done.stderr.split())


def test_a_run_with_a_pack_says_so(home: Path) -> None:
    call("pack", "new", "sports", "--for", "spectral")
    asked = ("run", "spectral", "-m", "fake-a", "--no-server", "--no-probe")
    small = ("--countries", "BR,DE,JP", "--max-items", "5", "--variants", "1", "--profile", "smoke")
    done = call(*asked, *small, "--domains", "currency,national_sports", "--pack", "sports")
    assert done.exit_code == 0, done.output
    for text in (done.stderr, call("leaderboard", "spectral").stdout):
        assert "spectral, profile smoke + pack sports, config" in text
    missing = call(*asked, "--pack", "sprots", "--dry-run")
    assert missing.exit_code == 1
    assert "unknown pack 'sprots'; known: sports" in missing.stderr


def test_a_bad_pack_is_listed_and_hides_no_other(home: Path) -> None:
    call("pack", "new", "sports", "--for", "spectral")
    for name, text in {"deep": "a" + ".a" * 50_000 + " = 1", "long": f"version = {'9' * 10_000}"}.items():
        folder = home / "packs" / name / "spectral"
        folder.mkdir(parents=True)
        (folder.parent / "pack.toml").write_text(text)
        (folder / "profiles.toml").write_text(text)
    unreadable = home / "packs" / "gone"
    (unreadable / "spectral").mkdir(parents=True)
    (unreadable / "spectral" / "item.csv").symlink_to(unreadable / "nowhere.csv")
    listed = {row["pack"]: row["adds"] for row in json.loads(call("pack", "list", "-f", "json").stdout)}
    assert set(listed) == {"sports", "deep", "long", "gone"}
    assert "domain 1" in listed["sports"]
    checked = call("pack", "check")
    assert checked.exit_code == 1
    assert "sports: spectral" in checked.stderr
    for name in ("deep", "long", "gone"):
        assert f"{name}: " in checked.stderr
