"""The two articles, with one kind of markup per page."""

from __future__ import annotations

import pytest

from scrapers.model import ListItem, Parsed, ScrapeError
from scrapers.wikipedia import currencies, religions
from tests.scrapers.hand_made import COUNTRIES, page

REAL = ListItem("Brazilian real", countries=("BR",), code="BRL")


def parsed_currencies(name: str, charset: str = "utf-8") -> Parsed:
    return currencies([page(f"currencies_{name}", charset=charset)], COUNTRIES)


@pytest.mark.parametrize(
    ("name", "items"),
    [
        (
            "rowspan",
            [
                REAL,
                ListItem("Cambodian riel", countries=("KH",), code="KHR"),
                ListItem("Euro", countries=("KH",), code="EUR"),
                ListItem("United States dollar", countries=("KH",), code="USD"),
            ],
        ),
        (
            "rowspan_zero",
            [
                REAL,
                ListItem("United States dollar", countries=("ZW",), code="USD"),
                ListItem("Zimbabwe gold", countries=("ZW",), code="ZWG"),
            ],
        ),
        ("footnotes", [REAL]),
        ("sort_keys", [ListItem("Gambian dalasi", countries=("GM",), code="GMD")]),
        ("flags", [REAL]),
        ("nbsp", [ListItem("South Korean won", countries=("KR",), code="KRW")]),
        (
            "right_to_left",
            [
                ListItem("Iranian rial", countries=("IR",), code="IRR"),
                ListItem("Israeli new shekel", countries=("IL",), code="ILS"),
            ],
        ),
        ("nested_table", [REAL]),
        ("two_row_header", [REAL]),
    ],
)
def test_currencies_of_one_page_per_kind_of_markup(name: str, items: list[ListItem]) -> None:
    assert parsed_currencies(name) == Parsed(tuple(items))


def test_currency_of_many_states_is_one_item_and_territories_are_counted() -> None:
    assert parsed_currencies("shared") == Parsed(
        (
            ListItem("United States dollar", code="USD"),
            ListItem("West African CFA franc", countries=("BJ", "CI", "TG"), code="XOF"),
        ),
        {"unknown_country": 1},
    )


def test_currency_needs_a_name_but_no_code() -> None:
    # Alderney is not in the warehouse; "R$" is no ISO code.
    assert parsed_currencies("no_iso_code") == Parsed(
        (ListItem("Alderney pound"), ListItem("Brazilian real", countries=("BR",))),
        {"empty_name": 1, "unknown_country": 1, "unreadable_iso_code": 1},
    )


def test_repeated_header_is_not_a_currency() -> None:
    result = parsed_currencies("repeated_header")
    assert [item.item for item in result.items] == ["Brazilian real", "Peruvian sol"]
    assert result.dropped == {"repeated_header": 1}


@pytest.mark.parametrize(
    ("name", "charset"),
    [("charset_of_meta", "utf-8"), ("charset_of_meta", "koi8-r"), ("wrong_header", "iso-8859-1")],
)
def test_wrong_charset_in_the_header_is_corrected(name: str, charset: str) -> None:
    assert parsed_currencies(name, charset).items == (ListItem("Paraguayan guaraní", (), ("PY",), (), "PYG"),)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "changed_layout",
            r"State or territory or .*layout has probably changed; it has: Country, Money, ISO code",
        ),
        ("empty_table", r"no item was found \(no rows\).*layout has probably changed"),
        ("truncated", r"https://pages\.example/: the page ends in the middle \(700 bytes"),
    ],
)
def test_changed_or_truncated_page_is_refused(name: str, message: str) -> None:
    with pytest.raises(ScrapeError, match=message):
        parsed_currencies(name)


def test_religions_of_several_tables_with_ranges_are_read() -> None:
    result = religions([page("religions_ranges")], COUNTRIES)
    assert result == Parsed(
        tuple(map(ListItem, ["Christianity", "Islam", "Jainism", "Taoism", "Tenrikyo"])),
        {"empty_name": 1, "no_followers": 1, "sum_of_religions": 1},
    )


def test_religions_by_category_are_read() -> None:
    assert religions([page("religions_category")], COUNTRIES).items == (ListItem("Hinduism"),)


def test_religions_with_another_header_are_refused() -> None:
    with pytest.raises(ScrapeError, match="layout has probably changed; it has: Faith, Share of the world"):
        religions([page("religions_changed_layout")], COUNTRIES)
