"""Faults of a pack are reported with file, line and column, all at once; a correct pack is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.evaluations.spectral.pack import PACK
from tasks.packs.check import examine, load, profiles, stray
from tasks.packs.files import line_of
from tasks.packs.folder import MOST_BYTES, PackFolder, folder_of, folders
from tasks.packs.shape import PackError
from tests.packs.conftest import FILES, SHIPPED, Examine

DOMAIN, QUESTIONS, ITEMS = (FILES[f"spectral/{name}.csv"] for name in ("domain", "question", "item"))


def test_a_correct_pack_is_read_without_faults(examined: Examine) -> None:
    content, faults = examined()
    assert faults == []
    assert {file: len(rows) for file, rows in content.rows.items()} == {"domain": 1, "question": 1, "item": 2}
    assert content.rows["item"][0] == {"item_list": "sports", "item": "football", "countries": ["BR", "DE"]}
    assert content.about == {"title": "Sports", "version": "", "author": "", "licence": "", "source": ""}


def test_the_hash_of_a_pack_depends_on_its_rows_only(examined: Examine, folder: PackFolder) -> None:
    first = examined()[0].hash
    windows = "﻿# a comment\r\n#another\r\n" + ITEMS.replace("\n", "\r\n")
    assert examined(item=windows)[0].hash == first
    columns = "countries,item,item_list\nBR | DE,football,sports\nIN,cricket,sports\n"
    assert examined(item=columns)[0].hash == first
    moved = PackFolder("other", folder.path.rename(folder.path.with_name("elsewhere")))
    (moved.path / "pack.toml").write_text('title = "Another title"\nversion = "2"\n')
    assert examine(moved, "spectral", PACK, SHIPPED)[0].hash == first
    changed = ITEMS.replace("cricket", "hockey")
    (moved.path / "spectral" / "item.csv").write_text(changed)
    assert examine(moved, "spectral", PACK, SHIPPED)[0].hash != first


def test_all_faults_are_reported_at_once(examined: Examine) -> None:
    _, faults = examined(
        domain="domain,label,item_list,prefix,human_category,human_score\ncurrency,C,,Name it.,LX,many\n",
        question="domain,varant,template\nsport,1,In {country}\n",
        item="item_list,item,countries\nsports,=1+1,\nsports,a\nsports,b,,\nsports,\x07bell,\n",
    )
    assert [str(fault).partition(": ")[0] for fault in faults] == [
        "spectral/domain.csv, line 2, column item_list",
        "spectral/domain.csv, line 2, column human_category",
        "spectral/domain.csv, line 2, column human_score",
        "spectral/question.csv, line 1, column variant",
        "spectral/question.csv, line 1, column varant",
        "spectral/item.csv, line 2, column item",
        "spectral/item.csv, line 3",
        "spectral/item.csv, line 4",
        "spectral/item.csv, line 5, column item",
    ]
    report = "\n".join(map(str, faults))
    assert "did you mean variant?" in report
    assert "which spreadsheets would run as a formula; begin with something else" in report
    assert "control character U+0007; remove it" in report
    assert "the cell is empty; fill it in" in report


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        ("item", ITEMS + "sports,football,\n", "item_list, item: ('sports', 'football') already exists"),
        ("item", ITEMS + "sports,polo,XX\n", "line 4, column countries: 'XX' is not in the shipped"),
        ("item", ITEMS + "currency,peso,\n", "line 4, column item_list: 'currency' is shipped already"),
        ("item", ITEMS + '"sports","two\nlines",\nsports,x,YY\n', "item.csv, line 6, column countries: 'YY'"),
        ("item", "# why\n" + ITEMS + "sports,,\n", "item.csv, line 5, column item: the cell is empty"),
        ("item", "item_list,item\n", "it has a header but no rows"),
        ("item", "", "item.csv, line 1, column item_list: the column is missing; the header has: none"),
        ("item", ITEMS.encode() + b"sports,caf\xe9,\n", "item.csv, line 4: it is not UTF-8"),
        ("item", ITEMS + 'sports,"open\n', "not a CSV file"),
        ("item", ITEMS + "sports,a\u202eb,\n", "the control character U+202E"),
        ("item", ITEMS + "sports," + "x" * 20_001 + ",\n", "at most 20000 characters"),
        ("domain", DOMAIN.replace("sport,Sport", "currency,Sport"), "'currency' is shipped already, or in"),
        ("domain", DOMAIN.replace("sports", "sprots"), "'sprots' is not in item, column item_list"),
        ("domain", DOMAIN.replace("sport,S", "../x,S"), "should match pattern"),
        ("question", QUESTIONS + "sport,2,People watch\n", "the text must hold {country} once"),
        ("question", QUESTIONS + "sport,2,{country} {0.__class__}\n", "and no other braces"),
        ("question", QUESTIONS + "sport,4,In {country}\n", "'4': expected '1', '2' or '3'"),
        ("question", None, "domain.csv, line 2, column domain: 'sport' is not in question, column"),
        ("itme", "a\n", "spectral/itme.csv: unknown file; known in spectral/: domain.csv, "),
    ],
)  # fmt: skip
def test_a_wrong_file_is_a_fault_with_line_and_column(
    examined: Examine, file: str, text: str | bytes | None, fault: str
) -> None:
    _, faults = examined(**{file: text})
    assert fault in "\n".join(map(str, faults))


def test_links_pipes_programs_and_large_files_are_faults(folder: PackFolder, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(ITEMS)
    (folder.path / "spectral" / "item.csv").unlink()
    (folder.path / "spectral" / "item.csv").symlink_to(secret)
    (folder.path / "fmlama").symlink_to(tmp_path)
    (folder.path / "spectral" / "run.py").write_text("raise SystemExit('a pack was run')")
    os.mkfifo(folder.path / "spectral" / "pipe.csv")
    with (folder.path / "spectral" / "huge.csv").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    for passed_over in ("README.md", ".git", "LICENSE", "__init__.py"):
        (folder.path / passed_over).write_text("raise SystemExit('a pack was run')")
    report = "\n".join(map(str, examine(folder, "spectral", PACK, SHIPPED)[1]))
    for fault in (
        "spectral/item.csv: it is a symbolic link; put the file itself there",
        "spectral/pipe.csv: it is not an ordinary file",
        "spectral/huge.csv: it has 32 MiB, more than 32",
    ):
        assert fault in report
    assert "football" not in report
    assert [fault.file for fault in stray(folder, {"spectral": PACK})] == ["fmlama", "spectral/run.py"]


def test_a_pack_with_faults_is_refused(folder: PackFolder) -> None:
    for text, message in (
        ("title =\nversion = 2\n", r"'mine' has one fault:\npack.toml, line 1: not a TOML file"),
        ("titel = 'Sports'\nversion = 2\n", "(?s)3 faults.*field title.*field version.*field titel"),
        (None, r"pack\.toml: the file is missing"),
    ):
        (folder.path / "pack.toml").write_text(text or "")
        if text is None:
            (folder.path / "pack.toml").unlink()
        with pytest.raises(PackError, match=message):
            load(folder, "spectral", PACK, SHIPPED)


@pytest.mark.parametrize("name", ["..", "../x", "/etc", "a/b", "A", "", ".x", "a\n", "x" * 61, "a@b"])
def test_wrong_pack_names_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a valid pack name"):
        folder_of(name, tmp_path)


def test_an_installed_pack_is_found_and_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "sporty"
    (package / "content").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('a pack was imported')")
    info = tmp_path / "site" / "sporty-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sporty\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[culturemeter.packs]\nsporty = sporty.content\ngone = nowhere\nBad = sporty\nwrong = sporty.no\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    known = folders(tmp_path / "home")
    assert known == {"sporty": PackFolder("sporty", package / "content")}
    own = tmp_path / "home" / "packs" / "sporty"
    own.mkdir(parents=True)
    assert folders(tmp_path / "home")["sporty"].path == own
    with pytest.raises(ValueError, match="unknown pack 'sprty'; known: sporty"):
        folder_of("sprty", tmp_path / "home")


HOSTILE_TOML = {
    "dotted": b"a" + b".a" * 50_000 + b" = 1\n",
    "number": b"version = " + b"9" * 10_000 + b"\n",
    "lists": b"title = " + b"[" * 5_000 + b"]" * 5_000 + b"\n",
    "lists of tables": b"title = " + b"[{a=" * 30 + b"1" + b"}]" * 30 + b"\n",
    "bytes": b"\xff\xfe\x00",
    "null": b"title = '\x00'\n",
}


@pytest.mark.parametrize("kind", HOSTILE_TOML)
@pytest.mark.parametrize("file", ["pack.toml", "spectral/profiles.toml"])
def test_hostile_toml_is_one_fault_of_its_file(folder: PackFolder, kind: str, file: str) -> None:
    (folder.path / file).write_bytes(HOSTILE_TOML[kind])
    _, faults = examine(folder, "spectral", PACK, SHIPPED)
    if file.endswith("profiles.toml"):
        faults = profiles(folder, "spectral")[1]
    assert [fault.file for fault in faults] == [file]
    assert len(str(faults[0])) < 500


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("by", 1),
        ("metric.name", 7),
        ("metric.null", 6),
        ("metric", 6),
        ("profiles.smoke.limit", 10),
        ("x", None),
    ],
)
def test_the_line_of_a_field_in_a_toml_file_is_found(field: str, line: int | None) -> None:
    """A missing field has the line of its table; a similar line within a text is not a field."""
    text = '''by = "letter"
prompt = """
x = 1
[metric]
"""
[metric]
name = "hits"
bounds = [0, 1]
[profiles.smoke]
limit = 3
'''
    assert line_of(text, field) == line
