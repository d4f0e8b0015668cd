"""Hostile files and pages for ``ingest`` (other files, entities, endless cells) give an error or a text.

Faults of servers (compression bombs, endless bodies, redirects) are in tests/scrapers/test_http_*.py, files
for ``reproduce`` and packs in tests/packs, exports of annotation tools in tests/people/test_elsewhere.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scrapers.csv_table import read
from scrapers.fmlama import parse as parse_fmlama
from scrapers.html_table import tables
from scrapers.model import ScrapeError
from scrapers.tasteatlas import parse as parse_tasteatlas

ENTITIES = (
    '<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "lol"><!ENTITY f SYSTEM "file:///etc/passwd">'
    + "".join(f'<!ENTITY a{n} "{("&a" + str(n - 1) + ";") * 10}">' for n in range(1, 12))
    + "]>"
)
PAGES = {
    "entities": f"{ENTITIES}<html><table><tr><th>Name</th></tr><tr><td>&f; &a11;</td></tr></table></html>",
    "processing": '<?xml-stylesheet href="file:///etc/passwd"?><table><tr><th>a</th></tr><tr><td>b</td></tr></table>',
    "inclusion": '<table xmlns:xi="http://www.w3.org/2001/XInclude"><tr><th>a</th></tr><tr><td>'
    '<xi:include href="/etc/passwd" parse="text"/><object data="/etc/passwd"></object></td></tr></table>',
    "CDATA": "<table><tr><th>a</th></tr><tr><td><![CDATA[&f;]]></td></tr></table>",
}


@pytest.mark.filterwarnings("ignore::bs4.XMLParsedAsHTMLWarning")
@pytest.mark.parametrize("page", PAGES)
def test_page_reads_no_file_and_expands_no_entity(page: str) -> None:
    found = str(tables(PAGES[page]))
    assert "root:" not in found
    assert len(found) < 2000


ENDLESS = [b"a,b\n" + b"x" * 200_000 + b",1\n", b'a\n"' + b"x\n" * 200_000, b"\0" * 100, b"", b"\xff\xfe\0"]


@pytest.mark.parametrize("content", ENDLESS, ids=range(len(ENDLESS)))
def test_endless_cells_give_a_short_result_or_error(content: bytes) -> None:
    result = ""
    try:
        result = str(read(content, "wvs").rows)
    except ScrapeError as error:
        result = str(error)
    assert len(result) < 1000


JSON = {
    "deep": b"[" * 100_000,
    "objects": b'{"a":' * 100_000,
    "digits": b'{"a": ' + b"9" * 10_000 + b"}",
    "surrogate": b'{"a": "\\ud800"}',
    "entities": ENTITIES.encode(),
}
READERS: dict[str, Callable[[bytes], object]] = {
    "fmlama": lambda content: parse_fmlama({"dishes.jsonl": content}),
    "tasteatlas": lambda content: parse_tasteatlas(content, {}),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("hostile", JSON)
@pytest.mark.parametrize("source", READERS)
def test_hostile_json_is_one_error(source: str, hostile: str) -> None:
    with pytest.raises(ScrapeError) as refusal:
        READERS[source](JSON[hostile])
    assert len(str(refusal.value)) < 500
