"""Flows by name: one for each evaluation, made of what it says of itself."""

from __future__ import annotations

from functools import cache
from typing import Any

from prefect import Flow

from flows.evaluation import evaluate
from tasks.evaluations.contract import Evaluation, Params


@cache
def flow_of(evaluation: Evaluation[Any, Any, Any]) -> Flow[..., str]:
    """The flow of an evaluation: its form is made of the fields of its params.

    It returns the config_hash under which the leaderboard shows the result. See ``evaluate`` for what is
    resumed and raised.
    """

    def run(params: Params) -> str:
        return evaluate(evaluation, params)

    run.__name__ = run.__qualname__ = evaluation.name
    run.__doc__ = evaluation.params.__doc__
    run.__annotations__ = {"params": evaluation.params, "return": str}
    return Flow(
        run,
        name=evaluation.name,
        flow_run_name=f"{evaluation.name} {{params.profile}}",
        validate_parameters=True,
    )
