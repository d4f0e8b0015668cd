"""The measurements of ``gpu_day``, each a function that runs in a process of its own.

They import what a machine with torch and transformers has, and the wheels that ``gpu_day`` names: no polars,
DuckDB or Prefect. Weights are random, because speed does not depend on them. A shape that does not fit is
measured with a few layers and with twice as many, and extrapolated.
"""

from __future__ import annotations

import csv
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from benchmarks import architectures
from benchmarks.process import Result
from tasks.engines import replicas
from tasks.engines.local import devices, memory, packed_trie, pretrained, speed, tree_attention
from tasks.engines.local.vllm_engine import VllmEngine
from tasks.engines.protocols import Sampling
from tasks.engines.specs import Dtype, EngineSpec, allow
from tasks.loop.placement import Job, Need, Node, arranged

REFERENCE = Path(__file__).parents[1] / "warehouse" / "reference"
PROMPT = "The following is a list. The most common convenient foods in {country} are"
BATCH_TOKENS = 32768
FEW = 2
"""Number of layers with which a shape that does not fit is measured first; then with twice as many."""
CUBE = {"cuda": 8192, "cpu": 512}
"""Side of the square matrices whose product is the device's peak."""


SLACK = 1.25
"""Memory of weights and activations, as a multiple of the weights'."""


@dataclass(frozen=True)
class Shape:
    """Dimensions of an architecture that determine its speed."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int = 128_256

    def config(self, layers: int) -> LlamaConfig:
        """Return a model configuration with this number of layers."""
        return LlamaConfig(
            hidden_size=self.hidden,
            num_hidden_layers=layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            intermediate_size=self.inner,
            vocab_size=self.vocabulary,
        )

    def weights(self, layers: int) -> int:
        """Return the number of weights: embedding and head, and each layer's attention and inner matrices."""
        attention = 2 * self.hidden * (self.hidden + self.hidden * self.kv_heads // self.heads)
        return 2 * self.vocabulary * self.hidden + layers * (attention + 3 * self.hidden * self.inner)


SHAPES = {
    "llama-8b": Shape(hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336),
    "llama-70b": Shape(hidden=8192, layers=80, heads=64, kv_heads=8, inner=28672),
}


def fits(shape: Shape, bytes_each: int, free: int) -> bool:
    """Return whether all layers of a shape and the activations of a pass fit into ``free`` bytes."""
    return SLACK * bytes_each * shape.weights(shape.layers) < free


TINY = Shape(hidden=32, layers=2, heads=4, kv_heads=2, inner=64, vocabulary=49_152)
SMALL = Shape(hidden=2048, layers=8, heads=16, kv_heads=8, inner=8192, vocabulary=49_152)
"""The two models that share a device."""
FOR_VLLM = Shape(hidden=128, layers=2, heads=2, kv_heads=1, inner=128, vocabulary=49_152)
"""The shape of vLLM on a processor, which has no kernel for smaller heads."""
FIRST_ON_CPU = ("llama", "gemma3_text", "gpt2", "bert", "t5")
"""Architectures that are compared on a processor."""


def machine() -> Result:
    """Return the device, and the versions of what matters for its speed."""
    found: Result = {"device": "CPU", "processor": devices.processor(), "cores": devices.cores()}
    for package in ("torch", "transformers", "vllm", "lm_eval"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    if torch.cuda.is_available():
        card = torch.cuda.get_device_properties(0)
        found |= {"device": card.name, "gib": card.total_memory / 2**30, "sm": f"{card.major}.{card.minor}"}
    return found


def dishes(limit: int | None = None) -> list[str]:
    """Return the dishes in code-point order, all or a fixed random sample of ``limit``."""
    with (REFERENCE / "item_list" / "dishes.csv").open(encoding="utf-8", newline="") as file:
        names = sorted(row["item"] for row in csv.DictReader(file))
    return names if limit is None else sorted(random.Random(0).sample(names, limit))


def questions(n: int) -> list[str]:
    """Return a prompt for each of the first n countries."""
    with (REFERENCE / "country.csv").open(encoding="utf-8", newline="") as file:
        return [PROMPT.format(country=row["name"]) for row in csv.DictReader(file)][:n]


def matrix(share: int, n_shares: int, device: str, dtype: Dtype, seconds: float) -> Result:
    """Return the outcomes of every n_shares-th architecture until the time is up: those first whose row on
    the page is "equal".
    """
    rows, end = [], time.perf_counter() + seconds
    for kind, name, model_type, settings in chosen(device)[share::n_shares]:
        if time.perf_counter() > end:
            break
        with TemporaryDirectory() as folder:
            row = architectures.outcome(kind, name, model_type, settings, Path(folder), device, dtype)
        rows.append([kind, name, row.outcome, row.nats, row.note])
    return {"rows": rows, "n": len(chosen(device)[share::n_shares])}


def chosen(device: str) -> list[tuple[architectures.Kind, str, str, dict[str, Any]]]:
    """Return the architectures to compare, in order."""
    every = list(architectures.cases())
    if device == "cpu":
        return [case for case in every if case[1] in FIRST_ON_CPU and case[1] == case[2]]
    page = architectures.PAGE.read_text(encoding="utf-8")
    return sorted(every, key=lambda case: f"| {case[1]} | equal |" not in page)


def peak(device: str, dtype: str) -> Result:
    """Return the FLOP/s of a product of square matrices, the fastest of ten."""
    n, kind = CUBE[device], getattr(torch, dtype)
    a, b = (torch.randn(n, n, device=device).to(kind) for _ in range(2))
    return {"peak": 2.0 * n**3 / min(_timed(lambda: torch.mm(a, b), device) for _ in range(10))}


def _timed(call: Callable[[], Any], device: str) -> float:
    start = time.perf_counter()
    call()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def scored(
    name: str, device: str, dtype: str, folder: str, prefixes: int, limit: int | None, repeats: int
) -> Result:
    """Score the dish list for ``prefixes`` countries, at each number of layers that fits.

    Returns seconds and operations by depth, the speed of plain products and of the peak, and the memory.
    """
    shape = SHAPES.get(name, TINY)
    kind = getattr(torch, dtype)
    free = torch.cuda.mem_get_info()[0] if device == "cuda" else 0
    is_whole = device == "cpu" or fits(shape, kind.itemsize, free)
    depths = [shape.layers] if is_whole else [FEW, 2 * FEW]
    ours = measured(shape, depths, device, dtype, folder, prefixes, limit, repeats)
    used = torch.cuda.max_memory_allocated() if device == "cuda" else 0
    return ours | peak(device, dtype) | {"gpu_peak_bytes": used}


def measured(
    shape: Shape, depths: list[int], device: str, dtype: str, folder: str, prefixes: int,
    limit: int | None, repeats: int,
) -> Result:  # fmt: skip
    """Return the figures of a shape at numbers of layers (``scored``)."""
    items = dishes(limit)
    by_depth = [_at_depth(shape.config(n), device, dtype, folder, prefixes, items, repeats) for n in depths]
    return {
        "layers": shape.layers,
        "measured_layers": depths,
        "seconds": [each["seconds"] for each in by_depth],
        "operations": [each["operations"] for each in by_depth],
        "reachable": max(each["reachable"] for each in by_depth),
        "n_items": len(items),
        "n_prefixes": prefixes,
        "dtype": dtype,
        "weight_bytes": shape.weights(shape.layers) * getattr(torch, dtype).itemsize,
    }


def projected(ours: Result, n_full: int, share: float) -> Result:
    """Return the whole shape's figures: items per second, share of plain products, minutes of the profile
    ``full``, and the minutes at the share that is required.
    """
    seconds = at_depth(ours["measured_layers"], ours["seconds"], ours["layers"])
    operations = at_depth(ours["measured_layers"], ours["operations"], ours["layers"])
    n = ours["n_prefixes"] * ours["n_items"]
    return {
        "rate": n / seconds,
        "share": operations / seconds / ours["reachable"],
        "full_minutes": n_full / n * seconds / 60,
        "bar_minutes": n_full / n * operations / (share * ours["reachable"]) / 60,
        "full_exaflop": n_full / n * operations / 1e18,
    }


def at_depth(depths: list[int], values: list[float], layers: int) -> float:
    """Return a value at a number of layers: the measured one, or on the line through two measured depths."""
    if depths == [layers]:
        return values[0]
    (fewer_layers, more_layers), (first_value, second_value) = depths, values
    return first_value + (second_value - first_value) / (more_layers - fewer_layers) * (layers - fewer_layers)


def _at_depth(
    config: Any, device: str, dtype: str, folder: str, prefixes: int, items: list[str], repeats: int
) -> Result:
    scorer = _scorer(config, device, dtype, folder)
    frame = scorer.frame(questions(prefixes))
    texts = [frame.lead + item for item in items]
    seconds = []
    for _ in range(1 + repeats):
        seconds.append(_timed(lambda: scorer.score(frame.prefixes, texts), device))
    result = {
        "seconds": median(seconds[1:]),
        "operations": sum(speed.operations(scorer, prefix, texts) for prefix in frame.prefixes),
        "reachable": speed.reachable(scorer),
    }
    scorer.close()
    return result


def _scorer(config: Any, device: str, dtype: str, folder: str) -> packed_trie.PackedTrieScorer:
    """Return a scorer with a model built on the device. folder: of a tokenizer.

    A scorer loads its model from a folder; to avoid writing 16 GB of random weights, the loader is replaced.
    """
    spec = EngineSpec(name="random", model=folder, device=device, batch_tokens=BATCH_TOKENS)
    # HFLM would move the line end of a chat header into the continuation.
    spec = spec.model_copy(update={"dtype": dtype, "prompt_style": "base"})
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = _model(config, device, dtype, tree_attention.NAME)
    with patch.object(pretrained, "load", lambda *_, **__: (tokenizer, model)):
        return packed_trie.PackedTrieScorer(spec, folder)


def _model(config: Any, device: str, dtype: str, attention: str) -> Any:
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            config, dtype=getattr(torch, dtype), attn_implementation=attention
        )
    return model.eval()


def harness(
    name: str, device: str, dtype: str, folder: str, limit: int | None, sample: int, batches: list[int]
) -> Result:
    """Return items per second of one prompt with the list, and of lm-eval's HFLM with a sample of it.

    The weights are the same. HFLM counts with the best of these batch sizes.
    """
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    config = SHAPES.get(name, TINY).config(SHAPES.get(name, TINY).layers)
    scorer = _scorer(config, device, dtype, folder)
    frame = scorer.frame(questions(1))
    texts = [frame.lead + item for item in dishes(limit)]
    few = random.Random(1).sample(texts, min(sample, len(texts)))
    ours = [_timed(lambda: scorer.score(frame.prefixes, texts), device) for _ in range(2)][-1]
    values = scorer.score(frame.prefixes, few)[0]
    scorer.model.set_attn_implementation("sdpa")
    peers: dict[int, float] = {}
    theirs: list[float] = []
    for size in batches:
        model = HFLM(pretrained=scorer.model, tokenizer=scorer.tokenizer, batch_size=size)
        requests = [Instance("loglikelihood", {}, (frame.prefixes[0], text), i) for i, text in enumerate(few)]
        model.loglikelihood(requests[:size], disable_tqdm=True)
        start = time.perf_counter()
        theirs = [value for value, _ in model.loglikelihood(requests, disable_tqdm=True)]
        peers[size] = len(few) / (time.perf_counter() - start)
    best = max(peers, key=peers.__getitem__)
    rate = len(texts) / ours
    difference = float(np.abs(values - np.array(theirs)).max())
    return {"rate": rate, "peer": peers[best], "best": best, "ratio": rate / peers[best], "nats": difference}


def _for_vllm(shape: Shape, device: str, folder: str, into: str) -> Any:
    """Return vLLM with random weights of a shape, which it makes itself. folder: of a tokenizer."""
    allow(remote_code=True)  # the permission for load_format; the folder is made here
    shape.config(shape.layers).save_pretrained(into)
    AutoTokenizer.from_pretrained(folder).save_pretrained(into)
    spec = EngineSpec(
        name="random", kind="vllm", model=into, device=device, dtype="bfloat16",
        options={"load_format": "dummy"}, prompt_style="base",
    )  # fmt: skip
    return VllmEngine(spec, into)  # without the check for weights


def vllm_scores(name: str, device: str, folder: str, sample: int) -> Result:
    """Return items per second of vLLM's prompt log-probabilities for a sample of the list."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as into:
        engine = _for_vllm(SHAPES.get(name, FOR_VLLM), device, folder, into)
        try:
            frame = engine.frame(questions(1))
            few = [frame.lead + item for item in random.Random(1).sample(dishes(), sample)]
            engine.score(frame.prefixes, few[:8])
            start = time.perf_counter()
            engine.score(frame.prefixes, few)
            return {"rate": len(few) / (time.perf_counter() - start)}
        finally:
            engine.close()


def generation(name: str, device: str, folder: str, conversations: int, tokens: int, repeats: int) -> Result:
    """Return the tokens per second of concurrent conversations: the median of ``repeats`` after a first one.

    Texts are random, so nearly all reach the limit of ``tokens``, from which a run's time is also planned.
    """
    dialogues = [[{"role": "user", "content": question}] for question in questions(conversations)]
    with TemporaryDirectory(prefix="culturemeter-bench-") as into:
        engine = _for_vllm(SHAPES.get(name, FOR_VLLM), device, folder, into)
        try:
            rates = []
            for repeat in range(1 + repeats):  # each with another seed, so that nothing is cached
                start = time.perf_counter()
                sampling = Sampling(temperature=1.0, max_tokens=tokens, seed=repeat)
                answers = engine.generate(dialogues, sampling)
                n_tokens = sum(answer.completion_tokens for answer in answers)
                rates.append(n_tokens / (time.perf_counter() - start))
        finally:
            engine.close()
    return {"rate": median(rates[1:]), "conversations": len(dialogues), "completion_tokens": n_tokens}


def two_at_once(device: str, dtype: Dtype, folder: str, limit: int | None, prefixes: int) -> Result:
    """Place two models side by side, each in a process of its own, on one GPU, or on a core each.

    Returns the seconds of both alone, one after the other, and at once; and the largest difference of scores.
    """
    node = Node("core", {"core 0": 1, "core 1": 1}, memory.budget("cpu"), beside=1)
    if device == "cuda":
        (gpu, *_) = devices.visible_gpus()
        node = Node("GPU", {gpu: memory.gpu_budget(0, gpu)})
    specs: dict[str, EngineSpec] = {}
    with TemporaryDirectory(prefix="culturemeter-bench-") as into:
        for seed in range(2):
            shape, own = SMALL if device == "cuda" else TINY, str(Path(into) / f"{seed}")
            torch.manual_seed(seed)
            _model(shape.config(shape.layers), device, dtype, "sdpa").save_pretrained(own)
            AutoTokenizer.from_pretrained(folder).save_pretrained(own)
            specs[own] = EngineSpec(name=f"m{seed}", model=own, device=device, dtype=dtype)
        if device == "cuda":
            torch.cuda.empty_cache()
        jobs = []
        for name, spec in specs.items():
            bytes_ = memory.of_engine(spec, name).bytes
            need = Need(1, bytes_) if device == "cuda" else Need(1, 1, bytes_)
            jobs.append(Job(name, need, parts=2))
        _, begun = arranged(node, [], jobs)
        if len(begun) < 2:
            raise ValueError("the scheduler did not place two models at once")
        for copy in begun:
            replicas.place(specs[copy.engine], Path(into), copy.devices, node.unit, len(node.devices))
        items = dishes(limit)

        def score(name: str) -> Any:
            engine = replicas.placed(specs[name])
            assert engine is not None
            frame = engine.frame(questions(prefixes))
            return engine.score(frame.prefixes, [frame.lead + item for item in items])

        try:
            alone = [score(name) for name in specs]  # the first calls load the models
            start = time.perf_counter()
            alone = [score(name) for name in specs]
            middle = time.perf_counter()
            with ThreadPoolExecutor(2) as threads:
                both = list(threads.map(score, specs))
            end = time.perf_counter()
        finally:
            for spec in specs.values():
                replicas.displace(spec)
    off = max(float(np.abs(a - b).max()) for a, b in zip(alone, both, strict=True))
    return {
        "alone": middle - start, "at_once": end - middle, "nats": off,
        "devices": [list(copy.devices) for copy in begun], "gib": [job.need.each / 2**30 for job in jobs],
    }  # fmt: skip
