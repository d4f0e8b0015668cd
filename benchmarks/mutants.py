"""``python -m benchmarks mutants``: tests whether the quick suite detects faults put into the code.

The same number of mutants (mutations.py) is drawn at random in each area. Each is written into a copy of the
tree. There the quick tests that enter its block of code (reach.py) run until one fails: first the test file
of the same name, then the fastest tests. Libraries are loaded once, and each mutant has a fork of that
process, in which the project's modules are imported anew; processes that tests start see the mutant too. The
mutants are stored with their outcomes, so that the same ones can be run again when code or tests have
changed.

Neither mutmut 3 nor cosmic-ray does this: the first puts all mutants of a function into the file at once,
which tests that read sources or send code to processes do not survive, mutates nothing outside functions,
and has no sample that is run again on another revision; the second runs the whole suite for every mutant.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.mutant_runs import FILES_AT_ONCE, ROOT, copied, forked, run
from benchmarks.mutations import Mutant, block_at, located, mutants_of
from benchmarks.process import show
from benchmarks.reach import digest, instrument, record, recorded

AREAS = {
    "metrics": ["tasks/metrics/*.py"],
    "loop": [
        "flows/evaluation.py", "flows/session.py", "flows/records.py", "flows/cohort.py", "flows/runs.py",
        "tasks/loop/plan.py", "tasks/loop/steps.py", "tasks/loop/requests.py", "tasks/loop/rows.py",
        "tasks/loop/samples.py",
    ],
    "warehouse": ["warehouse/*.py", "warehouse/shared/*.py"],
    "judging": ["tasks/judging/*.py"],
    "matching": [
        "tasks/evaluations/culturall/matching.py", "tasks/evaluations/*/answers.py",
        "tasks/evaluations/*/read.py", "tasks/evaluations/*/scores.py",
    ],
    "engines": ["tasks/engines/*.py", "tasks/engines/*/*.py"],
}  # fmt: skip
QUICK = "not heavy"
LIBRARIES = (
    "pytest", "hypothesis", "numpy", "scipy.stats", "scipy.optimize", "scipy.special", "polars", "duckdb",
    "pydantic", "httpx", "jinja2", "typer", "rich", "torch", "transformers", "sklearn", "statsmodels.api",
)  # fmt: skip
"""Loaded once. None of them reads the environment when it is imported, as Prefect does."""

Outcome = dict[str, Any]
"""A mutant's fields, its area, and once it has run: outcome, the test that failed, seconds."""


def drawn(tree: Path, n: int, seed: int) -> list[Outcome]:
    """Return n mutants, the same number per area, in turns, so that the first few are a sample too."""
    by_area = []
    for area, patterns in AREAS.items():
        files = sorted({str(file.relative_to(tree)) for pattern in patterns for file in tree.glob(pattern)})
        every = [each for file in files for each in mutants_of(file, (tree / file).read_bytes())]
        chosen = random.Random(f"{seed} {area}").sample(every, min(len(every), -(-n // len(AREAS))))
        by_area.append([{"area": area, "seed": seed, **asdict(each)} for each in chosen])
    return [each for turn in zip(*by_area, strict=False) for each in turn][:n]


def tests_of(
    mutant: Mutant, source: bytes, reach: dict[str, dict[str, Any]], budget_s: float
) -> list[tuple[str, float]]:
    """Return the tests that enter the mutant's block, or its file if it runs on import, with their seconds.

    Tests in files of its name come first, then the fastest, up to a limit of seconds.
    """
    block, stem = block_at(mutant.file, source, mutant), Path(mutant.file).stem.strip("_")
    tests = []
    for file, line in reach.items():
        hit = {
            k
            for k, name in enumerate(line["blocks"])
            if (name == block if block else name.startswith(f"{mutant.file}::"))
        }
        far = stem not in Path(file).stem
        tests += [(far, s, test) for test, (s, blocks) in line["tests"].items() if not hit.isdisjoint(blocks)]
    chosen: list[tuple[str, float]] = []
    spent = 0.0
    for _, seconds, test in sorted(tests):
        spent += seconds
        if chosen and spent > budget_s:
            break
        chosen.append((test, seconds))
    return chosen


def reached(options: argparse.Namespace, files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Map each test to the blocks that it reaches; run files whose line is missing or out of date."""
    with copied(options.base) as tree:
        tests = sorted(
            str(file.relative_to(tree))
            for path in options.tests
            for file in ([tree / path] if path.endswith(".py") else (tree / path).rglob("test_*.py"))
        )
        known = recorded(options.reach)
        old = [
            test for test in tests if known.get(test, {}).get("digest") != digest(tree, test, options.markers)
        ]
        if old:
            instrument(tree, files)
        for k in range(0, len(old), FILES_AT_ONCE):
            some = old[k : k + FILES_AT_ONCE]
            show(f"what tests reach: {k} of {len(old)} files")
            forked(tree, partial(record, tree, some, options.markers, options.reach), limit_s=3600)
    known = recorded(options.reach)
    return {test: known[test] for test in tests if test in known}


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """Counts by area and in all, then a line for each mutant that survived or that no test enters."""
    columns = ("killed", "timed out", "survived", "no test", "gone")
    lines = [f"{'area':10}" + "".join(f"{column:>10}" for column in columns) + f"{'of tested':>10}"]
    for area in (*AREAS, "all"):
        counts = Counter(each["outcome"] for each in outcomes if area in (each["area"], "all"))
        dead = counts["killed"] + counts["timed out"]
        tested = dead + counts["survived"]
        share = f"{dead / tested:10.1%}" if tested else f"{'':10}"
        lines.append(f"{area:10}" + "".join(f"{counts[column]:10}" for column in columns) + share)
    for outcome in ("survived", "no test"):
        for each in outcomes:
            if each["outcome"] == outcome:
                before, after = each["shown"]
                lines.append(f"{outcome}: {each['file']}:{each['line']}: {before} -> {after}")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw mutants, or take those of a file, run them and print what the tests saw."""
    folder = ROOT / ".benchmarks"
    parser = argparse.ArgumentParser(prog="python -m benchmarks mutants", description=__doc__)
    parser.add_argument(
        "--mutants", type=int, default=300, help="number of mutants to draw (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, help="a file of outcomes: its mutants are run, none is drawn")
    parser.add_argument("--only", help="only those with this outcome, such as survived")
    parser.add_argument("--first", type=int, help="run at most this number; the next call continues")
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS), help="default: all")
    parser.add_argument("--base", help="code and tests of this revision, not of the working tree")
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH", help="default: all")
    parser.add_argument("--markers", default=QUICK, help="which tests (default: %(default)r)")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for one mutant")
    parser.add_argument(
        "--out", type=Path, default=folder / "mutants.jsonl", help="outcomes (default: %(default)s)"
    )
    parser.add_argument(
        "--reach", type=Path, default=folder / "reach.jsonl", help="file with the lines that tests reach"
    )
    parser.add_argument("--quick", action="store_true", help="six mutants and the tests of metrics")
    options = parser.parse_args(arguments)
    if options.quick:
        options.mutants, options.tests = 6, ["tests/metrics"]
    for file in (options.out, options.reach):
        file.parent.mkdir(parents=True, exist_ok=True)
    with copied(options.base) as tree:
        if options.again:
            rows = [row for row in _lines(options.again) if options.only in (None, row["outcome"])]
        else:
            rows = drawn(tree, options.mutants, options.seed)
        rows = [row for row in rows if row["area"] in options.areas]
        done = {_mutant(row).name for row in _lines(options.out)}
        todo = [row for row in rows if _mutant(row).name not in done][: options.first]
        for name in LIBRARIES:
            with suppress(ImportError):
                import_module(name)
        sources = {str(f.relative_to(tree)) for area in AREAS.values() for p in area for f in tree.glob(p)}
        reach = reached(options, sorted(sources))
        for k, row in enumerate(todo):
            mutant = _mutant(row)
            source = (tree / mutant.file).read_bytes() if (tree / mutant.file).exists() else b""
            if now := located(mutant, source):
                row |= asdict(now)
                outcome = run(tree, now, tests_of(now, source, reach, options.budget), 1_000_000_000 + k)
            else:
                outcome = {"outcome": "gone", "test": "", "seconds": 0.0}
            with options.out.open("a") as out:
                out.write(json.dumps(row | outcome) + "\n")
            place = f"{mutant.file}:{mutant.line}"
            show(f"{len(done) + k + 1} of {len(rows)}: {outcome['outcome']} {place} ({outcome['seconds']} s)")
    wanted = {_mutant(row).name for row in rows}
    show(*summary([row for row in _lines(options.out) if _mutant(row).name in wanted]))


def _lines(file: Path) -> list[Outcome]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _mutant(row: Outcome) -> Mutant:
    fields = {name: row[name] for name in Mutant.__dataclass_fields__}
    return Mutant(**fields | {"shown": tuple(row["shown"])})


if __name__ == "__main__":
    main()
