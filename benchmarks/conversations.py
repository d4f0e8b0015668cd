"""Figure: time that the loop adds to conversations of models, one turn per round."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from warehouse import Warehouse

BAR_S, BAR_BYTES = 60.0, 10**9
MODELS, PERSONAS, TURNS = 2, 30, 5


def conversations(sizes: Sizes) -> None:
    """Print the seconds outside the engine, and the peak memory."""
    ours = measure(hold, repetitions=sizes.talk_repetitions)
    overhead = ours["seconds"] - ours["engine_seconds"]
    met = "met" if overhead < BAR_S and ours["peak_bytes"] < BAR_BYTES else "missed"
    show(
        f"loop {overhead:.1f} s outside of the engine {peak(ours)}, {ours['cpu_seconds']:.1f} s of CPU "
        f"— {ours['n_talks']:,} conversations of {TURNS} turns, {ours['n_turns']:,} completions",
        f"overhead: {1e3 * overhead / ours['n_turns']:.2f} ms a turn; bar {BAR_S:.0f} s, 1 GB: {met}",
    )


def hold(repetitions: int) -> Result:
    """Hold all conversations as a run does, without a Prefect server."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ["CULTUREMETER_HOME"] = folder
        return _hold(Path(folder), repetitions)


def _hold(home: Path, repetitions: int) -> Result:
    from flows.evaluation import evaluate
    from tasks.engines.fake import FakeEngine
    from tasks.evaluations.explication.evaluation import EVALUATION
    from tasks.evaluations.explication.params import ExplicationParams

    names = ["talk-sim", *(f"talk-{n}" for n in range(MODELS))]
    (home / "engines").mkdir()
    for name in names:
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    warehouse = Warehouse.open(home)
    params = ExplicationParams.model_validate(
        {
            "models": names[1:],
            "simulator": names[0],
            "personas_file": str(_personas(home, warehouse)),
            "repetitions": repetitions,
            "max_turns": TURNS,
            "batch": 256,
        }
    )
    engine_seconds, generate = list[float](), FakeEngine.generate

    def clocked(*arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return generate(*arguments)
        finally:
            engine_seconds.append(time.perf_counter() - start)

    FakeEngine.generate = clocked  # type: ignore[method-assign,assignment]
    start, cpu = time.perf_counter(), time.process_time()
    evaluate(EVALUATION, params)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    n_turns = warehouse.query("SELECT sum(n_rows) FROM part_unit WHERE kind = 'response'").item()
    n_talks = warehouse.query("SELECT count(*) FROM explication_conversation").item()
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "engine_seconds": sum(engine_seconds),
        "n_turns": int(n_turns),
        "n_talks": int(n_talks),
    }


def _personas(home: Path, warehouse: Warehouse) -> Path:
    """Write the shipped personas, repeated under new names, to a file and return its path."""
    rows = warehouse.query("SELECT profile FROM explication_persona ORDER BY persona")["profile"].to_list()
    file = home / "personas.json"
    new_names = ({"persona": f"persona-{n}", "name": f"Name {n}"} for n in range(PERSONAS))
    personas = [json.loads(rows[n % len(rows)]) | names for n, names in enumerate(new_names)]
    file.write_text(json.dumps(personas))
    return file
