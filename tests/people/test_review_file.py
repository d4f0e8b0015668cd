"""Review files: decisions are read back, and wrong rows are refused with their line."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tasks.people.review_file import ReviewError, ReviewFile, check_new

QUEUE = ReviewFile(key="draft", given=("draft", "author", "text_hash"), texts=("question", "answer"))
ROWS = [
    {"draft": "a", "author": "m", "question": 'Why "so", they ask?', "answer": "ja\nnein"},
    {"draft": "b", "author": "m", "question": "Когда?", "answer": "=1+1"},
]


def changed(path: Path, *cells: dict[str, str]) -> Path:
    """Return a new file, its rows with these cells."""
    QUEUE.write(path, ROWS)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row, own in zip(rows, cells, strict=False):
        row |= own
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, QUEUE.columns)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_decisions_are_read_and_open_rows_counted(tmp_path: Path) -> None:
    accept = {"decision": " ACCEPT ", "reviewer": "ana"}
    read = QUEUE.read(changed(tmp_path / "q.csv", accept))
    assert read.n_pending == 1
    (row,) = read.decided
    assert (row.decision, row.reviewer, row.note) == ("accept", "ana", "")
    assert {name: row.cells[name] for name in QUEUE.texts} == {name: ROWS[0][name] for name in QUEUE.texts}
    assert row.cells["text_hash"] == QUEUE.text_hash(ROWS[0]).strip()


def test_an_existing_review_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    QUEUE.write(path, ROWS)
    with pytest.raises(FileExistsError):
        QUEUE.write(path, ROWS)
    with pytest.raises(ReviewError, match="exists and may hold decisions: name another file with --queue"):
        check_new(path)
    with pytest.raises(ReviewError, match="there is no folder"):
        check_new(tmp_path / "no" / "q.csv")
    check_new(tmp_path / "other.csv")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"decision": "yes", "reviewer": "a"}, "line 2, column decision: 'yes' is not one of accept"),
        ({"decision": "accept"}, "line 2, column reviewer: empty"),
        ({"decision": "reject", "reviewer": "a"}, "line 2, column note: empty"),
        ({"decision": "revise", "reviewer": "a", "note": "n"}, "line 2, .*no text was changed"),
        ({"decision": "accept", "reviewer": "a", "answer": "x"}, "line 2, .*the texts were changed"),
    ],
)
def test_a_wrong_row_is_refused_with_line_and_column(
    tmp_path: Path, cells: dict[str, str], message: str
) -> None:
    with pytest.raises(ReviewError, match=message):
        QUEUE.read(changed(tmp_path / "q.csv", cells))


def test_unreadable_and_incomplete_review_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    with pytest.raises(ReviewError, match=r"q\.csv: cannot be read"):
        QUEUE.read(path)
    path.write_bytes(b"draft,\xff\n")
    with pytest.raises(ReviewError, match="not UTF-8"):
        QUEUE.read(path)
    path.write_text("draft,author\n1,2\n")
    with pytest.raises(ReviewError, match="line 1: the header lacks the columns answer, decision"):
        QUEUE.read(path)
    path.write_text(",".join(QUEUE.columns) + "\na,b\n")
    with pytest.raises(ReviewError, match=r"line 2: .* cells for .* columns"):
        QUEUE.read(path)
    path.unlink()
    with pytest.raises(ReviewError, match="line 4, column draft: on line 2 already"):
        QUEUE.read(changed(path, {}, {"draft": "a"}))
