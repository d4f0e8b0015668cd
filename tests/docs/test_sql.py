"""Every query of the SQL cookbook runs unchanged and returns rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deployments.show.boards import sql_variables
from warehouse import Warehouse

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
RECIPES = re.findall(
    r"^### (\d+)\. [^\n]+\n(?:(?!^###).)*?^```sql\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S
)


def test_cookbook_has_questions_1_to_28() -> None:
    assert [int(number) for number, _ in RECIPES] == list(range(1, 29))


@pytest.mark.parametrize(("number", "query"), RECIPES)
def test_cookbook_query_has_rows_and_values(all_runs: Warehouse, number: str, query: str) -> None:
    rows = all_runs.query(query, variables=sql_variables(all_runs, query))
    assert rows.height, f"question {number} has no rows"
    empty = [name for name in rows.columns if rows[name].null_count() == rows.height]
    assert len(empty) < rows.width / 2, f"question {number}: only NULL in {empty}"
