"""The engines of the scoring figure. Each is asked the same: one spectral prompt, and dishes.

Speed is taken in the chat style, which is how the evaluation asks this model. Scores are compared in the base
style, whose prefix ends without white space: lm-evaluation-harness moves trailing white space of a context
into the continuation, and so also scores the line end of the chat header.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch

from benchmarks import dishes
from tasks.engines import embedded
from tasks.engines.protocols import Scorer
from tasks.engines.specs import EngineSpec
from warehouse import home

MODEL = "smollm2-135m"
WARM_UP = 8

Score = Callable[[list[str]], list[float]]


def packed_trie(dtype: str, style: str, repeats: int, limit: int | None, sample: int) -> dict[str, Any]:
    """The whole list, in another order every time, so that no trie is kept from the time before."""
    from tasks.engines.packed_trie import PackedTrieScorer

    items = dishes.items(limit)
    engine = PackedTrieScorer(_spec("packed_trie", dtype, style), _folder())
    return _timed(_ours(engine), items, items, repeats, sample)


def vllm(dtype: str, style: str, repeats: int, limit: int | None, sample: int) -> dict[str, Any]:
    """A sample of the list."""
    from tasks.engines.vllm_engine import VllmEngine

    items = dishes.items(limit)
    engine = VllmEngine(_spec("vllm", dtype, style), _folder())
    try:
        chosen = [items[i] for i in dishes.sample(len(items), sample)]
        return _timed(_ours(engine), items, chosen, repeats, sample)
    finally:
        engine.close()


def lm_eval(
    dtype: str, style: str, repeats: int, limit: int | None, sample: int, batch_size: int
) -> dict[str, Any]:
    """A sample of the list, through the harness's own requests and batching."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    from tasks.engines import prompting

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = HFLM(pretrained=_folder(), dtype=dtype, device=device, batch_size=batch_size)
    frame = prompting.frame(model.tokenizer, dishes.prompts(), style)

    def score(items: list[str]) -> list[float]:
        pairs = [(frame.prefixes[0], frame.lead + item) for item in items]
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        return [value for value, _ in model.loglikelihood(requests, disable_tqdm=True)]

    items = dishes.items(limit)
    chosen = [items[i] for i in dishes.sample(len(items), sample)]
    return _timed(score, items, chosen, repeats, sample)


def _ours(engine: Scorer) -> Score:
    """An engine of ours as a function of the items."""
    frame = engine.frame(dishes.prompts())

    def score(items: list[str]) -> list[float]:
        scores: list[float] = engine.score(frame.prefixes, [frame.lead + i for i in items])[0].tolist()
        return scores

    return score


def _timed(score: Score, items: list[str], asked: list[str], repeats: int, sample: int) -> dict[str, Any]:
    """Median rate over ``repeats``, and the scores of the sample."""
    score(asked[:WARM_UP])
    seconds, by_item = [], {}
    for repeat in range(repeats):
        order = random.Random(repeat).sample(asked, len(asked))
        start = time.perf_counter()
        scores = score(order)
        seconds.append(time.perf_counter() - start)
        by_item = dict(zip(order, scores, strict=True))
    return {
        "rate": len(asked) / median(seconds),
        "n_items": len(asked),
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "scores": [by_item[items[i]] for i in dishes.sample(len(items), sample)],
    }


def _spec(kind: Any, dtype: Any, style: Any) -> EngineSpec:
    return EngineSpec(name=MODEL, kind=kind, model=_folder(), dtype=dtype, prompt_style=style)


def _folder() -> str:
    return str(embedded.prepare(MODEL, home() / "models"))
