"""Figure: share of time in which the loop keeps an engine busy, and processor time of the loop.

Simulated engines wait 16 ms per answer, the time in which a GPU with 2,500 tokens/s writes 40 tokens. An
*answer* is the smallest unit that is stored and reused: a completion, or a country's or a sentence's list of
log-probabilities. Vectors of texts, of which an embedder computes many at once, take 1 ms each.

The rounds last from the first request to the last. The run also includes study, metrics and rows, whose time
hardly depends on the number of answers.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from tasks.engines.protocols import Embedded, Progress

SECONDS_PER_ANSWER, SECONDS_PER_VECTOR = 0.016, 0.001
BAR_BUSY, BAR_CPU_S = 0.95, 1.0

MODEL, SIMULATOR, JUDGE = "busy-model", "busy-simulator", "busy-judge"
RUNS: Mapping[str, Mapping[str, Any]] = {
    "cure": {"judges": [JUDGE], "items_per_benchmark": 1000, "batch": 256},
    "explication": {
        "simulator": SIMULATOR, "judges": [JUDGE], "repetitions": 4, "batch": 256,
        "tasks": ["breakfast", "gift", "celebration"], "max_personas": 12,
    },
    "worldwise": {"batch": 256, "repetitions": 1},
    "culturall": {"judges": [JUDGE], "batch": 256},
    "fmlama": {"origins": ["fmlama"], "max_dishes_per_origin": 20},
    "spectral": {"max_items": 20, "countries_per_part": 170},
}  # fmt: skip
"""The profile full of each evaluation, reduced if it has more than some thousand answers."""


def busy(sizes: Sizes) -> None:
    """Print the share of time in which the engine works, and the loop's processor time, by evaluation."""
    for evaluation in RUNS:
        ours = measure(run, evaluation=evaluation, n_waiting=sizes.busy_answers)
        per_1000 = ours["loop_cpu_seconds"] / ours["n_answers"] * 1000
        in_rounds, in_run = (ours["engine_seconds"] / ours[name] for name in ("round_seconds", "seconds"))
        met = "met" if in_rounds >= BAR_BUSY and ours["round_cpu"] <= BAR_CPU_S else "missed"
        show(
            f"{evaluation}: engine busy {in_rounds:.1%} of the rounds; {ours['round_cpu']:.2f} s of CPU "
            f"outside of it per 1,000 answers; with study and metrics {in_run:.1%} of the run, "
            f"{per_1000:.2f} s — "
            f"{ours['n_answers']:,} answers in {ours['seconds']:.0f} s, {ours['n_calls']} calls "
            f"{peak(ours)}; bar {BAR_BUSY:.0%}, {BAR_CPU_S:.1f} s: {met}"
        )


def run(evaluation: str, n_waiting: int) -> Result:
    """Run one model, as ``culturemeter run --no-server`` does.

    Args:
        n_waiting: number of answers that the engine waits for; later ones take no time.
    """
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        os.environ["CULTUREMETER_HOME"] = folder
        return _run(evaluation, Path(folder), n_waiting)


class Waits:
    """Makes an engine wait, and records its seconds, total and of the processor."""

    def __init__(self) -> None:
        self.seconds, self.cpu, self.n_calls, self.n_answers = 0.0, 0.0, 0, 0

    def during(self, call: Callable[[], Any], n: int, each: float = SECONDS_PER_ANSWER) -> Any:
        """Return a call's value after the time that a real engine needs for n answers."""
        start, cpu = time.perf_counter(), time.thread_time()
        value = call()
        self.cpu += time.thread_time() - cpu
        time.sleep(max(0.0, n * each - (time.perf_counter() - start)))
        self.seconds += time.perf_counter() - start
        self.n_calls += 1
        self.n_answers += n
        return value


class FakeEmbedder:
    """Vectors of texts by their hashes."""

    def __init__(self, name: str, waits: Waits) -> None:
        self.name, self._waits = name, waits

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        """Implement ``Embedder.embed``; 64 dimensions."""

        def vectors() -> Embedded:
            rows = [np.frombuffer(hashlib.sha512(t.encode()).digest(), np.uint8) for t in texts]
            vectors = np.array(rows, dtype=np.float32).reshape(len(texts), 64) - 128
            return Embedded(vectors, np.ones(len(texts), np.int64), np.zeros(len(texts), bool))

        embedded: Embedded = self._waits.during(vectors, len(texts), SECONDS_PER_VECTOR)
        return embedded


def _run(evaluation: str, home: Path, n_waiting: int) -> Result:
    from flows import evaluation as flow
    from tasks.engines import load
    from tasks.engines.fake import FakeEngine
    from warehouse import Warehouse

    (home / "engines").mkdir()
    for name in (MODEL, SIMULATOR, JUDGE):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    Warehouse.open(home)
    waits = Waits()

    def make_wait(method: str, n: Callable[..., int]) -> None:
        original = getattr(FakeEngine, method)

        def slow(self: FakeEngine, *arguments: Any) -> Any:
            answers = n(*arguments)
            each = SECONDS_PER_ANSWER if waits.n_answers < n_waiting else 0.0
            return waits.during(lambda: original(self, *arguments), answers, each)

        setattr(FakeEngine, method, slow)

    make_wait("generate", lambda conversations, *_: len(conversations))
    make_wait("score_candidates", lambda cloze, *_: len(cloze.before))
    if evaluation == "spectral":  # the fake engine's score_candidates calls score
        make_wait("score", lambda prefixes, *_: len(prefixes))
    load.embedder = lambda source, cache: FakeEmbedder(source, waits)
    load.embedder_fits = lambda source, cache: True

    params = import_module(f"tasks.evaluations.{evaluation}.params")
    kind = getattr(params, f"{evaluation.capitalize()}Params")
    evaluation_definition = import_module(f"tasks.evaluations.{evaluation}.evaluation").EVALUATION
    rounds = _clocked(flow)
    start, cpu = time.perf_counter(), time.process_time()
    flow.evaluate(evaluation_definition, kind.model_validate({"models": [MODEL], **RUNS[evaluation]}))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return {
        "seconds": seconds,
        "round_seconds": rounds[0],
        "round_cpu": (rounds[1] - waits.cpu) / waits.n_answers * 1000,
        "engine_seconds": waits.seconds,
        "loop_cpu_seconds": cpu_seconds - waits.cpu,
        "n_answers": waits.n_answers,
        "n_calls": waits.n_calls,
    }


def _clocked(flow: Any) -> list[float]:
    """Return a list that the flow's rounds fill with their seconds, total and of the processor."""
    seconds, answer_all = list[float](), flow.answer_all

    def clocked(session: Any) -> None:
        start, cpu = time.perf_counter(), time.process_time()
        answer_all(session)
        seconds.extend((time.perf_counter() - start, time.process_time() - cpu))

    flow.answer_all = clocked
    return seconds
