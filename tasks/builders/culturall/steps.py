"""CulturALL's stages and the warehouse: the tables they read, and stored rows, queues, reviews and versions.

Each stage stores its rows in one transaction, so the same command resumes a killed run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.builders.culturall import release, review, studies
from tasks.builders.culturall.params import CreateParams, ElevateParams, ReleaseParams
from tasks.builders.culturall.studies import CheckStudy, CulturallBuild, ElevationStudy, Row
from tasks.builders.study import BuildStage
from tasks.loop.steps import logger
from tasks.people.review_file import Decided
from warehouse import Warehouse, culturall_build, now

STATES = """
SELECT d.*, s.* EXCLUDE (draft, language, origin)
FROM culturall_draft AS d JOIN culturall_draft_state AS s USING (draft)
"""
OPEN = """
status IN ('drafted', 'review_waits', 'accepted', 'revised', 'rejected_by_checks', 'too_easy')
AND len(faults) = 0
"""
"""Condition for drafts that may be published: without faults of their own, and not rejected by people."""

STATUSES = "SELECT status, count(*) FROM culturall_draft_state GROUP BY status"
DOUBTS = """
SELECT draft, list(reason || ': ' || detail ORDER BY reason) FROM culturall_check WHERE is_doubt GROUP BY
draft
"""
# A revision has the origin, source and author of the revised draft.
ORIGINS = """
SELECT d.draft, coalesce(p.origin, d.origin) AS origin, coalesce(p.source, d.source) AS source,
    coalesce(p.author, d.author) AS author
FROM culturall_draft AS d
LEFT JOIN culturall_draft AS p ON p.draft = d.parent AND d.origin = 'revision'
"""
LANGUAGES = {
    "languages": "SELECT code, item FROM current_item WHERE item_list = 'languages' AND code IS NOT NULL"
}


def save(study: CulturallBuild, answers: Mapping[str, Sequence[Row]], runs: Mapping[str, str]) -> None:
    """Store a stage's new rows; rows already stored stay unchanged."""
    rows = [row | {"run_id": runs[model]} for model, new_rows in answers.items() for row in new_rows]
    culturall_build.add(Warehouse.open(), study.table, [*study.own, *rows])


def save_harder(study: ElevationStudy, answers: Mapping[str, Sequence[Row]], runs: Mapping[str, str]) -> None:
    """Store harder versions, and write all that wait for review to the queue."""
    save(study, answers, runs)
    _queue([review.queue_row(row, "elevate", []) for row in elevations()], study.knobs.queue)


def save_checks(
    study: CheckStudy, answers: Mapping[str, NDArray[np.float32]], runs: Mapping[str, str]
) -> None:
    """Check every draft that may be published, and replace the earlier results."""
    vectors = next(iter(answers.values()), None)
    faults = release.check(study.rows, study.labels, study.regions, study.spoken, vectors, study.knobs)
    culturall_build.replace_checks(Warehouse.open(), release.check_rows(faults))


TOPICS = BuildStage(studies.NAME, CreateParams, {}, studies.topic_study, save=save)
CREATE = BuildStage(
    studies.NAME,
    CreateParams,
    LANGUAGES | {"usable": "SELECT DISTINCT source_hash FROM culturall_draft WHERE len(faults) = 0"},
    studies.draft_study,
    save=save,
)
ELEVATE = BuildStage(
    studies.NAME,
    ElevateParams,
    LANGUAGES | {"states": f"{STATES} ORDER BY draft"},
    studies.elevation_study,
    save=save_harder,
)
MEASURE = BuildStage(
    studies.NAME,
    CreateParams,
    {
        "used": f"{STATES} WHERE status IN ('drafted', 'review_waits', 'accepted', 'revised')",
        "measured": "SELECT draft, engine_hash, judges FROM culturall_measure",
    },
    studies.measure_study,
    save=save,
    models=lambda params: params.solvers,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
)
LABEL = BuildStage(
    studies.NAME,
    ReleaseParams,
    LANGUAGES
    | {"unlabelled": f"{STATES} ANTI JOIN culturall_label USING (draft) WHERE {OPEN} ORDER BY draft"},
    studies.label_study,
    save=save,
)
CHECK = BuildStage(
    studies.NAME,
    ReleaseParams,
    {
        "open": f"{STATES} WHERE {OPEN} ORDER BY draft",
        "labels": "FROM culturall_label",
        "regions": "SELECT region FROM culturall_region",
        "spoken": "SELECT country, list(language ORDER BY language) AS languages FROM country_language "
        "GROUP BY country",
    },
    studies.check_study,
    save=save_checks,
    models=lambda params: [params.embedder] if params.embedder else [],
    role="embedder",
)


def easy() -> list[Row]:
    """Return the measured drafts that are not hard and have no harder version yet."""
    return studies.to_elevate(Warehouse.open().query(f"{STATES} ORDER BY draft").to_dicts())[1]


def elevations() -> list[Row]:
    """Return the harder versions for which people have yet to decide whether they replace their parents."""
    return Warehouse.open().query(f"{STATES} WHERE status = 'elevation_waits' ORDER BY draft").to_dicts()


def queue(params: ReleaseParams) -> None:
    """Write a queue file of the drafts that wait for a review before publication, if there are any."""
    _queue(waiting(), params.queue)


def waiting() -> list[dict[str, str]]:
    """Return the drafts that wait for a review before publication, as rows of a queue with their doubts."""
    doubts = dict(Warehouse.open().query(DOUBTS).rows())
    rows = _labelled("status = 'review_waits'")
    return [review.queue_row(row, "release", doubts.get(row["draft"], [])) for row in rows]


def publish(params: ReleaseParams) -> tuple[int, str, int] | None:
    """Store the accepted and revised drafts as a version, and write it to ``params.out``.

    Returns:
        The version's number, hash and number of items; None if no draft is accepted or revised.
    """
    warehouse = Warehouse.open()
    rows = _labelled("status IN ('accepted', 'revised')")
    origins = {row["draft"]: row for row in warehouse.query(ORIGINS).to_dicts()}
    items = release.released([row | origins[row["draft"]] for row in rows])
    if not items:
        return None
    name, statuses = release.version(items), dict(warehouse.query(STATUSES).rows())
    card = release.card(items, name, statuses, params)
    row = {
        "version": name,
        "n_items": len(items),
        "counts": json.dumps(release.counts(items, statuses)),
        "card": card,
        "params": json.dumps(params.model_dump(exclude={"queue", "out"})),
        "released_at": now(),
    }
    number = culturall_build.save_release(warehouse, row, [{**item, "version": name} for item in items])
    if params.out:
        folder = Path(params.out)
        folder.mkdir(parents=True)
        (folder / "items.jsonl").write_text(release.published_lines(items), encoding="utf-8")
        (folder / "README.md").write_text(card, encoding="utf-8")
    logger().info("version %d (%s) has %d items", number, name, len(items))
    return number, name, len(items)


def read_review(path: Path) -> tuple[review.CulturallReview, int]:
    """Read a reviewed queue file and store its decisions; returns them and the number of undecided rows.

    Raises:
        ReviewError: the file breaks a rule or belongs to another warehouse; nothing is stored then.
    """
    reviews = review.QUEUE.read(path)
    return store_decisions(reviews.decided), reviews.n_pending


def lines() -> dict[tuple[str, str], dict[str, str]]:
    """Return the present row of a queue of every draft that waits or is decided, by stage and draft."""
    harder = Warehouse.open().query(f"{STATES} WHERE len(faults) = 0 AND d.origin = 'elevation'").to_dicts()
    by_stage = {"release": _labelled("len(faults) = 0"), "elevate": harder}
    return {
        (stage, row["draft"]): review.queue_row(row, stage, [])
        for stage, rows in by_stage.items()
        for row in rows
    }


def store_decisions(decided: Sequence[Decided]) -> review.CulturallReview:
    """Match decisions with their drafts and store them; raises ReviewError as ``read_review`` does."""
    warehouse = Warehouse.open()
    with warehouse.locked("culturall"):
        reviewed = review.compare(decided, lines(), now())
        culturall_build.save_reviews(warehouse, reviewed.decisions, reviewed.revisions)
    return reviewed


def _queue(lines: Sequence[Mapping[str, str]], path: str) -> None:
    if lines:
        review.QUEUE.write(Path(path), lines)
    logger().info("%d drafts wait for people in %s", len(lines), path)


def _labelled(where: str) -> list[Row]:
    """Return drafts with their status and their labels filled in."""
    warehouse = Warehouse.open()
    labels: dict[str, Any] = {row["draft"]: row for row in warehouse.query("FROM culturall_label").to_dicts()}
    rows = warehouse.query(f"{STATES} WHERE {where} ORDER BY draft").to_dicts()
    return [release.with_labels(row, labels.get(row["draft"])) for row in rows]
