"""How the cure evaluation is started and shown."""

from __future__ import annotations

from typing import Any

from deployments.evaluations import Evaluation, Page
from deployments.evaluations.cure.command import MODELS, run_cure
from deployments.evaluations.cure.leaderboard import LEADERBOARD
from warehouse import Warehouse


def _params() -> Any:
    from tasks.evaluations.cure.params import CureParams

    return CureParams


def _flow() -> Any:
    from flows.cure import cure

    return cure


def _show_plan(params: Any) -> bool:
    from deployments.evaluations.cure.plan import show_plan

    return show_plan(params)


def _page(warehouse: Warehouse, config_hash: str | None) -> str:
    from deployments.evaluations.cure.report import page

    return page(warehouse, config_hash)


EVALUATION = Evaluation(
    title="Thin and thick understanding of norms",
    models=MODELS,
    params=_params,
    flow=_flow,
    show_plan=_show_plan,
    command=run_cure,
    leaderboard=LEADERBOARD,
    page=Page("report-cure.html", _page),
)
