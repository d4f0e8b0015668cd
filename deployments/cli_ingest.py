"""What ``culturescope ingest --live`` does beyond loading the shipped data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.cli_common import validated
from deployments.display import Format, bars, err, show
from deployments.server import configure, connect
from warehouse import Warehouse

CONTACT = "CULTURESCOPE_CONTACT"
NAMES = (
    "wikipedia-currencies",
    "wikipedia-religions",
    "wikidata",
    "timeanddate",
    "tasteatlas",
    "worldcuisines",
    "wvs",
    "fmlama",
)
"""Those of ``tasks.ingest.params``, which takes seconds to import; a test compares them."""

ATTEMPTS = """
SELECT source, status, n_kept, dropped, n_pages, bytes, url FROM ingest
WHERE started_at >= ? ORDER BY started_at
"""


def refresh(warehouse: Warehouse, given: Mapping[str, Any], live: bool, verbose: bool) -> None:
    """Run the ingest flow, and show what came of every source.

    Raises:
        ValueError: a source that is not there, or one of the network without ``live``.
        ScrapeError: a source was refused or failed.
    """
    configure(warehouse.home, verbose)
    from tasks.ingest.params import IngestParams
    from tasks.ingest.sources import SOURCES, is_address

    params = validated(IngestParams, given)
    on_disk = not any(map(is_address, params.files))
    online = [name for name in params.sources if SOURCES[name].needs == "network" or not on_disk]
    if online and not live:
        raise ValueError(
            f"{', '.join(online)} would be asked over the network: add --live, and your --contact for the "
            "operators"
        )
    for name in params.sources:
        if notice := SOURCES[name].notice:
            err.print(f"[yellow]notice[/] {name}: {notice}", soft_wrap=True)
    with err.status("starting Prefect"):
        connect(warehouse.home)
    from flows.ingest import ingest
    from tasks.ingest.steps import now

    started_at = now().replace(tzinfo=None)
    try:
        with bars():
            ingest(params)
    finally:
        show(warehouse.query(ATTEMPTS, [started_at]), Format.table, "Sources")
