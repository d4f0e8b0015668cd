"""Every evaluation has a page, which explains each column of its leaderboard and names its null models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deployments.evaluations import doors, profiles, with_items
from deployments.show import boards, report
from warehouse import Warehouse

PAGES = Path(__file__).parents[2] / "docs" / "evaluations"


@pytest.mark.parametrize("evaluation", with_items())
def test_page_explains_every_column_null_and_profile(all_runs: Warehouse, evaluation: str) -> None:
    page = (PAGES / f"{evaluation}.md").read_text(encoding="utf-8")
    config = report.configuration(all_runs, evaluation, None)[1]
    board = boards.leaderboard(all_runs, evaluation, config)
    table = page[page.index("## Read the leaderboard") : page.index("## Null models")]
    explained = {name.strip() for row in re.findall(r"^\|([^|]+)\|", table, re.M) for name in row.split(",")}
    obvious = {"model", "benchmark", "items", "conversations", "n"}
    assert set(doors()[evaluation].columns(board.row(0, named=True))) - obvious <= explained
    nulls = {name.partition("(")[0] for name in board["model"] if name.startswith("null:")}
    assert all(null in page for null in nulls)
    assert all(f"`{name}`" in page for name in profiles(evaluation))
