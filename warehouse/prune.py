"""Removal of superseded parts, answers and details of old occasions, and quarantined files. Numbers stay.

A leaderboard row rests on the answers and detail tables of its model's newest occasion, and on the answers of
its cohort's runs. These stay, and so do all answers without an occasion, because later runs use them. An old
occasion loses its parts, which are most of its bytes; its rows of ``run`` and ``metric_value`` stay as
history. The validation of judges against people is a table, and stays.

One transaction unregisters the parts and marks them as superseded, so that nobody takes them for parts of a
killed run. Files are deleted after that; after a kill the next call continues. Runs at work (``at_work``)
lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import polars as pl

from warehouse.claims import at_work
from warehouse.connection import Warehouse
from warehouse.part_kinds import KINDS
from warehouse.recovery import SUPERSEDED_STAY, delete_superseded
from warehouse.storage import execute_with, fetched, now

SMALL_KINDS = ("headline_value", "metric_row")
"""Kinds whose parts always stay: past numbers, from which differences between occasions are computed."""

# One row per registered part: its evaluation, its occasion, and the reason why it stays, NULL if it goes. A
# request that no run names belongs to the study itself (texts to embed, null models to judge) or is a detail
# table: it stays as long as anything else of its evaluation and occasion stays.
_FATE = """
WITH fate AS (
    SELECT run_id, evaluation, occasion, CASE
        WHEN run_id IN (SELECT unnest($at_work::VARCHAR[])) THEN 'of a run that is under way'
        WHEN occasion = '' THEN 'answers without an occasion: later runs use them'
        WHEN run_id IN (SELECT run_id FROM cohort) THEN 'of a frozen cohort: numbers are computed over it'
        WHEN run_id IN (SELECT run_id FROM latest_run) THEN 'newest occasion of its model: on the leaderboard'
        WHEN coalesce(finished_at, started_at) >= $cutoff THEN $young
        WHEN NOT EXISTS (
            SELECT 1 FROM run AS newer
            WHERE newer.status = 'finished' AND newer.config_hash = r.config_hash AND newer.model = r.model
                AND newer.engine_hash = r.engine_hash AND newer.finished_at >= r.started_at
        ) THEN 'of an unfinished run; no newer run is finished'
    END AS keep_reason
    FROM run AS r
), of_request AS (
    SELECT request_hash, min(keep_reason) AS keep_reason
    FROM run_request JOIN fate USING (run_id) GROUP BY request_hash
), of_occasion AS (
    SELECT evaluation, occasion, min(keep_reason) AS keep_reason FROM fate GROUP BY ALL
), part_request AS (
    SELECT DISTINCT kind, part, request_hash, run_id FROM part_unit
)
SELECT kind, part, coalesce(any_value(w.evaluation), '') AS evaluation,
    coalesce(any_value(w.occasion), '') AS occasion,
    min(CASE
        WHEN kind IN (SELECT unnest($small::VARCHAR[])) THEN 'past numbers'
        WHEN w.run_id IS NULL THEN 'of a run that is unknown here'
        WHEN r.request_hash IS NOT NULL THEN r.keep_reason
        ELSE o.keep_reason
    END) AS keep_reason
FROM part_request AS p
LEFT JOIN fate AS w USING (run_id)
LEFT JOIN of_request AS r USING (request_hash)
LEFT JOIN of_occasion AS o ON o.evaluation = w.evaluation AND o.occasion = w.occasion
GROUP BY kind, part
"""
_SUPERSEDED = """
SELECT kind, part, superseded_at >= $since AS is_new
FROM superseded_part ANTI JOIN part_unit USING (kind, part)
"""
_UNREGISTER = "DELETE FROM part_unit_base WHERE (kind, part) IN (SELECT (kind, part) FROM incoming)"
_SUPERSEDE = "INSERT OR REPLACE INTO superseded_part SELECT kind, part, $at FROM incoming"
_LONG_AGO = datetime(1970, 1, 1)


def prunable(warehouse: Warehouse, older_than: timedelta | None = None) -> pl.DataFrame:
    """Return what a prune would remove and keep, without changing anything.

    Args:
        older_than: least age of the occasions that may go, by the end of their runs; None: none may go.

    Returns:
        goes, what, why, n_files, bytes; the rows that go come first, then by size, the largest first.
    """
    with warehouse.read() as connection:
        fate = _fate(connection, older_than, at_work(warehouse.store))
        superseded = fetched(connection.execute(_SUPERSEDED, {"since": now() - SUPERSEDED_STAY}))
    sizes = {kind: warehouse.store.part_sizes(kind) for kind in {*fate["kind"], *superseded["kind"]}}
    rows: list[tuple[bool, str, str, int]] = []
    for kind, part, evaluation, occasion, reason in fate.rows():
        subject = f"{evaluation}, occasion {occasion}" if occasion else evaluation or kind
        rows.append((reason is None, subject, reason or "old, and not the newest", sizes[kind].get(part, 0)))
    for kind, part, is_new in superseded.rows():
        reason = (
            "superseded for less than a day: may still be read"
            if is_new
            else "other parts have their answers"
        )
        rows.append((not is_new, "superseded parts", reason, sizes[kind].get(part, 0)))
    rows += [
        (True, "quarantine", "damaged, and answered again", file.stat().st_size)
        for file in _quarantined(warehouse)
    ]
    rows += [
        (True, "failed publications", "their writer was killed or gave up", size)
        for size in warehouse.store.strays().values()
    ]
    schema = {"goes": pl.Boolean, "what": pl.String, "why": pl.String, "bytes": pl.Int64}
    files = pl.DataFrame(rows, schema, orient="row")
    summed = files.group_by("goes", "what", "why").agg(n_files=pl.len(), bytes=pl.sum("bytes"))
    order = ["goes", "bytes", "what", "why"]
    return summed.select("goes", "what", "why", "n_files", "bytes").sort(
        order, descending=[True, True, False, False]
    )


def prune(warehouse: Warehouse, older_than: timedelta | None = None) -> None:
    """Delete what ``prunable`` lists as going at that time. Raises WarehouseError for an outside writer."""
    with warehouse.write() as connection:
        fate = _fate(connection, older_than, at_work(warehouse.store))
        going = fate.filter(pl.col("keep_reason").is_null()).select("kind", "part")
        if going.height:
            execute_with(connection, going, _UNREGISTER)
            # Dated long ago, so that they are deleted now: only a query that began earlier reads them.
            execute_with(connection, going, _SUPERSEDE, {"at": _LONG_AGO})
    delete_superseded(warehouse)
    for file in _quarantined(warehouse):
        file.unlink(missing_ok=True)
    warehouse.store.delete_strays()
    warehouse.store.trim()


def _fate(
    connection: duckdb.DuckDBPyConnection, older_than: timedelta | None, working: list[str]
) -> pl.DataFrame:
    """Return kind, part, evaluation, occasion and keep_reason, which is null if the part goes."""
    cutoff, young = _LONG_AGO, "of an occasion: set --older-than to remove old ones"
    if older_than is not None:
        young = f"younger than {older_than.days} days"
        cutoff = now() - min(older_than, now() - _LONG_AGO)  # a longer time would leave the range of dates
    values = {"cutoff": cutoff, "young": young, "small": list(SMALL_KINDS), "at_work": working}
    return fetched(connection.execute(_FATE, values)).filter(pl.col("kind").is_in(list(KINDS)))


def _quarantined(warehouse: Warehouse) -> Iterable[Path]:
    return sorted(file for file in (warehouse.home / "quarantine").glob("*/*") if file.is_file())
