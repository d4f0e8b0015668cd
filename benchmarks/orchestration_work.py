"""The spectral flow with an engine that needs no model, so that all time outside it is ours."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tasks.engines import load
from tasks.engines.specs import load_spec
from tasks.evaluations.spectral.params import SpectralParams
from warehouse import Warehouse

ENGINE = "benchmark-fake"
COUNTRIES_PER_PART = 170  # as in the profile full


def flow(max_items: int) -> dict[str, Any]:
    """Seconds of the flow, and of these the ones inside ``engine.score``; Prefect's start apart."""
    with TemporaryDirectory(prefix="culturescope-bench-") as folder:
        os.environ["CULTURESCOPE_HOME"] = folder
        return _flow(Path(folder), max_items)


def full_plan() -> int:
    """(country, item) pairs of the whole profile ``full``, over all questions."""
    from flows.session import prepare
    from tasks.evaluations.spectral.evaluation import EVALUATION

    session = prepare(EVALUATION, SpectralParams.model_validate({"models": [ENGINE]}))
    return sum(line.asked for line in session.plan.lines)


def _flow(home: Path, max_items: int) -> dict[str, Any]:
    from deployments import server

    (home / "engines").mkdir()
    (home / "engines" / f"{ENGINE}.toml").write_text('kind = "fake"\nmodel = "benchmark"\n')
    warehouse = Warehouse.open()
    server.configure(home)
    params = SpectralParams.model_validate(
        {
            "models": [ENGINE],
            "max_items": max_items,
            "countries_per_part": COUNTRIES_PER_PART,
            "profile": "benchmark",
        }
    )
    start = time.perf_counter()
    with server.started(home, server.free_port()) as url, server.pointed_at(url):
        from flows.spectral import spectral

        logging.disable(logging.INFO)
        started = time.perf_counter()
        inside = _clock_engine(warehouse)
        spectral(params)
        seconds = time.perf_counter() - started
    stored = warehouse.query("SELECT sum(n_rows) FROM part_unit WHERE kind = 'item_logprob'").item()
    return {
        "seconds": seconds,
        "engine_seconds": sum(inside),
        "server_seconds": started - start,
        "n_rows": int(stored),
        "n_full": full_plan(),
    }


def _clock_engine(warehouse: Warehouse) -> list[float]:
    """Load the engine that the flow will find loaded, and note the seconds of each call of ``score``."""
    engine: Any = load.scorer(load_spec(ENGINE, warehouse.home / "engines"), warehouse.home / "models")
    score, seconds = engine.score, list[float]()

    def clocked(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return score(*arguments)
        finally:
            seconds.append(time.perf_counter() - start)

    engine.score = clocked
    return seconds
