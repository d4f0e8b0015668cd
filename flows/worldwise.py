"""The worldwise evaluation: which cultural values show in a model's reasoning? (WorldWiseAI 2024)"""

from __future__ import annotations

from prefect import flow

from flows.evaluation import evaluate
from tasks.evaluations.worldwise.evaluation import EVALUATION
from tasks.evaluations.worldwise.params import WorldwiseParams


@flow(name="worldwise", flow_run_name="worldwise {params.profile}", validate_parameters=True)
def worldwise(params: WorldwiseParams) -> str:
    """Measure which values show in models' reasoning, with and without persona, against published scores."""
    return evaluate(EVALUATION, params)
