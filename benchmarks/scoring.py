"""Figures: texts scored a second, against lm-evaluation-harness and vLLM, at equal scores.

``scoring`` asks one spectral prompt over the dishes. Its speed is taken in the chat style, which is how the
evaluation asks this model. Scores are compared in the base style, whose prefix ends without white space:
lm-evaluation-harness moves trailing white space of a context into the continuation, and so also scores the
line end of the chat header. ``probing`` asks for every candidate in some FmLAMA sentences.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
import torch

from benchmarks import inputs
from benchmarks.process import Result, WorkerError, measure, peak, show
from benchmarks.sizes import Sizes
from tasks.engines import load, prompting
from tasks.engines.local import speed
from tasks.engines.protocols import Cloze
from tasks.engines.specs import EngineSpec
from warehouse import home

BAR = 20.0
"""Least speed of probing, as a multiple of lm-evaluation-harness's."""
SHARE = 0.6
"""Least speed of scoring, as a share of plain products'."""
WARM_UP = 8
"""Candidates that are scored before the clock runs."""

Score = Callable[[Cloze, list[str]], list[list[float]]]
"""[sentences, candidates] sums of log-probabilities"""


def scoring(sizes: Sizes) -> None:
    """Speed in bfloat16 on all dishes, a sample of them for the peers, then scores in float32."""
    whole: dict[str, Any] = {"limit": sizes.dishes}
    speed, exact = {"style": "chat", "repeats": sizes.repeats}, {"style": "base"}
    part = whole | {"sample": sizes.sample}
    for dtype, compiled in (("bfloat16", False), ("bfloat16", True), ("float32", False)):
        for threads in (None,) if torch.cuda.is_available() else (None, 1):
            repeats = sizes.repeats if threads is None else 1
            ours = measure(
                limits,
                dtype=dtype,
                compiled=compiled,
                limit=sizes.dishes,
                repeats=repeats,
                threads=threads,
            )
            reached = ours["flops"] / ours["reachable"]
            what = "the device" if threads is None else "one thread, in processor seconds,"
            show(
                f"packed_trie {ours['flops'] / 1e9:,.0f} GFLOP/s {peak(ours)}, plain products of its "
                f"matrices {ours['reachable'] / 1e9:,.0f} GFLOP/s — {dtype}{', compiled' * compiled}, "
                f"{ours['n_items']:,} dishes, "
                f"load {ours['load']:.1f} on {os.cpu_count()} cores",
                f"share of what {what} reaches: {reached:.0%}; bar {SHARE:.0%}: "
                f"{'met' if reached >= SHARE else 'missed'}",
            )
    _compare(whole | speed, part | speed, whole | exact, part | exact, (1, 16), "dishes")


def probing(sizes: Sizes) -> None:
    """Likewise on FmLAMA pairs; the peers score one sentence a template. The bar is lm_eval's."""
    ours = {"templates": sizes.probe_templates, "sentences": sizes.sentences, "candidates": sizes.candidates}
    exact = ours | {"sentences": 1, "candidates": sizes.compared}
    _compare(ours, ours | {"sentences": 1}, exact, exact, (1, 16, 64), "FmLAMA pairs", BAR)


def _compare(
    ours: dict[str, Any],
    theirs: dict[str, Any],
    ours_exact: dict[str, Any],
    theirs_exact: dict[str, Any],
    batch_sizes: tuple[int, ...],
    what: str,
    bar: float | None = None,
) -> None:
    """Arguments of ``scores`` for the speed and for the comparison; the fastest batch size counts."""
    packed = measure(scores, engine="packed_trie", dtype="bfloat16", **ours)
    exact = measure(scores, engine="packed_trie", dtype="float32", **ours_exact)
    harness = [{"batch_size": size} for size in batch_sizes]
    for engine, name, variants in (
        ("lm_eval", "lm_eval (HF)", harness),
        ("vllm", "vLLM prompt_logprobs", [{}]),
    ):
        try:
            results = [measure(scores, engine=engine, dtype="bfloat16", **theirs, **v) for v in variants]
            peer, best = max(zip(results, variants, strict=True), key=lambda pair: pair[0]["rate"])
            ratio = packed["rate"] / peer["rate"]
            note = "".join(f", best with {key} {value}" for key, value in best.items())
            met = f"; bar {bar:.0f} x: {'met' if ratio >= bar else 'missed'}" if bar and best else ""
            show(
                f"packed_trie {packed['rate']:,.0f} items/s {peak(packed)} · {name} {peer['rate']:.1f} "
                f"items/s {peak(peer)} — {inputs.MODEL}, bfloat16, {packed['n_items']:,} {what}, "
                f"{packed['threads']} threads, {packed['device']} ({name}: {peer['n_items']:,} of them"
                f"{note})",
                f"packed_trie vs {name}: {ratio:.1f} x{met}",
            )
            peer = measure(scores, engine=engine, dtype="float32", **theirs_exact, **best)
            apart = _furthest(exact, peer)
            show(f"scores in float32, {name}: {peer['n_items']:,} items differ by {apart:.1e} nats at most")
        except WorkerError as error:
            show(f"{name}: not measured: {error}")


def limits(
    dtype: str, limit: int | None, repeats: int, threads: int | None = None, compiled: bool = False
) -> Result:
    """Operations a second of scoring, and those that plain products reach; by turns, the fastest of each.

    Args:
        threads: None: all, by the clock on the wall: what others take of the processor hits scoring, which
            takes minutes, more than products. 1: in seconds of the processor, the same on a busy one.
    """
    clock = time.perf_counter
    if threads is not None:
        torch.set_num_threads(threads)
        clock = time.process_time
    items, spent, reached = inputs.dishes(limit), [], []
    with _loaded("packed_trie", dtype, 0) as (_, tokenizer):
        frame = prompting.frame(tokenizer, inputs.questions(), "chat")
        texts = [frame.lead + item for item in items]
        spec = _spec("packed_trie", inputs.model_folder(), dtype).model_copy(update={"compile": compiled})
        scorer = load.load(spec, home() / "models")
        scorer.score(frame.prefixes, texts[:WARM_UP])  # sets kernels up
        for repeat in range(repeats):
            random.Random(repeat).shuffle(texts)  # so that no trie is kept
            reached.append(speed.reachable(scorer, clock))
            start = clock()
            scorer.score(frame.prefixes, texts)
            spent.append(clock() - start)
        work = speed.operations(scorer, frame.prefixes[0], texts)
    rates = {"flops": work / min(spent), "reachable": max(reached)}
    return rates | {"n_items": len(items), "load": os.getloadavg()[0]}


def _furthest(ours: Result, theirs: Result) -> float:
    """Largest difference in nats, of what the peer scored."""
    calls = zip(ours["scores"], theirs["scores"], strict=True)
    return float(max(abs(mine[name] - value) for mine, peer in calls for name, value in peer.items()))


def scores(engine: str, dtype: str, repeats: int = 1, batch_size: int = 0, **what: Any) -> Result:
    """Median rate over ``repeats``, and the scores of each call's first sentence.

    Candidates come in another order every time, so that no trie is kept from the time before.
    """
    with _loaded(engine, dtype, batch_size) as (score, tokenizer):
        calls = _sentences(**what) if "templates" in what else _dishes(tokenizer, **what)
        for cloze, names in calls:
            score(Cloze(cloze.before[:1], cloze.lead, cloze.after, cloze.tail), names[:WARM_UP])
        seconds, by_name = [], list[dict[str, float]]()
        for repeat in range(repeats):
            by_name, spent = [], 0.0
            for cloze, names in calls:
                order = random.Random(repeat).sample(names, len(names))
                start = time.perf_counter()
                table = score(cloze, order)
                spent += time.perf_counter() - start
                by_name.append(dict(zip(order, table[0], strict=True)))
            seconds.append(spent)
    n_items = sum(len(cloze.before) * len(names) for cloze, names in calls)
    return {
        "rate": n_items / median(seconds),
        "n_items": n_items,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "scores": by_name,
    }


def _dishes(tokenizer: Any, style: str, limit: int | None, sample: int = 0) -> list[tuple[Cloze, list[str]]]:
    """One prompt and the list, or a fixed random choice of it."""
    names = inputs.dishes(limit)
    frame = prompting.frame(tokenizer, inputs.questions(), style)
    names = random.Random(1).sample(names, min(sample, len(names))) if sample else names
    return [(Cloze(tuple(frame.prefixes), frame.lead, "", frame.prefixes[0]), names)]


def _sentences(templates: int, sentences: int, candidates: int) -> list[tuple[Cloze, list[str]]]:
    """Templates are half without and half with the country; a call has many sentences, as in the flow.

    A fixed random choice of dishes; a smaller number of sentences or candidates is the first of them.
    """
    calls = []
    for probe in inputs.fmlama().probes:
        names = random.Random(1).sample(probe.candidates, len(probe.candidates))[:candidates]
        for number, template in enumerate(probe.templates[: templates // 2]):
            prompts = probe.prompts(template)
            chosen = random.Random(number).sample(prompts, len(prompts))[:sentences]
            calls.append((template.cloze(chosen), names))
    return calls


@contextmanager
def _loaded(engine: str, dtype: Any, batch_size: int) -> Iterator[tuple[Score, Any]]:
    """An engine as a function, and its tokenizer."""
    folder = inputs.model_folder()
    if engine == "lm_eval":
        yield _harness(folder, dtype, batch_size)
        return
    own = load.load(_spec(engine, folder, dtype), home() / "models")
    try:
        yield lambda cloze, names: own.score_candidates(cloze, names).logprob.tolist(), own.tokenizer
    finally:
        load.unload()


def _spec(engine: str, folder: str, dtype: str) -> EngineSpec:
    return EngineSpec.model_validate({"name": inputs.MODEL, "kind": engine, "model": folder, "dtype": dtype})


def _harness(folder: str, dtype: str, batch_size: int) -> tuple[Score, Any]:
    """lm-evaluation-harness with its own requests, batching and sharing of logits."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = HFLM(pretrained=folder, dtype=dtype, device=device, batch_size=batch_size)

    def score(cloze: Cloze, names: list[str]) -> list[list[float]]:
        rests = prompting.fill(cloze, names)
        pairs = [(before, rest) for before in cloze.before for rest in rests]
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        values = [value for value, _ in model.loglikelihood(requests, disable_tqdm=True)]
        return np.reshape(values, (len(cloze.before), len(rests))).tolist()  # type: ignore[no-any-return]

    return score, model.tokenizer
