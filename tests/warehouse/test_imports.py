"""No module of the warehouse imports itself through others, not even for a type."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "warehouse"


def imports_of(file: Path, known: set[str]) -> set[str]:
    """Return the modules of `known` that a file imports, also in functions and TYPE_CHECKING blocks."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            # `from package import name` reads the module `package.name`, or what the package itself has.
            modules = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= (modules & known) or {str(node.module)}
    return names & known


def import_graph(package: Path) -> dict[str, set[str]]:
    """Return module -> the modules of the package that it imports. The package itself is its `__init__`."""
    modules = {f"{package.name}.{file.stem}": file for file in package.glob("*.py")}
    modules[package.name] = modules.pop(f"{package.name}.__init__")
    return {module: imports_of(file, set(modules)) for module, file in modules.items()}


def cycles(graph: dict[str, set[str]]) -> set[str]:
    """Return the modules in a cycle or above one, by removing those that import no remaining module."""
    remaining = dict(graph)
    while leaves := [module for module, needed in remaining.items() if not needed & remaining.keys()]:
        for module in leaves:
            del remaining[module]
    return set(remaining)


def test_no_module_imports_itself_through_others() -> None:
    graph = import_graph(PACKAGE)
    assert {"warehouse", "warehouse.connection", "warehouse.reference"} <= set(graph)
    assert "warehouse.connection" in graph["warehouse.recovery"]
    assert cycles(graph) == set()


@pytest.mark.parametrize(
    "back",
    [
        "from invented.a import A",
        "from invented import a",
        "import invented.a",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from invented.a import A",
        "def late() -> None:\n    from invented.a import A",
    ],
)
def test_an_import_cycle_is_found(tmp_path: Path, back: str) -> None:
    package = tmp_path / "invented"
    package.mkdir()
    (package / "__init__.py").write_text("from invented.a import A\n")
    (package / "a.py").write_text("from invented.b import B\n\nclass A: ...\n")
    (package / "b.py").write_text(f"{back}\n\nclass B: ...\n")
    assert cycles(import_graph(package)) == {"invented", "invented.a", "invented.b"}
