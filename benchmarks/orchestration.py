"""Figure: time that Prefect, Parquet, DuckDB and the metrics add to a model's time.

The spectral flow runs with an engine without a model, so all time outside the engine is overhead.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.process import Result, WorkerError, measure, peak, show
from benchmarks.scoring import scores
from benchmarks.sizes import Sizes
from tasks.engines import load
from tasks.engines.specs import load_spec
from tasks.evaluations.spectral.params import SpectralParams
from warehouse import Warehouse

BAR = 0.05
GPU_RATE = 20_000.0
ENGINE = "benchmark-fake"
COUNTRIES_PER_PART = 170  # as in the profile full


def orchestration(sizes: Sizes) -> None:
    """Print the overhead per log-probability, and its share of the engine's time here and on a GPU."""
    ours = measure(flow, max_items=sizes.flow_items)
    overhead = (ours["seconds"] - ours["engine_seconds"]) / ours["n_rows"]
    show(
        f"spectral flow {ours['seconds']:.1f} s {peak(ours)}, of these {ours['engine_seconds']:.1f} s in "
        f"engine.score — {ours['n_rows']:,} log-probabilities of the {ours['n_full']:,} of the profile full, "
        f"27 questions, 170 countries; Prefect's start {ours['server_seconds']:.1f} s apart",
        f"overhead: {1e6 * overhead:.2f} µs a log-probability, {ours['n_full'] * overhead / 60:.1f} min for "
        f"the profile full",
        _share(overhead, GPU_RATE, "a GPU, assumed"),
    )
    try:
        engine = measure(scores, engine="packed_trie", dtype="bfloat16", style="chat", limit=sizes.dishes)
        show(_share(overhead, engine["rate"], "packed_trie smollm2-135m here"))
    except WorkerError as error:
        show(f"packed_trie: not measured: {error}")


def _share(overhead: float, rate: float, place: str) -> str:
    share = overhead * rate
    met = "met" if share < BAR else "missed"
    return f"overhead vs engine at {rate:,.0f} items/s ({place}): {share:.1%}; bar {BAR:.0%}: {met}"


def flow(max_items: int) -> Result:
    """Return the seconds of the flow, of ``engine.score`` in it, and separately of Prefect's start."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ["CULTUREMETER_HOME"] = folder
        return _flow(Path(folder), max_items)


def full_plan() -> int:
    """Return the number of pairs of country and item in the profile ``full``, over all questions."""
    from flows.session import prepare
    from tasks.evaluations.spectral.evaluation import EVALUATION

    session = prepare(EVALUATION, SpectralParams.model_validate({"models": [ENGINE]}))
    return sum(line.n_units for line in session.plan.lines)


def _flow(home: Path, max_items: int) -> Result:
    from deployments.serve import server

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
        from flows.evaluation import flow_of
        from tasks.evaluations.spectral.evaluation import EVALUATION

        logging.disable(logging.INFO)
        flow_start = time.perf_counter()
        engine_seconds = _clock_engine(warehouse)
        flow_of(EVALUATION)(params)
        seconds = time.perf_counter() - flow_start
    stored = warehouse.query("SELECT sum(n_rows) FROM part_unit WHERE kind = 'item_logprob'").item()
    return {
        "seconds": seconds,
        "engine_seconds": sum(engine_seconds),
        "server_seconds": flow_start - start,
        "n_rows": int(stored),
        "n_full": full_plan(),
    }


def _clock_engine(warehouse: Warehouse) -> list[float]:
    """Load the engine that the flow will use; its calls of ``score`` add seconds to the returned list."""
    engine: Any = load.load(load_spec(ENGINE, warehouse.home / "engines"), warehouse.home / "models")
    score, seconds = engine.score, list[float]()

    def clocked(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return score(*arguments)
        finally:
            seconds.append(time.perf_counter() - start)

    engine.score = clocked
    return seconds
