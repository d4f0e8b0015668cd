"""Figures: texts scored per second, against lm-evaluation-harness and vLLM, with the same scores.

``scoring`` scores the dishes after one spectral prompt. Speed is measured in the chat style, which the
evaluation uses for this model. Scores are compared in the base style, whose prefix ends without white space:
lm-evaluation-harness moves white space from the end of a context into the continuation, so it would also
score the line end of the chat header. ``probing`` scores every candidate in some FmLAMA sentences.
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
"""Required speed of probing, as a multiple of lm-evaluation-harness's."""
SHARE = 0.6
"""Required speed of scoring, as a share of the speed of plain products."""
WARM_UP = 8
"""Number of candidates that are scored before the time is measured."""

Score = Callable[[Cloze, list[str]], list[list[float]]]
"""Returns [sentences, candidates] sums of log-probabilities."""


def scoring(sizes: Sizes) -> None:
    """Print the speed on all dishes (a sample for the peers), then differences of scores in float32."""
    full: dict[str, Any] = {"limit": sizes.dishes}
    speed, exact = {"style": "chat", "repeats": sizes.repeats}, {"style": "base"}
    sample = full | {"sample": sizes.sample}
    for dtype, is_compiled in (("bfloat16", False), ("bfloat16", True), ("float32", False)):
        for threads in (None,) if torch.cuda.is_available() else (None, 1):
            repeats = sizes.repeats if threads is None else 1
            ours = measure(
                limits,
                dtype=dtype,
                compiled=is_compiled,
                limit=sizes.dishes,
                repeats=repeats,
                threads=threads,
            )
            reached = ours["flops"] / ours["reachable"]
            place = "the device" if threads is None else "one thread, in processor seconds,"
            show(
                f"packed_trie {ours['flops'] / 1e9:,.0f} GFLOP/s {peak(ours)}, plain products of its "
                f"matrices {ours['reachable'] / 1e9:,.0f} GFLOP/s — {dtype}{', compiled' * is_compiled}, "
                f"{ours['n_items']:,} dishes, "
                f"load {ours['load']:.1f} on {os.cpu_count()} cores",
                f"share of what {place} reaches: {reached:.0%}; bar {SHARE:.0%}: "
                f"{'met' if reached >= SHARE else 'missed'}",
            )
    _compare(full | speed, sample | speed, full | exact, sample | exact, (1, 16), "dishes")


def probing(sizes: Sizes) -> None:
    """Print the same for FmLAMA pairs; the peers score one sentence per template."""
    ours = {"templates": sizes.probe_templates, "sentences": sizes.sentences, "candidates": sizes.candidates}
    exact = ours | {"sentences": 1, "candidates": sizes.compared}
    _compare(ours, ours | {"sentences": 1}, exact, exact, (1, 16, 64), "FmLAMA pairs", BAR)


def _compare(
    ours: dict[str, Any],
    theirs: dict[str, Any],
    ours_exact: dict[str, Any],
    theirs_exact: dict[str, Any],
    batch_sizes: tuple[int, ...],
    texts: str,
    bar: float | None = None,
) -> None:
    """Print the speeds and differences of scores of both peers, with the peer's fastest batch size.

    Args:
        ours, theirs: arguments of ``scores`` for the speed.
        ours_exact, theirs_exact: arguments of ``scores`` for the comparison of scores.
        texts: name of the scored texts.
        bar: required multiple of lm_eval's speed.
    """
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
                f"items/s {peak(peer)} — {inputs.MODEL}, bfloat16, {packed['n_items']:,} {texts}, "
                f"{packed['threads']} threads, {packed['device']} ({name}: {peer['n_items']:,} of them"
                f"{note})",
                f"packed_trie vs {name}: {ratio:.1f} x{met}",
            )
            peer = measure(scores, engine=engine, dtype="float32", **theirs_exact, **best)
            difference = _largest_difference(exact, peer)
            compared = f"scores in float32, {name}: {peer['n_items']:,} items"
            show(f"{compared} differ by {difference:.1e} nats at most")
        except WorkerError as error:
            show(f"{name}: not measured: {error}")


def limits(
    dtype: str, limit: int | None, repeats: int, threads: int | None = None, compiled: bool = False
) -> Result:
    """Return the operations per second of scoring and of plain products, in turns, the fastest of each.

    Args:
        threads: None: all threads, by the clock; other jobs then slow scoring, which takes minutes, more than
            products. 1: one thread, in processor seconds, which other jobs do not change.
    """
    clock = time.perf_counter
    if threads is not None:
        torch.set_num_threads(threads)
        clock = time.process_time
    items, seconds, reachable = inputs.dishes(limit), [], []
    with _loaded("packed_trie", dtype, 0) as (_, tokenizer):
        frame = prompting.frame(tokenizer, inputs.questions(), "chat")
        texts = [frame.lead + item for item in items]
        spec = _spec("packed_trie", inputs.model_folder(), dtype).model_copy(update={"compile": compiled})
        scorer = load.load(spec, home() / "models")
        scorer.score(frame.prefixes, texts[:WARM_UP])  # warms up kernels
        for repeat in range(repeats):
            random.Random(repeat).shuffle(texts)  # so that no trie is reused
            reachable.append(speed.reachable(scorer, clock))
            start = clock()
            scorer.score(frame.prefixes, texts)
            seconds.append(clock() - start)
        n_operations = speed.operations(scorer, frame.prefixes[0], texts)
    rates = {"flops": n_operations / min(seconds), "reachable": max(reachable)}
    return rates | {"n_items": len(items), "load": os.getloadavg()[0]}


def _largest_difference(ours: Result, theirs: Result) -> float:
    """Return the largest difference in nats over the peer's scores."""
    calls = zip(ours["scores"], theirs["scores"], strict=True)
    return float(max(abs(mine[name] - value) for mine, peer in calls for name, value in peer.items()))


def scores(engine: str, dtype: str, repeats: int = 1, batch_size: int = 0, **what: Any) -> Result:
    """Return the median rate over ``repeats``, and the scores of each call's first sentence.

    The order of candidates changes with each repeat, so that no trie is reused.
    """
    with _loaded(engine, dtype, batch_size) as (score, tokenizer):
        calls = _sentences(**what) if "templates" in what else _dishes(tokenizer, **what)
        for cloze, names in calls:
            score(Cloze(cloze.before[:1], cloze.lead, cloze.after, cloze.tail), names[:WARM_UP])
        seconds, by_name = [], list[dict[str, float]]()
        for repeat in range(repeats):
            by_name, total = [], 0.0
            for cloze, names in calls:
                order = random.Random(repeat).sample(names, len(names))
                start = time.perf_counter()
                table = score(cloze, order)
                total += time.perf_counter() - start
                by_name.append(dict(zip(order, table[0], strict=True)))
            seconds.append(total)
    n_items = sum(len(cloze.before) * len(names) for cloze, names in calls)
    return {
        "rate": n_items / median(seconds),
        "n_items": n_items,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "scores": by_name,
    }


def _dishes(tokenizer: Any, style: str, limit: int | None, sample: int = 0) -> list[tuple[Cloze, list[str]]]:
    """Return one prompt with the list, or with a fixed random sample of it."""
    names = inputs.dishes(limit)
    frame = prompting.frame(tokenizer, inputs.questions(), style)
    names = random.Random(1).sample(names, min(sample, len(names))) if sample else names
    return [(Cloze(tuple(frame.prefixes), frame.lead, "", frame.prefixes[0]), names)]


def _sentences(templates: int, sentences: int, candidates: int) -> list[tuple[Cloze, list[str]]]:
    """Return a call per template; half of the templates name the country.

    A call has many sentences, as in the flow. The dishes are a fixed random sample; a smaller number of
    sentences or candidates is the beginning of a larger one.
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
    """Yield an engine as a function, and its tokenizer."""
    folder = inputs.model_folder()
    if engine == "lm_eval":
        yield _harness(folder, dtype, batch_size)
        return
    scorer = load.load(_spec(engine, folder, dtype), home() / "models")
    try:
        yield lambda cloze, names: scorer.score_candidates(cloze, names).logprob.tolist(), scorer.tokenizer
    finally:
        load.unload()


def _spec(engine: str, folder: str, dtype: str) -> EngineSpec:
    return EngineSpec.model_validate({"name": inputs.MODEL, "kind": engine, "model": folder, "dtype": dtype})


def _harness(folder: str, dtype: str, batch_size: int) -> tuple[Score, Any]:
    """Return lm-evaluation-harness, which makes its own requests and batches, and its tokenizer."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = HFLM(pretrained=folder, dtype=dtype, device=device, batch_size=batch_size)

    def score(cloze: Cloze, names: list[str]) -> list[list[float]]:
        continuations = prompting.fill(cloze, names)
        pairs = [(context, continuation) for context in cloze.before for continuation in continuations]
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        values = [value for value, _ in model.loglikelihood(requests, disable_tqdm=True)]
        return np.reshape(values, (len(cloze.before), len(continuations))).tolist()  # type: ignore[no-any-return]

    return score, model.tokenizer
