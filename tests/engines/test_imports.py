"""Modules of the engines import each other in one direction only, imports within functions included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from tasks import engines

FOLDER = Path(engines.__file__).parent


def imported(module: Path) -> set[str]:
    """Names of the engine modules that this one imports anywhere."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tasks.engines"):
            own = (node.module or "").removeprefix("tasks.engines").lstrip(".")
            names |= {own} if own else {alias.name for alias in node.names}
    return names


def test_no_import_cycles() -> None:
    graph = {path.stem: imported(path) for path in FOLDER.glob("*.py")}
    assert {"devices", "memory"} <= graph["packed_trie"] | graph["load"]  # the graph is not empty
    assert list(TopologicalSorter(graph).static_order())  # raises CycleError
