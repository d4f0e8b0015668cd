"""Records which blocks of code each test enters, by running the tests in a copy of the tree.

In the copy every block of a function begins with a call that records its name. So tests are hardly slower,
and blocks in child processes are recorded. Blocks that a fixture enters count for all tests that use it.
Blocks in processes that are killed, fork without exec, or outlive their test are not recorded.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mutations import blocks_of

_NOTES = """
import atexit, os, sys, uuid

seen = set()
def hit(name): seen.add(name)

def write():
    with open(os.path.join(folder, uuid.uuid4().hex), "w") as file:
        file.write("\\n".join(seen))

folder = os.environ.get("MUTANTS_SEEN")
if folder and "pytest" not in sys.modules:
    atexit.register(write)
"""
_MODULE = "mutants_notes"


def instrument(tree: Path, files: Iterable[str]) -> None:
    """Edit the files of a copy so that they record their entered blocks."""
    (tree / f"{_MODULE}.py").write_text(_NOTES)
    for file in files:
        parsed = ast.parse((tree / file).read_bytes())
        for name, (_, _, statements) in blocks_of(file, parsed).items():
            is_text = isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant)
            statements[is_text:is_text] = ast.parse(f"__hit__({name!r})").body
        head = ast.parse(f"from {_MODULE} import hit as __hit__").body
        place = next(
            (number for number, node in enumerate(parsed.body) if not _is_head(node)), len(parsed.body)
        )
        parsed.body[place:place] = head
        (tree / file).write_text(ast.unparse(ast.fix_missing_locations(parsed)))


def _is_head(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


class Reach:
    """A pytest plugin that records seconds and blocks of each passed test, by file."""

    def __init__(self, seen: Path) -> None:
        """Take the folder in which the tests' child processes record their blocks."""
        self.seen = seen
        self.notes: Any = import_module(_MODULE)
        self.fixtures: dict[tuple[str, str], set[str]] = {}
        self.phases: dict[str, list[tuple[bool, float]]] = {}
        self.tests: dict[str, dict[str, tuple[float, set[str]]]] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None]:
        outer, self.notes.seen = self.notes.seen, set()
        yield
        self.fixtures.setdefault((fixturedef.baseid, fixturedef.argname), set()).update(self.notes.seen)
        self.notes.seen = outer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.phases.setdefault(report.nodeid, []).append((report.passed, report.duration))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None]:
        self.notes.seen = set()
        yield
        blocks = set(self.notes.seen)
        for definitions in getattr(item, "_fixtureinfo").name2fixturedefs.values():  # noqa: B009 - private
            for each in definitions:
                blocks |= self.fixtures.get((each.baseid, each.argname), set())
        for file in self.seen.iterdir():
            with suppress(OSError):
                blocks |= set(file.read_text().split("\n")) - {""}
                file.unlink()
        phases = self.phases.pop(item.nodeid, [])
        if len(phases) == 3 and all(passed for passed, _ in phases):
            tests = self.tests.setdefault(item.nodeid.split("::")[0], {})
            tests[item.nodeid] = sum(seconds for _, seconds in phases), blocks


def digest(tree: Path, file: str, markers: str) -> str:
    """Return a hash of a test file and the markers, which changes when the file must run again."""
    return hashlib.sha256(markers.encode() + (tree / file).read_bytes()).hexdigest()[:16]


def record(tree: Path, files: Sequence[str], markers: str, out: Path) -> None:
    """Run test files in an instrumented copy, in this process, and append a line of JSON for each."""
    seen = tree / "mutants_seen"
    seen.mkdir(exist_ok=True)
    os.environ["MUTANTS_SEEN"] = str(seen)
    reach = Reach(seen)
    plain = ["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler"]
    pytest.main([*plain, "-m", markers, f"--basetemp={tree / 'tmp'}", *files], [reach])
    with out.open("a") as lines:
        for file in files:
            tests = reach.tests.get(file, {})
            names = sorted({name for _, blocks in tests.values() for name in blocks})
            number = {name: k for k, name in enumerate(names)}
            of_test = {
                test: [round(seconds, 3), sorted(number[name] for name in blocks)]
                for test, (seconds, blocks) in tests.items()
            }
            line = {"file": file, "digest": digest(tree, file, markers), "blocks": names, "tests": of_test}
            lines.write(json.dumps(line) + "\n")


def recorded(out: Path) -> dict[str, dict[str, Any]]:
    """Return the newest record of each test file."""
    lines = out.read_text().splitlines() if out.exists() else []
    return {line["file"]: line for line in map(json.loads, lines)}
