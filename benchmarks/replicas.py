"""Figure: speed-up by two replicas of a model, and their cost per part.

Two processes of the embedded model with one thread each are compared with one process. Both score the same
parts in turn, so that a busy machine affects both. The cost of a part is the loop's time with engines that
take no time.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import inputs
from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from tasks.engines import load
from tasks.engines.replicas import REPLICAS, load_engine
from tasks.engines.specs import EngineSpec
from warehouse import home

BAR, BAR_MS = 1.5, 100.0
PARTS = 40


def replicas(sizes: Sizes) -> None:
    """Print the speed-up, and the milliseconds per part."""
    ours = measure(pairs, limit=sizes.dishes or 1000, repeats=sizes.repeats)
    gain = ours["alone"] / ours["both"]
    show(
        f"two parts at once {ours['both']:.2f} s, one after another on one replica {ours['alone']:.2f} s "
        f"{peak(ours)} — {inputs.MODEL}, bfloat16, {ours['n_items']:,} dishes a part, one thread each, load "
        f"{ours['load']:.1f} on {os.cpu_count()} cores",
        f"two replicas vs one: {gain:.2f} x; bar {BAR} x: {'met' if gain >= BAR else 'missed'}",
    )
    cost = measure(overhead)
    met = "met" if cost["milliseconds"] <= BAR_MS else "missed"
    show(f"{PARTS} parts on two replicas cost {cost['milliseconds']:.1f} ms each; bar {BAR_MS:.0f} ms: {met}")


def pairs(limit: int, repeats: int) -> Result:
    """Return the median seconds of two parts, on one replica and on two."""
    os.environ |= {REPLICAS: "2", "OMP_NUM_THREADS": "1"}
    folder = inputs.model_folder()
    spec = EngineSpec(name="m", model=folder, dtype="bfloat16")
    engine = load_engine(spec, home() / "models", "score")
    frame = engine.frame(inputs.questions(2))
    items = [frame.lead + item for item in inputs.dishes(limit)]
    seconds: dict[str, list[float]] = {"alone": [], "both": []}

    def part(prefix: str) -> Any:
        return engine.copies[0].call("score", ([prefix], items))

    with ThreadPoolExecutor(2) as threads:
        for repeat in range(1 + repeats):
            for name, score in (("alone", part), ("both", lambda prefix: engine.score([prefix], items))):
                start = time.perf_counter()
                calls = map(score, frame.prefixes) if name == "alone" else threads.map(score, frame.prefixes)
                list(calls)
                if repeat:  # the first repeat loads the model
                    seconds[name].append(time.perf_counter() - start)
    load.unload()
    medians = {name: median(values) for name, values in seconds.items()}
    return medians | {"n_items": len(items), "load": os.getloadavg()[0]}


def overhead() -> Result:
    """Return the milliseconds that a part costs with engines that take no time, on running replicas."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ |= {REPLICAS: "2", "CULTUREMETER_HOME": folder}
        engines = Path(folder) / "engines"
        engines.mkdir()
        (engines / "benchmark-fake.toml").write_text('kind = "fake"\nmodel = "benchmark"\n')
        from flows.session import prepare
        from tasks.evaluations.spectral.evaluation import EVALUATION
        from tasks.evaluations.spectral.params import SpectralParams
        from tasks.loop import steps
        from tasks.loop.budget import Budget, Meter

        params = {"models": ["benchmark-fake"], "max_items": 1000, "countries_per_part": 1}
        session = prepare(EVALUATION, SpectralParams.model_validate(params))
        line, meter = session.plan.lines[0], Meter(Budget())
        engine = steps.load_engine(line.engine, "score")
        for _ in engine.copies:
            engine.frame(["?"])
        start = time.perf_counter()
        steps.with_each(
            lambda work: steps.compute_answers(work, ("run", "model"), meter, "label", 1),
            line.work[:PARTS],
            line.engine,
        )
        seconds = time.perf_counter() - start
        load.unload()
    return {"milliseconds": 1000 * seconds / PARTS}
