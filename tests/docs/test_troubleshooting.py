"""Every message on the troubleshooting page is one that the code can say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "troubleshooting.md"
MESSAGES = re.findall(r"^\*\*`(.+)`\*\*$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def texts(tree: ast.AST) -> Iterator[str]:
    """All texts of a file, as they are put together of several literals; "…" where a value stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)


@pytest.fixture(scope="module")
def said() -> str:
    """All that the code may say, a line each."""
    folders = ("culturescope", "deployments", "flows", "scrapers", "tasks", "warehouse")
    files = [file for folder in folders for file in (REPOSITORY / folder).rglob("*.py")]
    parts = (text for file in files for text in texts(ast.parse(file.read_text(encoding="utf-8"))))
    return "\n".join(" ".join(text.split()) for text in parts)


def test_there_are_messages() -> None:
    assert len(MESSAGES) >= 30
    assert len(MESSAGES) == len(set(MESSAGES))


@pytest.mark.parametrize("message", MESSAGES)
def test_the_code_can_say_it(message: str, said: str) -> None:
    assert re.search(".*?".join(map(re.escape, message.split("…"))), said), message
