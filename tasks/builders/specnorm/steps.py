"""SpecNorm's stages and the warehouse.

Drafting turns seeds into rows of ``specnorm_draft`` and a queue file. A review turns the reviewed file into
rows of ``specnorm_item``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from tasks.builders.specnorm.drafting import PROMPT_HASH
from tasks.builders.specnorm.params import SpecnormParams
from tasks.builders.specnorm.review import SpecnormReview, StoredDraft, compare, read_reviews, write_queue
from tasks.builders.specnorm.study import (
    SpecnormJob,
    SpecnormStudy,
    codes,
    draft_of,
    draft_rows,
    specnorm_study,
)
from tasks.builders.study import BuildStage
from tasks.loop.prompts import Completion
from tasks.loop.steps import logger
from tasks.people.review_file import ReviewError
from warehouse import Warehouse, now
from warehouse.specnorm import save_drafts, save_reviews

COUNTRIES = "SELECT country, name, alpha3 FROM country"
SETTLED = "SELECT draft, seed, status FROM specnorm_draft WHERE status <> 'rejected_by_checks'"
# With the present texts: those of a revised draft are in its item.
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


def save(
    study: SpecnormStudy, answers: Mapping[str, Mapping[str, Completion]], runs: Mapping[str, str]
) -> None:
    """Check the completions, store every draft with its faults, and write the drafts to review to the queue.

    Holds a lock, so that two builds do not store drafts of the same seed or near-duplicates.
    """
    warehouse = Warehouse.open()
    with warehouse.locked("specnorm"):
        for model, completions in answers.items():
            jobs = [job for job in open_jobs(study) if job.draft in completions]
            drafts = [row for row in warehouse.query(DRAFTS).to_dicts() if row["status"] != "rejected"]
            rows = draft_rows(jobs, completions, [draft_of(row) for row in drafts])
            provenance = {
                "model": model,
                "prompt_hash": PROMPT_HASH,
                "request_hash": study.request_hash,
                "run_id": runs[model],
                "drafted_at": now(),
            }
            save_drafts(warehouse, [row | provenance for row in rows])
    stored = warehouse.query(DRAFTS).to_dicts()
    waiting = {row["draft"]: row for row in stored if row["status"] == "queued"}
    queued = [draft_of(waiting[job.draft]) for job in study.jobs if job.draft in waiting]
    if queued:
        write_queue(Path(study.knobs.queue), queued, study.engine.name, PROMPT_HASH)
    logger().info("%d drafts wait for a review in %s", len(queued), study.knobs.queue)


DRAFT = BuildStage(
    "build_specnorm",
    SpecnormParams,
    {"seeds": "SELECT * FROM specnorm_seed ORDER BY rowid", "countries": COUNTRIES, "settled": SETTLED},
    specnorm_study,
    save=save,
)


def open_jobs(study: SpecnormStudy) -> list[SpecnormJob]:
    """Return the jobs whose drafts no build has written yet."""
    return study.open_jobs(Warehouse.open().query(SETTLED).to_dicts())


def summary(study: SpecnormStudy) -> pl.DataFrame:
    """Return a build's number of drafts by status and fault: columns status, fault, n_drafts."""
    return Warehouse.open().query(SUMMARY, {"drafts": [job.draft for job in study.jobs]})


def review(path: Path, out: Path | None = None) -> SpecnormReview:
    """Read a reviewed queue, store its decisions, and publish accepted and revised items.

    Args:
        out: file to write all published items to.

    Raises:
        ReviewError: the file breaks a rule or belongs to another warehouse; nothing is stored then.
    """
    warehouse = Warehouse.open()
    if out:
        _check_out(out, warehouse.query(PUBLISHED).columns)
    with warehouse.locked("specnorm"):
        stored = [StoredDraft(row, draft_of(row)) for row in warehouse.query(DRAFTS).to_dicts()]
        countries = codes(warehouse.query(COUNTRIES).to_dicts())
        reviewed = compare(path, read_reviews(path), stored, countries, now())
        save_reviews(warehouse, reviewed.decisions, reviewed.items)
    if out:
        warehouse.query(PUBLISHED).write_csv(out)
    return reviewed


def _check_out(out: Path, columns: Sequence[str]) -> None:
    """Raise ReviewError for an existing file without published items: it may be a queue with decisions."""
    if not out.parent.is_dir():
        raise ReviewError(f"{out}: the folder {out.parent} does not exist: create it, or name another file")
    if out.exists():
        header = out.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        if header != ",".join(columns):
            raise ReviewError(
                f"{out} exists and is not a file of published items: name another file with --out"
            )
