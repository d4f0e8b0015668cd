"""Exports in all their shapes, and errors that name the place."""

from __future__ import annotations

import json

import pytest

from scrapers.model import ListItem, Parsed, ScrapeError
from scrapers.tasteatlas import parse
from tests.scrapers.hand_made import COUNTRIES

PHO = {"name": "Pho", "country": "Vietnam", "ingredients": [{"name": "beef"}, "rice noodles", None]}
FOODS = [
    PHO | {"alternativeNames": "Phở, pho bo"},
    {"Title": " Kimchi ", "origin": ["Korea, South", {"name": "Korea (North)"}, "Guam"], "rating": 4.5},
    {"name": "Sticky rice", "country": "Laos, Thailand", "ingredients": "glutinous rice, water"},
    {"name": "", "country": "Peru"},
    {"country": "Peru"},
]
WANTED = Parsed(
    (
        ListItem("Kimchi", countries=("KP", "KR")),
        ListItem("Pho", ("Phở", "pho bo"), ("VN",), ("beef", "rice noodles")),
        ListItem("Sticky rice", (), ("LA", "TH"), ("glutinous rice", "water")),
    ),
    {"empty_name": 2, "unknown_country": 1},
)


@pytest.mark.parametrize(
    "export", [FOODS, {"items": FOODS}, {"results": FOODS, "count": 5}, {"data": {"items": FOODS}}]
)
def test_list_of_foods_is_read_in_every_wrapper(export: object) -> None:
    assert parse(json.dumps(export).encode(), COUNTRIES) == WANTED
    assert parse(json.dumps(export, ensure_ascii=False).encode("utf-8-sig"), COUNTRIES) == WANTED


@pytest.mark.parametrize(
    ("export", "message"),
    [
        ({"rows": []}, r"a list, or an object with one of items, .* at \$ of the export, .* with rows"),
        ({"items": {"foods": 3}}, r"expected a list of foods at \$\.items\.foods .* got a number"),
        (["Pho"], r"expected an object at \$\[0\] .* got a text"),
        ([{"name": "a"}, {"name": 7}], r"at \$\[1\]\.name .* got a number"),
        ([{"name": "a", "origin": [{"code": "VN"}]}], r'with a "name" at \$\[0\]\.origin\[0\] .* with code'),
        ([{"name": "a", "ingredients": [True]}], r"at \$\[0\]\.ingredients\[0\] .* got true or false"),
        ([], "no item was found"),
        (None, r"expected a list of foods at \$ of the export, got null"),
    ],
)
def test_unexpected_value_is_named_with_its_place(export: object, message: str) -> None:
    with pytest.raises(ScrapeError, match=message):
        parse(json.dumps(export).encode(), COUNTRIES)


def test_page_instead_of_json_is_refused() -> None:
    with pytest.raises(ScrapeError, match="the export is not JSON"):
        parse(b"<html>", COUNTRIES)
