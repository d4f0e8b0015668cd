"""Programs of others are read as data: literals, and texts that they compose. Nothing of them is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.packs.prompts import rendered
from tasks.papers.sources import NotRead, Slot, composed, literal, read_source, template

HEAD = """\
import os
raise SystemExit('it was run')
WORDS = ['one', 'two']
MORE = WORDS + ['three']
NAME = os.getenv('X')
"""


def source(folder: Path, text: str, name: str = "a.py", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_constants_and_calls(tmp_path: Path) -> None:
    rows = "ROWS = [Row('a', words=MORE), Row(id='b', words=f())]\n"
    text = f"{HEAD}class Row:\n    id: str\n    words: list\n\n{rows}"
    read = read_source(source(tmp_path, text))
    assert read.constant("MORE") == ["one", "two", "three"]
    assert read.calls("Row") == [{"id": "a", "words": ["one", "two", "three"]}, {"id": "b"}]
    with pytest.raises(NotRead, match="no constant NAME"):
        read.constant("NAME")
    with pytest.raises(NotRead, match="no function absent"):
        read.function("absent")


@pytest.mark.parametrize(
    ("body", "pieces"),
    [
        ("return f'{a.x} and {b[\"y\"]}!'", (Slot("x"), " and ", Slot("y"), "!")),
        ("t = 'a' + 'b'\n    t += c.z\n    return t", ("a", "b", Slot("z"))),
        ("return ' '.join(r.values)", (Slot("values", " "),)),
        (
            "w = ', '.join(r.values)\n    return (w + '.') * 2",
            (Slot("values", ", "), ".") * 2,
        ),
        ("return '\\n'.join([f'- {w}' for w in WORDS])", ("- ", "one", "\n", "- ", "two")),
        ("if x == 1:\n        return 'special'\n    return 'usual'", ("usual",)),
        ("t = 'a'\n    if r.more:\n        t += 'b'\n    return t", ("a", "b")),
        ("return ' '.join([r.x or '', str(r.y)]).strip()", (Slot("x"), " ", Slot("y"))),
    ],
)
def test_what_a_function_composes(tmp_path: Path, body: str, pieces: tuple[str | Slot, ...]) -> None:
    read = read_source(source(tmp_path, f"{HEAD}def make(r):\n    {body}\n"))
    assert composed(read, "make") == pieces


def test_a_text_that_the_reader_cannot_compose_is_refused(tmp_path: Path) -> None:
    read = read_source(source(tmp_path, "def make(r):\n    return exec(r)\n"))
    with pytest.raises(NotRead, match="the text that make makes is not followed"):
        composed(read, "make")
    long = read_source(
        source(tmp_path, "def make(r):\n    t = 'x'\n" + "    t += t\n" * 40 + "    return t\n")
    )
    with pytest.raises(NotRead):
        composed(long, "make")


@pytest.mark.parametrize(
    "text", ["{{ x }}", "{% if x %}", "a {# b", "{", "{{{", "}} %} #}", "{'a': {1}}", 'say "{{"']
)
def test_braces_of_others_stay_what_they_are(text: str) -> None:
    assert rendered(literal(text), {}) == text.strip()
    assert rendered(template((text, Slot("x"), text), {"x": "y"}), {"y": "value"}) == f"{text}value{text}"


def test_other_encodings_and_what_is_no_source(tmp_path: Path) -> None:
    for encoding, text in (
        ("latin-1", "# -*- coding: latin-1 -*-\nA = 'é'\n"),
        ("utf-8-sig", "A = 'é'\n"),
        ("cp1252", "A = 'é'\n"),
    ):
        assert read_source(source(tmp_path, text, encoding=encoding)).constant("A") == "é"
    for broken in ("def (", "x = " + "(" * 5000, "\x00"):
        with pytest.raises(NotRead, match=r"a\.py is no Python source"):
            read_source(source(tmp_path, broken))
