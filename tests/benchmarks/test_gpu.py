"""The figure ``gpu`` on a processor, at shapes of a few thousand weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from benchmarks import gpu, gpu_generation, inputs
from benchmarks.shapes import SHAPES, Shape, fits
from benchmarks.sizes import QUICK

TINY = Shape(hidden=32, layers=6, heads=4, kv_heads=2, inner=64, vocabulary=49_152)


def test_number_of_weights_equals_the_models() -> None:
    with torch.device("meta"):
        model = gpu.AutoModelForCausalLM.from_config(TINY.config(3))  # type: ignore[no-untyped-call]
    matrices = sum(weight.numel() for weight in model.parameters() if weight.dim() == 2)
    assert TINY.weights(3) == matrices


@pytest.mark.parametrize(("name", "billions"), [("llama-8b", 8.03), ("llama-70b", 70.55)])
def test_shapes_have_their_published_sizes(name: str, billions: float) -> None:
    shape = SHAPES[name]
    assert shape.weights(shape.layers) / 1e9 == pytest.approx(billions, rel=0.01)


def test_time_at_a_depth_is_on_the_line_through_measured_depths() -> None:
    # 1 s besides the layers, 0.5 s per layer: 1 + 80 · 0.5 = 41
    assert gpu.at_depth([4, 8], [3.0, 5.0], 80) == pytest.approx(41)
    assert gpu.at_depth([32], [7.0], 32) == 7


def test_projection_extrapolates_to_all_layers() -> None:
    # 10 items after each of 2 countries in 4 s: 5 items/s, so 3000 in 10 min; 80 of 100 reachable operations
    ours = {
        "measured_layers": [2], "layers": 2, "seconds": [4.0], "operations": [320.0], "reachable": 100.0,
        "n_prefixes": 2, "n_items": 10,
    }  # fmt: skip
    assert gpu.projected(ours, 3000) == {"rate": 5.0, "share": 0.8, "full_minutes": 10.0}
    assert gpu.projected({"skipped": "no GPU"}, 3000) == {}


def test_shape_fits_only_with_memory_for_a_pass() -> None:
    weights = 2 * TINY.weights(TINY.layers)
    assert fits(TINY, 2, int(1.3 * weights))
    assert not fits(TINY, 2, int(1.2 * weights))


@pytest.mark.heavy
def test_generation_of_a_shape_is_measured_on_a_processor(
    smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "model_folder", lambda: str(smollm2_folder))
    # vLLM has no kernel for heads of 8 numbers
    shape = Shape(hidden=128, layers=2, heads=2, kv_heads=1, inner=128, vocabulary=128_256)
    ours = gpu_generation.generation(shape, "cpu", conversations=3, tokens=8, repeats=1)
    assert (ours["conversations"], ours["completion_tokens"]) == (3, 24)  # random weights do not end early
    assert ours["rate"] > 0
    assert ours["prompt_tokens"] > 3 * 10


@pytest.mark.heavy
@pytest.mark.slow
def test_scoring_of_a_shape_is_measured_on_a_processor(
    smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "model_folder", lambda: str(smollm2_folder))
    ours = gpu.measured(TINY, [1, 2], "cpu", torch.float32, 2, 40, 1)
    assert (ours["n_items"], ours["n_prefixes"], ours["dtype"]) == (40, 2, "float32")
    assert ours["operations"][1] > ours["operations"][0] > 0
    # every layer has the same operations
    four = gpu.measured(TINY, [4], "cpu", torch.float32, 2, 40, 1)["operations"][0]
    assert gpu.at_depth([1, 2], ours["operations"], 4) == pytest.approx(four)
    assert all(seconds > 0 for seconds in ours["seconds"])
    # Fixed timings in place of measured ones, as this machine may be busy.
    projected = gpu.projected(ours | {"seconds": [1.0, 2.0]}, 10_000)
    assert projected["rate"] == pytest.approx(2 * 40 / 6)
    assert projected["share"] > 0


def test_report_without_a_gpu_has_the_reason(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for each in (gpu, gpu_generation):
        monkeypatch.setattr(each, "measure", lambda function, **given: function(**given))
    monkeypatch.setattr(gpu, "full_plan", lambda: 7)
    gpu.gpu(QUICK)
    written = json.loads((home / gpu.REPORT).read_text())
    why = {"skipped": "torch sees no CUDA device"}
    assert written["shapes"] == {name: why | {"generation": why} for name in SHAPES}
    assert {"device", "processor", "versions"} <= written["machine"].keys()
    assert str(home) not in json.dumps(written)
    assert "llama-70b: skipped" in capsys.readouterr().out
