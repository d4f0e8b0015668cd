"""``culturemeter pack``: new, check, list; and a run with one, whose leaderboard names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deployments.commands import call, refused, table

pytestmark = pytest.mark.usefixtures("warehouse")


def test_new_pack_passes_its_check_and_is_listed(home: Path) -> None:
    new = ("pack", "new", "sports", "--for", "spectral")
    assert "run spectral --profile sports/smoke" in call(*new, "--for", "cure").stderr
    assert (home / "packs" / "sports" / "spectral" / "question.csv").exists()
    assert "cure: item 6; spectral: domain 1, question 2, item 8" in call("pack", "check").stderr
    (row,) = table("pack", "list")
    assert row["profiles"] == "sports/smoke"
    assert row["title"] == "My own content: sports"
    assert row["folder"] == str(home / "packs" / "sports")
    assert "already exists" in refused(*new)


def test_pack_new_refuses_bad_names_and_unknown_evaluations(home: Path) -> None:
    assert "is not a valid pack name" in refused("pack", "new", "../out", "--for", "spectral")
    assert "no evaluation 'zebra' takes packs" in refused("pack", "new", "mine", "--for", "zebra")
    assert not (home / "out").exists()
    assert not (home / "packs" / "mine").exists()


def test_check_names_every_fault_of_every_file_and_profile(home: Path) -> None:
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
    faults = refused("pack", "check", "sports")
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
        assert fault in faults
    run = ("run", "culturall", "--profile", "sports/c", "-m", "fake-a", "--dry-run")
    assert "--passages" in refused(*run)


def test_check_refuses_a_pack_of_which_no_study_can_be_built(home: Path) -> None:
    call("pack", "new", "sports", "--for", "fmlama")
    (home / "packs" / "sports" / "fmlama" / "dish.csv").unlink()
    error = refused("pack", "check", "sports")
    assert "fmlama/: no study can be built with sports/smoke: the dish set" in error


def test_run_and_leaderboard_name_the_pack() -> None:
    call("pack", "new", "sports", "--for", "spectral")
    run = ("run", "spectral", "-m", "fake-a", "--no-server", "--no-probe")
    small = ("--countries", "BR,DE,JP", "--max-items", "5", "--variants", "1", "--profile", "smoke")
    done = call(*run, *small, "--domains", "currency,national_sports", "--pack", "sports")
    for text in (done.stderr, call("leaderboard", "spectral").stdout):
        assert "spectral, profile smoke + pack sports, config" in text
    missing = refused(*run, "--pack", "sprots", "--dry-run")
    assert "unknown pack 'sprots'; known: sports" in missing


def test_broken_pack_is_listed_and_hides_no_other(home: Path) -> None:
    call("pack", "new", "sports", "--for", "spectral")
    for name, text in {"deep": "a" + ".a" * 50_000 + " = 1", "long": f"version = {'9' * 10_000}"}.items():
        folder = home / "packs" / name / "spectral"
        folder.mkdir(parents=True)
        (folder.parent / "pack.toml").write_text(text)
        (folder / "profiles.toml").write_text(text)
    unreadable = home / "packs" / "gone"
    (unreadable / "spectral").mkdir(parents=True)
    (unreadable / "spectral" / "item.csv").symlink_to(unreadable / "nowhere.csv")
    listed = {row["pack"]: row["adds"] for row in table("pack", "list")}
    assert set(listed) == {"sports", "deep", "long", "gone"}
    assert "domain 1" in listed["sports"]
    faults = refused("pack", "check")
    for text in ("sports: spectral", "deep: ", "long: ", "gone: "):
        assert text in faults
