"""``docs/compare.md`` is not older than the harnesses that are installed with this project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/compare.md").read_text(encoding="utf-8")
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
ROW = re.compile(r"^\| [^|]+ \| `([a-z-]+)` ([0-9][^ |]*) \| ([^|]+) \|", re.MULTILINE)
DAY = re.compile(r"\b\d{1,2} [A-Z][a-z]+ \d{4}\b")


def compared(page: str) -> dict[str, Version]:
    """Return package -> the version that the page compares."""
    return {name: Version(version) for name, version, _ in ROW.findall(page)}


def locked(text: str) -> dict[str, Version]:
    """Return package -> version, of a lock."""
    found = re.findall(r"^([A-Za-z0-9._-]+)==([^ \\;]+)", text, re.MULTILINE)
    return {name.lower().replace("_", "-"): Version(version) for name, version in found}


def newer(page: str, lock: str) -> dict[str, str]:
    """Return the compared packages whose locked version is newer than the page's."""
    own = locked(lock)
    return {
        name: f"{version} on the page, {own[name]} in the lock"
        for name, version in compared(page).items()
        if name in own and own[name] > version
    }


def test_no_installed_harness_is_newer_than_the_page() -> None:
    assert LOCKS
    assert {lock.name: old for lock in LOCKS if (old := newer(PAGE, lock.read_text(encoding="utf-8")))} == {}


def test_the_installed_harnesses_are_on_the_page() -> None:
    names = set().union(*(locked(lock.read_text(encoding="utf-8")) for lock in LOCKS))
    assert {"lm-eval", "inspect-ai"} <= names & compared(PAGE).keys()


def test_each_harness_has_version_and_date_and_the_page_a_day() -> None:
    rows = ROW.findall(PAGE)
    assert len(rows) == 8
    assert all(re.fullmatch(r"[A-Z][a-z]+ \d{4}|–", date) for *_, date in rows)
    assert DAY.search(PAGE)


@pytest.mark.parametrize(("version", "is_newer"), [("0.4.13", False), ("0.4.14", True), ("0.5.0.dev1", True)])
def test_a_newer_lock_is_noticed(version: str, is_newer: bool) -> None:
    page = "| lm-evaluation-harness | `lm-eval` 0.4.13 | August 2026 | developed |"
    assert bool(newer(page, f"lm-eval=={version} \\\n    --hash=sha256:00")) == is_newer
