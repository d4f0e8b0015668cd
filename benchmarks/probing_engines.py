"""The engines of the probing figure. Each is asked for every candidate in some FmLAMA sentences.

A sentence with all its candidates is the unit of work: the packed trie runs it at once, and
lm-evaluation-harness shares what the candidates of a sentence have in common.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmarks import fmlama
from tasks.engines import embedded, prompting
from tasks.engines.protocols import CandidateScorer, Cloze
from tasks.engines.specs import EngineSpec
from warehouse import home

MODEL = "smollm2-135m"

Score = Callable[[Cloze, list[str]], list[list[float]]]
"""[sentences, candidates] sums of log-probabilities"""


def probe_packed_trie(dtype: str, **amount: int) -> dict[str, Any]:
    """Calls of as many sentences as the flow gives at once."""
    from tasks.engines.packed_trie import PackedTrieScorer

    return _timed(_ours(PackedTrieScorer(_spec("packed_trie", dtype), _folder())), **amount)


def probe_vllm(dtype: str, **amount: int) -> dict[str, Any]:
    """One request a candidate."""
    from tasks.engines.vllm_engine import VllmEngine

    engine = VllmEngine(_spec("vllm", dtype), _folder())
    try:
        return _timed(_ours(engine), **amount)
    finally:
        engine.close()


def probe_lm_eval(dtype: str, batch_size: int, **amount: int) -> dict[str, Any]:
    """The harness's own requests, batching and sharing of logits."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = HFLM(pretrained=_folder(), dtype=dtype, device=device, batch_size=batch_size)

    def score(cloze: Cloze, candidates: list[str]) -> list[list[float]]:
        rests = prompting.fill(cloze, candidates)
        pairs = [(before, rest) for before in cloze.before for rest in rests]
        requests = [Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)]
        values = [value for value, _ in model.loglikelihood(requests, disable_tqdm=True)]
        return np.reshape(values, (len(cloze.before), len(rests))).tolist()  # type: ignore[no-any-return]

    return _timed(score, **amount)


def _timed(score: Score, templates: int, sentences: int, candidates: int, warm_up: int) -> dict[str, Any]:
    """Rate of one call a template, and the scores of the first sentence of each.

    Templates are half without and half with the country. The first ``warm_up`` candidates are scored before.
    """
    seconds, scores, n_items = 0.0, [], 0
    for cloze, names in _calls(templates, sentences, candidates):
        score(Cloze(cloze.before[:1], cloze.lead, cloze.after, cloze.tail), names[:warm_up])
        start = time.perf_counter()
        scored = score(cloze, names)
        seconds += time.perf_counter() - start
        n_items += len(cloze.before) * len(names)
        scores.append(scored[0])
    return {
        "rate": n_items / seconds,
        "n_items": n_items,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU",
        "scores": scores,
    }


def _calls(templates: int, sentences: int, candidates: int) -> list[tuple[Cloze, list[str]]]:
    """A fixed random choice of dishes; a smaller number of sentences or candidates is the first of them."""
    calls = []
    for probe in fmlama.study().probes:
        names = random.Random(1).sample(probe.candidates, len(probe.candidates))[:candidates]
        for number, template in enumerate(probe.templates[: templates // 2]):
            prompts = probe.prompts(template)
            chosen = random.Random(number).sample(prompts, len(prompts))[:sentences]
            calls.append((template.cloze(chosen), names))
    return calls


def _ours(engine: CandidateScorer) -> Score:
    """An engine of ours, by the sums of log-probabilities, which is what the peers give."""

    def score(cloze: Cloze, candidates: list[str]) -> list[list[float]]:
        scores: list[list[float]] = engine.score_candidates(cloze, candidates).logprob.tolist()
        return scores

    return score


def _spec(kind: Any, dtype: Any) -> EngineSpec:
    return EngineSpec(name=MODEL, kind=kind, model=_folder(), dtype=dtype)


def _folder() -> str:
    return str(embedded.prepare(MODEL, home() / "models"))
