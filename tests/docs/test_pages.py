"""Pages that must hold what the code shows: evaluations, troubleshooting, the SQL cookbook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deployments.evaluations import doors, profiles, with_items
from deployments.show import boards, report
from deployments.show.boards import sql_variables
from warehouse import Warehouse

PAGES = Path(__file__).parents[2] / "docs" / "evaluations"


@pytest.mark.parametrize("evaluation", with_items())
def test_page_explains_every_column_null_and_profile(six_runs: Warehouse, evaluation: str) -> None:
    page = (PAGES / f"{evaluation}.md").read_text(encoding="utf-8")
    config = report.configuration(six_runs, evaluation, None)[1]
    board = boards.leaderboard(six_runs, evaluation, config)
    table = page[page.index("## Read the leaderboard") : page.index("## Null models")]
    explained = {name.strip() for row in re.findall(r"^\|([^|]+)\|", table, re.M) for name in row.split(",")}
    obvious = {"model", "benchmark", "items", "conversations", "n"}
    assert set(doors()[evaluation].columns(board.row(0, named=True))) - obvious <= explained
    nulls = {name.partition("(")[0] for name in board["model"] if name.startswith("null:")}
    assert all(null in page for null in nulls)
    assert all(f"`{name}`" in page for name in profiles(evaluation))


TROUBLES = Path(__file__).parents[2] / "docs" / "troubleshooting.md"


def test_every_message_is_listed_once_with_advice() -> None:
    """The wording of messages is tested with the code that raises them."""
    _, *pieces = re.split(r"^\*\*`(.+)`\*\*$", TROUBLES.read_text(encoding="utf-8"), flags=re.MULTILINE)
    messages, advice = pieces[::2], pieces[1::2]
    assert len(messages) >= 30
    assert len(messages) == len(set(messages))
    assert [m for m, words in zip(messages, advice, strict=True) if not words.strip()] == []


COOKBOOK = Path(__file__).parents[2] / "docs" / "sql.md"
RECIPES = re.findall(
    r"^### (\d+)\. [^\n]+\n(?:(?!^###).)*?^```sql\n(.*?)^```",
    COOKBOOK.read_text(encoding="utf-8"),
    re.M | re.S,
)


def test_cookbook_has_questions_1_to_29() -> None:
    assert [int(number) for number, _ in RECIPES] == list(range(1, 30))


@pytest.mark.parametrize(("number", "query"), RECIPES)
def test_cookbook_query_has_rows_and_values(six_runs: Warehouse, number: str, query: str) -> None:
    rows = six_runs.query(query, variables=sql_variables(six_runs, query))
    assert rows.height, f"question {number} has no rows"
    empty = [name for name in rows.columns if rows[name].null_count() == rows.height]
    assert len(empty) < rows.width / 2, f"question {number}: only NULL in {empty}"
