"""The sources: each one's target, reader and least number of items. Knows no warehouse."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

import polars as pl

from scrapers import fmlama, tasteatlas, timeanddate, wikipedia, worldcuisines, wvs
from scrapers.countries import CountryCodes
from scrapers.model import FetchedPage, ListItem, Parsed, ScrapeError, WebSession, downloaded, merged
from scrapers.wikidata.endpoint import Endpoint
from scrapers.wikidata.fetch import fetch as fetch_wikidata
from scrapers.wikidata.join import join
from tasks.loop.progress import report as report_progress

ADDRESS_WITH_QUERY = re.compile(r"(https?://[^\s?]*\?)\S*[^\s.,:;)]")
DISH_COLUMNS = ["url", "language", "name", "origin", "origin_name", "ingredients", "materials", "image"]


@dataclass(frozen=True)
class Asked:
    """The means by which a source is read. Files need neither session nor endpoint."""

    countries: CountryCodes
    languages: Sequence[str] = ()
    files: Sequence[str] = ()
    session: Callable[[], WebSession] | None = None
    endpoint: Callable[[], Endpoint] | None = None


@dataclass(frozen=True)
class Harvested:
    """A source's result: items of a list, or dishes, and the pages that they were read from."""

    url: str
    n_pages: int
    n_bytes: int
    sha256: str
    dropped: Mapping[str, int]
    items: tuple[ListItem, ...] = ()
    dishes: pl.DataFrame | None = None

    @property
    def n_kept(self) -> int:
        """Return the number of items, or of distinct dishes."""
        return len(self.items) if self.dishes is None else self.dishes["url"].n_unique()


@dataclass(frozen=True)
class LiveSource:
    """One source.

    Attributes:
        target: the item list or dish set that it refreshes. minimum: fewer items mean that the source has
            changed or failed. needs: the user must allow the network, or give files. notice: on its terms;
            shown before a request.
    """

    target: str
    minimum: int
    needs: Literal["network", "files"]
    harvest: Callable[[Asked], Harvested]
    notice: str | None = None
    deadline_s: float = 600.0


def _currencies(request: Asked) -> Harvested:
    pages = [_session(request).get(wikipedia.CURRENCIES_URL)]
    return _from_pages(pages, wikipedia.currencies(pages, request.countries))


def _religions(request: Asked) -> Harvested:
    pages = [_session(request).get(wikipedia.RELIGIONS_URL)]
    return _from_pages(pages, wikipedia.religions(pages, request.countries))


def _timeanddate(request: Asked) -> Harvested:
    pages = timeanddate.fetch(_session(request), request.countries)
    return _from_pages(pages, timeanddate.parse(pages, request.countries))


def _tasteatlas(request: Asked) -> Harvested:
    (source,) = _files(request, 1, "the export's path, or the address of an endpoint that answers with it")
    page = _session(request).get(source) if is_address(source) else downloaded(Path(source))
    return _from_pages([page], tasteatlas.parse(page.content, request.countries))


def _worldcuisines(request: Asked) -> Harvested:
    pages = [downloaded(Path(path)) for path in _files(request, 1, "the knowledge base's CSV file")]
    return _from_pages(pages, worldcuisines.parse(pages[0].content, request.countries))


def _wvs(request: Asked) -> Harvested:
    what = "the survey's CSV file and a second one with the labels of Q272, or a ready file language,country"
    pages = [downloaded(Path(path)) for path in _files(request, 2, what)]
    labels = pages[1].content if len(pages) > 1 else None
    return _from_pages(pages, wvs.parse(pages[0].content, request.countries, labels))


def _fmlama(request: Asked) -> Harvested:
    what = "the published JSON Lines files, one a language"
    pages = [downloaded(Path(path)) for path in _files(request, None, what)]
    dishes, dropped = fmlama.parse({page.url: page.content for page in pages})
    return _harvested(pages, dropped, dishes=dishes)


def _wikidata(request: Asked) -> Harvested:
    if request.endpoint is None:
        raise ScrapeError("wikidata is a live source: add --live")
    endpoint = request.endpoint()
    seen: dict[str, int] = {}

    def report(query: str, done: int, total: int) -> None:
        report_progress(f"wikidata {query}", done - seen.get(query, 0), total)
        seen[query] = done

    harvest = fetch_wikidata(endpoint, request.languages, progress=report)
    rows, dropped = join(harvest, request.languages)
    dishes = rows.drop("origin").rename({"country": "origin", "country_name": "origin_name"})
    traffic = harvest.traffic
    return Harvested(
        url=without_queries(endpoint.url),
        n_pages=traffic.queries,
        n_bytes=traffic.bytes,
        sha256=traffic.sha256,
        dropped={reason: n for reason, n in dropped.items() if not reason.startswith(("kept", "rows:"))},
        dishes=dishes.with_columns(pl.col("ingredients").list.unique(maintain_order=True)).select(
            DISH_COLUMNS
        ),
    )


SOURCES: Mapping[str, LiveSource] = {
    "wikipedia-currencies": LiveSource("currencies", 120, "network", _currencies),
    "wikipedia-religions": LiveSource("religions", 10, "network", _religions),
    "wikidata": LiveSource("wikidata", 1000, "network", _wikidata, deadline_s=1800),
    "timeanddate": LiveSource("holidays", 500, "network", _timeanddate, timeanddate.NOTICE, deadline_s=1800),
    "tasteatlas": LiveSource("dishes", 100, "files", _tasteatlas, tasteatlas.NOTICE),
    "worldcuisines": LiveSource("dishes", 1000, "files", _worldcuisines),
    "wvs": LiveSource("languages", 50, "files", _wvs),
    "fmlama": LiveSource("fmlama", 1, "files", _fmlama),
}


def fault(n_kept: int, n_before: int | None, minimum: int, max_shrinkage: float) -> str | None:
    """Return why a result must not replace the present data, or None: too few items, or too many lost."""
    advice = "the page's layout or the source has probably changed; the present data stays"
    if n_kept < minimum:
        return f"{n_kept} items, at least {minimum} are expected: {advice} (or lower --minimum)"
    if n_before and n_kept < n_before * (1 - max_shrinkage):
        lost = 1 - n_kept / n_before
        return (
            f"{n_kept} items, {n_before} the last time: {lost:.0%} fewer, at most {max_shrinkage:.0%} are "
            f"accepted: {advice} (or raise --max-shrinkage)"
        )
    return None


def with_known_countries(items: Sequence[ListItem], known: Mapping[str, Sequence[str]]) -> list[ListItem]:
    """Give items without a country the countries that the present list has for them."""
    return [
        i if i.countries else ListItem(i.item, i.aliases, tuple(known.get(i.item, ())), i.ingredients, i.code)
        for i in items
    ]


def one_per_spelling(items: Sequence[ListItem]) -> tuple[ListItem, ...]:
    """Merge items that differ only in case, under the first spelling, so that they do not share one
    probability
    (warehouse/checks.sql: item_repeated). The other spellings become aliases."""
    spelling: dict[str, str] = {}
    for item in items:
        spelling.setdefault(item.item.lower(), item.item)
    return merged(replace(i, item=spelling[i.item.lower()], aliases=(*i.aliases, i.item)) for i in items)


def is_address(source: str) -> bool:
    """Return whether a "file" must be fetched over the network."""
    return source.startswith(("http://", "https://"))


def without_queries(text: str) -> str:
    """Return the text with addresses cut before their query, which may hold a key."""
    return ADDRESS_WITH_QUERY.sub(r"\1...", text)


def _session(request: Asked) -> WebSession:
    if request.session is None:
        raise ScrapeError("this is a live source: add --live")
    return request.session()


def _files(request: Asked, at_most: int | None, what: str) -> Sequence[str]:
    if not request.files:
        raise ScrapeError(f"this source reads your own files: give {what} with --file")
    if at_most is not None and len(request.files) > at_most:
        raise ScrapeError(f"{len(request.files)} files are more than this source reads: give only {what}")
    return request.files


def _from_pages(pages: Sequence[FetchedPage], parsed: Parsed) -> Harvested:
    items = one_per_spelling(parsed.items)
    other_case = {"other_case": len(parsed.items) - len(items)} if len(items) < len(parsed.items) else {}
    return _harvested(pages, {**parsed.dropped, **other_case}, items=items)


def _harvested(
    pages: Sequence[FetchedPage],
    dropped: Mapping[str, int],
    items: tuple[ListItem, ...] = (),
    dishes: pl.DataFrame | None = None,
) -> Harvested:
    digest = sha256()
    for page in pages:
        digest.update(page.content)
    size = sum(len(page.content) for page in pages)
    url = without_queries(pages[0].url)
    return Harvested(url, len(pages), size, digest.hexdigest(), dropped, items, dishes)
