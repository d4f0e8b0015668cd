"""Refreshes item lists and dish sets from their sources, one after another."""

from __future__ import annotations

from prefect import flow
from prefect.context import FlowRunContext

from scrapers.model import ScrapeError
from tasks.ingest import steps
from tasks.ingest.params import IngestParams
from tasks.ingest.sources import SOURCES, without_queries
from tasks.loop.steps import logger, record_process


@flow(name="ingest", flow_run_name="ingest", validate_parameters=True)
def ingest(params: IngestParams) -> dict[str, str]:
    """Refresh the chosen sources; see ``refresh_all``. Prefect retries transient failures."""
    record_process()
    for source in params.sources:
        if notice := SOURCES[source].notice:
            logger().warning("%s: %s", source, notice)
    return refresh_all(params)


def refresh_all(params: IngestParams) -> dict[str, str]:
    """Refresh the chosen sources and return each one's status: replaced or unchanged.

    Every attempt is a row of the table ``ingest``. Outside of a flow each source has one attempt.

    Raises:
        ScrapeError: one or more sources were refused or failed; their lists are unchanged, the others new.
    """
    refresh = steps.refresh if FlowRunContext.get() else steps.refresh.fn
    statuses: dict[str, str] = {}
    failures: list[str] = []
    for source in params.sources:
        started_at = steps.now()
        try:
            statuses[source] = refresh(source, params, started_at)
        except Exception as error:  # one source must not stop the others
            reason = without_queries(str(error) or type(error).__name__).removeprefix(f"{source}: ")
            logger().error("%s: %s", source, reason)
            failures.append(f"{source}: {reason}")
            if not isinstance(error, steps.Refused):
                steps.record_failure(source, started_at, error)
    if failures:
        raise ScrapeError("\n".join(failures))
    return statuses
