"""Inputs of the figures: a spectral question with the dish list, and English FmLAMA at its full size."""

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
"""Number of dishes and candidates in the paper for English."""


def model_folder() -> str:
    """Return the folder of the embedded model."""
    return str(embedded.prepare(MODEL, home() / "models"))


def dishes(limit: int | None = None) -> list[str]:
    """Return the dishes in code-point order, all or a fixed random sample of ``limit``."""
    names = sorted(_csv("item_list/dishes")["item"])
    return names if limit is None else sorted(random.Random(0).sample(names, limit))


def questions(n_countries: int = 1) -> list[str]:
    """Return the question's prompts for the first countries of the list."""
    rows = _csv("question").join(_csv("domain"), on="domain").filter(question=QUESTION)
    row = rows.with_columns(pl.col("variant").cast(int), pl.col("human_score").cast(float)).row(0, named=True)
    question = SpectralQuestion(
        **{name: row[name] for name in SpectralQuestion.__dataclass_fields__ if name in row}
    )
    return [question.prompt(name) for name in _csv("country")["name"][:n_countries]]


def _csv(name: str) -> pl.DataFrame:
    return pl.read_csv(REFERENCE / f"{name}.csv", infer_schema=False)


def fmlama() -> FmlamaStudy:
    """Return a study of a fixed random sample of dishes of the 14 groups.

    It has five templates without the country and five with it. Candidates are the dishes' ingredients, filled
    up with ingredients of other dishes.
    """
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        warehouse = Warehouse.open(Path(folder))
        shipped = warehouse.query(
            "SELECT * FROM fmlama_dish WHERE dish_set = 'shipped' ORDER BY url"
        ).to_dicts()
        english = "SELECT * FROM template WHERE evaluation = 'fmlama' AND language = 'en'"
        templates = warehouse.query(english).to_dicts()
        groups = warehouse.query("SELECT * FROM origin_group").to_dicts()
    chance = random.Random(0)
    origins = {group["origin"] for group in groups}
    chosen = chance.sample([dish for dish in shipped if dish["origin"] in origins], FMLAMA_DISHES)
    params = FmlamaParams.model_validate({"models": ["none"], "origins": [PAPER_GROUPS]})
    study = build_study(params, chosen, templates, groups)
    candidates = study.probes[0].candidates
    others = sorted({name for dish in shipped for name in dish["ingredients"]} - set(candidates))
    more = chance.sample(others, FMLAMA_CANDIDATES - len(candidates))
    return replace(study, probes=tuple(_with_candidates(probe, more) for probe in study.probes))


def _with_candidates(probe: Probe, more: list[str]) -> Probe:
    """Return the probe with more candidates, which no dish has."""
    names = probe.candidates + tuple(more)
    relevant = np.pad(probe.relevant, ((0, 0), (0, len(more))))
    order = sorted(range(len(names)), key=names.__getitem__)
    return replace(probe, candidates=tuple(names[i] for i in order), relevant=relevant[:, order])
