"""How the fmlama evaluation is started and shown."""

from __future__ import annotations

from typing import Any

from deployments.evaluations import Evaluation, Page
from deployments.evaluations.fmlama.command import MODELS, run_fmlama
from deployments.evaluations.fmlama.leaderboard import LEADERBOARD
from warehouse import Warehouse


def _params() -> Any:
    from tasks.evaluations.fmlama.params import FmlamaParams

    return FmlamaParams


def _flow() -> Any:
    from flows.fmlama import fmlama

    return fmlama


def _show_plan(params: Any) -> bool:
    from deployments.evaluations.fmlama.plan import show_plan

    return show_plan(params)


def _page(warehouse: Warehouse, config_hash: str | None) -> str:
    from deployments.evaluations.fmlama.report import page

    return page(warehouse, config_hash)


EVALUATION = Evaluation(
    title="What dishes are made of",
    models=MODELS,
    params=_params,
    flow=_flow,
    show_plan=_show_plan,
    command=run_fmlama,
    leaderboard=LEADERBOARD,
    page=Page("report-fmlama.html", _page),
)
