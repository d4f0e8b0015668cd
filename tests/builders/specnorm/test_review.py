"""The review queue is written to a file and read back with a reviewer's decisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.drafting import PROMPT_HASH
from tasks.builders.specnorm.review import COLUMNS, published, read_reviews, write_queue
from tasks.evaluations.cure.published import load_specnorm
from tasks.people.review_file import ReviewError
from tests.builders.queue_files import ACCEPT, REJECT, REVISE, Row, decide
from tests.builders.specnorm.samples import DRAFT, spoilt

DRAFTS = [
    DRAFT,
    replace(spoilt(situation='He says "hello",\nand stays seated.'), seed="seed-2"),
    replace(DRAFT, seed="seed-3"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A queue of three drafts."""
    path = tmp_path / "queue.csv"
    write_queue(path, DRAFTS, "writer", PROMPT_HASH)
    return path


def test_new_queue_is_pending_and_not_overwritten(path: Path) -> None:
    with pytest.raises(FileExistsError):
        write_queue(path, [], "writer", PROMPT_HASH)
    reviews = read_reviews(path)
    assert (reviews.decided, reviews.n_pending) == ((), 3)


PERSONA = {"persona": "Isa, a young Chechen in Chechnya."}


def test_decisions_are_read_and_published_with_their_provenance(path: Path) -> None:
    decide(path, ACCEPT, REVISE | PERSONA | {"decision": "Revise"}, REJECT)
    reviews = read_reviews(path)
    assert [(r.decision, r.reviewer, r.note) for r in reviews.decided] == [
        ("accept", "ana", ""), ("revise", "ben", "wording"), ("reject", "ana", "not so there"),
    ]  # fmt: skip
    accepted, revised, _ = reviews.decided
    written = DRAFTS[1].written.model_copy(update=PERSONA)
    assert [accepted.draft, revised.draft] == [DRAFT, replace(DRAFTS[1], written=written)]
    rows = [published(review) for review in (accepted, revised)]
    assert [row["seed"] for row in rows] == ["seed-1", "seed-2"]
    names = ("model", "prompt_hash", "decision", "reviewer", "specificity")
    assert [rows[1][name] for name in names] == ["writer", PROMPT_HASH, "revise", "ben", "medium"]
    loaded = load_specnorm({"published": rows}, CountryCodes({"Russia": "RU"}))
    assert loaded.dropped == {}
    assert [i.extra["persona"] for i in loaded.items] == [DRAFT.written.persona, PERSONA["persona"]]
    first = loaded.items[0]
    place = (first.country, first.group, first.label, first.extra["rule"])
    assert place == ("RU", "Chechen", "yes", "medium")
    assert first.cues == ("region: Chechnya", "ethnicity: Chechen", "age: young")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (REVISE | {"label": "maybe"}, r"queue\.csv, line 3: .*label"),
        (REVISE | {"norm": " "}, "line 3: .*norm"),
        (ACCEPT | {"cues": "Chechnya"}, "line 3: 'Chechnya' is not a cue"),
        (ACCEPT | {"stance": ""}, "column stance: '' is neither yes nor no: restore its value"),
        (ACCEPT | {"label": "no"}, "'accept', but the texts were changed: write 'revise'"),
        ({"seed": "seed-1"}, "line 3, column seed: on line 2 already"),
    ],
)
def test_wrong_cell_is_refused_with_its_place(path: Path, cells: Row, message: str) -> None:
    decide(path, {}, cells)
    with pytest.raises(ReviewError, match=message):
        read_reviews(path)


@pytest.mark.parametrize(
    ("line", "message"), [("a," * 20, ".* cells for .* columns"), ('"a"b', "not a CSV file")]
)
def test_malformed_line_is_refused(path: Path, line: str, message: str) -> None:
    path.write_text(f"{','.join(COLUMNS)}\n{line}\n")
    with pytest.raises(ReviewError, match=f"line 2: {message}"):
        read_reviews(path)
