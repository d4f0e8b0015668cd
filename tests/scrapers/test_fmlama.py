"""The published JSON Lines format: rows read, rows dropped and counted, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapers.fmlama import COLUMNS, parse
from scrapers.model import ScrapeError

PUBLISHED = sorted(Path("/work/shared/data").glob("fmlama_filtered_*.jsonl"))
POUTINE = {
    "url": "http://www.wikidata.org/entity/Q396184", "origin": "Canada", "origin_name": "加拿大",
    "lang": "zh", "sub_label": "肉汁奶酪薯条", "obj_label": ["肉汁", "马铃薯条"],
}  # fmt: skip


def lines(*objects: Any) -> bytes:
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in objects).encode()


def test_line_becomes_a_row() -> None:
    more = POUTINE | {"material": ["奶"], "image": "http://i", "unknown": 1}
    frame, dropped = parse({"zh.jsonl": lines(more)})
    assert dict(frame.schema) == COLUMNS
    assert frame.to_dicts() == [
        {
            "url": POUTINE["url"], "language": "zh", "name": "肉汁奶酪薯条", "origin": "Canada",
            "origin_name": "加拿大", "ingredients": ["肉汁", "马铃薯条"], "materials": ["奶"], "image": "http://i",
        }
    ]  # fmt: skip
    assert dropped == {}


def test_optional_fields_may_be_absent() -> None:
    (row,) = parse({"f": lines({k: v for k, v in POUTINE.items() if k != "origin_name"})})[0].to_dicts()
    assert (row["origin_name"], row["materials"], row["image"]) == (None, [], None)


def test_dropped_rows_and_ingredients_are_counted() -> None:
    files = {
        "a.jsonl": lines(
            POUTINE,
            POUTINE | {"sub_label": "again"},
            POUTINE | {"lang": "en", "sub_label": "poutine"},
            POUTINE | {"url": "Q2", "sub_label": " "},
            POUTINE | {"url": "Q3", "obj_label": []},
            POUTINE | {"url": "Q4", "obj_label": ["", "  "]},
            POUTINE | {"url": "Q5", "obj_label": ["salt", " salt ", "rice", "", "salt"]},
        ),
        "b.jsonl": lines(POUTINE),
    }
    frame, dropped = parse(files)
    assert dropped == {
        "empty_ingredient": 3,  # ingredients of Q4 and Q5
        "no_ingredient": 2,
        "no_name": 1,
        "repeated_dish": 2,  # within a file and in another
        "repeated_ingredient": 2,
    }
    # Sorted by url and language.
    assert frame["name"].to_list() == [
        "肉汁奶酪薯条",
        "poutine",
        "肉汁奶酪薯条",
    ]
    assert frame["ingredients"].to_list()[0] == ["salt", "rice"]


def test_first_of_repeated_dishes_stays_in_any_order_of_files() -> None:
    files = {"a": lines(POUTINE), "b": lines(POUTINE | {"sub_label": "other"})}
    one, other = parse(files), parse(dict(reversed(files.items())))
    assert one[0].equals(other[0])
    assert one[0]["name"].to_list() == ["肉汁奶酪薯条"]


def test_blank_lines_byte_order_marks_and_crlf_are_ignored() -> None:
    content = b"\xef\xbb\xbf" + lines(POUTINE) + b"\r\n\r\n" + lines(POUTINE | {"url": "Q2"}) + b"\r\n"
    assert parse({"f": content})[0].height == 2
    # Unicode's line separator inside a text does not end a line.
    assert parse({"f": lines(POUTINE | {"sub_label": "a\u2028b"})})[0]["name"].to_list() == ["a\u2028b"]
    assert parse({})[0].is_empty()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "bad.jsonl, line 3: not JSON"),
        ("[1]", "bad.jsonl, line 3: expected an object"),
        ('"text"', "bad.jsonl, line 3: expected an object"),
        (POUTINE | {"url": 5}, "bad.jsonl, line 3, field url: expected a text, got 5"),
        (POUTINE | {"url": " "}, "bad.jsonl, line 3, field url"),
        (POUTINE | {"origin": ""}, "bad.jsonl, line 3, field origin"),
        (POUTINE | {"lang": None}, "bad.jsonl, line 3, field lang"),
        ({k: v for k, v in POUTINE.items() if k != "sub_label"}, "line 3, field sub_label: .* None"),
        (POUTINE | {"obj_label": "salt"}, "field obj_label: expected a list of texts, got 'salt'"),
        (POUTINE | {"obj_label": ["salt", None]}, "line 3, field obj_label"),
        ({k: v for k, v in POUTINE.items() if k != "obj_label"}, "field obj_label: .* None"),
        (POUTINE | {"material": {"a": 1}}, "line 3, field material"),
        (POUTINE | {"origin_name": ["x"]}, "line 3, field origin_name: expected a text or none"),
        (POUTINE | {"image": 3}, "line 3, field image"),
    ],
)
def test_errors_name_file_line_and_field(line: str | dict[str, Any], message: str) -> None:
    wrong = line if isinstance(line, str) else json.dumps(line)
    with pytest.raises(ScrapeError, match=message):
        parse({"good.jsonl": lines(POUTINE), "bad.jsonl": lines(POUTINE) + b"\n\n" + wrong.encode()})


def test_other_encoding_is_refused() -> None:
    with pytest.raises(ScrapeError, match=r"latin\.jsonl, line 1: it is not UTF-8"):
        parse({"latin.jsonl": '{"sub_label": "crème"}'.encode("latin-1")})


texts = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda t: t == t.strip() and t)


@given(
    st.dictionaries(
        st.tuples(texts, st.sampled_from(["en", "zh"])),
        st.tuples(texts, st.lists(texts, min_size=1, unique=True)),
    )
)
def test_written_dishes_are_read_back(dishes: dict[tuple[str, str], tuple[str, list[str]]]) -> None:
    written = [
        {"url": url, "lang": lang, "origin": "Italy", "sub_label": name, "obj_label": ingredients}
        for (url, lang), (name, ingredients) in dishes.items()
    ]
    frame, dropped = parse({"f": lines(*written)})
    read = frame.select("url", "language", "name", "ingredients").rows()
    assert read == sorted((*key, *cells) for key, cells in dishes.items())
    assert dropped == {}


@pytest.mark.skipif(not PUBLISHED, reason="the published files are not here")
def test_every_line_of_the_published_files_is_read() -> None:
    frame, dropped = parse({p.name: p.read_bytes() for p in PUBLISHED})
    assert frame.height == sum(len(p.read_text().splitlines()) for p in PUBLISHED)
    assert dropped == {}
    assert frame["origin_name"].null_count() == 0
