"""Files of other content beside the published ones are skipped with one note each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tasks.data import text
from tasks.packs.published import BenchmarkError, PublishedRow, Text, read_all


class Line(PublishedRow):
    """A row."""

    line: Text


def lay(folder: Path) -> list[Path]:
    """Write junk of every kind, and one file of rows among it."""
    contents = {
        "a.json": b"",
        "b.json": b"\xff\xfe\x00junk",
        "c.csv": b"x,y\n1\n",
        "d.parquet": b"PAR1",
        "e.json": b'{"line": "an object"}',
        "f.csv": b"line\nhello\n",
        "g.xlsx": b"PK",
        "h.jsonl": b"{",
        "i.csv": b"other\nwords\n",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    large = folder / "j.json"
    large.touch()
    os.truncate(large, text.MOST_BYTES + 1)
    return [*(folder / name for name in contents), large]


def test_files_of_other_content_are_skipped_with_one_note_each(tmp_path: Path) -> None:
    rows, notes = read_all(lay(tmp_path), Line)
    assert [row.line for row in rows] == ["hello"]
    assert [note.split()[0] for note in notes] == [p.name for p in lay(tmp_path) if p.name != "f.csv"]
    assert all(" is skipped: " in note and "\n" not in note for note in notes)
    assert not [note for note in notes if str(tmp_path) in note], "a note has the name of the file only"


def test_folder_with_only_files_of_other_content_is_an_error(tmp_path: Path) -> None:
    junk = [path for path in lay(tmp_path) if path.name != "f.csv"]
    with pytest.raises(BenchmarkError, match=r"a\.json"):
        read_all(junk, Line)
