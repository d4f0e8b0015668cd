"""Programs of clones are read as data (literals and composed texts) and never run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.packs.prompts import rendered
from tasks.papers.sources import literal, read_source, template
from tasks.papers.values import NotRead, Slot

HEAD = """\
import os
raise SystemExit('it was run')
WORDS = ['one', 'two']
MORE = WORDS + ['three']
NAME = os.getenv('X')
BY = {'x': ['a', 'b'], 'y': ['c']}
C = {'a': {'x': 'b', 'y': 'c'}}
TEMPLATE = 'Of {x}, {y}.'
def listed(words):
    return '\\n'.join(f'- {w}' for w in words)
"""


def source(folder: Path, text: str, name: str = "a.py", encoding: str = "utf-8") -> Path:
    path = folder / name
    path.write_bytes(text.encode(encoding))
    return path


def test_constants_and_calls_are_read(tmp_path: Path) -> None:
    rows = "ROWS = [Row('a', words=MORE), Row(id='b', words=f())]\n"
    text = f"{HEAD}class Row:\n    id: str\n    words: list\n\n{rows}"
    read = read_source(source(tmp_path, text))
    assert read.constant("MORE") == ["one", "two", "three"]
    assert read.calls("Row") == [{"id": "a", "words": ["one", "two", "three"]}, {"id": "b"}]
    with pytest.raises(NotRead, match=r"os.getenv"):
        read.constant("NAME")
    with pytest.raises(NotRead, match="no function absent"):
        read.texts("absent")


VALUES = Slot("values", ", ")
COMPOSED: list[tuple[str, list[tuple[str | Slot, ...]]]] = [
    ("return f'{a.x} and {b[\"y\"]}!'", [(Slot("x"), " and ", Slot("y"), "!")]),
    ("t = 'a' + 'b'\n    t += c.z\n    return t", [("ab", Slot("z"))]),
    ("return ' '.join(r.values)", [(Slot("values", " "),)]),
    ("w = ', '.join(r.values)\n    return (w + '.') * 2", [(VALUES, ".", VALUES, ".")]),
    ("return '/'.join(r.values * 2) + '.'", [(Slot("values", "/"), "/", Slot("values", "/"), ".")]),
    ("return ' '.join([r.x] + r.values + ['z'])", [(Slot("x"), " ", Slot("values", " "), " z")]),
    ("return ' '.join(filter(None, [r.x, *r.values[:3]]))", [(Slot("x"), " ", Slot("values", " "))]),
    ("return ', '.join(v for v in r.values) or 'none'", [(VALUES,)]),
    ("return '\\n'.join([f'- {w}' for w in WORDS])", [("- one\n- two",)]),
    ("return ' '.join(f'{i}. {w}' for i, w in enumerate(WORDS, 1))", [("1. one 2. two",)]),
    ("return ' '.join(w for v in BY.values() for w in v if w != 'b')", [("a c",)]),
    ("if x == 1:\n        return 'special'\n    return 'usual'", [("special",), ("usual",)]),
    ("if x:\n        t = 'a'\n    else:\n        t = r.y\n    return f'{t}.'", [("a.",), (Slot("y"), ".")]),
    ("t = 'a' if x else r.y\n    return t + '.'", [("a.",), (Slot("y"), ".")]),
    ("if MORE:\n        return 'known'\n    return 'never'", [("known",)]),
    ("return ' '.join([r.x or '', str(r.y)]).strip()", [(Slot("x"), " ", Slot("y"))]),
    ("return 'In {0} with {place} {p.q}'.format(r.x, place=r.y, p=r)",
     [("In ", Slot("x"), " with ", Slot("y"), " ", Slot("q"))]),
    ("return 'yes' if 2 == 2 and 'b' not in WORDS and 'one' in WORDS and 1 < 2 and 2 > 1 and 1 <= 1 "
     "and 2 >= 2 and 'b' != 'c' and 1 is not 2 and None is None else 'no'", [("yes",)]),
    ("return TEMPLATE.format(**C['a'])", [("Of b, c.",)]),
    ("return TEMPLATE.replace('{x}', r.x).replace('{y}', 'c')", [("Of ", Slot("x"), ", c.")]),
    ("return '%s of %s' % (r.x, 7)", [(Slot("x"), " of 7")]),
    ("t = f\"\"\"\n      a {r.x}\n        b\n      \"\"\"\n    return textwrap.dedent(t).strip()",
     [("a ", Slot("x"), "\n  b")]),
    ("p = []\n    p.append(f'{r.x}')\n    p += ['b']\n    for w in WORDS:\n        p.append(w)\n"
     "    return ' '.join(p)", [(Slot("x"), " b one two")]),
    ("return f'{listed(WORDS)}; {r.x}'", [("- one\n- two; ", Slot("x"))]),
    ("t = 'a'\n    try:\n        with lock:\n            t += C[r.k]['x']\n    except KeyError:\n"
     "        pass\n    return t", [("a", Slot("x"))]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "pieces"), COMPOSED)
def test_texts_that_a_function_returns_are_read_as_templates(
    tmp_path: Path, body: str, pieces: list[tuple[str | Slot, ...]]
) -> None:
    read = read_source(source(tmp_path, f"{HEAD}def make(r):\n    {body}\n"))
    assert read.texts("make") == pieces


@pytest.mark.parametrize(
    "body", ["exec(r)", "r.x.lower()", "random.choice(WORDS)", "f'{r.x:>9}'", "os.getenv('X')"]
)
def test_an_unreadable_text_is_refused_with_its_line(tmp_path: Path, body: str) -> None:
    program = f"{HEAD}def make(r):\n    t = {body}\n    return t + '.'\n"
    with pytest.raises(NotRead, match=r"a\.py, line \d+: "):
        read_source(source(tmp_path, program)).texts("make")


@pytest.mark.parametrize(
    "text",
    [
        "t = 'x'\n" + "t += t\n" * 60,
        "t = [1, 2]\n" + "t = [t, t]\n" * 60,
        "t = 'x' * 10 ** 9",
        "t = 9\n" + "t *= t\n" * 60,
        "t = [[a, b, c] for a in R for b in R for c in R]",
        "t = 'x'.replace('x', 'y' * 10 ** 7)",
        "t = '{:999999999}'.format(1)",
        "t = " + "-" * 5000 + "1",
        "def f(x):\n    return f(x)\nt = f(1)",
        "def f(x):\n" + "    if x:\n        x = g\n" * 40 + "    return x\nt = f(1)",
        "class C: pass\nt = C().t",
        "t = (1).__class__",
    ],
)  # fmt: skip
def test_programs_that_would_grow_without_bound_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotRead):
        read_source(source(tmp_path, f"R = [1] * 999\n{text}\n")).constant("t")


def test_an_unreadable_entry_leaves_the_others(tmp_path: Path) -> None:
    program = "import os\nD = {'a': {'x': os.getenv('X'), 'y': 1}, 'b': [f(), 2]}\n"
    read = read_source(source(tmp_path, program))
    lost: list[str] = []
    assert read.constant("D", lost) == {"a": {"y": 1}}
    assert [line.split(": ")[1] for line in lost] == ["D, a, x", "D, b"]
    with pytest.raises(NotRead):
        read.constant("D")


def test_imported_files_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    source(tmp_path, "MARK = '!'\n", "b.py")
    source(tmp_path / "texts", "from a import *\nHELLO = 'hi'\n", "words.py")
    read = read_source(source(tmp_path, "from texts.words import HELLO as H\nimport b\nA = H + b.MARK\n"))
    assert read.constant("A") == "hi!"


@pytest.mark.parametrize(
    "text", ["{{ x }}", "{% if x %}", "a {# b", "{", "{{{", "}} %} #}", "{'a': {1}}", 'say "{{"']
)
def test_braces_in_texts_are_kept(text: str) -> None:
    assert rendered(literal(text), {}) == text.strip()
    assert rendered(template((text, Slot("x"), text), {"x": "y"}), {"y": "value"}) == f"{text}value{text}"


def test_declared_encodings_are_read_and_broken_sources_refused(tmp_path: Path) -> None:
    for encoding, text in (
        ("latin-1", "# -*- coding: latin-1 -*-\nA = 'é'\n"),
        ("utf-8-sig", "A = 'é'\n"),
        ("cp1252", "A = 'é'\n"),
    ):
        assert read_source(source(tmp_path, text, encoding=encoding)).constant("A") == "é"
    for broken in ("def (", "x = " + "(" * 5000, "\x00"):
        with pytest.raises(NotRead, match=r"a\.py is not Python source"):
            read_source(source(tmp_path, broken))
