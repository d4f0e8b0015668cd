"""The review queue: drafts written to a CSV file, people's decisions read back, and the rows to publish."""

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
from tasks.evaluations.cure.published import load_specnorm
from tasks.evaluations.cure.published.cues import join_cues, parse_cues, specificity
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
    """A decision on a draft, with the reviewer's version of its texts."""

    draft: SpecnormDraft


@dataclass(frozen=True)
class Reviews:
    """The decided rows of a file in its order, and the number of undecided ones."""

    decided: tuple[Review, ...]
    n_pending: int


def write_queue(path: Path, drafts: Sequence[SpecnormDraft], model: str, prompt_hash: str) -> None:
    """Write one row per draft; raises FileExistsError if the file exists, since it may contain decisions."""
    provenance = {"model": model, "prompt_hash": prompt_hash}
    QUEUE.write(path, [_cells(draft) | provenance for draft in drafts])


def read_reviews(path: Path) -> Reviews:
    """Read a reviewed queue file; raises ReviewError as ``ReviewFile.read`` does, and for invalid texts."""
    queue = QUEUE.read(path)
    return Reviews(tuple(Review(**vars(row), draft=_draft(row)) for row in queue.decided), queue.n_pending)


def published(review: Review) -> dict[str, str]:
    """Return an accepted or revised row with its provenance, in the format that the evaluation reads."""
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
            f"{row.where}, column stance: {cells['stance']!r} is neither yes nor no: restore its value"
        )
    return SpecnormDraft(cells["seed"], cells["country"], cells["statement"], cues, stance, written)


STATUS: Mapping[Decision, str] = {"accept": "accepted", "revise": "revised", "reject": "rejected"}
KEY = ("seed", "model", "prompt_hash", "text_hash")
"""Columns by which a row of a queue file and its draft in specnorm_draft are matched."""


@dataclass(frozen=True)
class StoredDraft:
    """A draft in the warehouse: its row of specnorm_draft, and the draft with its present texts."""

    row: Mapping[str, Any]
    draft: SpecnormDraft


@dataclass(frozen=True)
class SpecnormReview:
    """Decisions of a review file.

    Attributes:
        counts: number of rows by decision, and of pending ones.
        faulty: revised rows that the checks reject, with their faults; decisions and items lack them.
        decisions: rows for ``warehouse.specnorm.save_reviews``, only of drafts whose decision is new.
        items: rows of specnorm_item for the new decisions that publish an item.
    """

    counts: Mapping[str, int]
    faulty: tuple[tuple[Review, tuple[SpecnormFault, ...]], ...]
    decisions: list[dict[str, Any]]
    items: list[dict[str, Any]]


def compare(
    path: Path, reviews: Reviews, stored: Sequence[StoredDraft], countries: CountryCodes, now: datetime
) -> SpecnormReview:
    """Match each decision with its draft, and check revised texts again.

    A revised scene is compared with the reviewer's label, not with the answer requested from the model.

    Args:
        stored: all drafts that passed the automatic checks, oldest first.

    Raises:
        ReviewError: the draft is unknown, or a column that reviewers must not change was changed.
    """
    by_key = {tuple(draft.row[name] for name in KEY): draft for draft in stored}
    pairs = [(review, _find(path, review, by_key)) for review in reviews.decided]
    decided = {draft.row["draft"] for _, draft in pairs}
    others = [
        draft.draft
        for draft in stored
        if draft.row["status"] != "rejected" and draft.row["draft"] not in decided
    ]
    by_pair = _faults([review for review, _ in pairs], others)
    faulty = [(review, found) for (review, _), found in zip(pairs, by_pair, strict=True) if found]
    changed = [
        (review, draft)
        for (review, draft), found in zip(pairs, by_pair, strict=True)
        if not found and not _is_stored(review, draft)
    ]
    counts = Counter(review.decision for review, _ in pairs)
    return SpecnormReview(
        counts={**{decision: counts[decision] for decision in STATUS}, "pending": reviews.n_pending},
        faulty=tuple(faulty),
        decisions=[_decision(review, draft, now) for review, draft in changed],
        items=_items(path, changed, countries, now),
    )


def _find(path: Path, review: Review, by_key: Mapping[tuple[str, ...], StoredDraft]) -> StoredDraft:
    seed = review.draft.seed
    stored = by_key.get(tuple(review.cells[name] for name in KEY))
    if stored is None:
        raise ReviewError(
            f"{path}, seed {seed}: no such draft waits in this warehouse: restore seed, model, prompt_hash "
            "and text_hash as they were written, and set CULTUREMETER_HOME to the home in which the queue "
            "was written"
        )
    for name in ("country", "cues", "statement", "stance"):
        if getattr(review.draft, name) != getattr(stored.draft, name):
            raise ReviewError(f"{path}, seed {seed}, column {name}: not as in the draft: restore its value")
    return stored


def _faults(reviews: Sequence[Review], others: Sequence[SpecnormDraft]) -> list[tuple[SpecnormFault, ...]]:
    """Return the faults of every review; only revised texts are checked."""
    accepted = [review.draft for review in reviews if review.decision == "accept"]
    revised = [review.draft for review in reviews if review.decision == "revise"]
    twins = iter(near_duplicates([*others, *accepted, *revised])[len(others) + len(accepted) :])
    by_review: list[tuple[SpecnormFault, ...]] = []
    for review in reviews:
        found: list[SpecnormFault] = []
        if review.decision == "revise":
            twin = next(twins)
            found = [
                *faults(replace(review.draft, stance=review.draft.written.label)),
                *([twin] if twin else []),
            ]
        by_review.append(tuple(found))
    return by_review


def _is_stored(review: Review, draft: StoredDraft) -> bool:
    """Return whether the same decision is already stored; its time is then not changed."""
    row = draft.row
    stored = (row["status"], row["reviewer"], row["note"] or "", draft.draft.written)
    return stored == (STATUS[review.decision], review.reviewer, review.note, review.draft.written)


def _decision(review: Review, draft: StoredDraft, now: datetime) -> dict[str, Any]:
    return {
        "draft": draft.row["draft"],
        "status": STATUS[review.decision],
        "reviewer": review.reviewer,
        "note": review.note or None,
        "reviewed_at": now,
    }


def _items(
    path: Path, changed: Sequence[tuple[Review, StoredDraft]], countries: CountryCodes, now: datetime
) -> list[dict[str, Any]]:
    """Return rows of specnorm_item, from the published rows as the evaluation reads them."""
    rows = [(published(review), draft.row) for review, draft in changed if review.decision != "reject"]
    if not rows:
        return []
    loaded = load_specnorm({str(path): [row for row, _ in rows]}, countries)
    if loaded.dropped:
        raise ReviewError(f"{path}: the evaluation would leave out rows, by reason: {dict(loaded.dropped)}")
    return [
        row
        | {"item": item.item, "draft": draft["draft"], "reviewed_at": now, "specificity": item.extra["rule"]}
        | {"country": draft["country"], "country_name": row["country"], "group_name": item.group}
        for item, (row, draft) in zip(loaded.items, rows, strict=True)
    ]
