"""``python -m benchmarks mutants``: measures whether the quick tests detect faults put into the code.

The same number of mutants (mutations.py) is drawn at random in each area. Each is written into a copy of the
tree, where the quick tests that enter its block of code (reach.py) run until one fails: first those in the
test file of the same name, then the fastest. Libraries are loaded once. Each mutant gets a fork of that
process, which imports the project's modules from the copy; processes started by tests also run the mutant.
The mutants are stored with their outcomes, so that they can be run again on other code or tests.

Neither mutmut 3 nor cosmic-ray does this. Mutmut puts all mutants of a function into the file at once, which
breaks tests that read sources or send code to processes, mutates nothing outside functions, and cannot run a
sample again on another revision. Cosmic-ray runs all tests for every mutant.
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
        "tasks/evaluations/culturall/matching/*.py", "tasks/evaluations/*/answers.py",
        "tasks/evaluations/*/read.py",
    ],
    "engines": ["tasks/engines/*.py", "tasks/engines/*/*.py"],
}  # fmt: skip
QUICK = "not heavy"
LIBRARIES = (
    "pytest", "hypothesis", "numpy", "scipy.stats", "scipy.optimize", "scipy.special", "polars", "duckdb",
    "pydantic", "httpx", "jinja2", "typer", "rich", "torch", "transformers", "sklearn", "statsmodels.api",
)  # fmt: skip
"""Libraries that are loaded once. Unlike Prefect, none of them reads the environment when it is imported."""

Outcome = dict[str, Any]
"""A mutant's fields and area, and after its run: outcome, failed test and seconds."""


def drawn(tree: Path, n: int, seed: int) -> list[Outcome]:
    """Return n mutants, the same number per area, in turns, so that the first few are also a sample."""
    by_area = []
    for area, patterns in AREAS.items():
        files = sorted({str(file.relative_to(tree)) for pattern in patterns for file in tree.glob(pattern)})
        mutants = [each for file in files for each in mutants_of(file, (tree / file).read_bytes())]
        chosen = random.Random(f"{seed} {area}").sample(mutants, min(len(mutants), -(-n // len(AREAS))))
        by_area.append([{"area": area, "seed": seed, **asdict(each)} for each in chosen])
    return [each for turn in zip(*by_area, strict=False) for each in turn][:n]


def tests_of(
    mutant: Mutant, source: bytes, reach: dict[str, dict[str, Any]], budget_s: float
) -> list[tuple[str, float]]:
    """Return the tests that enter the mutant's block, or its file if it runs on import, with their seconds.

    Tests in files of the mutant's name are first, then the fastest, up to a limit of seconds.
    """
    block, stem = block_at(mutant.file, source, mutant), Path(mutant.file).stem.strip("_")
    tests = []
    for file, line in reach.items():
        entered = {
            number
            for number, name in enumerate(line["blocks"])
            if (name == block if block else name.startswith(f"{mutant.file}::"))
        }
        is_elsewhere = stem not in Path(file).stem
        tests += [
            (is_elsewhere, seconds, test)
            for test, (seconds, blocks) in line["tests"].items()
            if not entered.isdisjoint(blocks)
        ]
    chosen: list[tuple[str, float]] = []
    total_s = 0.0
    for _, seconds, test in sorted(tests):
        total_s += seconds
        if chosen and total_s > budget_s:
            break
        chosen.append((test, seconds))
    return chosen


def reached(options: argparse.Namespace, files: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the recorded blocks and tests by test file; files without an up-to-date record are run first."""
    with copied(options.base) as tree:
        tests = sorted(
            str(file.relative_to(tree))
            for path in options.tests
            for file in ([tree / path] if path.endswith(".py") else (tree / path).rglob("test_*.py"))
        )
        records = recorded(options.reach)
        outdated = [
            test
            for test in tests
            if records.get(test, {}).get("digest") != digest(tree, test, options.markers)
        ]
        if outdated:
            instrument(tree, files)
        for start in range(0, len(outdated), FILES_AT_ONCE):
            batch = outdated[start : start + FILES_AT_ONCE]
            show(f"recording the blocks that tests enter: {start} of {len(outdated)} files")
            recording = partial(record, tree, batch, options.markers, options.reach.resolve())
            if (code := forked(tree, recording, limit_s=3600)) != 0:
                raise SystemExit(f"recording {batch[0]} and {len(batch) - 1} more ended with {code}")
    records = recorded(options.reach)
    return {test: records[test] for test in tests if test in records}


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """Return lines with counts by area and in total, and a line for each mutant that no test detected."""
    columns = ("killed", "timed out", "survived", "no test", "gone")
    lines = [f"{'area':10}" + "".join(f"{column:>10}" for column in columns) + f"{'of tested':>10}"]
    for area in (*AREAS, "all"):
        counts = Counter(each["outcome"] for each in outcomes if area in (each["area"], "all"))
        detected = counts["killed"] + counts["timed out"]
        tested = detected + counts["survived"]
        share = f"{detected / tested:10.1%}" if tested else f"{'':10}"
        lines.append(f"{area:10}" + "".join(f"{counts[column]:10}" for column in columns) + share)
    for outcome in ("survived", "no test"):
        for each in outcomes:
            if each["outcome"] == outcome:
                before, after = each["shown"]
                lines.append(f"{outcome}: {each['file']}:{each['line']}: {before} -> {after}")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Run mutants, drawn or from a file, and print which of them the tests detected."""
    folder = ROOT / ".benchmarks"
    parser = argparse.ArgumentParser(prog="python -m benchmarks mutants", description=__doc__)
    parser.add_argument(
        "--mutants", type=int, default=300, help="number of mutants to draw (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--again", type=Path, help="file of outcomes whose mutants are run; none is drawn")
    parser.add_argument("--only", help="with --again: only mutants with this outcome, such as survived")
    parser.add_argument("--first", type=int, help="run at most this number; the next call continues")
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS), help="default: all")
    parser.add_argument("--base", help="use code and tests of this revision, not of the working tree")
    parser.add_argument("--tests", nargs="+", default=["tests"], metavar="PATH", help="default: all")
    parser.add_argument("--markers", default=QUICK, help="pytest markers of the tests (default: %(default)r)")
    parser.add_argument("--budget", type=float, default=60.0, help="maximum seconds of tests per mutant")
    parser.add_argument(
        "--out", type=Path, default=folder / "mutants.jsonl", help="file of outcomes (default: %(default)s)"
    )
    parser.add_argument(
        "--reach", type=Path, default=folder / "reach.jsonl", help="file of the blocks that tests enter"
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
        finished = {_mutant(row).name for row in _lines(options.out)}
        todo = [row for row in rows if _mutant(row).name not in finished][: options.first]
        for name in LIBRARIES:
            with suppress(ImportError):
                import_module(name)
        sources = {str(f.relative_to(tree)) for area in AREAS.values() for p in area for f in tree.glob(p)}
        reach = reached(options, sorted(sources))
        for number, row in enumerate(todo):
            mutant = _mutant(row)
            source = (tree / mutant.file).read_bytes() if (tree / mutant.file).exists() else b""
            if located_mutant := located(mutant, source):
                row |= asdict(located_mutant)
                outcome = run(
                    tree,
                    located_mutant,
                    tests_of(located_mutant, source, reach, options.budget),
                    1_000_000_000 + number,
                )
            else:
                outcome = {"outcome": "gone", "test": "", "seconds": 0.0}
            with options.out.open("a") as out:
                out.write(json.dumps(row | outcome) + "\n")
            place = f"{mutant.file}:{mutant.line}"
            position = f"{len(finished) + number + 1} of {len(rows)}"
            show(f"{position}: {outcome['outcome']} {place} ({outcome['seconds']} s)")
    names = {_mutant(row).name for row in rows}
    show(*summary([row for row in _lines(options.out) if _mutant(row).name in names]))


def _lines(file: Path) -> list[Outcome]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _mutant(row: Outcome) -> Mutant:
    fields = {name: row[name] for name in Mutant.__dataclass_fields__}
    return Mutant(**fields | {"shown": tuple(row["shown"])})


if __name__ == "__main__":
    main()
