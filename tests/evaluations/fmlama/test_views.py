"""The paper's baseline of ingredients: the view equals its rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tasks.metrics import ranking
from tests.evaluations.fmlama.finished_run import Finished, finished_run
from warehouse import Warehouse


@pytest.fixture(scope="module")
def finished(copied_home: Callable[[], Path]) -> Iterator[Finished]:
    with finished_run(copied_home()) as run:
        yield run


def test_papers_baseline_equals_its_rule_in_python(finished: Finished) -> None:
    """Only the groups of Table 1 have its numbers."""
    warehouse, _, _ = finished
    query = "SELECT ingredients FROM fmlama_dish WHERE dish_set = 'shipped' AND origin = ANY ($origins)"
    of_italy = warehouse.query(query, {"origins": ["Italy"]})["ingredients"].to_list()
    board = warehouse.query("FROM fmlama_paper_baseline WHERE dish_set = 'shipped'")
    rows = {row["origin"]: row for row in board.to_dicts()}
    assert rows["Italy"]["n_dishes"] == len(of_italy)
    assert (rows["Italy"]["paper_dishes"], rows["Italy"]["paper_dumb"]) == (215, 0.1814)
    assert rows["Portugal"]["paper_dumb"] is None
    tiny = {row["ALL"]: row for row in _paper_baseline(warehouse)}
    for language, row in tiny.items():
        assert row["dumb"] == pytest.approx(row["expected"]), language
        assert row["map"] <= row["dumb"]


def _paper_baseline(warehouse: Warehouse) -> list[dict[str, Any]]:
    """Return rows of the view for the set "tiny", with the paper's rule computed in Python."""
    rows = []
    board = warehouse.query("FROM fmlama_paper_baseline WHERE dish_set = 'tiny' AND origin = 'ALL'")
    for row in board.to_dicts():
        lists = warehouse.query(
            "SELECT ingredients FROM fmlama_dish WHERE dish_set = 'tiny' AND language = ?",
            [row["language"]],
        )
        dishes = [set(ingredients) for ingredients in lists["ingredients"]]
        names = sorted(set().union(*dishes))
        relevant = [[name in dish for name in names] for dish in dishes]
        k = min(10, len(names))
        scores = ranking.frequency_scores(relevant, top=k, leave_one_out=False)
        expected = ranking.seed_dumb_average_precision(scores, relevant, k).mean()
        rows.append(row | {"ALL": row["language"], "expected": float(expected)})
    assert {row["language"] for row in rows} == {"en", "zh"}
    return rows
