"""What engines take is known from their files, by hand arithmetic; the budget from one variable."""

from __future__ import annotations

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
def test_weights_at_their_precision_and_the_head_in_float32(folder: Path, kind: str) -> None:
    whole = memory.of_engine(spec(kind), str(folder))
    assert whole == Claim("cpu", int(1.25 * (4 * WEIGHTS + 4 * 800)))
    half = memory.of_engine(spec(kind, "bfloat16"), str(folder))
    assert half == Claim("cpu", int(1.25 * (2 * WEIGHTS + 4 * 800)))


def test_vllm_takes_its_cache_and_its_processes_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    own = int(1.25 * 2 * WEIGHTS) + 3 * GIB // 2
    assert memory.of_engine(spec("vllm", "bfloat16"), str(folder)).bytes == own + 2 * GIB
    bounded = spec("vllm", "bfloat16", kv_cache_memory_bytes=GIB)
    assert memory.of_engine(bounded, str(folder)).bytes == own + GIB
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "3")
    assert memory.of_engine(spec("vllm", "bfloat16"), str(folder)).bytes == own + 3 * GIB


def test_on_a_gpu_vllm_takes_its_share_unless_its_cache_is_bounded(
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


def test_all_shards_count_and_a_download_under_way_has_no_size(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "7")
    one = memory.of_engine(spec(), str(folder)).bytes
    for number in (1, 2):
        shutil.copy(folder / "model.safetensors", folder / f"model-0000{number}-of-00002.safetensors")
    (folder / "model.safetensors").unlink()
    shards = (
        '{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}'
    )
    (folder / "model.safetensors.index.json").write_text(shards)
    assert memory.of_engine(spec(), str(folder)).bytes == pytest.approx(1.25 * (8 * WEIGHTS + 4 * 800), abs=1)
    assert memory.of_engine(spec(), str(folder)).bytes > one
    (folder / "model-00002-of-00002.safetensors").unlink()
    assert memory.of_engine(spec(), str(folder)).bytes == 7 * GIB


def test_what_is_not_known_has_the_device_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "3")
    assert memory.of_engine(spec(), str(tmp_path)) == Claim("cpu", 3 * GIB)
    assert memory.of_engine(spec(), "nobody/has-this-model") == Claim("cpu", 3 * GIB)


def test_embedders(folder: Path) -> None:
    (folder / "words.vec").write_text("a 1 2\n")
    (folder / "words.bin").write_bytes(bytes(1000))
    assert memory.of_embedder(str(folder / "words.vec")) == Claim("cpu", 0)
    assert memory.of_embedder(str(folder / "words.bin")) == Claim("cpu", 2000)
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    assert memory.of_embedder(str(folder)) == Claim(device, int(1.25 * 4 * WEIGHTS))


def test_the_variable_is_in_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "1.5")
    assert memory.budget("cpu") == 3 * GIB // 2


def test_without_it_half_of_the_memory_or_of_the_container(
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
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, stated: str) -> None:
    monkeypatch.setenv(memory.VARIABLE, stated)
    with pytest.raises(EngineError, match=f"{memory.VARIABLE} is {stated!r}: give the GiB"):
        memory.budget("cpu")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.heavy)])
def test_a_real_model_takes_what_was_estimated(smollm2_folder: Path, dtype: str) -> None:
    scorer = PackedTrieScorer(spec(dtype=dtype), str(smollm2_folder))
    weights = sum(p.numel() * p.element_size() for p in scorer.model.parameters())
    copied = scorer._head._weight.numel() * 4 if dtype != "float32" else 0
    estimate = memory.of_engine(spec(dtype=dtype), str(smollm2_folder)).bytes
    assert weights + copied <= estimate <= 2 * (weights + copied)
