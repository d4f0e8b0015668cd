"""How the spectral evaluation is started and shown."""

from __future__ import annotations

from typing import Any

from deployments.evaluations import Evaluation, Page
from deployments.evaluations.spectral.command import MODELS, run_spectral
from deployments.evaluations.spectral.leaderboard import LEADERBOARD
from warehouse import Warehouse


def _params() -> Any:
    from tasks.evaluations.spectral.params import SpectralParams

    return SpectralParams


def _flow() -> Any:
    from flows.spectral import spectral

    return spectral


def _show_plan(params: Any) -> bool:
    from deployments.evaluations.spectral.plan import show_plan

    return show_plan(params)


def _page(warehouse: Warehouse, config_hash: str | None) -> str:
    from deployments.evaluations.spectral.report import page

    return page(warehouse, config_hash)


EVALUATION = Evaluation(
    title="Macrostructure of culture",
    models=MODELS,
    params=_params,
    flow=_flow,
    show_plan=_show_plan,
    command=run_spectral,
    leaderboard=LEADERBOARD,
    page=Page("report.html", _page),
)
