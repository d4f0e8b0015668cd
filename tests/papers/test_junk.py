"""Files of something else beside the published ones: each is passed over in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.packs import published
from tasks.packs.published import BenchmarkError, PublishedRow, Text, read_all


class Said(PublishedRow):
    """A row."""

    said: Text


def lay(folder: Path) -> list[Path]:
    """Junk of every kind, and one file of rows among it."""
    contents = {
        "a.json": b"",
        "b.json": b"\xff\xfe\x00junk",
        "c.csv": b"x,y\n1\n",
        "d.parquet": b"PAR1",
        "e.json": b'{"said": "an object"}',
        "f.csv": b"said\nhello\n",
        "g.xlsx": b"PK",
        "h.jsonl": b"{",
        "i.csv": b"other\nwords\n",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    large = folder / "j.json"
    large.touch()
    os.truncate(large, published.LARGEST + 1)
    return [*(folder / name for name in contents), large]


def test_junk_is_passed_over_with_a_line_each(tmp_path: Path) -> None:
    rows, notes = read_all(lay(tmp_path), Said)
    assert [row.said for row in rows] == ["hello"]
    assert [note.split()[0] for note in notes] == [p.name for p in lay(tmp_path) if p.name != "f.csv"]
    assert all(" is skipped: " in note and "\n" not in note for note in notes)
    assert not [note for note in notes if str(tmp_path) in note], "the name is enough, and stands there once"


def test_junk_alone_is_an_error(tmp_path: Path) -> None:
    junk = [path for path in lay(tmp_path) if path.name != "f.csv"]
    with pytest.raises(BenchmarkError, match=r"a\.json"):
        read_all(junk, Said)
