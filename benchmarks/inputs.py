"""Inputs of the figures: one spectral question over the dish list, and FmLAMA-en at its full size."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from tasks.engines.local import embedded
from tasks.evaluations.fmlama.params import PAPER_GROUPS, FmlamaParams
from tasks.evaluations.fmlama.study import FmlamaStudy, Probe, build_study
from tasks.evaluations.spectral.study import SpectralQuestion
from warehouse import Warehouse, home

REFERENCE = Path(__file__).parent.parent / "warehouse" / "reference"
QUESTION = "convenient_foods-1"
MODEL = "smollm2-135m"
FMLAMA_DISHES, FMLAMA_CANDIDATES = 1_549, 873
"""The paper's sizes for English."""


def model_folder() -> str:
    """The embedded model that is timed."""
    return str(embedded.prepare(MODEL, home() / "models"))


def dishes(limit: int | None = None) -> list[str]:
    """The dishes in code-point order, or a fixed random choice of ``limit`` of them."""
    every = sorted(_csv("item_list/dishes")["item"])
    return every if limit is None else sorted(random.Random(0).sample(every, limit))


def questions(n_countries: int = 1) -> list[str]:
    """The question on the first countries of the list."""
    rows = _csv("question").join(_csv("domain"), on="domain").filter(question=QUESTION)
    row = rows.with_columns(pl.col("variant").cast(int), pl.col("human_score").cast(float)).row(0, named=True)
    question = SpectralQuestion(**{name: row[name] for name in SpectralQuestion.__dataclass_fields__})
    return [question.prompt(name) for name in _csv("country")["name"][:n_countries]]


def _csv(name: str) -> pl.DataFrame:
    return pl.read_csv(REFERENCE / f"{name}.csv", infer_schema=False)


def fmlama() -> FmlamaStudy:
    """A fixed random choice of dishes of the 14 groups, five templates without and five with the country.

    Candidates are their ingredients, filled up from other dishes' ingredients if there are too few.
    """
    with TemporaryDirectory(prefix="culturescope-bench-") as folder:
        warehouse = Warehouse.open(Path(folder))
        shipped = warehouse.query(
            "SELECT * FROM fmlama_dish WHERE dish_set = 'shipped' ORDER BY url"
        ).to_dicts()
        english = "SELECT * FROM template WHERE evaluation = 'fmlama' AND language = 'en'"
        templates = warehouse.query(english).to_dicts()
        groups = warehouse.query("SELECT * FROM origin_group").to_dicts()
    chance = random.Random(0)
    grouped = {group["origin"] for group in groups}
    chosen = chance.sample([dish for dish in shipped if dish["origin"] in grouped], FMLAMA_DISHES)
    params = FmlamaParams.model_validate({"models": ["none"], "origins": [PAPER_GROUPS]})
    study = build_study(params, chosen, templates, groups)
    own = study.probes[0].candidates
    others = sorted({name for dish in shipped for name in dish["ingredients"]} - set(own))
    filling = chance.sample(others, FMLAMA_CANDIDATES - len(own))
    return replace(study, probes=tuple(_with_candidates(probe, filling) for probe in study.probes))


def _with_candidates(probe: Probe, more: list[str]) -> Probe:
    """The probe with candidates that no dish has."""
    names = probe.candidates + tuple(more)
    relevant = np.pad(probe.relevant, ((0, 0), (0, len(more))))
    order = sorted(range(len(names)), key=names.__getitem__)
    return replace(probe, candidates=tuple(names[i] for i in order), relevant=relevant[:, order])
