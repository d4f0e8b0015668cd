"""The cure evaluation: can a model explain norms, not only label them? (Vo and Koyejo 2025)"""

from __future__ import annotations

from prefect import flow

from flows.evaluation import evaluate
from tasks.evaluations.cure.evaluation import EVALUATION
from tasks.evaluations.cure.params import CureParams


@flow(name="cure", flow_run_name="cure {params.profile}", validate_parameters=True)
def cure(params: CureParams) -> str:
    """Measure how well models label norms (thin) and explain them (thick), with judges on the latter."""
    return evaluate(EVALUATION, params)
