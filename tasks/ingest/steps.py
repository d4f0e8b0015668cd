"""Tasks of the ingest flow, one per source. A refusal or failure leaves the warehouse as it was."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from scrapers.countries import CountryCodes
from scrapers.http import PoliteSession, user_agent
from scrapers.model import ScrapeError, TransientError
from scrapers.wikidata.endpoint import Endpoint
from tasks.ingest.params import IngestParams
from tasks.ingest.sources import SOURCES, Asked, Harvested, fault, with_known_countries, without_queries
from warehouse import Ingest, ReferenceItem, Warehouse, replace_dish_set, replace_item_list, save_ingest

CONTACT = "CULTUREMETER_CONTACT"
RETRY_AFTER_S = 10.0

LAST = """
SELECT n_kept, sha256 FROM ingest
WHERE source = ? AND status IN ('replaced', 'unchanged')
ORDER BY started_at DESC LIMIT 1
"""
PRESENT_SOURCE = """
SELECT source FROM item_list WHERE item_list = $target AND is_current
UNION ALL SELECT source FROM dish_set WHERE dish_set = $target
"""


class Refused(ScrapeError):  # noqa: N818 - "raise Refused" says it all
    """A result failed the sanity check; the attempt is recorded."""


def _is_transient(task: Any, run: Any, state: Any) -> bool:
    """Tell Prefect to retry a failed task, unless the server wishes a longer wait than the retry's."""
    error = state.data
    return isinstance(error, TransientError) and (error.retry_after or 0) <= RETRY_AFTER_S


@task(
    cache_policy=NO_CACHE,
    name="refresh",
    task_run_name="refresh {source}",
    retries=2,
    retry_delay_seconds=RETRY_AFTER_S,
    retry_condition_fn=_is_transient,
)
def refresh(source: str, params: IngestParams, started_at: datetime) -> str:
    """Fetch one source, check its result, and replace its list or dish set; returns the status.

    Raises:
        TransientError: it may work later (Prefect tries twice more). Refused: the check failed. ScrapeError:
            a retry cannot help.
    """
    warehouse, declared = Warehouse.open(), SOURCES[source]
    if params.files and declared.needs == "network":
        raise ScrapeError("this source reads no files: leave out --file")
    harvest = declared.harvest(_asked(warehouse, params, declared.deadline_s))
    last = warehouse.query(LAST, [source]).rows()
    n_before, last_sha256 = last[0] if last else (None, None)
    minimum = params.minimum or declared.minimum
    refused = fault(harvest.n_kept, n_before, minimum, params.max_shrinkage)
    origin = f"{source} {started_at:%Y-%m-%d} {harvest.url}"
    status = "refused"
    if not refused:
        status = "unchanged" if _is_present(warehouse, source, harvest, last_sha256) else "replaced"
    if status == "replaced":
        _replace(warehouse, declared.target, harvest, origin)
    save_ingest(warehouse, _record(source, started_at, status, harvest, refused))
    if refused:
        raise Refused(f"{source}: {refused}")
    return status


def record_failure(source: str, started_at: datetime, error: Exception) -> None:
    """Record an attempt without a usable result."""
    save_ingest(
        Warehouse.open(), Ingest(source, started_at, "failed", url="", message=without_queries(str(error)))
    )


def _asked(warehouse: Warehouse, params: IngestParams, deadline_s: float) -> Asked:
    """Return what the source reads with; session and endpoint are made on first use."""
    rows = warehouse.query("SELECT name, alpha3, country FROM country").rows()
    names = {name: code for name, _, code in rows} | {alpha3: code for _, alpha3, code in rows}
    return Asked(
        countries=CountryCodes(names),
        languages=params.languages,
        files=params.files,
        session=lambda: PoliteSession(
            _user_agent(params), warehouse.home / "cache" / "pages", deadline_s=deadline_s
        ),
        endpoint=lambda: Endpoint(params.endpoint, user_agent=_user_agent(params), deadline_s=deadline_s),
    )


def _user_agent(params: IngestParams) -> str:
    """Return the User-Agent.

    Raises ScrapeError without a usable contact; the recorded text does not repeat it.
    """
    try:
        return user_agent(params.contact or os.environ.get(CONTACT))
    except ScrapeError:
        raise ScrapeError(
            "live sources need a contact for their operators: give your e-mail address or a page about you "
            f"with --contact, or set {CONTACT} to it"
        ) from None


def _is_present(warehouse: Warehouse, source: str, harvest: Harvested, last_sha256: str | None) -> bool:
    """Return whether the same bytes were ingested last and nothing has replaced them."""
    present = warehouse.query(PRESENT_SOURCE, {"target": SOURCES[source].target})["source"].to_list()
    return harvest.sha256 == last_sha256 and any(text.startswith(f"{source} ") for text in present)


def _replace(warehouse: Warehouse, target: str, harvest: Harvested, origin: str) -> None:
    if harvest.dishes is not None:
        replace_dish_set(warehouse, target, harvest.dishes, origin, harvest.dropped)
        return
    present = "SELECT item, countries FROM current_item WHERE item_list = ?"
    items = with_known_countries(harvest.items, dict(warehouse.query(present, [target]).rows()))
    rows = [ReferenceItem(i.item, i.aliases, i.countries, i.ingredients, i.code) for i in items]
    replace_item_list(warehouse, target, rows, origin)


def _record(
    source: str, started_at: datetime, status: Any, harvest: Harvested, message: str | None
) -> Ingest:
    return Ingest(
        source=source,
        started_at=started_at,
        status=status,
        url=harvest.url,
        n_pages=harvest.n_pages,
        bytes=harvest.n_bytes,
        sha256=harvest.sha256,
        n_kept=harvest.n_kept,
        dropped=harvest.dropped,
        message=message,
    )


def now() -> datetime:
    """Return the time that identifies an attempt."""
    return datetime.now(UTC)
