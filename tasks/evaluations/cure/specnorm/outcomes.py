"""From answers to drafts with their faults, and between drafts and rows of the table specnorm_draft. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tasks.evaluations.cure.specnorm.checks import Fault, faults, near_duplicates
from tasks.evaluations.cure.specnorm.cues import join_cues, parse_cues, specificity
from tasks.evaluations.cure.specnorm.drafting import Draft, DraftError, Stance, parse_draft, read_written
from tasks.evaluations.cure.specnorm.review import TEXTS, text_hash
from tasks.evaluations.cure.specnorm.seeds import Seed


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
