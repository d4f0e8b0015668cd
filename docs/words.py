"""Finds words that readers have had to read twice: `python docs/words.py`, part of `make lint`.

A docstring begins with what is returned or done. The phrases are those that readers marked; add to them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ("benchmarks", "culturescope", "deployments", "docs", "flows", "scrapers", "tasks", "warehouse")
TEXT = {".css", ".html", ".md", ".py", ".sql", ".toml", ".csv"}
OPENING = re.compile(
    r"(As|At|Beside|Between|By|For|From|How|In|Of|On|So|The same|To|What|Where|With)\b(?!.*\?)"
)
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
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = (ast.get_docstring(node) or "").split("\n", 1)[0]
                if OPENING.match(first):
                    yield f"{name}:{getattr(node, 'lineno', 1)}: a docstring begins with {first[:40]!r}"


if __name__ == "__main__":
    found = list(faults())
    print("\n".join(found), file=sys.stderr)
    sys.exit(1 if found else 0)
