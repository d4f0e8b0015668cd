"""The import borders of ARCHITECTURE.md, read from the syntax trees.

deployments → flows → tasks/{builders, papers} → tasks/evaluations → the rest of tasks → {metrics, engines}
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = ("culturemeter", "deployments", "flows", "tasks", "warehouse", "scrapers")
FILES = sorted(p for top in OURS for p in (ROOT / top).rglob("*.py") if "reference/build" not in p.as_posix())
BELOW = ("tasks.metrics", "tasks.engines", "tasks.identity", "tasks.parsing", "tasks.data")
"""What any module of tasks may import."""
SMALL = 30
"""Files below this many lines explain in their docstring why they are small."""


@cache
def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> set[str]:
    """Return the dotted names that a file imports, anywhere in the file."""
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def allowed(path: Path) -> tuple[str, ...]:
    """Return the project's packages that a file may import from."""
    top, *rest = path.relative_to(ROOT).parts
    match top:
        case "culturemeter" | "deployments":
            return OURS
        case "flows":
            return ("flows", "tasks", "warehouse", "scrapers")
        case "warehouse":
            return (top,)
        case "scrapers":  # files of sources are tables too; the reader knows no source
            return (top, "tasks.data")
    borders = _within_tasks(rest)
    return (*borders, "warehouse") if path.name == "steps.py" else borders


def _within_tasks(rest: list[str]) -> tuple[str, ...]:
    """Return the packages that a module of tasks may import, by its path below tasks/."""
    loop = (*BELOW, "tasks.loop")
    contract = ("tasks.evaluations.contract", "tasks.evaluations.about")
    shared = (*loop, "tasks.judging", "tasks.people", "tasks.packs", "tasks.evaluations.choosing")
    shared = (*shared, "tasks.evaluations.until")
    match rest:
        case ["metrics", *_]:
            return ("tasks.metrics",)
        case ["engines", *_]:
            return ("tasks.engines", "tasks.identity", "tasks.parsing")
        case ["report", *_]:
            return ("tasks.report", "tasks.metrics")
        case ["ingest", *_]:
            return ("tasks.ingest", "tasks.loop.progress", "scrapers")
        case ["packs", *_]:
            return ("tasks.packs", "tasks.identity", "tasks.parsing", "tasks.data")
        case ["exchange", *_]:
            return ("tasks.exchange", "tasks.identity", "tasks.parsing", "tasks.data")
        case ["pending", *_]:
            return ("tasks.pending", *BELOW)
        case ["data", *_]:
            return ("tasks.data", "tasks.parsing")
        case ["loop", *_]:
            return loop
        case ["judging" | "people" as room, *_]:
            return (f"tasks.{room}", *loop)
        case ["evaluations", "about.py" | "contract.py" | "choosing.py" | "__init__.py"]:
            return (*loop, "tasks.packs.shape", "tasks.evaluations.about")
        case ["evaluations", "until.py"]:
            return (*loop, *contract)
        case ["evaluations", name, "report.py" | "frames.py"]:
            return (f"tasks.evaluations.{name}", "tasks.report", "tasks.metrics")
        case ["evaluations", "recipe", *_]:
            return ("tasks.evaluations.recipe", *contract, *shared)
        case ["evaluations", name, *_]:
            return (
                f"tasks.evaluations.{name}",
                *contract,
                "tasks.evaluations.recipe",
                "scrapers.countries",
                *shared,
            )
        case ["published", *_]:
            return ("tasks.published", *contract, "tasks.evaluations.recipe", "scrapers.countries", *shared)
        case ["builders", name, *_]:
            return (f"tasks.builders.{name.removesuffix('.py')}", "tasks.builders.study", "tasks.evaluations",
                    "scrapers.countries", *shared)  # fmt: skip
        case ["papers", name, *_]:  # published files are read by the parser of their source
            own = (f"tasks.papers.{name.removesuffix('.py')}", f"scrapers.{name}", "scrapers.model")
            parts = ("reproduction", "importing", "sources", "expressions", "values")
            common = tuple(f"tasks.papers.{each}" for each in parts)
            return (*own, *common, "tasks.evaluations", "scrapers.countries", *shared)
    return BELOW


def ids(path: Path) -> str:
    """Return a file's path within the repository."""
    return path.relative_to(ROOT).as_posix()


def test_imports_stay_within_their_border() -> None:
    wrong = {}
    for path in FILES:
        ours = {name for name in imports(path) if name.split(".")[0] in OURS}
        permitted = allowed(path)
        outside = {n for n in ours if not any(n == a or n.startswith(a + ".") for a in permitted)}
        # `from tasks import steps` names the package as well as the module.
        wrong[ids(path)] = sorted(outside - {"tasks", "tasks.evaluations", "tasks.builders"})
    assert {path: names for path, names in wrong.items() if names} == {}


def test_prefect_duckdb_and_metrics_imports_stay_in_their_folders() -> None:
    standard = {"__future__", "math", "collections", "dataclasses", "typing", "itertools", "functools"}
    maths = {"numpy", "scipy", "tasks", *standard}
    wrong = {}
    for path in FILES:
        top, *rest = path.relative_to(ROOT).parts
        roots = {name.split(".")[0] for name in imports(path)}
        outside = set[str]()
        if top not in ("flows", "deployments") and path.name != "steps.py":
            outside |= roots & {"prefect"}
        if top != "warehouse":
            outside |= roots & {"duckdb"}
        if (top, *rest[:1]) == ("tasks", "metrics"):
            outside |= roots - maths
        wrong[ids(path)] = sorted(outside)
    assert {path: names for path, names in wrong.items() if names} == {}


def test_files_have_at_most_500_lines_and_small_ones_say_why() -> None:
    """A longer file is split; a very small file states why it is separate, or is merged with another."""
    wrong = {}
    for path in FILES:
        n, docstring = path.read_text().count("\n"), ast.get_docstring(parsed(path)) or ""
        unexplained = "\n" not in docstring and len(docstring) <= 60
        if n > 500 or (path.name != "__init__.py" and n < SMALL and unexplained):
            wrong[ids(path)] = n
    assert wrong == {}


def test_no_import_cycles() -> None:
    modules = {
        ids(path).removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in FILES
    }
    graph = {name: {n for n in imports(path) if n in modules and n != name} for name, path in modules.items()}
    # A package's __init__ may gather what its modules define.
    graph = {n: {m for m in to if not n.startswith(m + ".")} for n, to in graph.items()}
    while leaves := [name for name, to in graph.items() if not to & graph.keys()]:
        for name in leaves:
            del graph[name]
    on_a_cycle = _trimmed(graph)
    assert not on_a_cycle, sorted(on_a_cycle)


def _trimmed(graph: dict[str, set[str]]) -> set[str]:
    """Return the modules in a cycle or below one, by removing those that no remaining module imports."""
    names = set(graph)
    while roots := {n for n in names if not any(n in graph[m] for m in names if m != n)}:
        names -= roots
    return names
