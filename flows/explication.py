"""The explication evaluation: does a model ask before it recommends? Thin: the loop does the work."""

from __future__ import annotations

from prefect import flow

from flows.evaluation import evaluate
from tasks.evaluations.explication.evaluation import EVALUATION
from tasks.evaluations.explication.params import ExplicationParams


@flow(name="explication", flow_run_name="explication {params.profile}", validate_parameters=True)
def explication(params: ExplicationParams) -> str:
    """Measure how well models get to know simulated users before they recommend, and adapt to them."""
    return evaluate(EVALUATION, params)
