"""Distributions sampled from a server's written answers, end to end."""

from __future__ import annotations

from typing import Any

import numpy as np

from flows.evaluation import evaluate
from tasks.evaluations.spectral.evaluation import EVALUATION
from tasks.evaluations.spectral.params import SpectralParams
from tests.engines.served import completion
from tests.flows.conftest import Serve
from warehouse import Warehouse


def test_a_model_of_a_server_runs_and_resumes(warehouse: Warehouse, serve: Serve) -> None:
    """Countries answer from known distributions; numbers, samples and configuration are as sampled."""
    currencies = ["Euro", "Japanese yen", "Indian rupee", "US dollar"]

    def reply(_: int, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        rng = np.random.default_rng([body["seed"], len(body["messages"][0]["content"])])
        text = rng.choice([*currencies, "something else"], p=[0.5, 0.2, 0.1, 0.1, 0.1])
        return 200, completion(str(text))

    server = serve(reply, "closed")
    params = SpectralParams(
        models=["closed"],
        countries=["BR", "DE", "JP", "NG"],
        domains=["currency"],
        variants=[1],
        half_samples=20,
    )
    evaluate(EVALUATION, params)
    n = len(server.received)
    assert 40 <= n <= 120
    evaluate(EVALUATION, params)
    assert len(server.received) == n
    rows = warehouse.query(
        "SELECT metric, value, null_value FROM metric_value WHERE model = 'closed' AND slice = 'currency-1'"
    )
    values = {metric: (value, null) for metric, value, null in rows.rows()}
    assert 1 < values["effective_rank"][0] < 4
    assert values["effective_rank"][1] > 1
    assert 0.7 < values["answers_on_list"][0] < 1
    assert warehouse.query("SELECT params->>'elicit' FROM run WHERE model = 'closed'").item() == "sampling"
