"""Holidays by country: the index, the countries' pages, and rows that are no holidays."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scrapers.model import FetchedPage, ListItem, Parsed, ScrapeError
from scrapers.timeanddate import INDEX_URL, country_links, fetch, parse
from tests.scrapers.hand_made import COUNTRIES, page

INDEX = page("timeanddate_index", INDEX_URL)
US = page("timeanddate_us", f"{INDEX_URL}us/2026")
JAPAN = page("timeanddate_japan", f"{INDEX_URL}japan/2026")


def test_only_links_to_known_countries_are_returned() -> None:
    assert country_links(INDEX, COUNTRIES) == {"us": "US", "japan": "JP", "south-korea": "KR"}


def test_holiday_of_several_countries_is_one_item() -> None:
    assert parse([INDEX, US, JAPAN], COUNTRIES) == Parsed(
        (
            ListItem("Eid al-Adha", countries=("JP",)),
            ListItem("Independence Day", countries=("US",)),
            ListItem("Labor Day", aliases=("Labour Day",), countries=("US",)),
            ListItem("New Year's Day", countries=("JP", "US")),
            ListItem("Vernal Equinox Day", countries=("JP",)),  # a national holiday in Japan, not a season
        ),
        {"clock_change": 1, "empty_name": 1, "season": 2, "spanning_row": 2, "working_day": 1},
    )


def test_country_page_without_table_is_counted_and_the_others_stay() -> None:
    korea = page("timeanddate_no_table", f"{INDEX_URL}south-korea/2026")
    guam = page("timeanddate_japan", f"{INDEX_URL}guam/2026")
    result = parse([US, INDEX, korea, guam], COUNTRIES)
    assert (result.dropped["page_without_table"], result.dropped["unknown_country"]) == (1, 1)
    assert ListItem("Vernal Equinox Day") in result.items


def test_changed_layout_is_refused() -> None:
    empty = page("timeanddate_no_table", f"{INDEX_URL}us/2026")
    with pytest.raises(ScrapeError, match=r"\(page_without_table: 1\).*layout has probably changed"):
        parse([INDEX, empty], COUNTRIES)
    with pytest.raises(ScrapeError, match=r"no link to the holidays .*layout has probably changed"):
        parse([page("timeanddate_no_table", INDEX_URL), US], COUNTRIES)
    with pytest.raises(ScrapeError, match=r"the index page .* is missing"):
        parse([US], COUNTRIES)


class Site:
    """A site with the index and the page of the US for every country."""

    def get(self, url: str) -> FetchedPage:
        return INDEX if url == INDEX_URL else FetchedPage(url, US.content)


def test_fetch_requests_the_index_and_then_the_countries() -> None:
    urls = [got.url for got in fetch(Site(), COUNTRIES, 2027)]
    assert urls == [INDEX_URL, *(f"{INDEX_URL}{slug}/2027" for slug in ("japan", "south-korea", "us"))]
    this_year = datetime.now(UTC).year
    assert fetch(Site(), COUNTRIES)[1].url.endswith((f"/{this_year}", f"/{this_year - 1}"))
