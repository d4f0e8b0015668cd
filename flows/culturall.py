"""The culturall evaluation: can a model solve grounded tasks in 14 languages? (Lin et al. 2026)"""

from __future__ import annotations

from prefect import flow

from flows.evaluation import evaluate
from tasks.evaluations.culturall.evaluation import EVALUATION
from tasks.evaluations.culturall.params import CulturallParams


@flow(name="culturall", flow_run_name="culturall {params.profile}", validate_parameters=True)
def culturall(params: CulturallParams) -> str:
    """Measure how many grounded tasks models solve: natively, in English, and without the scenario.

    Returns the config_hash under which ``leaderboard_culturall`` shows the result. See ``evaluate`` for
    what is resumed and raised.
    """
    return evaluate(EVALUATION, params)
