"""The idioms evaluation: does a model know what sayings mean? Thin: the loop does the work."""

from __future__ import annotations

from prefect import flow

from flows.evaluation import evaluate
from tasks.evaluations.idioms.evaluation import EVALUATION
from tasks.evaluations.idioms.params import IdiomsParams


@flow(name="idioms", flow_run_name="idioms {params.profile}", validate_parameters=True)
def idioms(params: IdiomsParams) -> str:
    """Measure whether models know what sayings mean. See ``evaluate`` for what is resumed and raised."""
    return evaluate(EVALUATION, params)
