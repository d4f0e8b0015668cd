"""Promises of imports: equal models are not separated, and a large table becomes runs of every model."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tasks.metrics.comparison import LEVEL, holm, mean_difference
from tests.deployments.commands import call
from tests.exchange import logs
from warehouse import Warehouse

DRAWS, MODELS, ITEMS, CLUSTERS = 200, 10, 120, 24


@pytest.mark.heavy
def test_ten_equal_models_are_separated_in_at_most_5_percent_of_200_draws() -> None:
    """Items differ in difficulty, and those of a cluster share some of it; all models are equally good."""
    draw = np.random.default_rng(47)
    clusters = np.repeat(np.arange(CLUSTERS), ITEMS // CLUSTERS)
    separated = 0
    for _ in range(DRAWS):
        shared = draw.normal(0, 1, CLUSTERS)[clusters] + draw.normal(0, 1, ITEMS)
        taste = draw.normal(0, 0.7, (MODELS, CLUSTERS))[:, clusters]
        answers = (draw.random((MODELS, ITEMS)) < 1 / (1 + np.exp(-shared - taste))).astype(float)
        p_values = [mean_difference(a, b, clusters).p_value for a, b in combinations(answers, 2)]
        adjusted = holm([p for p in p_values if p is not None])
        separated += bool((np.array(adjusted) < LEVEL).any())
    assert separated <= 0.05 * DRAWS


def test_a_table_of_several_models_is_one_board_in_the_order_of_their_quality(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    draw = np.random.default_rng(3)
    rows = [
        {
            "model": f"model-{m}",
            "item": f"q{i}",
            "score": int(draw.random() < 0.2 + 0.3 * m),
            "country": f"C{i % 12}",
        }
        for m in range(3)
        for i in range(240)
    ]
    call("import", logs.write_lines(tmp_path / "quiz.jsonl", rows), "--cluster", "country", "--task", "quiz")
    board = warehouse.query(
        "SELECT model, place FROM leaderboard_imported WHERE NOT is_null ORDER BY place"
    ).rows()
    assert [model for model, _ in board] == ["model-2", "model-1", "model-0"]
    for better, worse in ((2, 1), (1, 0)):
        csv = call("compare", f"model-{better}", f"model-{worse}", "-f", "csv").stdout.splitlines()
        row = dict(zip(csv[0].split(","), csv[1].split(","), strict=False))
        assert float(row["difference"]) > 0
        assert float(row["p_holm"]) < LEVEL
