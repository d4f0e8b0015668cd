"""Tests on one mutant: a copy of the tree, and forks that import the project from that copy."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from benchmarks.mutations import Mutant, edited

ROOT = Path(__file__).parent.parent
FILES_AT_ONCE = 12
MEMORY = 8 << 30


class ChosenTests:
    """A pytest plugin that runs only the named tests and records the first failed one."""

    def __init__(self, tests: Iterable[str]) -> None:
        self.tests = set(tests)
        self.killer = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.killer = self.killer or report.nodeid


def _in_copy(tree: Path) -> None:
    """Change to the copy, import the project from it, and write output to a log."""
    os.setsid()
    os.chdir(tree)
    os.environ["PYTHONPATH"] = str(tree)
    sys.path[:] = [str(tree), *(each for each in sys.path if each and Path(each).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]
    with (tree.parent / "log").open("w") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)


def forked(tree: Path, work: Callable[[], object], limit_s: float) -> int | None:
    """Run a function in a fork that uses the copy; return its exit code, None if it took too long."""
    child = os.fork()
    if child == 0:
        code = 70
        try:
            _in_copy(tree)
            result = work()
            code = result if isinstance(result, int) else 0
        finally:
            os._exit(code)
    end = time.monotonic() + limit_s
    try:
        while time.monotonic() < end:
            result, status = os.waitpid(child, os.WNOHANG)
            if result:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None
    finally:
        with suppress(ProcessLookupError):  # ends processes that its tests left behind
            os.killpg(child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


def run_tests(tree: Path, tests: Sequence[tuple[str, float]], killer_file: Path) -> str:
    """Return "survived", "killed" or "timed out", and write the first failed test to a file."""

    def work() -> int:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile(
            "mutants", derandomize=True, database=None, deadline=None, phases=phases
        )
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        plugin = ChosenTests(test for test, _ in tests)
        files = list(dict.fromkeys(test.split("::")[0] for test, _ in tests))
        # Its watchdog is a thread, which a fork does not have: the first test would wait for it for ever.
        plain = ["-p", "no:cacheprovider", "-p", "no:faulthandler"]
        options = ["-x", "-q", *plain, "--hypothesis-profile=mutants"]
        code = pytest.main([*options, f"--basetemp={tree / 'tmp'}", *files], [plugin])
        killer_file.write_text(plugin.killer)
        return int(code)

    code = forked(tree, work, limit_s=60 + 5 * sum(seconds for _, seconds in tests))
    return "timed out" if code is None else "killed" if code else "survived"


def run(tree: Path, mutant: Mutant, tests: Sequence[tuple[str, float]], stamp: int) -> dict[str, Any]:
    """Run the tests on one mutant; returns its outcome, the failed test and the seconds.

    Args:
        stamp: modification time unique to this mutant, so that no other mutant's compiled file is used.
    """
    path, killer_file, start = tree / mutant.file, tree / "mutants_killer", time.monotonic()
    original, modified = path.read_bytes(), path.stat().st_mtime
    outcome = "survived" if tests else "no test"
    killer_file.write_text("")
    path.write_bytes(edited(mutant, original))
    os.utime(path, (stamp, stamp))
    try:
        for batch in _batches(tests):
            outcome = run_tests(tree, batch, killer_file)
            if outcome != "survived":
                break
    finally:
        path.write_bytes(original)
        os.utime(path, (modified, modified))
    return {
        "outcome": outcome,
        "test": killer_file.read_text(),
        "seconds": round(time.monotonic() - start, 1),
    }


def _batches(tests: Sequence[tuple[str, float]]) -> Iterator[list[tuple[str, float]]]:
    """Yield tests of a few files at a time, since importing each file takes time."""
    batch: list[tuple[str, float]] = []
    files: set[str] = set()
    for test, seconds in tests:
        files.add(test.split("::")[0])
        if len(files) > FILES_AT_ONCE:
            yield batch
            batch, files = [], {test.split("::")[0]}
        batch.append((test, seconds))
    if batch:
        yield batch


@contextmanager
def copied(base: str | None) -> Iterator[Path]:
    """Yield a copy of a revision or of the working tree, which is deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="culturemeter-mutants-")) / "tree"
    folder.mkdir()
    try:
        if base:
            archive = subprocess.run(
                ["git", "archive", base], cwd=ROOT, check=True, capture_output=True
            ).stdout
            subprocess.run(["tar", "-x"], cwd=folder, input=archive, check=True)
        else:
            command = ["git", "ls-files", "-co", "--exclude-standard"]
            listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
            for name in filter(lambda name: (ROOT / name).is_file(), listed.splitlines()):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        models = ROOT / ".culturemeter" / "models"
        if models.exists():
            (folder / ".culturemeter").mkdir(exist_ok=True)
            (folder / ".culturemeter" / "models").symlink_to(models.resolve())
        yield folder
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)
