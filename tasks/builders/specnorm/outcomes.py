"""From answers to drafts with their faults, and from decisions on them to what may be published. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.checks import Fault, faults, near_duplicates
from tasks.builders.specnorm.drafting import Draft, DraftError, Stance, parse_draft, read_written
from tasks.builders.specnorm.review import TEXTS, Review, Reviews, published, text_hash
from tasks.builders.specnorm.seeds import Seed
from tasks.evaluations.cure.benchmarks import load_specnorm
from tasks.evaluations.cure.benchmarks.cues import join_cues, parse_cues, specificity
from tasks.people.review_file import Decision, ReviewError


@dataclass(frozen=True)
class Job:
    """A draft to be written. ``draft`` identifies it, ``response_item`` the conversation that asks for it."""

    draft: str
    response_item: str
    seed: Seed
    stance: Stance


@dataclass(frozen=True)
class Outcome:
    """What became of a job: a draft, or None if the answer is not one; and why it is not used, if so."""

    job: Job
    draft: Draft | None
    faults: tuple[Fault, ...]


def outcomes(
    jobs: Sequence[Job], answers: Sequence[tuple[str, str]], others: Sequence[Draft]
) -> list[Outcome]:
    """Read and check the answers (text and finish reason), one per job.

    Near-duplicates are looked for among ``others`` and the drafts without another fault; the first stays.
    """
    read = [_read(job, *answer) for job, answer in zip(jobs, answers, strict=True)]
    good = [i for i, outcome in enumerate(read) if not outcome.faults]
    drafts = [outcome.draft for outcome in read if outcome.draft and not outcome.faults]
    twins = near_duplicates([*others, *drafts])[len(others) :]
    for i, twin in zip(good, twins, strict=True):
        if twin:
            read[i] = replace(read[i], faults=(twin,))
    return read


def row_of(outcome: Outcome) -> dict[str, Any]:
    """Its cells in specnorm_draft, without those of model and run. The texts are absent if unreadable."""
    job, draft = outcome.job, outcome.draft
    texts = draft.written.model_dump() if draft else {}
    return {
        "draft": job.draft,
        "response_item": job.response_item,
        "seed": job.seed.seed,
        "statement": job.seed.statement,
        "country": job.seed.country,
        "country_name": job.seed.country_name,
        "cues": join_cues(job.seed.cues),
        "specificity": specificity(len(job.seed.cues)),
        "stance": job.stance,
        **texts,
        "text_hash": text_hash(texts) if draft else None,
        "faults": [fault.reason for fault in outcome.faults],
        "fault_details": [fault.detail for fault in outcome.faults],
        "status": "rejected_by_checks" if outcome.faults else "queued",
    }


def draft_of(row: Mapping[str, Any]) -> Draft:
    """The draft in a row of specnorm_draft that has texts."""
    written = read_written({name: row[name] for name in TEXTS})
    cues = parse_cues(row["cues"])
    return Draft(row["seed"], row["country_name"], row["statement"], cues, row["stance"], written)


def _read(job: Job, text: str, finish_reason: str) -> Outcome:
    try:
        draft = parse_draft(text, job.seed, job.stance)
    except DraftError as error:
        if finish_reason == "length":
            fault = Fault("cut_off", f"longer than max_tokens: {error}")
        else:
            fault = Fault("unreadable", str(error))
        return Outcome(job, None, (fault,))
    return Outcome(job, draft, tuple(faults(draft)))


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
    loaded = load_specnorm({str(path): published([review for review, _ in kept])}, countries)
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
