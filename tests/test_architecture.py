"""The import borders of ARCHITECTURE.md, read from the syntax trees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = ("deployments", "flows", "tasks", "warehouse", "scrapers")
FILES = sorted(p for top in OURS for p in (ROOT / top).rglob("*.py") if "reference/build" not in p.as_posix())


def imports(path: Path) -> set[str]:
    """Dotted names that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def allowed(path: Path) -> tuple[str, ...]:
    """Packages of ours that a file may import from."""
    top, *rest = path.relative_to(ROOT).parts
    if top == "deployments":
        return OURS
    if top == "flows":
        return ("flows", "tasks", "warehouse", "scrapers")
    if top in ("warehouse", "scrapers"):
        return (top,)
    if rest[0] == "ingest":
        own = ("tasks.ingest", "tasks.progress", "scrapers")
        return (*own, "warehouse") if path.name == "steps.py" else own
    if path.name == "steps.py" and rest[0] in ("steps.py", "generation", "embedding"):
        return ("tasks", "warehouse")
    if rest[0] in ("metrics", "engines", "judging"):
        return (
            (f"tasks.{rest[0]}",)
            if rest[0] != "judging"
            else ("tasks.judging", "tasks.engines", "tasks.metrics")
        )
    if rest[0] == "report":
        return ("tasks.report", "tasks.metrics")
    if rest[0] == "evaluations" and len(rest) > 2:
        own = (
            f"tasks.evaluations.{rest[1]}",
            "tasks.metrics",
            "tasks.engines",
            "tasks.judging",
            "tasks.progress",
            "tasks.identity",
            "tasks.metric_rows",
        )
        return (*own, "warehouse", "tasks") if path.name == "steps.py" else own
    return ("tasks",)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_imports_stay_within_their_border(path: Path) -> None:
    ours = {name for name in imports(path) if name.split(".")[0] in OURS}
    outside = {n for n in ours if not any(n == a or n.startswith(a + ".") for a in allowed(path))}
    parts = path.relative_to(ROOT).parts
    if parts[:2] == ("tasks", "evaluations") and path.name == "steps.py":
        own = f"tasks.evaluations.{parts[2]}"
        outside |= {n for n in ours if n.startswith("tasks.evaluations.") and not n.startswith(own)}
    assert not outside


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_prefect_and_duckdb_stay_in_their_places(path: Path) -> None:
    top = path.relative_to(ROOT).parts[0]
    roots = {name.split(".")[0] for name in imports(path)}
    if top not in ("flows", "deployments") and path.name != "steps.py":
        assert "prefect" not in roots
    if top != "warehouse":
        assert "duckdb" not in roots
    if path.relative_to(ROOT).parts[:2] == ("tasks", "metrics"):
        assert roots <= {
            "numpy",
            "scipy",
            "tasks",
            "__future__",
            "math",
            "collections",
            "dataclasses",
            "typing",
            "itertools",
        }


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 340
