"""A renamed model is shown under its new name everywhere, and no number changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deployments.evaluations import evaluation as evaluation_of
from deployments.show import judged
from deployments.show.report import page
from flows.stored import recomputed
from tests.golden.conftest import Homes
from tests.golden.harness import EVALUATIONS
from warehouse import Warehouse
from warehouse.names import rename_model

AS_SAVED = {"run_base", "metric_value_base", "renamed_run"}
"""Tables and views that have the names that runs were saved with."""
OF_ENGINES = {"engine", "params", "model_id"}
"""Columns on the engine that ran: the name of its spec and of its weights."""
NOT_NAMES = {("response", "conversation"), ("metric_value", "slice")}
RELATIONS = """
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND NOT internal UNION ALL
SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND NOT internal ORDER BY ALL
"""
NUMBERS = "SELECT run_id, metric, slice_kind, slice, value, ci_low, ci_high FROM metric_value ORDER BY ALL"


def naming(warehouse: Warehouse, name: str, *relations: str) -> set[tuple[str, str]]:
    """Return the columns of these tables and views, or all, with a cell that has the name, as a word."""
    found = set()
    for relation in relations or warehouse.query(RELATIONS)["table_name"]:
        rows = warehouse.query(f'SELECT COLUMNS(*)::VARCHAR FROM "{relation}"')
        pattern = rf"(^|[^\w-]){re.escape(name)}($|[^\w-])"
        found |= {(relation, column) for column in rows.columns if rows[column].str.contains(pattern).any()}
    return found


@pytest.mark.slow
@pytest.mark.nets(1)
@pytest.mark.parametrize("evaluation", sorted(EVALUATIONS, key=lambda name: name != "proverbs"))
def test_a_renamed_model_has_its_new_name_everywhere(
    finished: Homes, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home: Path = finished(evaluation)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    warehouse = Warehouse.open(home)
    before = warehouse.query(NUMBERS)
    models = warehouse.query("SELECT DISTINCT model FROM run WHERE NOT is_null ORDER BY ALL")[
        "model"
    ].to_list()
    old, new = models[0], "Renamed, step 2000"
    assert ("leaderboard", "model") in naming(warehouse, old, "leaderboard"), "the search finds names"
    rename_model(warehouse, old, new)
    left = {each for each in naming(warehouse, old) if each[0] not in AS_SAVED and each[1] not in OF_ENGINES}
    assert left - NOT_NAMES == set()
    assert warehouse.query(NUMBERS).equals(before)
    shown = page(warehouse, evaluation, links={})
    assert new in shown
    checked = list(recomputed(evaluation_of))
    assert [(each.differences, each.reason) for each in checked] == [([], "")] * len(checked) != []


@pytest.mark.slow
def test_codes_of_judged_answers_survive_a_rename(finished: Homes) -> None:
    """Ratings of an audit find their answers by these codes."""
    warehouse = Warehouse.open(finished("cure"))
    before = judged.verdicts(warehouse, judged.choose(warehouse, "cure", None))[1]
    model = next(iter(before.values())).model
    rename_model(warehouse, model, "Renamed, step 2000")
    assert judged.verdicts(warehouse, judged.choose(warehouse, "cure", None))[1] == before != {}
