"""Refresh item lists and dish sets from their sources, one after another."""

from __future__ import annotations

from prefect import flow, get_run_logger

from scrapers.model import ScrapeError
from tasks.ingest import steps
from tasks.ingest.params import IngestParams
from tasks.ingest.sources import without_queries
from warehouse import WarehouseError


@flow(name="ingest", flow_run_name="ingest", validate_parameters=True)
def ingest(params: IngestParams) -> dict[str, str]:
    """Refresh the chosen sources; every attempt is a row of the table ``ingest``.

    Returns the status of each source: replaced or unchanged.

    Raises:
        ScrapeError: one or more sources were refused or failed; their lists are as before, the others' new.
    """
    log = get_run_logger()
    done: dict[str, str] = {}
    failures: list[str] = []
    for source in params.sources:
        started_at = steps.now()
        try:
            done[source] = steps.refresh(source, params, started_at)
        except (ScrapeError, WarehouseError, ValueError) as error:  # ValueError: a language or endpoint
            said = without_queries(str(error)).removeprefix(f"{source}: ")
            log.error("%s: %s", source, said)
            failures.append(f"{source}: {said}")
            if not isinstance(error, steps.Refused):
                steps.record_failure(source, started_at, error)
    if failures:
        raise ScrapeError("\n".join(failures))
    return done
