"""SPARQL results from files: complete, in any order of members, in little memory and limited time."""

from __future__ import annotations

import codecs
import io
import json
import time
import tracemalloc

import pytest

from scrapers.wikidata import endpoint as module
from scrapers.wikidata.endpoint import NOT_A_RESULT, read_result

ITEM = "http://www.wikidata.org/entity/Q"
HEAD = {"vars": ["dish", "name"], "link": [["x"]]}


def result(n: int) -> dict[str, object]:
    """Return a result of n rows, every third with a name."""
    rows = [{"dish": {"type": "uri", "value": f"{ITEM}{i}"}} for i in range(n)]
    for i in range(0, n, 3):
        rows[i]["name"] = {"type": "literal", "value": f"ñ{i}", "xml:lang": "es", "type_": "x"}
    return {"head": HEAD, "results": {"distinct": False, "bindings": rows}}


def of(text: dict[str, object] | str) -> io.BytesIO:
    return io.BytesIO((text if isinstance(text, str) else json.dumps(text)).encode())


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 50)


@pytest.mark.parametrize("n", [0, 1, 49, 50, 107])
def test_every_row_is_read_in_order(n: int) -> None:
    frame = read_result(of(result(n)))
    assert frame.columns == ["dish", "name"]
    assert frame["dish"].to_list() == [f"{ITEM}{i}" for i in range(n)]
    assert frame["name"].to_list() == [None if i % 3 else f"ñ{i}" for i in range(n)]


def test_members_of_a_result_may_be_in_any_order() -> None:
    whole = result(4)
    assert read_result(of(dict(reversed(whole.items())))).equals(read_result(of(whole)))


def test_large_result_needs_little_more_memory_than_its_frame() -> None:
    content = of(result(6_000))  # 0.5 MB
    tracemalloc.start()
    try:
        frame = read_result(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(frame) == 6_000
    assert peak < 2**20  # all rows as Python objects: 4 MiB


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"boolean": true}',
        '{"head": {"vars": ["dish"]}}',
        '{"head": {"vars": ["dish"]}, "results": {"bindings": null}}',
        '{"head": {"vars": []}, "results": {"bindings": []}}',
        '{"results": {"bindings": []}}',
        '{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "uri"}}]}}',
        '{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"value": "a"}}]}}',
        '{"head": {"vars": ["x"]}, "results": {"bindings": [{"x": {"type": "triple", "value": {"s": {}}}}]}}',
        json.dumps(result(3))[:-9],
        json.dumps(result(3)) + " java.util.concurrent.TimeoutException",
    ],
)
def test_incomplete_or_other_json_is_refused(text: str) -> None:
    with pytest.raises(NOT_A_RESULT):
        read_result(of(text))


def test_a_byte_order_mark_before_the_result_is_no_damage() -> None:
    marked = io.BytesIO(codecs.BOM_UTF8 + json.dumps(result(3)).encode())
    assert read_result(marked).equals(read_result(of(result(3))))


@pytest.mark.parametrize("deep", ['{"a":', "[", '{"results":{"bindings":[{"x":{"type":'])
def test_deep_nesting_is_refused_quickly(deep: str) -> None:
    begun = time.thread_time()
    with pytest.raises(NOT_A_RESULT):
        read_result(of(deep * 100_000))
    assert time.thread_time() - begun < 10


def test_values_blank_nodes_and_unbound_variables_are_read() -> None:
    text = (
        '{"head":{"vars":["a","b","c"]},"results":{"bindings":[{"a":{"type":"uri","value":"http://x/1"},'
        '"b":{"type":"bnode","value":"t1"}},{"c":{"type":"literal","xml:lang":"en","value":"\\"q\\", r"}}]}}'
    )
    assert read_result(of(text)).rows() == [("http://x/1", "_:t1", None), (None, None, '"q", r')]
