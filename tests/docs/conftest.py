"""A warehouse with a small run of every evaluation, on engines that need no model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import with_items
from tests.golden import served
from tests.golden.harness import EVALUATIONS, FAKES, SERVED, files_of, net, run, write_engine, write_served
from tests.golden.rating import rate
from warehouse import Warehouse

SMALLER: dict[str, dict[str, Any]] = {
    "culturall": {"conditions": ["native", "question"], "batch": 256},
    "cure": {"judge_samples": 1, "batch": 256},
    "explication": {"repetitions": 1, "batch": 256},
    "fmlama": {"code_switching": False, "variants": [1]},
    "spectral": {"variants": [1], "languages": ["en", "es"]},
    "worldwise": {"repetitions": 1, "batch": 256},
}
"""Evaluation -> smaller parameters than its net's, to run in seconds; the others run as in their nets."""


def two_models(home: Path, evaluations: Iterable[str]) -> Warehouse:
    """Run two models on each evaluation."""
    for fake in FAKES:
        write_engine(home, fake)
    with closing(served.start()) as server:
        write_served(home, SERVED, server.url)
        for evaluation in evaluations:
            net(evaluation).prepare(home, files_of(home, evaluation))
            run(evaluation, home, **SMALLER.get(evaluation, {}))
    return Warehouse.open(home)


@pytest.fixture(scope="session")
def six_runs(copied_home: Callable[[], Path]) -> Warehouse:
    """Return two models on each evaluation that has a page of its own, and people who rated them."""
    warehouse = two_models(copied_home(), with_items())
    rate(warehouse, "rated", 0)
    return warehouse


@pytest.fixture(scope="session")
def all_runs(six_runs: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Return the same with the recipes and an imported log."""
    home = Path(shutil.copytree(six_runs.home, tmp_path_factory.mktemp("all") / "home"))
    return two_models(home, sorted(set(EVALUATIONS) - set(with_items())))
