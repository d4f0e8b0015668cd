"""Find words that readers have had to read twice: `python docs/words.py`, part of `make lint`.

A docstring begins with what the function returns or does: a generator yields, and nothing else does.
Docstrings of constants, help texts and comments of views begin with a noun. Readers marked the phrases; add
to them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ("benchmarks", "culturemeter", "deployments", "docs", "flows", "scrapers", "tasks", "warehouse")
TEXT = {".css", ".html", ".md", ".py", ".sql", ".toml", ".csv"}
OPENING = re.compile(
    r"(As|At|Beside|Between|By|For|From|How|In|Of|On|So|The same|To|What|Where|With)\b(?!.*\?)"
)
FRAGMENT = re.compile(r"(As|How|Of|So many|The same|What)\b(?!.*\?)", re.IGNORECASE)
"""Banned openings of texts that name a thing: constants' docstrings, help, comments of views."""
HELP = {"help", "short_help", "description"}
COMMENT = re.compile(r"^COMMENT ON (?:VIEW|COLUMN) \S+ IS '(.*?)';?$", re.MULTILINE)
AMERICAN = re.compile(
    r"\b(?:behaviors?|color(?:s|ed)?|favorites?|neighbors?|catalogs?|centers?|analyz\w+|"
    r"(?:normal|summar|random|recogn|general|capital)iz\w+)\b",
    re.IGNORECASE,
)
"""American forms, banned in prose but not in code, links and names."""
PROSE = re.compile(r"`[^`]*`|\]\([^)]*\)|https?://\S+|<[^>]*>")
PHRASES = re.compile(
    r"there is nobody|is no address|goes before it|nothing left to do|no longer has anything|"
    r"(numbers|medians) which compare|A field that is changed wins|All but models|too little was asked|"
    r"and a line says so|speaks against one|varies together|that is no count|so many (models|items|units) "
)


def faults(root: Path = ROOT) -> Iterator[str]:
    """Yield "file:line: words" for every fault in the files that people read."""
    for top in CODE:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in TEXT and path != Path(__file__).resolve():
                yield from _of_file(path, path.relative_to(root).as_posix())
    for path in sorted(root.glob("*.md")):
        if path.name != "CHANGELOG.md":
            yield from _of_file(path, path.name)


def _of_file(path: Path, name: str) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if found := PHRASES.search(line):
            yield f"{name}:{number}: {found.group()!r}"
    if path.suffix == ".md":
        yield from _american(text, name)
    if path.suffix == ".sql" and "views" in path.parts:
        for found in COMMENT.finditer(text):
            if FRAGMENT.match(found[1]):
                place = text.count("\n", 0, found.start()) + 1
                yield f"{name}:{place}: a comment begins with {found[1][:40]!r}"
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").split("\n", 1)[0]
                if OPENING.match(first):
                    yield f"{name}:{getattr(node, 'lineno', 1)}: a docstring begins with {first[:40]!r}"
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                verb = (ast.get_docstring(node) or "").partition(" ")[0]
                is_lazy = any(isinstance(own, ast.Yield | ast.YieldFrom) for own in _own(node))
                is_iterator = "Iter" in ast.unparse(node.returns or ast.Constant(""))
                if is_lazy if verb == "Return" else verb == "Yield" and not (is_lazy or is_iterator):
                    yield f"{name}:{node.lineno}: {node.name} does not {verb.lower()}"
            for place, kind, words in (*_constants(node), *_helps(node)):
                if FRAGMENT.match(words):
                    yield f"{name}:{place}: {kind} begins with {words[:40]!r}"


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions within it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _own(node)


def _constants(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield the docstrings of constants: strings that follow an assignment."""
    body = getattr(node, "body", None)
    for before, after in pairwise(body if isinstance(body, list) else []):
        if isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
            yield from _text(after.value, "a constant's docstring")


def _helps(node: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield help texts of options and descriptions of fields."""
    if isinstance(node, ast.keyword) and node.arg in HELP:
        yield from _text(node.value, "a help text")


def _text(node: ast.AST, kind: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the kind and the words of a literal string, or of the beginning of an f-string."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, kind, node.value


def _american(text: str, name: str) -> Iterator[str]:
    """Yield American forms in the prose of a page, outside of code."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.startswith("```")
        if not code and (found := AMERICAN.search(PROSE.sub(" ", line))):
            yield f"{name}:{number}: write {found.group()!r} in British spelling"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found), file=sys.stderr)
    sys.exit(1 if found else 0)
