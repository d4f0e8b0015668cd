"""The script for a day with a GPU, on a processor, and what it may import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from benchmarks import gpu_day, gpu_parts
from benchmarks.gpu_parts import SHAPES, fits
from benchmarks.process import Result, WorkerError
from tests.conftest import REPOSITORY

THERE = "accelerate", "psutil", "scikit-learn", "threadpoolctl", "torch", "transformers"
CARRIED = "pydantic", "rapidfuzz"
ALONE = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError("blocked: " + name, name=name)

sys.meta_path.insert(0, Block())
import {modules}
"""


def dependencies() -> set[str]:
    """Return the names of the packages that we need everywhere."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    return {re.split(r"[\[<>=~! ;]", line)[0].lower() for line in project["dependencies"]}


def needed(names: Iterable[str]) -> set[str]:
    """Return these packages and all that they need."""
    found, left = set[str](), [re.split(r"[\[<>=~! ;(]", name)[0].lower() for name in names]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            with suppress(PackageNotFoundError):
                lines = [line for line in requires(name) or [] if "extra ==" not in line]
                left += [re.split(r"[\[<>=~! ;(]", line)[0].lower() for line in lines]
    return found


@pytest.mark.slow
def test_the_scorer_needs_no_polars_nor_anything_that_is_not_carried() -> None:
    modules = "tasks.engines.local.packed_trie, tasks.engines.load, tasks.loop.placement, benchmarks.gpu_day"
    blocked = {name.replace("-", "_") for name in dependencies() - needed([*THERE, *CARRIED])}
    assert {"polars", "duckdb", "prefect"} <= blocked
    code = ALONE.format(blocked=sorted(blocked), modules=modules)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.heavy
def test_the_day_runs_on_a_processor(smollm2_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "day.json"
    options = ["--cpu", "--seconds", "3000", "--tokenizer", str(smollm2_folder), "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_day", *options], cwd=REPOSITORY, capture_output=True,
        text=True, timeout=3300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    parts = json.loads(out.read_text())["parts"]
    assert not any("failed" in found for found in parts.values())
    for dtype in ("float32", "bfloat16"):
        rows = parts[f"a. architectures, {dtype}"]["rows"]
        assert {row[2] for row in rows} == {"equal"}
        assert {row[1] for row in rows} == set(gpu_parts.FIRST_ON_CPU)
    assert parts["d. two models at once"]["nats"] < 1e-4
    assert parts["c. against lm-eval"].get("nats", 0) < 1e-3
    assert parts["b. 8B shape"]["full_minutes"] > 0


@pytest.mark.slow
def test_parts_of_the_day_run_in_this_process(smollm2_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quick form: one architecture and a short list, without processes, lm-eval or vLLM."""

    def measure(function: Callable[..., Result], timeout: float, **arguments: Any) -> Result:
        if "limit" in arguments:
            arguments["limit"] = 30
        return function(**arguments)

    monkeypatch.setattr(gpu_day, "measure", measure)
    monkeypatch.setattr(gpu_parts, "FIRST_ON_CPU", ("llama",))
    monkeypatch.setattr(gpu_parts, "CUBE", {"cpu": 64})
    report = gpu_day.run("cpu", str(smollm2_folder), 300, "mab")
    assert not list(gpu_day.faults(report))
    found = report["parts"]
    assert set(found) == {
        "machine", "a. architectures, float32", "b. 8B shape", "b. 70B shape", "a. architectures, bfloat16",
    }  # fmt: skip
    for dtype in ("float32", "bfloat16"):
        assert [row[1:3] for row in found[f"a. architectures, {dtype}"]["rows"]] == [["llama", "equal"]]
    assert found["b. 8B shape"]["full_minutes"] > 0
    json.dumps(report)


def day(seconds: float = 500) -> gpu_day.Day:
    return gpu_day.Day("cpu", "folder", seconds)


def test_a_part_that_fails_is_reported_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(seconds: float) -> Result:
        raise WorkerError("no memory")

    own = day()
    own.part("x", 50, fail, str)
    own.part("y", 5, lambda seconds: {"seconds": seconds}, lambda found: f"{found['seconds']:.0f}")
    own.part("z", 50, lambda seconds: {"skipped": "not here"}, str)
    assert list(gpu_day.faults(own.report)) == ["x: no memory"]
    lines = [re.sub(r" \(\d+ s\)", "", line) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["x: FAILED: no memory", "y: 50", "z: not here"]


def test_no_part_begins_without_time() -> None:
    own = day(gpu_day.LEAST - 1)
    own.part("x", 50, lambda seconds: pytest.fail("it began"), str)
    assert list(gpu_day.faults(own.report)) == ["x: no time left"]
    own = day(gpu_day.LEAST + 20)
    own.part("y", 500, lambda seconds: {"seconds": seconds}, str)
    assert gpu_day.LEAST < own.report["parts"]["y"]["seconds"] <= gpu_day.LEAST + 20


def test_wrong_architectures_are_named() -> None:
    rows: list[Any] = [["packed_trie", "llama", "equal", 1e-6, ""], ["masked", "bert", "wrong", 0.3, "whole"]]
    assert "wrong: bert (masked) 3.0e-01 whole" in gpu_day.say_matrix({"rows": rows, "n": 2})
    assert list(gpu_day.faults({"parts": {"a": {"rows": rows}}})) == ["a: bert wrong: whole"]


def test_number_of_weights_equals_the_models() -> None:
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(gpu_parts.TINY.config(3))  # type: ignore[no-untyped-call]
    matrices = sum(weight.numel() for weight in model.parameters() if weight.dim() == 2)
    assert gpu_parts.TINY.weights(3) == matrices


@pytest.mark.parametrize(("name", "billions"), [("llama-8b", 8.03), ("llama-70b", 70.55)])
def test_shapes_have_their_published_sizes(name: str, billions: float) -> None:
    shape = SHAPES[name]
    assert shape.weights(shape.layers) / 1e9 == pytest.approx(billions, rel=0.01)


def test_time_at_a_depth_is_on_the_line_through_measured_depths() -> None:
    # 1 s besides the layers, 0.5 s per layer: 1 + 80 · 0.5 = 41
    assert gpu_parts.at_depth([4, 8], [3.0, 5.0], 80) == pytest.approx(41)
    assert gpu_parts.at_depth([32], [7.0], 32) == 7


def test_projection_by_hand() -> None:
    """10 items after each of 2 countries in 4 s: 5 items/s, so 3000 in 10 min; 60 of 100 reachable operations
    per second. At 75 of 100 it would take 8 min."""
    ours = {
        "measured_layers": [2], "layers": 2, "seconds": [4.0], "operations": [240.0], "reachable": 100.0,
        "n_prefixes": 2, "n_items": 10,
    }  # fmt: skip
    found = gpu_parts.projected(ours, 3000, 0.75)
    assert found["full_exaflop"] == pytest.approx(240 / 20 * 3000 / 1e18)
    del found["full_exaflop"]
    assert found == {
        "rate": 5.0, "share": 0.6, "full_minutes": pytest.approx(10), "bar_minutes": pytest.approx(8),
    }  # fmt: skip


def test_shape_fits_only_with_memory_for_a_pass() -> None:
    shape = gpu_parts.TINY
    weights = 2 * shape.weights(shape.layers)
    assert fits(shape, 2, int(1.3 * weights))
    assert not fits(shape, 2, int(1.2 * weights))


@pytest.mark.heavy
def test_the_profile_full_has_this_many_log_probabilities(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.session import prepare
    from tasks.evaluations.spectral.evaluation import EVALUATION
    from tasks.evaluations.spectral.params import SpectralParams

    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    (home / "engines" / "shape.toml").write_text('kind = "fake"\nmodel = "b"\n')
    session = prepare(EVALUATION, SpectralParams(models=["shape"]))
    assert sum(line.n_units for line in session.plan.lines) == gpu_day.N_FULL
