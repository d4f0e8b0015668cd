"""The review queue: drafts to a CSV file, people's decisions back, and the rows to publish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.builders.specnorm.drafting import STANCES, Draft, read_written
from tasks.evaluations.cure.benchmarks.cues import join_cues, parse_cues, specificity
from tasks.people.review_file import Decided, Decision, ReviewError, ReviewFile

TEXTS = ("persona", "situation", "question", "label", "norm")
"""What a reviewer may change, with the decision "revise"."""

QUEUE = ReviewFile(
    key="seed",
    given=("seed", "country", "cues", "statement", "stance", "model", "prompt_hash", "text_hash"),
    texts=TEXTS,
)
COLUMNS = QUEUE.columns
text_hash = QUEUE.text_hash


@dataclass(frozen=True)
class Review:
    """A decision on a draft. ``draft`` holds the texts as the reviewer left them, ``text_hash`` is of those
    that the model wrote."""

    draft: Draft
    model: str
    prompt_hash: str
    text_hash: str
    decision: Decision
    reviewer: str
    note: str


@dataclass(frozen=True)
class Reviews:
    """The decided rows of a file, in its order, and how many are still open."""

    decided: tuple[Review, ...]
    n_pending: int


def write_queue(path: Path, drafts: Sequence[Draft], model: str, prompt_hash: str) -> None:
    """One line per draft; raises FileExistsError: there is a file already, which may hold decisions."""
    same = {"model": model, "prompt_hash": prompt_hash}
    rows = [
        {
            "seed": draft.seed,
            "country": draft.country,
            "cues": join_cues(draft.cues),
            "statement": draft.statement,
            "stance": draft.stance,
            **draft.written.model_dump(),
            **same,
        }
        for draft in drafts
    ]
    QUEUE.write(path, rows)


def read_reviews(path: Path) -> Reviews:
    """Read a queue file back; raises ReviewError as ``ReviewFile.read``, and for texts that are no draft."""
    read = QUEUE.read(path)
    return Reviews(tuple(map(_review, read.decided)), read.n_pending)


def published(reviews: Sequence[Review]) -> list[dict[str, str]]:
    """The accepted and revised rows with their provenance, as ``benchmarks.specnorm`` reads them."""
    return [
        {
            "country": review.draft.country,
            **review.draft.written.model_dump(),
            "cues": join_cues(review.draft.cues),
            "specificity": specificity(len(review.draft.cues)),
            "seed": review.draft.seed,
            "model": review.model,
            "prompt_hash": review.prompt_hash,
            "decision": review.decision,
            "reviewer": review.reviewer,
        }
        for review in reviews
        if review.decision != "reject"
    ]


def _review(row: Decided) -> Review:
    cells = row.cells
    return Review(
        draft=_draft(row),
        model=cells["model"],
        prompt_hash=cells["prompt_hash"],
        text_hash=cells["text_hash"],
        decision=row.decision,
        reviewer=row.reviewer,
        note=row.note,
    )


def _draft(row: Decided) -> Draft:
    cells = row.cells
    try:
        written = read_written({name: cells[name] for name in TEXTS})
        cues = parse_cues(cells["cues"])
    except ValueError as error:
        raise ReviewError(f"{row.where}: {error}") from error
    stance = next((stance for stance in STANCES if stance == cells["stance"]), None)
    if stance is None:
        raise ReviewError(
            f"{row.where}, column stance: {cells['stance']!r} is neither yes nor no: do not change it"
        )
    return Draft(cells["seed"], cells["country"], cells["statement"], cues, stance, written)
