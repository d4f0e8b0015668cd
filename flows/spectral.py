"""The spectral evaluation: does a model know the macrostructure of culture?

Source: Measuring Meta-Cultural Competency (anonymous authors, 2025).
"""

from __future__ import annotations

from prefect import flow

from flows.evaluation import evaluate
from tasks.evaluations.spectral.evaluation import EVALUATION
from tasks.evaluations.spectral.params import SpectralParams


@flow(name="spectral", flow_run_name="spectral {params.profile}", validate_parameters=True)
def spectral(params: SpectralParams) -> str:
    """Measure how well models know the macrostructure of culture: 9 domains, up to 170 countries."""
    return evaluate(EVALUATION, params)
