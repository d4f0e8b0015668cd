"""Names of countries as pages write them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from scrapers.countries import CountryCodes
from tests.scrapers.hand_made import COUNTRIES

ALIASES = Path(__file__).parents[2] / "scrapers" / "country_aliases.csv"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("the United States", "US"),
        ("UNITED STATES[1]", "US"),
        ("U.S.", "US"),
        ("BRA", "BR"),
        ("Türkiye", "TR"),
        ("Turkiye", "TR"),
        ("Turkey", "TR"),
        ("Ivory Coast", "CI"),
        ("Cote d’Ivoire", "CI"),
        ("Czech Republic", "CZ"),
        ("DR Congo", "CD"),
        ("Republic of the Congo", "CG"),
        ("Congo, Democratic Republic of the", "CD"),
        ("Burma", "MM"),
        ("Myanmar (Burma)", "MM"),
        ("England", "GB"),
        ("Korea, South", "KR"),
        ("Korea (North)", "KP"),
        ("Gambia, The", "GM"),
        ("China, People's Republic of", "CN"),
        ("Bosnia &\u00a0Herzegovina†", "BA"),
        ("  ireland ² [note a]", "IE"),
        ("Guinea-Bissau", "GW"),
        ("Guinea", "GN"),
        # Not countries of the warehouse.
        ("Guam", None),
        ("Taiwan", None),
        ("China (Hong Kong)", None),
        ("China, Republic of", None),
        ("Georgia (U.S. state)", None),
        ("Virgin Islands, British", None),
        ("Korea", None),
        ("", None),
    ],
)
def test_names_of_countries_give_their_code(name: str, code: str | None) -> None:
    assert COUNTRIES.code(name) == code


@pytest.mark.parametrize(
    ("name", "region"),
    [
        ("U.S.", "US"),
        ("united_states_of_america", "US"),
        ("türkiye", "TR"),
        ("saudi_arabia", "SA"),
        ("American", "US"),
        ("Americans", "US"),
        ("Korean", "KR"),
        ("japanese people", "JP"),
        ("hong_kong", "Hong Kong"),
        ("Hong Kongers", "Hong Kong"),
        ("Taiwanese", "Taiwan"),
        ("palestinian_territories", "Palestine"),
        ("samoa", "Samoa"),
        ("Tongan", "Tonga"),
        ("American Samoa", "American Samoa"),
        # Wider or narrower than a country, or of two countries.
        ("Asian", None),
        ("Californian", None),
        ("Congolese", None),
        ("", None),
        ("s", None),
    ],
)
def test_names_peoples_and_regions_give_their_region(name: str, region: str | None) -> None:
    assert COUNTRIES.region(name) == region


def test_codes_are_sorted_and_distinct_and_unknown_names_counted() -> None:
    assert COUNTRIES.codes(["Peru", "Guam", "Brazil", "peru", "Atlantis"]) == (("BR", "PE"), 2)


def test_text_with_several_countries_is_split() -> None:
    assert COUNTRIES.split_names("Laos, Thailand") == ["Laos", "Thailand"]
    assert COUNTRIES.split_names("Korea, South") == ["Korea, South"]


def test_alias_counts_only_for_a_country_of_the_warehouse() -> None:
    assert CountryCodes({"Peru": "PE"}).code("Burma") is None


def test_aliases_are_sorted_unique_and_lead_to_their_place() -> None:
    with ALIASES.open(encoding="utf-8", newline="") as file:
        rows = [(row["name"], row["country"]) for row in csv.DictReader(file)]
    assert rows == sorted(set(rows))
    assert [COUNTRIES.region(name) for name, _ in rows] == [place for _, place in rows]
    places = {place for _, place in rows if len(place) > 2}
    assert places <= {name for name, _ in rows}
    assert not any(COUNTRIES.code(place) for place in places)
