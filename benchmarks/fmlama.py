"""What the probing figures ask: FmLAMA-en at its full size, made of shipped dishes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tasks.evaluations.fmlama.params import PAPER_GROUPS, FmlamaParams
from tasks.evaluations.fmlama.requests import Probe, Study, build_study
from warehouse import Warehouse

DISHES, CANDIDATES = 1_549, 873
"""The paper's sizes for English."""

DISH_ROWS = "SELECT * FROM fmlama_dish WHERE dish_set = 'shipped' ORDER BY url"
TEMPLATE_ROWS = "SELECT * FROM template WHERE evaluation = 'fmlama' AND language = 'en'"


def study() -> Study:
    """A fixed random choice of dishes of the 14 groups, five templates without and five with the country.

    Candidates are their ingredients; the few that lack are filled up from those of the other dishes.
    """
    with TemporaryDirectory(prefix="culturescope-bench-") as folder:
        warehouse = Warehouse.open(Path(folder))
        dishes = warehouse.query(DISH_ROWS).to_dicts()
        templates = warehouse.query(TEMPLATE_ROWS).to_dicts()
        groups = warehouse.query("SELECT * FROM origin_group").to_dicts()
    chance = random.Random(0)
    grouped = {group["origin"] for group in groups}
    chosen = chance.sample([dish for dish in dishes if dish["origin"] in grouped], DISHES)
    params = FmlamaParams.model_validate({"models": ["none"], "origins": [PAPER_GROUPS]})
    study = build_study(params, chosen, templates, groups)
    own = study.probes[0].candidates
    others = sorted({name for dish in dishes for name in dish["ingredients"]} - set(own))
    filling = chance.sample(others, CANDIDATES - len(own))
    return replace(study, probes=tuple(_with_candidates(probe, filling) for probe in study.probes))


def _with_candidates(probe: Probe, more: list[str]) -> Probe:
    """The probe with candidates that no dish has."""
    names = probe.candidates + tuple(more)
    relevant = np.pad(probe.relevant, ((0, 0), (0, len(more))))
    order = sorted(range(len(names)), key=names.__getitem__)
    return replace(probe, candidates=tuple(names[i] for i in order), relevant=relevant[:, order])
