"""The review queue: drafts to a CSV file, people's decisions back, and the rows to publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.checks import SpecnormFault, faults, near_duplicates
from tasks.builders.specnorm.drafting import STANCES, SpecnormDraft, read_written
from tasks.evaluations.cure.benchmarks import load_specnorm
from tasks.evaluations.cure.benchmarks.cues import join_cues, parse_cues, specificity
from tasks.people.review_file import Decided, Decision, ReviewError, ReviewFile

TEXTS = ("persona", "situation", "question", "label", "norm")
"""Columns that a reviewer may change, with the decision "revise"."""

QUEUE = ReviewFile(
    key="seed",
    given=("seed", "country", "cues", "statement", "stance", "model", "prompt_hash", "text_hash"),
    texts=TEXTS,
)
COLUMNS = QUEUE.columns
text_hash = QUEUE.text_hash


@dataclass(frozen=True)
class Review(Decided):
    """A decision on a draft, with the texts as the reviewer left them."""

    draft: SpecnormDraft


@dataclass(frozen=True)
class Reviews:
    """The decided rows of a file, in its order, and how many are still open."""

    decided: tuple[Review, ...]
    n_pending: int


def write_queue(path: Path, drafts: Sequence[SpecnormDraft], model: str, prompt_hash: str) -> None:
    """Write one line per draft; raises FileExistsError if the file exists, since it may hold decisions."""
    same = {"model": model, "prompt_hash": prompt_hash}
    QUEUE.write(path, [_cells(draft) | same for draft in drafts])


def read_reviews(path: Path) -> Reviews:
    """Read a queue file back; raises ReviewError as ``ReviewFile.read``, and for invalid texts."""
    read = QUEUE.read(path)
    return Reviews(tuple(Review(**vars(row), draft=_draft(row)) for row in read.decided), read.n_pending)


def published(review: Review) -> dict[str, str]:
    """An accepted or revised row with its provenance, as ``benchmarks.specnorm`` reads it."""
    row = _cells(review.draft) | {"specificity": specificity(len(review.draft.cues))}
    row |= {name: review.cells[name] for name in ("model", "prompt_hash")}
    del row["statement"], row["stance"]
    return row | {"decision": review.decision, "reviewer": review.reviewer}


def _cells(draft: SpecnormDraft) -> dict[str, str]:
    return {
        "seed": draft.seed,
        "country": draft.country,
        "cues": join_cues(draft.cues),
        "statement": draft.statement,
        "stance": draft.stance,
        **draft.written.model_dump(),
    }


def _draft(row: Decided) -> SpecnormDraft:
    cells = row.cells
    try:
        written = read_written({name: cells[name] for name in TEXTS})
        cues = parse_cues(cells["cues"])
    except ValueError as error:
        raise ReviewError(f"{row.where}: {error}") from error
    stance = next((stance for stance in STANCES if stance == cells["stance"]), None)
    if stance is None:
        raise ReviewError(
            f"{row.where}, column stance: {cells['stance']!r} is neither yes nor no: restore it"
        )
    return SpecnormDraft(cells["seed"], cells["country"], cells["statement"], cues, stance, written)


STATUS: Mapping[Decision, str] = {"accept": "accepted", "revise": "revised", "reject": "rejected"}
KEY = ("seed", "model", "prompt_hash", "text_hash")
"""Columns that a queue file and specnorm_draft both have."""


@dataclass(frozen=True)
class StoredDraft:
    """A draft of the warehouse: its row in specnorm_draft, and its present texts."""

    row: Mapping[str, Any]
    draft: SpecnormDraft


@dataclass(frozen=True)
class SpecnormReview:
    """Decisions of a review file.

    Attributes:
        counts: rows by decision, and those that are pending.
        faulty: revised rows that the checks reject; they are left out of the next two.
        decisions: rows as ``warehouse.specnorm.save_reviews`` takes them, only of drafts that change.
        items: rows of specnorm_item, of the decisions that publish.
    """

    counts: Mapping[str, int]
    faulty: tuple[tuple[Review, tuple[SpecnormFault, ...]], ...]
    decisions: list[dict[str, Any]]
    items: list[dict[str, Any]]


def compare(
    path: Path, reviews: Reviews, stored: Sequence[StoredDraft], countries: CountryCodes, now: datetime
) -> SpecnormReview:
    """Find each decision's draft, and check revised texts again.

    The checks compare a revised scene with the reviewer's label, not with the answer that the model was to
    give. ``stored``: all drafts that the automatic checks let through, oldest first.

    Raises:
        ReviewError: there is no such draft, or a column that is not the reviewer's was changed.
    """
    by_text = {tuple(s.row[name] for name in KEY): s for s in stored}
    pairs = [(review, _find(path, review, by_text)) for review in reviews.decided]
    named = {known.row["draft"] for _, known in pairs}
    others = [s.draft for s in stored if s.row["status"] != "rejected" and s.row["draft"] not in named]
    by_pair = _faults([review for review, _ in pairs], others)
    faulty = [(r, f) for (r, _), f in zip(pairs, by_pair, strict=True) if f]
    changed = [
        (review, known)
        for (review, known), bad in zip(pairs, by_pair, strict=True)
        if not bad and not _is_known(review, known)
    ]
    counts = Counter(review.decision for review, _ in pairs)
    return SpecnormReview(
        counts={**{decision: counts[decision] for decision in STATUS}, "pending": reviews.n_pending},
        faulty=tuple(faulty),
        decisions=[_decision(review, known, now) for review, known in changed],
        items=_items(path, changed, countries, now),
    )


def _find(path: Path, review: Review, by_text: Mapping[tuple[str, ...], StoredDraft]) -> StoredDraft:
    seed = review.draft.seed
    stored = by_text.get(tuple(review.cells[name] for name in KEY))
    if stored is None:
        raise ReviewError(
            f"{path}, seed {seed}: this warehouse has no such draft waiting: do not change seed, model, "
            "prompt_hash and text_hash, and set CULTURESCOPE_HOME to the home in which the queue was built"
        )
    for name in ("country", "cues", "statement", "stance"):
        if getattr(review.draft, name) != getattr(stored.draft, name):
            raise ReviewError(f"{path}, seed {seed}, column {name}: not as in the draft: restore it")
    return stored


def _faults(reviews: Sequence[Review], others: Sequence[SpecnormDraft]) -> list[tuple[SpecnormFault, ...]]:
    """Faults of every review; only revised texts are checked."""
    accepted = [review.draft for review in reviews if review.decision == "accept"]
    revised = [review.draft for review in reviews if review.decision == "revise"]
    twins = iter(near_duplicates([*others, *accepted, *revised])[len(others) + len(accepted) :])
    by_review: list[tuple[SpecnormFault, ...]] = []
    for review in reviews:
        own: list[SpecnormFault] = []
        if review.decision == "revise":
            twin = next(twins)
            own = [
                *faults(replace(review.draft, stance=review.draft.written.label)),
                *([twin] if twin else []),
            ]
        by_review.append(tuple(own))
    return by_review


def _is_known(review: Review, known: StoredDraft) -> bool:
    """Whether the same decision was stored before, so that its time stays."""
    before = (known.row["status"], known.row["reviewer"], known.row["note"] or "", known.draft.written)
    return before == (STATUS[review.decision], review.reviewer, review.note, review.draft.written)


def _decision(review: Review, known: StoredDraft, now: datetime) -> dict[str, Any]:
    return {
        "draft": known.row["draft"],
        "status": STATUS[review.decision],
        "reviewer": review.reviewer,
        "note": review.note or None,
        "reviewed_at": now,
    }


def _items(
    path: Path, changed: Sequence[tuple[Review, StoredDraft]], countries: CountryCodes, now: datetime
) -> list[dict[str, Any]]:
    """Return rows of specnorm_item, made from the published rows as the evaluation reads them."""
    rows = [(published(review), known.row) for review, known in changed if review.decision != "reject"]
    if not rows:
        return []
    loaded = load_specnorm({str(path): [row for row, _ in rows]}, countries)
    if loaded.dropped:
        raise ReviewError(f"{path}: rows that the evaluation would leave out: {dict(loaded.dropped)}")
    return [
        row
        | {"item": item.item, "draft": draft["draft"], "reviewed_at": now, "specificity": item.extra["rule"]}
        | {"country": draft["country"], "country_name": row["country"], "group_name": item.group}
        for item, (row, draft) in zip(loaded.items, rows, strict=True)
    ]
