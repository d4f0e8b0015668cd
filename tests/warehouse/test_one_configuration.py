"""A smaller run under another configuration changes no row that any view shows of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.report.stored import put_run, row
from warehouse import Warehouse

EVALUATIONS = ("spectral", "cure", "fmlama", "worldwise", "culturall", "explication")
SLICES = (("overall", "all"), ("condition", "control"), ("benchmark_mode", "normad:thin"))
MODELS = "abcdefg"
_HEADLINES = (
    "SELECT evaluation, metric FROM metric WHERE is_headline OR metric IN ('macro_f1', 'apr') ORDER BY ALL"
)
_VIEWS = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY view_name"
_CONFIGURATION = ("config_hash", "configuration")
# These list configurations or runs as such; their rows are counted, or follow from a run's place in time.
_OF_RUNS = {"report_configuration", "against_null", "metric_value", "metric_row", "doubt", "run_pack"}


def put_runs(connection: Any, config: str, models: str, turn: int, n_answers: int) -> None:
    """Store a run of every model on every evaluation; ``turn`` turns the order of the models."""
    headlines = connection.execute(_HEADLINES).fetchall()
    for evaluation in EVALUATIONS:
        for place, model in enumerate(models):
            value = ((place * turn) % 7 + 1) / 8
            rows = [
                row(metric, where, value, null_value=0.1, ci_low=value - 0.01, ci_high=value + 0.01)
                for of, metric in headlines if of == evaluation for where in SLICES
            ]  # fmt: skip
            run = put_run(
                connection, evaluation, model, rows, {}, f"{config} {evaluation}", (model, f"lab/{model}")
            )
            connection.execute("UPDATE run_base SET n_answers = ? WHERE run_id = ?", [n_answers, run])


def shown(warehouse: Warehouse, without: str) -> dict[str, list[tuple[Any, ...]]]:
    """Return every view's rows except those of configurations that begin so."""
    views = {}
    for (name,) in warehouse.query(_VIEWS).rows():
        if name in _OF_RUNS or name.endswith("_doubt"):
            continue
        frame = warehouse.query(f'FROM "{name}"')
        column = next((each for each in _CONFIGURATION if each in frame.columns), "")
        kept = [each for each in frame.to_dicts() if not str(each.get(column)).startswith(without)]
        views[name] = sorted(tuple(map(_text, each.values())) for each in kept)
    return views


def _text(value: object) -> str:
    """Return a cell as text; the last digits of sums depend on the order in which DuckDB adds."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)


@pytest.mark.heavy
@pytest.mark.parametrize("models", ["ab", MODELS])
def test_smoke_run_of_another_configuration_changes_no_view(
    copied_home: Callable[[], Path], models: str
) -> None:
    warehouse = Warehouse.open(copied_home())
    with warehouse.write() as connection:
        put_runs(connection, "whole", MODELS, 1, n_answers=1000)
    before = shown(warehouse, without="smoke")
    assert {"meta_explication", "model_scores", "evaluation_agreement"} <= {
        name for name in before if before[name]
    }
    with warehouse.write() as connection:
        put_runs(connection, "smoke", models, 3, n_answers=10)
    after = shown(warehouse, without="smoke")
    assert [name for name in before if before[name] != after[name]] == []


def test_models_are_correlated_within_one_configuration(copied_home: Callable[[], Path]) -> None:
    warehouse = Warehouse.open(copied_home())
    with warehouse.write() as connection:
        put_runs(connection, "whole", MODELS, 1, n_answers=1000)
        put_runs(connection, "smoke", "fg", -1, n_answers=10)
    rhos = warehouse.query(
        """
        SELECT spearman FROM meta_explication
        WHERE config_hash = 'whole explication' AND metric = 'apr' AND other_evaluation <> 'explication'
        """
    )["spearman"]
    assert len(rhos) > 2
    assert rhos.to_list() == pytest.approx([1] * len(rhos))
