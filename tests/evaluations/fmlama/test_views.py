"""Views of a run: the stored numbers, the code-switching matrix, the errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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


def values(warehouse: Warehouse, slice_kind: str) -> Mapping[tuple[str, str, str], dict[str, Any]]:
    """Return (run, metric, slice) -> row of metric_value."""
    rows = warehouse.query("SELECT * FROM metric_value WHERE slice_kind = ?", [slice_kind]).to_dicts()
    return {(r["run_id"], r["metric"], r["slice"]): r for r in rows}


def slug(row: Mapping[str, Any]) -> str:
    return ":".join(
        (row["main_language"], row["subject_language"], "yes" if row["country_mentioned"] else "no")
    )


SHOWN = {
    "map": ("map", "value"), "ci_low": ("map", "ci_low"), "ci_high": ("map", "ci_high"),
    "map_sd": ("map_sd", "value"), "null_map": ("map", "null_value"), "mws": ("mws", "value"),
    "null_mws": ("mws", "null_value"), "country_gain": ("country_gain", "value"),
    "country_gain_p": ("country_gain_p", "value"), "mes": ("mes", "value"),
}  # fmt: skip
BOARD = SHOWN | {
    "map_gain": ("map_gain", "value"), "gain_low": ("map_gain", "ci_low"),
    "gain_high": ("map_gain", "ci_high"),
    "map_cv": ("map_cv", "value"), "null_mes": ("mes", "null_value"),
    "unspellable": ("unspellable_candidates", "value"),
}  # fmt: skip
ORIGIN = SHOWN | {
    "mws_sd": ("mws_sd", "value"), "error_foreign": ("error_foreign", "value"),
    "n_scored": ("map", "n_scored"),
}  # fmt: skip


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
