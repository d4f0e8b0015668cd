"""The evaluations that can be started: their parameters, their flow and their plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from deployments import plan
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.spectral.params import SpectralParams


@dataclass(frozen=True)
class Evaluation:
    """What starts an evaluation.

    Attributes:
        title: one line for the Prefect UI.
        flow: imports the flow when asked: Prefect reads its settings at import.
        show_plan: prints what is left to do, and returns whether anything is.
    """

    title: str
    params: type[BaseModel]
    flow: Callable[[], Any]
    show_plan: Callable[[Any], bool]


def _spectral() -> Any:
    from flows.spectral import spectral

    return spectral


def _fmlama() -> Any:
    from flows.fmlama import fmlama

    return fmlama


EVALUATIONS: Mapping[str, Evaluation] = {
    "spectral": Evaluation("Macrostructure of culture", SpectralParams, _spectral, plan.spectral_plan),
    "fmlama": Evaluation("What dishes are made of", FmlamaParams, _fmlama, plan.fmlama_plan),
}
