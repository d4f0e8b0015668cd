"""Memory of engines, estimated from their files and compared with hand arithmetic; the budget's variable."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from safetensors.numpy import save_file

from tasks.engines.local import memory
from tasks.engines.local.memory import GIB, Claim
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec

WEIGHTS = 100 * 8 + 8 * 8
"""An embedding of 100 x 8 and a matrix of 8 x 8."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tensors = {"embedding": np.zeros((100, 8), np.float16), "layer": np.zeros((8, 8), np.float16)}
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path


def spec(kind: Any = "packed_trie", dtype: Any = "float32", **options: Any) -> EngineSpec:
    return EngineSpec(name="m", kind=kind, model="x", dtype=dtype, device="cpu", options=options)


@pytest.mark.parametrize("kind", ["packed_trie", "masked", "seq2seq"])
def test_memory_is_weights_at_their_precision_plus_a_float32_head(folder: Path, kind: str) -> None:
    whole = memory.of_engine(spec(kind), str(folder))
    assert whole == Claim("cpu", int(1.25 * (4 * WEIGHTS + 4 * 800)))
    half = memory.of_engine(spec(kind, "bfloat16"), str(folder))
    assert half == Claim("cpu", int(1.25 * (2 * WEIGHTS + 4 * 800)))


def test_memory_of_vllm_includes_its_cache_and_processes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    own = int(1.25 * 2 * WEIGHTS) + 3 * GIB // 2
    assert memory.of_engine(spec("vllm", "bfloat16"), str(folder)).bytes == own + 2 * GIB
    bounded = spec("vllm", "bfloat16", kv_cache_memory_bytes=GIB)
    assert memory.of_engine(bounded, str(folder)).bytes == own + GIB
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "3")
    assert memory.of_engine(spec("vllm", "bfloat16"), str(folder)).bytes == own + 3 * GIB


def test_memory_of_vllm_on_a_gpu_is_its_share_unless_its_cache_is_bounded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_name", lambda device: "cuda:0")
    monkeypatch.setattr(memory, "_total", lambda device: 100 * GIB)
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    alone = memory.of_engine(spec("vllm"), str(folder))
    assert alone == Claim("cuda:0", memory.budget("cuda:0")) == Claim("cuda:0", 92 * GIB)
    assert memory.of_engine(spec("vllm", gpu_memory_utilization=0.4), str(folder)).bytes == 40 * GIB
    bounded = memory.of_engine(spec("vllm", kv_cache_memory_bytes=GIB), str(folder))
    assert bounded.bytes == int(1.25 * 4 * WEIGHTS) + 3 * GIB // 2 + GIB


def test_all_shards_count_and_an_incomplete_download_takes_the_budget(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "7")
    one = memory.of_engine(spec(), str(folder)).bytes
    for number in (1, 2):
        shutil.copy(folder / "model.safetensors", folder / f"model-0000{number}-of-00002.safetensors")
    (folder / "model.safetensors").unlink()
    shards = {name: f"model-0000{number}-of-00002.safetensors" for number, name in ((1, "a"), (2, "b"))}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert memory.of_engine(spec(), str(folder)).bytes == pytest.approx(1.25 * (8 * WEIGHTS + 4 * 800), abs=1)
    assert memory.of_engine(spec(), str(folder)).bytes > one
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert memory.of_engine(spec(), str(folder)).bytes == 7 * GIB


def test_model_of_unknown_size_takes_the_whole_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "3")
    assert memory.of_engine(spec(), str(tmp_path)) == Claim("cpu", 3 * GIB)
    assert memory.of_engine(spec(), "nobody/has-this-model") == Claim("cpu", 3 * GIB)


def test_memory_of_embedders_by_kind_of_file(folder: Path) -> None:
    (folder / "words.vec").write_text("a 1 2\n")
    (folder / "words.bin").write_bytes(bytes(1000))
    assert memory.of_embedder(str(folder / "words.vec")) == Claim("cpu", 0)
    assert memory.of_embedder(str(folder / "words.bin")) == Claim("cpu", 2000)
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    assert memory.of_embedder(str(folder)) == Claim(device, int(1.25 * 4 * WEIGHTS))


def test_budget_variable_is_in_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "1.5")
    assert memory.budget("cpu") == 3 * GIB // 2


def test_default_budget_is_half_of_the_available_or_container_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    default = memory._default_budget.__wrapped__
    monkeypatch.setattr(memory, "CGROUP_LIMIT", tmp_path / "memory.max")
    assert default("cpu") == pytest.approx(psutil.virtual_memory().available / 2, rel=0.2)
    (tmp_path / "memory.max").write_text("max\n")
    assert default("cpu") == pytest.approx(psutil.virtual_memory().available / 2, rel=0.2)
    (tmp_path / "memory.max").write_text(f"{GIB}\n")
    assert default("cpu") == GIB // 2


@pytest.mark.parametrize("stated", ["much", "0", "-2", "nan", "inf"])
def test_wrong_budget_variable_is_refused(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.setenv(memory.VARIABLE, stated)
    with pytest.raises(EngineError, match=f"{memory.VARIABLE} is {stated!r}: give the GiB"):
        memory.budget("cpu")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.heavy)])
def test_estimate_is_between_once_and_twice_a_real_models_memory(smollm2_folder: Path, dtype: str) -> None:
    scorer = PackedTrieScorer(spec(dtype=dtype), str(smollm2_folder))
    weights = sum(p.numel() * p.element_size() for p in scorer.model.parameters())
    copied = scorer._head._weight.numel() * 4 if dtype != "float32" else 0
    estimate = memory.of_engine(spec(dtype=dtype), str(smollm2_folder)).bytes
    assert weights + copied <= estimate <= 2 * (weights + copied)
