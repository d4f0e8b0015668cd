"""Mutants: each kind of edit, code without mutants, locating, choice of tests, and outcomes."""

from __future__ import annotations

import ast
import json
import signal
import textwrap
from pathlib import Path

import pytest

from benchmarks import mutants
from benchmarks.mutant_runs import ROOT, forked, run
from benchmarks.mutations import Mutant, block_at, edited, located, mutants_of
from benchmarks.reach import instrument, record, recorded


def edits(source: str) -> set[str]:
    """Return the changed line of each mutant."""
    return {each.shown[1] for each in mutants_of("a.py", textwrap.dedent(source).encode())}


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("x = a < b", {"x = (a <= b)"}),
        ("x = a is None", {"x = (a is not None)"}),
        ("x = a in b != c", {"x = (a not in b != c)", "x = (a in b == c)"}),
        ("x = a / b", {"x = (a * b)"}),
        ("x += a", {"x -= a"}),
        ("x = a and b", {"x = (a or b)"}),
        ("x = not a", {"x = (a)"}),
        ("x = [1.5, True]", {"x = [2.5, True]", "x = [1.5, False]"}),
        ("x = a[b:c]", {"x = a[(b) + 1:c]", "x = a[b:(c) + 1]"}),
        ("x = [b for b in c if b]", {"x = [b for b in c if (not (b))]"}),
        ("x = y if a else b", {"x = y if (not (a)) else b"}),
        ("del x", {"pass"}),
        ("x.a = b", {"pass"}),
        ("x = 'ä' + f(1)  # ä", {"x = 'ä' + f(2)  # ä"}),
    ],
)
def test_mutants_of_a_line_are_single_edits(line: str, after: set[str]) -> None:
    assert edits(line) == after


def test_mutants_of_statements_and_conditions() -> None:
    source = """
        def f(a):
            if a:
                raise ValueError(a + 1)
            while a is not b:
                g(a)
                break
            return a
    """
    assert edits(source) == {"if (not (a)):", "while (a is b):", "pass", "return None"}


def test_text_types_logs_and_assertions_have_no_mutants() -> None:
    source = '''
        """1 < 2"""
        @decorated(frozen=True)
        class A(b=1):
            """3"""
            x: Literal[3]
            def __repr__(self) -> str:
                return "1"
            def f(self, x: "int < 3" = None) -> None:
                logger.info(1)
                assert x < 3
                zip(x, strict=True)
        if TYPE_CHECKING:
            x = 1
        if __name__ == "__main__":
            main()
    '''
    assert edits(source) == {"pass"}  # zip(…) as a statement


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two areas with one file each, and no preloaded libraries."""
    areas = {"metrics": ["tasks/metrics/nulls.py"], "warehouse": ["warehouse/shared/database.py"]}
    monkeypatch.setattr(mutants, "AREAS", areas)
    monkeypatch.setattr(mutants, "LIBRARIES", ())


def test_patterns_of_every_area_match_files() -> None:
    for patterns in mutants.AREAS.values():
        assert all(list(ROOT.glob(pattern)) for pattern in patterns)


@pytest.mark.usefixtures("small")
def test_drawn_mutants_compile_are_located_and_depend_only_on_the_seed() -> None:
    rows = mutants.drawn(ROOT, 60, seed=3)
    assert [row["area"] for row in rows[:4]] == ["metrics", "warehouse"] * 2
    for row in rows:
        source = (ROOT / row["file"]).read_bytes()
        mutant = Mutant(**{name: row[name] for name in Mutant.__dataclass_fields__})
        assert located(mutant, source) == mutant
        ast.parse(edited(mutant, source))
        block = block_at(mutant.file, source, mutant)
        assert not block or block.startswith(f"{mutant.file}::{mutant.function}::")
    assert rows == mutants.drawn(ROOT, 60, seed=3)
    assert rows != mutants.drawn(ROOT, 60, seed=4)


def test_mutant_is_located_after_other_lines_changed() -> None:
    before, after = b"def f(a):\n    return a > 1\n", b"b = 3 > 1\ndef f(a):\n    c(a)\n    return a > 1\n"
    mutant = next(each for each in mutants_of("a.py", before) if ">=" in each.after)
    again = located(mutant, after)
    assert again is not None
    assert edited(again, after) == after.replace(b"a > 1", b"(a >= 1)")
    assert located(mutant, after.replace(b"a > 1", b"a > 2")) is None


CODE = '''"""Text."""
from __future__ import annotations

SIZE = 2


def sign(x):
    """Text."""
    if x < 0: return -1
    return 1


def never():
    return SIZE


def loop(x):
    while x != 0:
        x -= 1
'''
TESTS = """
import subprocess, sys
import code_under_test as code
import pytest


@pytest.fixture(scope="module")
def negative():
    return code.sign(-5)


def test_here():
    assert code.sign(3) == 1


def test_of_a_fixture(negative):
    assert negative == -1


def test_in_a_process():
    program = "import code_under_test as c; c.loop(2)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_fails():
    assert code.loop(3)
"""


@pytest.fixture(scope="module")
def reach(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, object]]:
    """The blocks that the tests above reach."""
    tree = project(tmp_path_factory.mktemp("reach") / "tree")
    instrument(tree, ["code_under_test.py"])
    out = tree.parent / "reach.jsonl"
    assert forked(tree, lambda: record(tree, ["test_code.py"], "not heavy", out), 60) == 0
    return recorded(out)


def project(tree: Path) -> Path:
    tree.mkdir()
    (tree / "code_under_test.py").write_text(CODE)
    (tree / "test_code.py").write_text(TESTS)
    (tree / "pytest.ini").write_text("[pytest]\nmarkers = heavy\n")
    return tree


def mutant_of(before: str, after: str) -> Mutant:
    found = mutants_of("code_under_test.py", CODE.encode())
    return next(each for each in found if (each.before, each.after) == (before, after))


@pytest.mark.parametrize(
    ("before", "after", "tests"),
    [
        ("x < 0", "(x <= 0)", ["here", "of_a_fixture"]),
        ("-1", "(1)", ["of_a_fixture"]),
        ("return 1", "return None", ["here", "of_a_fixture"]),
        ("x -= 1", "x += 1", ["in_a_process"]),
        ("return SIZE", "return None", []),
        ("2", "3", ["here", "in_a_process", "of_a_fixture"]),
    ],
)
def test_tests_that_reach_the_block_are_chosen(
    reach: dict[str, dict[str, object]], before: str, after: str, tests: list[str]
) -> None:
    chosen = mutants.tests_of(mutant_of(before, after), CODE.encode(), reach, budget_s=60)
    assert sorted(name for name, _ in chosen) == [f"test_code.py::test_{name}" for name in tests]


def test_outcomes_of_mutants_and_the_file_is_restored(tmp_path: Path) -> None:
    tree = project(tmp_path / "tree")
    tests = [("test_code.py::test_here", 0.1), ("test_code.py::test_of_a_fixture", 0.1)]
    alive = run(tree, mutant_of("x < 0", "(x <= 0)"), tests, stamp=1)
    assert (alive["outcome"], alive["test"]) == ("survived", "")
    dead = run(tree, mutant_of("-1", "(1)"), tests, stamp=2)
    assert (dead["outcome"], dead["test"]) == ("killed", "test_code.py::test_of_a_fixture")
    assert run(tree, mutant_of("-1", "(1)"), [], stamp=3)["outcome"] == "no test"
    assert (tree / "code_under_test.py").read_text() == CODE


def test_run_above_its_time_limit_is_killed(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    assert forked(tmp_path / "tree", signal.pause, limit_s=0.1) is None


def test_summary_counts_outcomes_and_lists_survivors() -> None:
    rows = [
        {"area": "metrics", "outcome": outcome, "file": "a.py", "line": 3, "shown": ["x = 1", "x = 2"]}
        for outcome in ("killed", "killed", "timed out", "survived", "no test")
    ]
    lines = mutants.summary(rows)
    assert lines[1].split() == ["metrics", "2", "1", "1", "1", "0", "75.0%"]
    assert lines[-2:] == [f"{outcome}: a.py:3: x = 1 -> x = 2" for outcome in ("survived", "no test")]


@pytest.mark.usefixtures("small")
def test_run_of_mutants_resumes_from_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = mutants.drawn(ROOT, 6, seed=1)
    out = tmp_path / "out.jsonl"
    out.write_text("".join(json.dumps(row | {"outcome": "killed"}) + "\n" for row in drawn[:-1]))
    options = ["--mutants", "6", "--tests", "tests/none", "--out", str(out), "--reach", str(tmp_path / "r")]
    mutants.main(options)
    outcomes = [json.loads(line)["outcome"] for line in out.read_text().splitlines()]
    assert outcomes == [*["killed"] * 5, "no test"]
    mutants.main([*options, "--again", str(out), "--only", "killed"])
    assert capsys.readouterr().out.splitlines()[-1].split()[:3] == ["all", "5", "0"]
