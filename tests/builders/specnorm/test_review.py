"""The review queue to a file and back, as a reviewer with a spreadsheet would leave it."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.drafting import PROMPT_HASH
from tasks.builders.specnorm.review import COLUMNS, ReviewError, published, read_reviews, write_queue
from tasks.evaluations.cure.benchmarks import load_specnorm
from tests.builders.specnorm.samples import DRAFT, spoilt

Rows = list[dict[str, str]]

DRAFTS = [
    DRAFT,
    replace(spoilt(situation='He says "hello",\nand stays seated.'), seed="seed-2"),
    replace(DRAFT, seed="seed-3"),
]


def reviewed(tmp_path: Path, change: Callable[[Rows], object]) -> Path:
    """A queue of three drafts after ``change`` of its rows."""
    path = tmp_path / "queue.csv"
    write_queue(path, DRAFTS, "writer", PROMPT_HASH)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    change(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_new_queue_is_pending(tmp_path: Path) -> None:
    path = tmp_path / "queue.csv"
    write_queue(path, DRAFTS, "writer", PROMPT_HASH)
    reviews = read_reviews(path)
    assert (reviews.decided, reviews.n_pending) == ((), 3)


def test_a_queue_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "queue.csv"
    write_queue(path, DRAFTS, "writer", PROMPT_HASH)
    with pytest.raises(FileExistsError):
        write_queue(path, [], "writer", PROMPT_HASH)
    assert read_reviews(path).n_pending == 3


def decide(rows: Rows) -> None:
    rows[0] |= {"decision": "accept", "reviewer": "ana"}
    rows[1] |= {
        "decision": "Revise",
        "reviewer": "ben",
        "note": "name",
        "persona": "Isa, a young Chechen in Chechnya.",
    }
    rows[2] |= {"decision": "reject", "reviewer": "ana", "note": "not a norm there"}


def test_decisions_come_back(tmp_path: Path) -> None:
    reviews = read_reviews(reviewed(tmp_path, decide))
    assert [(r.decision, r.reviewer, r.note) for r in reviews.decided] == [
        ("accept", "ana", ""),
        ("revise", "ben", "name"),
        ("reject", "ana", "not a norm there"),
    ]
    assert reviews.n_pending == 0
    assert reviews.decided[0].draft == DRAFT
    written = DRAFTS[1].written.model_copy(update={"persona": "Isa, a young Chechen in Chechnya."})
    assert reviews.decided[1].draft == replace(DRAFTS[1], written=written)


def test_published_rows_have_their_provenance_and_load_as_specnorm(tmp_path: Path) -> None:
    rows = published(read_reviews(reviewed(tmp_path, decide)).decided)
    assert [row["seed"] for row in rows] == ["seed-1", "seed-2"]
    provenance = {
        name: rows[1][name] for name in ("model", "prompt_hash", "decision", "reviewer", "specificity")
    }
    assert provenance == {
        "model": "writer",
        "prompt_hash": PROMPT_HASH,
        "decision": "revise",
        "reviewer": "ben",
        "specificity": "medium",
    }
    loaded = load_specnorm({"published": rows}, CountryCodes({"Russia": "RU"}))
    assert loaded.dropped == {}
    assert [i.extra["persona"] for i in loaded.items] == [
        "Adam is a young Chechen who studies in Chechnya.",
        "Isa, a young Chechen in Chechnya.",
    ]
    first = loaded.items[0]
    assert (first.country, first.group, first.label, first.extra["rule"]) == (
        "RU",
        "Chechen",
        "yes",
        "medium",
    )
    assert first.cues == ("region: Chechnya", "ethnicity: Chechen", "age: young")


def row(**cells: str) -> Callable[[Rows], object]:
    return lambda rows: rows[1].update(cells)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (row(decision="ok"), "line 4, column decision: 'ok' is not one of accept, revise, reject"),
        (row(decision="accept"), "line 4, column reviewer: empty"),
        (row(decision="reject", reviewer="ana"), "column note: empty: say why you decided 'reject'"),
        (row(decision="revise", reviewer="ana", note="n"), "'revise', but no text was changed"),
        (
            row(decision="accept", reviewer="ana", label="no"),
            "'accept', but the texts were changed: write 'revise'",
        ),
        (row(decision="revise", reviewer="ana", note="n", label="maybe"), "line 4: .*label"),
        (row(decision="revise", reviewer="ana", note="n", norm=" "), "line 4: .*norm"),
        (row(decision="accept", reviewer="ana", cues="Chechnya"), "line 4: 'Chechnya' is not a cue"),
        (row(decision="accept", reviewer="ana", stance=""), "column stance: '' is neither yes nor no"),
        (row(seed="seed-1"), "line 4, column seed: on line 2 already"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, change: Callable[[Rows], object], message: str
) -> None:
    path = reviewed(tmp_path, change)
    with pytest.raises(ReviewError, match=rf"queue\.csv, .*{message}" if "line" in message else message):
        read_reviews(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 1: the header lacks the columns country, cues"),
        (b"seed;decision\n", "line 1: the header lacks"),
        (",".join(COLUMNS).encode() + b"\na,b\n", "line 2: not as many cells as columns"),
        (",".join(COLUMNS).encode() + b"\n" + b"a," * 20 + b"\n", "line 2: not as many cells as columns"),
        (",".join(COLUMNS).encode() + b'\n"a"b\n', "line 2: not CSV"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_queue_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "queue.csv"
    path.write_bytes(content)
    with pytest.raises(ReviewError, match=message):
        read_reviews(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReviewError, match=r"no readable review file at .*none\.csv: No such file"):
        read_reviews(tmp_path / "none.csv")
