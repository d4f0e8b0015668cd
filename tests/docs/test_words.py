"""Banned phrases and openings stay out of docstrings, docs and texts."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from warehouse import Warehouse


@pytest.fixture
def words() -> Any:
    """The script docs/words.py as a module."""
    path = Path(__file__).resolve().parents[2] / "docs" / "words.py"
    spec = importlib.util.spec_from_file_location("words", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_banned_phrase_and_docstring_opening_are_found(words: Any, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("Fine.\nThe option goes before it.\n")
    (folder / "b.py").write_text('"""How it works."""\n\n\ndef f():\n    """What is returned?"""\n')
    assert list(words.faults(tmp_path)) == [
        "docs/a.md:2: 'goes before it'",
        "docs/b.py:1: a docstring begins with 'How it works.'",
    ]


def test_constants_help_and_database_comments_are_checked(words: Any, tmp_path: Path) -> None:
    views = tmp_path / "warehouse" / "views"
    views.mkdir(parents=True)
    (views / "v.sql").write_text("COMMENT ON VIEW v IS 'Numbers.';\nCOMMENT ON COLUMN v.n IS 'How many.';\n")
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "c.py").write_text(
        'N = 3\n"""Of a text."""\nM = 4\n"""Most texts."""\nf(help="of the draw", description="seed")\n'
    )
    assert list(words.faults(tmp_path)) == [
        "tasks/c.py:2: a constant's docstring begins with 'Of a text.'",
        "tasks/c.py:5: a help text begins with 'of the draw'",
        "warehouse/views/v.sql:2: a comment begins with 'How many.'",
    ]


def test_generators_yield_and_other_functions_return(words: Any, tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    functions = (
        'def a() -> list[int]:\n    """Yield numbers."""\n    return []\n',
        'def b() -> Iterator[int]:\n    """Return numbers."""\n    yield 1\n',
        'def c() -> Iterator[int]:\n    """Yield numbers."""\n    return iter([])\n',
        'def d() -> list[int]:\n    """Return numbers."""\n    def own(): yield 1\n    return [*own()]\n',
    )
    (tmp_path / "tasks" / "d.py").write_text("\n".join(functions))
    assert list(words.faults(tmp_path)) == [
        "tasks/d.py:1: a does not yield",
        "tasks/d.py:5: b does not return",
    ]


def test_american_spelling_is_found_in_prose_only(words: Any, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("`--color` is fine.\n```\ncolor\n```\nIts behavior is not.\n")
    assert list(words.faults(tmp_path)) == ["docs/a.md:5: write 'behavior' in British spelling"]


def test_comments_of_database_and_metrics_have_no_banned_opening(words: Any, warehouse: Warehouse) -> None:
    """Only comments of a new database count, as migrations keep old ones."""
    comments = """
        SELECT table_name AS place, comment FROM duckdb_tables()
        UNION ALL SELECT view_name, comment FROM duckdb_views()
        UNION ALL SELECT table_name || '.' || column_name, comment FROM duckdb_columns()
        UNION ALL SELECT metric, unnest([description, null_baseline, unscored_when]) FROM metric
    """
    rows = warehouse.query(comments).drop_nulls().rows()
    assert len(rows) > 1000
    assert [row for row in rows if words.FRAGMENT.match(row[1])] == []
