"""The drafting of SpecNorm as a study: seeds, prompts, and drafts with their faults.

Pure, except that users' files are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from scrapers.countries import CountryCodes
from tasks.builders.specnorm.checks import SpecnormFault, faults, near_duplicates
from tasks.builders.specnorm.drafting import (
    PROMPT_HASH,
    SCHEMA,
    DraftError,
    SpecnormDraft,
    Stance,
    conversation,
    parse_draft,
    read_written,
    stances,
)
from tasks.builders.specnorm.params import SpecnormParams
from tasks.builders.specnorm.review import TEXTS, text_hash
from tasks.builders.specnorm.seeds import Seed, Seeds, load_seeds, select
from tasks.builders.study import BuildStudy
from tasks.data import TableError
from tasks.evaluations.contract import Completions, Rows
from tasks.evaluations.cure.published.cues import join_cues, parse_cues, specificity
from tasks.identity import digest
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine
from tasks.packs.published import Row, read_rows
from tasks.people.review_file import check_new


@dataclass(frozen=True)
class SpecnormJob:
    """A draft to be written, with its identifier and that of its prompt (``response_item``)."""

    draft: str
    response_item: str
    seed: Seed
    stance: Stance


def draft_rows(
    jobs: Sequence[SpecnormJob], replies: Mapping[str, Completion], others: Sequence[SpecnormDraft]
) -> list[dict[str, Any]]:
    """Return rows of specnorm_draft with the drafts' faults, without model and run.

    Near-duplicates are sought among ``others`` and the drafts without another fault; the later of two gets
    the fault.

    Args:
        replies: completions by draft.
    """
    checked = [_checked(job, replies[job.draft]) for job in jobs]
    faultless = [n for n, (_, draft_faults) in enumerate(checked) if not draft_faults]
    twins = near_duplicates(
        [*others, *(draft for draft, draft_faults in checked if draft and not draft_faults)]
    )[len(others) :]
    for n, twin in zip(faultless, twins, strict=True):
        checked[n] = (checked[n][0], [twin] if twin else [])
    return [_row(job, draft, draft_faults) for job, (draft, draft_faults) in zip(jobs, checked, strict=True)]


def draft_of(row: Mapping[str, Any]) -> SpecnormDraft:
    """Return the draft in a row of specnorm_draft with texts."""
    written = read_written({name: row[name] for name in TEXTS})
    cues = parse_cues(row["cues"])
    return SpecnormDraft(row["seed"], row["country_name"], row["statement"], cues, row["stance"], written)


def _checked(job: SpecnormJob, reply: Completion) -> tuple[SpecnormDraft | None, list[SpecnormFault]]:
    """Return the draft (None if the reply is not one) and its faults."""
    try:
        draft = parse_draft(reply.text, job.seed, job.stance)
    except DraftError as error:
        if reply.finish_reason == "length":
            return None, [SpecnormFault("cut_off", f"longer than max_tokens: {error}")]
        return None, [SpecnormFault("unreadable", str(error))]
    return draft, faults(draft)


def _row(
    job: SpecnormJob, draft: SpecnormDraft | None, draft_faults: Sequence[SpecnormFault]
) -> dict[str, Any]:
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
        "faults": [fault.reason for fault in draft_faults],
        "fault_details": [fault.detail for fault in draft_faults],
        "status": "rejected_by_checks" if draft_faults else "queued",
    }


@dataclass(frozen=True)
class SpecnormStudy(BuildStudy):
    """The drafts of a build: seeds, model and sampling.

    Attributes:
        engine: engine of the writing model.
        seeds: all available seeds.
        chosen: seeds to draft, with the requested answers.
        settled: rows of specnorm_draft that the checks did not reject.
    """

    topic: ClassVar[str] = "specnorm"
    stage: ClassVar[str] = "draft"
    engine: Engine
    seeds: Seeds
    chosen: tuple[tuple[Seed, Stance], ...]
    settled: Rows = ()

    @cached_property
    def request_hash(self) -> str:
        """Return a hash of the request; the seeds do not change it."""
        return self.request().hash(self.engine)

    @cached_property
    def jobs(self) -> list[SpecnormJob]:
        """Return a job for each chosen seed, in their order."""
        ids = [prompt(seed, stance).id for seed, stance in self.chosen]
        return [
            SpecnormJob(digest([self.request_hash, item]), item, seed, stance)
            for item, (seed, stance) in zip(ids, self.chosen, strict=True)
        ]

    def open_jobs(self, settled: Rows) -> list[SpecnormJob]:
        """Return jobs whose draft is neither queued nor decided and whose seed has no other usable draft."""
        drafts = {row["draft"] for row in settled}
        usable = {row["seed"] for row in settled if row["status"] != "rejected"}
        return [job for job in self.jobs if job.draft not in drafts and job.seed.seed not in usable]

    @property
    def materials(self) -> dict[str, str]:
        return {"seeds": digest(sorted(seed.seed for seed, _ in self.chosen))}

    def config_hash(self) -> str:
        sampling = [self.knobs.temperature, self.knobs.max_tokens, self.knobs.seed]
        return digest([PROMPT_HASH, sampling, [[seed.seed, stance] for seed, stance in self.chosen]])

    def prompts(self, completions: Completions) -> list[Prompt]:
        return [prompt(job.seed, job.stance) for job in self.open_jobs(self.settled)]

    def read(self, completions: Completions) -> dict[str, Completion]:
        """Return completions by draft."""
        replies = self.replies(completions)
        return {job.draft: replies[job.response_item] for job in self.open_jobs(self.settled)}


def specnorm_study(
    params: SpecnormParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]
) -> SpecnormStudy:
    """Return the study of a selection of the seeds.

    Raises:
        TableError: a file cannot be read, or there are no seeds.
        ReviewError: the queue file exists or cannot be written.
    """
    check_new(Path(params.queue))
    files: dict[str, Sequence[Row]] = {path: read_rows(path) for path in params.seeds}
    loaded = load_seeds(files or {"specnorm_seed": list(tables["seeds"])}, codes(tables["countries"]))
    names = {row["country"]: row["name"] for row in tables["countries"]}
    seeds = tuple(
        replace(seed, country_name=names[seed.country])
        if seed.country and seed.country_name == seed.country
        else seed
        for seed in loaded.seeds
    )
    if not seeds:
        raise TableError(
            f"no seed names a subgroup (rows left out by reason: {dict(loaded.dropped)}): fill in region, "
            "ethnicity, religion or another demographic column"
        )
    chosen = select(seeds, params.n, params.seed)
    pairs = tuple(zip(chosen, stances(len(chosen), params.yes_share), strict=True))
    engine = engines[params.model]
    return SpecnormStudy(params, engine, Seeds(seeds, loaded.dropped), pairs, tables["settled"])


def prompt(seed: Seed, stance: Stance) -> Prompt:
    """Return a seed's prompt."""
    return Prompt(conversation(seed, stance), SCHEMA)


def codes(countries: Rows) -> CountryCodes:
    """Return the alpha-2 codes of countries by their names and alpha-3 codes."""
    return CountryCodes({row[key]: row["country"] for row in countries for key in ("name", "alpha3")})
