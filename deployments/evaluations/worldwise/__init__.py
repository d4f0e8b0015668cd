"""How the worldwise evaluation is started and shown."""

from __future__ import annotations

from typing import Any

from deployments.evaluations import Evaluation, Page
from deployments.evaluations.worldwise.command import MODELS, run_worldwise
from deployments.evaluations.worldwise.leaderboard import LEADERBOARD
from warehouse import Warehouse


def _params() -> Any:
    from tasks.evaluations.worldwise.params import WorldwiseParams

    return WorldwiseParams


def _flow() -> Any:
    from flows.worldwise import worldwise

    return worldwise


def _show_plan(params: Any) -> bool:
    from deployments.evaluations.worldwise.plan import show_plan

    return show_plan(params)


def _page(warehouse: Warehouse, config_hash: str | None) -> str:
    from deployments.evaluations.worldwise.report import page

    return page(warehouse, config_hash)


EVALUATION = Evaluation(
    title="Values in reasoning, with and without a persona",
    models=MODELS,
    params=_params,
    flow=_flow,
    show_plan=_show_plan,
    command=run_worldwise,
    leaderboard=LEADERBOARD,
    page=Page("report-worldwise.html", _page),
)
