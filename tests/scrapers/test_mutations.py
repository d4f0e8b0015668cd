"""Every parser gives an answer or a ScrapeError in little time for damaged and hostile input."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from scrapers import fmlama, tasteatlas, timeanddate, worldcuisines, wvs
from scrapers.model import FetchedPage, ScrapeError
from scrapers.wikipedia import currencies, religions
from tests.scrapers.hand_made import COUNTRIES, PAGES

LONGEST_S = 5.0
URL = "https://www.timeanddate.com/holidays/"
FOODS = json.dumps(
    [{"name": "Feijoada", "countries": ["Brazil"], "ingredients": "beans, pork", "aliases": []}]
)
KITCHEN = b"""Name,Alias,Countries
Rendang,"{""id"": ""Randang""}","[""Indonesia""]"
Pho,[],['Vietnam']
"""
SURVEY = b"Q272: Language at home,B_COUNTRY_ALPHA\n10,BRA\n20,PER\n"
LABELS = b"code,label\n10,Portuguese\n20,Spanish; Castilian\n"
DISH = {"url": "Q1", "origin": "Italy", "lang": "en", "sub_label": "pizza", "obj_label": ["flour", "cheese"]}


def _index() -> FetchedPage:
    return FetchedPage(URL, PAGES["timeanddate_index"])


PARSERS: dict[str, tuple[bytes, Callable[[bytes], object]]] = {
    "currencies": (
        PAGES["currencies_rowspan"],
        lambda content: currencies([FetchedPage(URL, content)], COUNTRIES),
    ),
    "religions": (
        PAGES["religions_ranges"],
        lambda content: religions([FetchedPage(URL, content)], COUNTRIES),
    ),
    "timeanddate": (
        PAGES["timeanddate_us"],
        lambda content: timeanddate.parse([_index(), FetchedPage(f"{URL}us/2026", content)], COUNTRIES),
    ),
    "timeanddate index": (
        PAGES["timeanddate_index"],
        lambda content: timeanddate.country_links(FetchedPage(URL, content), COUNTRIES),
    ),
    "tasteatlas": (FOODS.encode(), lambda content: tasteatlas.parse(content, COUNTRIES)),
    "worldcuisines": (KITCHEN, lambda content: worldcuisines.parse(content, COUNTRIES)),
    "wvs": (SURVEY, lambda content: wvs.parse(content, COUNTRIES, LABELS)),
    "wvs labels": (LABELS, lambda content: wvs.parse(SURVEY, COUNTRIES, content)),
    "fmlama": (json.dumps(DISH).encode(), lambda content: fmlama.parse({"f": content})),
}
HOSTILE = [
    b"",
    b"\xff\xfe",
    b"\x00" * 999,
    b"[" * 20_000,
    b'{"name":' * 20_000,
    b'[{"name":' + b"[" * 900 + b"]" * 900 + b"}]",
    b'[{"name": "\\ud800"}]',
    b"9" * 9999,
    b"<table>" * 3000 + b"</html>",
    b"<b>" * 5000 + b"</html>",
    b"Name,Alias,Countries\nx,0x" + b"f" * 9999 + b",[1]\n",
    b'Name,Alias,Countries\nx,"[0x' + b"f" * 9999 + b']","' + b"[" * 3000 + b'"\n',
    b'Name,Alias,Countries\nx,"[{1: 0x' + b"f" * 9999 + b'}]",[]\n',
    b'Name,Alias,Countries\nx,"[{1: ' + b"(" * 80 + b"1," + b")" * 80 + b'}]",[]\n',
    b"a" * 200_000,
    json.dumps(DISH | {"sub_label": "\ud800"}).encode(),
]
PIECES = [
    b"<table>", b"</td>", b"<td colspan=1000 rowspan=0>", b"<b>", b"[", b"{", b'"', b",", b"\n", b"\x00",
    b"\\ud800", b"&#xD800;", b"\xff", b"9" * 50, b"null", b"\xe2\x80\x8b", b";", b"Q272", b"<tr>", b"(",
]  # fmt: skip


def mutated(content: bytes, seed: int) -> bytes:
    """Return the content with one to eight cuts, repetitions, odd bytes or pieces, determined by the seed."""
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 8)):
        at, until = sorted(rng.randrange(len(content) + 1) for _ in range(2))
        match rng.randrange(5):
            case 0:
                content = content[:at] + content[until:]
            case 1:
                content = content[:until] + content[at:until] * rng.randint(1, 3) + content[until:]
            case 2:
                content = content[:at] + rng.choice(PIECES) * rng.choice([1, 1, 1, 300]) + content[at:]
            case 3:
                content = content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
            case _:
                content = content[:at] + content[until:] + content[at:until]
        content = content[:200_000]
    return content


def survives(parse: Callable[[bytes], object], content: bytes) -> None:
    """Check that parsing gives an answer or a ScrapeError within ``LONGEST_S``."""
    start = time.thread_time()
    with suppress(ScrapeError):
        parse(content)
    assert time.thread_time() - start < LONGEST_S, content[:200]


@pytest.mark.parametrize("name", PARSERS)
def test_sample_of_every_parser_is_parsed_unchanged(name: str) -> None:
    content, parse = PARSERS[name]
    parse(content)


@pytest.mark.parametrize("name", PARSERS)
def test_hostile_input_gives_an_answer_or_a_scrape_error(name: str) -> None:
    for content in HOSTILE:
        survives(PARSERS[name][1], content)


@pytest.mark.parametrize("name", PARSERS)
def test_25_mutations_give_an_answer_or_a_scrape_error(name: str) -> None:
    content, parse = PARSERS[name]
    for seed in range(25):
        survives(parse, mutated(content, seed))


@pytest.mark.heavy
@pytest.mark.parametrize("name", PARSERS)
def test_1000_mutations_give_an_answer_or_a_scrape_error(name: str) -> None:
    content, parse = PARSERS[name]
    for seed in range(1000, 2000):
        survives(parse, mutated(content, seed))
