"""The FmLAMA evaluation: does a model know what dishes are made of? (Zhou et al. 2025)"""

from __future__ import annotations

from prefect import flow

from flows.evaluation import evaluate
from tasks.evaluations.fmlama.evaluation import EVALUATION
from tasks.evaluations.fmlama.params import FmlamaParams


@flow(name="fmlama", flow_run_name="fmlama {params.profile}", validate_parameters=True)
def fmlama(params: FmlamaParams) -> str:
    """Probe what models know of the world's dishes: which ingredients, across origins and languages."""
    return evaluate(EVALUATION, params)
