"""The review queue: drafts to a CSV file, people's decisions back, and the rows to publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.checks import Fault, faults, near_duplicates
from tasks.builders.specnorm.drafting import STANCES, Draft, read_written
from tasks.evaluations.cure.benchmarks.cues import join_cues, parse_cues, specificity
from tasks.evaluations.cure.benchmarks.specnorm import load
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


STATUS: Mapping[Decision, str] = {"accept": "accepted", "revise": "revised", "reject": "rejected"}
KEY = ("seed", "model", "prompt_hash", "text_hash")
"""What a queue file and specnorm_draft both have."""


@dataclass(frozen=True)
class Stored:
    """A draft of the warehouse: its row in specnorm_draft, and its texts as they are now."""

    row: Mapping[str, Any]
    draft: Draft


@dataclass(frozen=True)
class Reviewed:
    """What a file says.

    Attributes:
        counts: rows by decision, and those that are pending.
        faulty: revised rows that the checks reject; they are left out of the next two.
        decisions: rows as ``warehouse.specnorm.save_reviews`` takes them, only of drafts that change.
        items: rows of specnorm_item, of the decisions that publish.
    """

    counts: Mapping[str, int]
    faulty: tuple[tuple[Review, tuple[Fault, ...]], ...]
    decisions: list[dict[str, Any]]
    items: list[dict[str, Any]]


def compare(
    path: Path, reviews: Reviews, stored: Sequence[Stored], countries: CountryCodes, now: datetime
) -> Reviewed:
    """Find each decision's draft, and check revised texts anew.

    A reviewer's label stands: the revised scene is held to that, not to the answer that the model was asked
    for. ``stored``: all drafts that the automatic checks let through, oldest first.

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
    return Reviewed(
        counts={**{decision: counts[decision] for decision in STATUS}, "pending": reviews.n_pending},
        faulty=tuple(faulty),
        decisions=[_decision(review, known, now) for review, known in changed],
        items=_items(path, changed, countries, now),
    )


def _find(path: Path, review: Review, by_text: Mapping[tuple[str, ...], Stored]) -> Stored:
    seed = review.draft.seed
    stored = by_text.get((seed, review.model, review.prompt_hash, review.text_hash))
    if stored is None:
        raise ReviewError(
            f"{path}, seed {seed}: this warehouse has no such draft waiting: do not change seed, model, "
            "prompt_hash and text_hash, and set CULTURESCOPE_HOME to where the queue was built"
        )
    for name in ("country", "cues", "statement", "stance"):
        if getattr(review.draft, name) != getattr(stored.draft, name):
            raise ReviewError(f"{path}, seed {seed}, column {name}: not as in the draft: restore it")
    return stored


def _faults(reviews: Sequence[Review], others: Sequence[Draft]) -> list[tuple[Fault, ...]]:
    """Of every review; only revised texts are checked."""
    accepted = [review.draft for review in reviews if review.decision == "accept"]
    revised = [review.draft for review in reviews if review.decision == "revise"]
    twins = iter(near_duplicates([*others, *accepted, *revised])[len(others) + len(accepted) :])
    by_review: list[tuple[Fault, ...]] = []
    for review in reviews:
        if review.decision != "revise":
            by_review.append(())
            continue
        twin = next(twins)
        own = faults(replace(review.draft, stance=review.draft.written.label))
        by_review.append((*own, twin) if twin else tuple(own))
    return by_review


def _is_known(review: Review, known: Stored) -> bool:
    """Whether the same decision was stored before, so that its time stays."""
    row = known.row
    said = (row["status"], row["reviewer"], row["note"] or "")
    same = said == (STATUS[review.decision], review.reviewer, review.note)
    return same and review.draft.written == known.draft.written


def _decision(review: Review, known: Stored, now: datetime) -> dict[str, Any]:
    return {
        "draft": known.row["draft"],
        "status": STATUS[review.decision],
        "reviewer": review.reviewer,
        "note": review.note or None,
        "reviewed_at": now,
    }


def _items(
    path: Path, changed: Sequence[tuple[Review, Stored]], countries: CountryCodes, now: datetime
) -> list[dict[str, Any]]:
    """Rows of specnorm_item. They are made of what the evaluation reads from the published rows."""
    kept = [(review, known) for review, known in changed if review.decision != "reject"]
    if not kept:
        return []
    loaded = load({str(path): published([review for review, _ in kept])}, countries)
    if loaded.dropped:
        raise ReviewError(f"{path}: rows that the evaluation would leave out: {dict(loaded.dropped)}")
    return [
        {
            "item": item.item,
            "country": known.row["country"],
            "country_name": review.draft.country,
            "group_name": item.group,
            **review.draft.written.model_dump(),
            "cues": join_cues(review.draft.cues),
            "specificity": item.extra["rule"],
            "draft": known.row["draft"],
            "seed": review.draft.seed,
            "model": review.model,
            "prompt_hash": review.prompt_hash,
            "decision": review.decision,
            "reviewer": review.reviewer,
            "reviewed_at": now,
        }
        for item, (review, known) in zip(loaded.items, kept, strict=True)
    ]
