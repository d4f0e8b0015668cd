"""The page on adding an evaluation names the files of the tree that the tests drop in."""

from __future__ import annotations

import re

from tests.conftest import REPOSITORY

TREE = REPOSITORY / "tests" / "dropin" / "tree"
PAGE = (REPOSITORY / "docs" / "add-an-evaluation.md").read_text(encoding="utf-8")
NOT_NAMED = {"tasks/evaluations/idioms/__init__.py", "tasks/evaluations/idioms/report/page.py"}


def test_its_table_is_the_tree() -> None:
    named = set(re.findall(r"^\| `([\w./-]+\.\w+)` \|", PAGE, re.MULTILINE))
    files = {path.relative_to(TREE).as_posix() for path in TREE.rglob("*") if path.is_file()}
    assert named == {name for name in files if not name.endswith(".pyc")} - NOT_NAMED
