"""The knowledge base's CSV in its published and its older shapes."""

from __future__ import annotations

import csv
import io

import pytest

from scrapers.model import ListItem, Parsed, ScrapeError
from scrapers.worldcuisines import parse
from tests.scrapers.hand_made import COUNTRIES

HEADER = ("Name", "Alias", "Coarse-grained categories", "Countries", "Text Description")


def file_of(*rows: tuple[str, ...], header: tuple[str, ...] = HEADER) -> bytes:
    file = io.StringIO()
    csv.writer(file).writerows([header, *rows])
    return file.getvalue().encode()


@pytest.mark.parametrize(
    ("alias", "aliases"),
    [
        ('{"jv - Javanese": "Sega", "ko - Korean": "나시", "id - Indonesian": "NASI"}', ("Sega", "나시")),
        ("[{'sega': 'Javanese'}, {'no_alias': 'not_stated'}, {'name': 'no_alias'}]", ("sega",)),
        ("[{'Indonesian': 'nasi'}, {'sega': 'not_stated'}]", ("sega",)),  # a reversed pair
        ("[{'no_alias': []}]", ()),
        ('["sega", "nasi lemak"]', ("nasi lemak", "sega")),
        ("sega, nasi lemak", ("nasi lemak", "sega")),
        ("{}", ()),
        ("", ()),
    ],
)
def test_aliases_are_read_in_every_shape(alias: str, aliases: tuple[str, ...]) -> None:
    content = file_of(("Nasi", alias, '["rice"]', '["Indonesia", "Malaysia", "Indonesia"]', "Rice, cooked."))
    assert parse(content, COUNTRIES) == Parsed((ListItem("Nasi", aliases, ("ID", "MY")),))


@pytest.mark.parametrize(
    "countries", ['["South Korea", "Laos"]', "['South Korea', 'Laos']", "South Korea, Laos"]
)
def test_countries_are_read_in_every_shape(countries: str) -> None:
    assert parse(file_of(("A", "", "", countries, "")), COUNTRIES).items[0].countries == ("KR", "LA")


def test_dropped_and_unreadable_cells_are_counted() -> None:
    content = file_of(
        ("", "", "", '["Peru"]', ""),
        ("A", '[{""no_alias"": true}]', "", '["Hong Kong", "Peru"]', ""),
        ("B", "", "", '["Peru', ""),
        ("C", "", "", "Korea, South", ""),
    )
    assert parse(content, COUNTRIES) == Parsed(
        (ListItem("A", countries=("PE",)), ListItem("B"), ListItem("C", countries=("KR",))),
        {"empty_name": 1, "unknown_country": 1, "unreadable_aliases": 1, "unreadable_countries": 1},
    )


def test_variants_of_the_header_are_read() -> None:
    content = b"\xef\xbb\xbffood_id;NAME;Country\r\n0;Pho;Vietnam\r\n\r\n1;Soup;\r\n"
    assert parse(content, COUNTRIES).items == (ListItem("Pho", countries=("VN",)), ListItem("Soup"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            file_of(header=("Dish", "Countries")),
            "no column 'Name' or 'Dish name' .*its columns: 'Dish', 'Countries'",
        ),
        (file_of(header=("Name", "Area")), "no column 'Countries' or 'Country'; its columns: 'Name', 'Area'"),
        (file_of(), "no item was found"),
        (b"Name,Countries\nPho\n", "line 2: 1 cells for 2 columns"),
        (b"Name,Countries\nPho, beef,Vietnam\n", "line 2: 3 cells for 2 columns"),
        (b"", "it is empty"),
        (b'Name,Countries\n"' + b"x" * 200_000, "line 2: not a CSV file"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(ScrapeError, match=message):
        parse(content, COUNTRIES)
