"""The tasks of build_specnorm, and the review: thin wrappers that join warehouse, engine and the pure parts.

What crosses the border: seeds in, rows of ``specnorm_draft`` and a queue file out; the reviewed file in, rows
of ``specnorm_item`` out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

import polars as pl
from prefect import task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE

from scrapers.countries import CountryCodes
from tasks.builders import steps as generation
from tasks.builders.specnorm.drafting import PROMPT_HASH, SCHEMA, Stance, conversation, stances
from tasks.builders.specnorm.outcomes import Job, Reviewed, Stored, compare, draft_of, outcomes, row_of
from tasks.builders.specnorm.params import SpecnormParams
from tasks.builders.specnorm.review import read_reviews, write_queue
from tasks.builders.specnorm.seeds import Seed, Seeds, load_seeds
from tasks.builders.specnorm.selection import select
from tasks.engines.protocols import Sampling
from tasks.engines.specs import EngineSpec
from tasks.identity import digest
from tasks.loop import steps as shared
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Engine
from tasks.loop.steps import Run
from tasks.packs.published import BenchmarkError, Row, read_rows
from tasks.people.review_file import ReviewError, check_new
from warehouse import Warehouse, finish_run, now
from warehouse.specnorm import save_drafts, save_reviews

SEEDS = "SELECT * FROM specnorm_seed ORDER BY rowid"
COUNTRIES = "SELECT country, name, alpha3 FROM country"
SETTLED = "SELECT draft, seed, status FROM specnorm_draft WHERE status <> 'rejected_by_checks'"
# With the texts as they are now: a revised draft's are those of its item.
DRAFTS = """
SELECT d.* REPLACE (
    coalesce(i.persona, d.persona) AS persona, coalesce(i.situation, d.situation) AS situation,
    coalesce(i.question, d.question) AS question, coalesce(i.label, d.label) AS label,
    coalesce(i.norm, d.norm) AS norm
)
FROM specnorm_draft AS d LEFT JOIN specnorm_item AS i USING (draft)
WHERE d.status <> 'rejected_by_checks'
ORDER BY d.drafted_at, d.draft
"""
SUMMARY = """
SELECT status, NULL AS fault, count(*) AS n_drafts FROM specnorm_draft
WHERE draft IN (SELECT unnest($drafts)) GROUP BY status
UNION ALL
SELECT status, fault, count(*) AS n_drafts
FROM (SELECT status, unnest(list_distinct(faults)) AS fault FROM specnorm_draft
      WHERE draft IN (SELECT unnest($drafts)))
GROUP BY status, fault
ORDER BY status, fault NULLS FIRST
"""
PUBLISHED = """
SELECT country_name AS country, persona, situation, question, label, norm, cues, specificity, seed, model,
    prompt_hash, decision, reviewer, reviewed_at, item
FROM specnorm_item ORDER BY country_name, item
"""


@dataclass(frozen=True)
class Build:
    """What is to be drafted: the seeds that there are, those chosen and the answer asked for, by whom."""

    params: SpecnormParams
    spec: EngineSpec
    seeds: Seeds
    chosen: tuple[tuple[Seed, Stance], ...]

    @property
    def engine(self) -> Engine:
        """Who drafts."""
        return Engine.of(self.spec)

    @property
    def sampling(self) -> Sampling:
        """How the model draws its drafts."""
        return Sampling(self.params.temperature, max_tokens=self.params.max_tokens, seed=self.params.seed)

    @property
    def run(self) -> Run:
        """A run is a value: the same drafts, engine and code version are the same run."""
        return (digest([self.config_hash(), self.spec.hash(), version("culturescope")]), self.spec.name)

    @cached_property
    def request_hash(self) -> str:
        """Names what is asked, whatever the seeds."""
        return Prompts(prompts=(), sampling=self.sampling).hash(self.engine)

    @cached_property
    def jobs(self) -> list[Job]:
        """One per chosen seed, in the order of the choice."""
        ids = [prompt(seed, stance).id for seed, stance in self.chosen]
        return [
            Job(digest([self.request_hash, item]), item, seed, stance)
            for item, (seed, stance) in zip(ids, self.chosen, strict=True)
        ]

    def config_hash(self) -> str:
        """Identifies what is drafted, whoever drafts it."""
        drawn = [self.params.temperature, self.params.max_tokens, self.params.seed]
        return digest([PROMPT_HASH, drawn, [[seed.seed, stance] for seed, stance in self.chosen]])


def prompt(seed: Seed, stance: Stance) -> Prompt:
    """What the model is sent for a seed."""
    return Prompt(conversation(seed, stance), SCHEMA)


def plan(params: SpecnormParams) -> Build:
    """Read the seeds and choose.

    Raises:
        BenchmarkError: a file cannot be read, or has no seeds. ReviewError: the queue cannot be written.
        EngineError: there is no such model.
    """
    check_new(Path(params.queue))
    warehouse = Warehouse.open()
    files: dict[str, Sequence[Row]] = {path: read_rows(path) for path in params.seeds}
    loaded = load_seeds(files or {"specnorm_seed": warehouse.query(SEEDS).to_dicts()}, _codes(warehouse))
    names = {code: name for code, name, _ in warehouse.query(COUNTRIES).rows()}
    seeds = tuple(
        replace(seed, country_name=names[seed.country])
        if seed.country and seed.country_name == seed.country
        else seed
        for seed in loaded.seeds
    )
    if not seeds:
        raise BenchmarkError(f"no seed names a subgroup (rows left out: {dict(loaded.dropped)})")
    chosen = select(seeds, params.n, params.seed)
    pairs = tuple(zip(chosen, stances(len(chosen), params.yes_share), strict=True))
    return Build(params, shared.spec_of(params.model), Seeds(seeds, loaded.dropped), pairs)


def open_jobs(build: Build) -> list[Job]:
    """Those whose draft is neither queued nor decided, and whose seed has no other draft that may be used."""
    settled = Warehouse.open().query(SETTLED)
    drafts = set(settled["draft"])
    taken = set(settled.filter(pl.col("status") != "rejected")["seed"])
    return [job for job in build.jobs if job.draft not in drafts and job.seed.seed not in taken]


def work_left(build: Build) -> Plan:
    """What of the open jobs has no completion yet."""
    prompts = [prompt(job.seed, job.stance) for job in open_jobs(build)]
    return generation.plan(prompts, build.engine, build.sampling, build.params.batch)


@task(cache_policy=NO_CACHE, name="start build")
def start(build: Build) -> None:
    """Write down what is going to be drafted, before anything is."""
    generation.start(
        build.run[0],
        "build_specnorm",
        build.engine,
        build.params.model_dump(),
        config_hash=build.config_hash(),
        materials={"seeds": digest(sorted(seed.seed for seed, _ in build.chosen))},
        asked=[(build.request_hash, "specnorm", "draft")],
    )


@task(cache_policy=NO_CACHE, name="draft")
def draft(build: Build) -> dict[str, Completion]:
    """Draft -> the completion of every open job; what is stored is not sent again.

    Raises:
        EngineError: the model gave no answers, or the budget was reached; all earlier batches are stored.
        CorruptPart: stored answers cannot be read.
    """
    jobs, params = open_jobs(build), build.params
    completions = generation.complete(
        [prompt(job.seed, job.stance) for job in jobs],
        build.engine,
        build.sampling,
        build.run,
        f"draft {build.spec.name}",
        params.batch,
        Meter(Budget(params.max_total_tokens, params.max_usd)),
    )
    return {job.draft: completion for job, completion in zip(jobs, completions, strict=True)}


@task(cache_policy=NO_CACHE, name="check drafts")
def check(build: Build, completions: Mapping[str, Completion]) -> None:
    """Check what the model wrote, by draft, and store every draft with its faults.

    Holds a lock, because two builds must not both draft a seed or write the same scene.
    """
    warehouse = Warehouse.open()
    with warehouse.locked("specnorm"):
        jobs = [job for job in open_jobs(build) if job.draft in completions]
        texts = [(completions[j.draft].text, completions[j.draft].finish_reason) for j in jobs]
        kept = [row for row in warehouse.query(DRAFTS).to_dicts() if row["status"] != "rejected"]
        checked = outcomes(jobs, texts, [draft_of(row) for row in kept])
        same = {
            "model": build.spec.name,
            "prompt_hash": PROMPT_HASH,
            "request_hash": build.request_hash,
            "run_id": build.run[0],
            "drafted_at": now(),
        }
        save_drafts(warehouse, [row_of(outcome) | same for outcome in checked])


@task(cache_policy=NO_CACHE, name="write review queue")
def queue(build: Build) -> int:
    """Write the drafts of this build that wait for a review, if there are any; returns how many."""
    rows = Warehouse.open().query(DRAFTS).to_dicts()
    waiting = {row["draft"]: row for row in rows if row["status"] == "queued"}
    drafts = [draft_of(waiting[job.draft]) for job in build.jobs if job.draft in waiting]
    if drafts:
        write_queue(Path(build.params.queue), drafts, build.spec.name, PROMPT_HASH)
    return len(drafts)


def finish(build: Build) -> pl.DataFrame:
    """Mark the build as finished, and show what came of it (status, fault, n_drafts) in the Prefect UI."""
    with Warehouse.open().write() as connection:
        finish_run(connection, build.run[0])
    summary = Warehouse.open().query(SUMMARY, {"drafts": [job.draft for job in build.jobs]})
    create_table_artifact(
        key="specnorm-build", table=summary.to_dicts(), description=f"build_specnorm, {build.spec.name}"
    )
    return summary


def review(path: Path, out: Path | None = None) -> Reviewed:
    """Read a reviewed queue, store its decisions, publish what may be, and write all that is published.

    Raises:
        ReviewError: the file breaks a rule, or is not of this warehouse; nothing is stored then.
    """
    warehouse = Warehouse.open()
    if out:
        _check_out(out, warehouse.query(PUBLISHED).columns)
    with warehouse.locked("specnorm"):
        stored = [Stored(row, draft_of(row)) for row in warehouse.query(DRAFTS).to_dicts()]
        reviewed = compare(path, read_reviews(path), stored, _codes(warehouse), now())
        save_reviews(warehouse, reviewed.decisions, reviewed.items)
    if out:
        warehouse.query(PUBLISHED).write_csv(out)
    return reviewed


def _check_out(out: Path, columns: Sequence[str]) -> None:
    """Raises ReviewError for a file that is not an earlier one of ours: it may be a queue with decisions."""
    if not out.parent.is_dir():
        raise ReviewError(f"{out}: there is no folder {out.parent}: create it, or name another file")
    if out.exists():
        header = out.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        if header != ",".join(columns):
            raise ReviewError(f"{out} exists and holds no published items: name another file with --out")


def _codes(warehouse: Warehouse) -> CountryCodes:
    rows = warehouse.query(COUNTRIES).rows()
    return CountryCodes({name: code for code, *names in rows for name in names})
