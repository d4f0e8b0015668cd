"""``culturemeter ingest``: load the shipped reference data, and item lists and dishes from sources."""

from __future__ import annotations

from collections.abc import Mapping
from logging import WARNING
from typing import Annotated, Any

import typer

from deployments.cli.bars import bars
from deployments.cli.common import WITHOUT_SERVER, NoServer, Verbose, errors
from deployments.cli.options import split, validated
from deployments.cli.warehouse import report_checks
from deployments.serve.server import configure, connect
from deployments.show.display import Format, notes, say, show, working
from tasks.ingest.params import NAMES, IngestParams
from warehouse import Warehouse

CONTACT = "CULTUREMETER_CONTACT"
LISTS = "SELECT item_list, n_items, list_hash, source FROM item_list WHERE is_current ORDER BY item_list"
SETS = "SELECT dish_set, n_dishes, n_rows, source FROM dish_set ORDER BY dish_set"
ATTEMPTS = """
SELECT source, status, n_kept, dropped, n_pages, bytes, url FROM ingest
WHERE started_at >= ? ORDER BY started_at
"""


def ingest(
    source: Annotated[
        list[str] | None, typer.Option("--source", "-s", help=f"{', '.join(NAMES)}; may be repeated")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="fetch from the sources over the network")] = False,
    file: Annotated[
        list[str] | None,
        typer.Option(help="file for the source to read, or the URL of an export; may be repeated"),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="wikidata: languages, comma-separated; default: all six")
    ] = None,
    endpoint: Annotated[str | None, typer.Option(help="wikidata: SPARQL endpoint")] = None,
    contact: Annotated[
        str | None,
        typer.Option(help="your e-mail or web page, sent to the sources' operators", envvar=CONTACT),
    ] = None,
    minimum: Annotated[int | None, typer.Option(help="refuse a list with fewer items than this")] = None,
    max_shrinkage: Annotated[
        float | None,
        typer.Option(help="refuse a list that lost more than this share of its items (default 0.2)"),
    ] = None,
    no_server: NoServer = False,
    verbose: Verbose = False,
) -> None:
    """Load the reference data into the warehouse and check it; with --live or --file, refresh from sources.

    Without options only the shipped data is loaded. If a source fails or its data looks wrong, its list stays
    unchanged; every attempt is a row of the table `ingest`. Only --live starts Prefect.

    Examples:

    - `culturemeter ingest`

    - `culturemeter ingest --live --contact me@example.org`

    - `culturemeter ingest --source wikidata --live --language en,zh --endpoint http://localhost:7878/query`

    - `culturemeter ingest --source fmlama --file fmlama_en.jsonl --file fmlama_zh.jsonl`
    """
    with errors():
        if language and not (live or file or source):
            raise ValueError("--language needs a source: add --source NAME and --live")
        warehouse = Warehouse.open()
        if live or file or source:
            values = {
                "sources": source,
                "files": file,
                "languages": split([language]) if language else None,
                "endpoint": endpoint,
                "contact": contact,
                "minimum": minimum,
                "max_shrinkage": max_shrinkage,
            }
            chosen = {k: v for k, v in values.items() if v is not None}
            refresh(warehouse, chosen, live, with_server=live and not no_server, verbose=verbose)
        show(warehouse.query(LISTS), Format.table, "Item lists")
        sets = warehouse.query(SETS)
        if sets.height:
            show(sets, Format.table, "Dish sets")
        report_checks(warehouse)
        say(f"warehouse: {warehouse.store.place}", style="")


def refresh(
    warehouse: Warehouse, values: Mapping[str, Any], live: bool, with_server: bool, verbose: bool
) -> None:
    """Run the ingest flow, or its loop without Prefect, and show the outcome of every source.

    Raises:
        ValueError: no such source, or a source that needs the network without ``live``.
        ScrapeError: a source was refused or failed.
        ServerError: there is no Prefect server.
    """
    configure(warehouse.home, verbose)
    from tasks.ingest.sources import SOURCES, is_address

    params = validated(IngestParams, values)
    on_disk = not any(map(is_address, params.files))
    online = [name for name in params.sources if SOURCES[name].needs == "network" or not on_disk]
    if online and not live:
        raise ValueError(
            f"{', '.join(online)} needs the network: add --live, and --contact for the operators"
        )
    for name in params.sources:
        if notice := SOURCES[name].notice:
            say(f"{name}: {notice}", "notice", "yellow")
    if with_server:
        with working("starting Prefect"):
            connect(warehouse.home, otherwise=WITHOUT_SERVER)
    from flows import ingest as flows
    from tasks.ingest.steps import now

    started_at = now().replace(tzinfo=None)
    try:
        with notes(verbose, WARNING), bars():
            flows.ingest(params) if with_server else flows.refresh_all(params)
    finally:
        show(warehouse.query(ATTEMPTS, [started_at]), Format.table, "Sources")
