"""Figure: rates of scoring and generation of 8B and 70B shapes on a GPU, and time of the profile ``full``.

Weights are random, because speed does not depend on them. A shape that does not fit is measured with a few
layers and with twice as many, and extrapolated to all layers. Results and device are written to ``REPORT``,
which names no user, host or folder and can be sent to us.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from benchmarks import gpu_generation, inputs
from benchmarks.process import Result, WorkerError, measure, peak, show
from benchmarks.scoring import SHARE
from benchmarks.shapes import SHAPES, Shape, fits
from benchmarks.sizes import Sizes
from deployments.cli.models import facts
from tasks.engines.local import packed_trie, pretrained, speed, tree_attention
from tasks.engines.specs import EngineSpec

BATCH_TOKENS = 32768
REPORT = Path("culturemeter-gpu.json")
BAR_MINUTES = 15.0
"""Maximum minutes for an 8B model to score the whole profile on one H200."""
FEW = 4
"""Number of layers with which a shape that does not fit is measured first; then with twice as many."""


def gpu(sizes: Sizes) -> None:
    """Print the lines of each shape, or why it was skipped, and write the file in any case."""
    report: dict[str, Any] = {"machine": facts(), "n_full": full_plan(), "shapes": {}}
    for name in SHAPES:
        try:
            ours = measure(
                on_gpu, name=name, prefixes=sizes.gpu_prefixes, limit=sizes.dishes, repeats=sizes.repeats
            )
        except WorkerError as error:
            ours = {"skipped": str(error)}
        report["shapes"][name] = ours | projected(ours, report["n_full"])
        _show(name, report["shapes"][name])
        report["shapes"][name]["generation"] = gpu_generation.figure(name, sizes)
    REPORT.write_text(json.dumps(report, indent=2) + "\n")
    show(f"to send: {REPORT.resolve()}")


def full_plan() -> int:
    """Return the number of pairs of country and item in spectral's profile ``full``, over all questions."""
    from flows.session import prepare
    from tasks.evaluations.spectral.evaluation import EVALUATION
    from tasks.evaluations.spectral.params import SpectralParams

    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        engines = Path(folder) / "engines"
        engines.mkdir()
        (engines / "fake.toml").write_text('kind = "fake"\nmodel = "fake"\n')
        with patch.dict(os.environ, CULTUREMETER_HOME=folder):
            session = prepare(EVALUATION, SpectralParams.model_validate({"models": ["fake"]}))
            return sum(line.n_units for line in session.plan.lines)


def _show(name: str, ours: Result) -> None:
    if "skipped" in ours:
        show(f"{name}: skipped: {ours['skipped']}")
        return
    measured_layers = " and ".join(map(str, ours["measured_layers"]))
    depth = (
        ""
        if ours["measured_layers"] == [ours["layers"]]
        else f", extrapolated from {measured_layers} of {ours['layers']} layers"
    )
    bar = f"; bar {BAR_MINUTES:.0f} min on one H200" if name == "llama-8b" else ""
    show(
        f"packed_trie, {name} shape, {ours['rate']:,.0f} items/s {peak(ours)}, weights "
        f"{ours['weight_bytes'] / 2**30:.0f} GiB — random, {ours['dtype']}, {ours['n_items']:,} dishes, "
        f"{ours['n_prefixes']} countries, {ours['device']}{depth}",
        f"share of what plain products reach there ({ours['reachable'] / 1e12:,.1f} TFLOP/s): "
        f"{ours['share']:.0%}; bar {SHARE:.0%}. The whole profile full: {ours['full_minutes']:,.0f} min{bar}",
    )


def on_gpu(name: str, prefixes: int, limit: int | None, repeats: int) -> Result:
    """Return the figures of a shape on the GPU in bfloat16; {"skipped": reason} without a GPU."""
    if not torch.cuda.is_available():
        return {"skipped": "torch sees no CUDA device"}
    free, shape = torch.cuda.mem_get_info()[0], SHAPES[name]
    depths = [shape.layers] if fits(shape, 2, free) else [FEW, 2 * FEW]
    speeds = measured(shape, depths, "cuda", torch.bfloat16, prefixes, limit, repeats)
    return speeds | {
        "device": torch.cuda.get_device_name(),
        "gpu_peak_bytes": torch.cuda.max_memory_allocated(),
    }


def measured(
    shape: Shape,
    depths: list[int],
    device: str,
    dtype: torch.dtype,
    prefixes: int,
    limit: int | None,
    repeats: int,
) -> Result:
    """Score the dish list for ``prefixes`` countries, at each number of layers.

    Returns seconds and operations by depth, the speed of plain products, and figures of the shape.
    """
    items = inputs.dishes(limit)
    by_depth = [_at_depth(shape, layers, device, dtype, prefixes, items, repeats) for layers in depths]
    return {
        "layers": shape.layers,
        "measured_layers": depths,
        "seconds": [each["seconds"] for each in by_depth],
        "operations": [each["operations"] for each in by_depth],
        "reachable": max(each["reachable"] for each in by_depth),
        "n_items": len(items),
        "n_prefixes": prefixes,
        "dtype": str(dtype).removeprefix("torch."),
        "weight_bytes": shape.weights(shape.layers) * dtype.itemsize,
    }


def projected(ours: Result, n_full: int) -> Result:
    """Return the whole shape's figures: items per second, share of plain products, minutes of the profile."""
    if "skipped" in ours:
        return {}
    seconds = at_depth(ours["measured_layers"], ours["seconds"], ours["layers"])
    operations = at_depth(ours["measured_layers"], ours["operations"], ours["layers"])
    rate = ours["n_prefixes"] * ours["n_items"] / seconds
    return {
        "rate": rate,
        "share": operations / seconds / ours["reachable"],
        "full_minutes": n_full / rate / 60,
    }


def at_depth(depths: list[int], values: list[float], layers: int) -> float:
    """Return a value at a number of layers: the measured one, or on the line through two measured depths."""
    if depths == [layers]:
        return values[0]
    (fewer_layers, more_layers), (first_value, second_value) = depths, values
    return first_value + (second_value - first_value) / (more_layers - fewer_layers) * (layers - fewer_layers)


def _at_depth(
    shape: Shape,
    layers: int,
    device: str,
    dtype: torch.dtype,
    prefixes: int,
    items: list[str],
    repeats: int,
) -> Result:
    scorer = _scorer(shape.config(layers), device, dtype)
    frame = scorer.frame(inputs.questions(prefixes))
    texts = [frame.lead + item for item in items]
    seconds = []
    for _ in range(1 + repeats):
        start = time.perf_counter()
        scorer.score(frame.prefixes, texts)
        seconds.append(time.perf_counter() - start)
    return {
        "seconds": median(seconds[1:]),
        "operations": sum(speed.operations(scorer, prefix, texts) for prefix in frame.prefixes),
        "reachable": speed.reachable(scorer),
    }


def _scorer(config: LlamaConfig, device: str, dtype: torch.dtype) -> packed_trie.PackedTrieScorer:
    """Return a scorer with a model built on the device and the tokenizer of the embedded model.

    A scorer loads its model from a folder; to avoid writing 16 GB of random weights, the loader is replaced.
    """
    folder = inputs.model_folder()
    spec = EngineSpec(name="random", model=folder, device=device, batch_tokens=BATCH_TOKENS)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            config, dtype=dtype, attn_implementation=tree_attention.NAME
        )
    with patch.object(pretrained, "load", lambda *_, **__: (tokenizer, model)):
        return packed_trie.PackedTrieScorer(spec, folder)
