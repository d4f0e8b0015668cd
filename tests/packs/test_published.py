"""A dataset from a hub of our own, and folders with files of other content; tests/data has the formats."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tasks.data import TableError, text
from tasks.packs.published import PublishedRow, Text, read_all, read_rows
from tests.http_server import Answer, Request, serving

ROWS = [
    {"Country": "egypt", "Story": "A cup, full — to the brim."},
    {"Country": "chile", "Story": "Two\nlines"},
]
COMMIT = "0123456789" * 4
DATASET = "owner/norms"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """The part of huggingface.co that a dataset needs: one commit with a README and one Parquet file."""
    pl.DataFrame(ROWS).write_parquet(tmp_path / "rows.parquet")
    parquet = (tmp_path / "rows.parquet").read_bytes()
    names = ["README.md", "default/train/0000.parquet"]
    facts = {"type": "file", "size": len(parquet), "oid": COMMIT}
    listing = {"id": DATASET, "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
    api = rf"/api/datasets/{DATASET}/\w+/(refs%2Fconvert%2Fparquet|{COMMIT})(\?.*)?"

    def answer(request: Request) -> Answer:
        if re.fullmatch(api, request.path):
            return Answer([facts | {"path": name} for name in names] if "/tree/" in request.path else listing)
        if request.path == f"/datasets/{DATASET}/resolve/{COMMIT}/{names[1]}":
            return Answer(parquet, headers={"X-Repo-Commit": COMMIT, "ETag": f'"{COMMIT}"'})
        return Answer(status=404)

    with serving(answer) as server:
        yield server.address


def test_a_dataset_is_read_from_the_hub_and_then_from_its_cache(hub: str, tmp_path: Path) -> None:
    program = (
        "import json; from tasks.data import TableError; from tasks.packs.published import read_rows\n"
        "from tasks.data.hub import pinned\n"
        f"recorded = pinned('{DATASET}')\n"
        f"print(json.dumps([recorded, read_rows('{DATASET}'), read_rows(recorded)]))\n"
        "try: read_rows('owner/nothing')\n"
        "except TableError as error: print(error)"
    )

    def run(**settings: str) -> tuple[list[object], str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub} | settings,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        rows, message = done.stdout.splitlines()
        return json.loads(rows), message

    rows, message = run()
    assert rows == [f"hf:{DATASET}@{COMMIT}", ROWS, ROWS]
    assert message.startswith("owner/nothing: it cannot be fetched from the Hugging Face hub (")
    assert "download its files" in message
    assert run(HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")[0] == rows


def test_a_name_that_is_neither_a_file_nor_a_data_set_is_refused() -> None:
    with pytest.raises(TableError, match=r"rows\.ods: neither a file \(\.csv, .*\) nor a data set"):
        read_rows("rows.ods")


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
    with pytest.raises(TableError, match=r"a\.json"):
        read_all(junk, Line)
