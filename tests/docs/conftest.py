"""A warehouse with a small run of every evaluation, on engines that need no model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.fixture(scope="session")
def all_runs(copied_home: Callable[[], Path]) -> Warehouse:
    """Two models on each evaluation."""
    home = copied_home()
    for fake in FAKES:
        write_engine(home, fake)
    server = served.start()
    write_served(home, SERVED, server.url)
    for evaluation in EVALUATIONS:
        net(evaluation).prepare(home, files_of(home, evaluation))
        run(evaluation, home, **SMALLER.get(evaluation, {}))
    server.close()
    warehouse = Warehouse.open(home)
    rate(warehouse, "rated", 0)
    return warehouse
