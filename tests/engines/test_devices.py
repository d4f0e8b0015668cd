"""Precision "auto" is a rule by device and flags; batches fit their budget."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tasks.engines.local import devices
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec, resolved

FLAGS = "model name\t: some CPU\nflags\t\t: fpu avx2 {}\n"


@pytest.fixture
def flags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that gives this machine's CPU a flag."""
    monkeypatch.delenv(devices.ISA_LIMIT, raising=False)
    monkeypatch.setattr(devices, "CPU_INFO", tmp_path / "cpuinfo")

    def give(flag: str) -> None:
        (tmp_path / "cpuinfo").write_text(FLAGS.format(flag))

    return give


@pytest.mark.parametrize(
    ("flag", "limit", "dtype"),
    [
        ("amx_bf16", None, "bfloat16"),
        ("amx_bf16", "AVX512_CORE_AMX", "bfloat16"),
        ("amx_bf16", "ALL", "bfloat16"),
        ("amx_bf16", "AVX2", "float32"),
        ("avx512_bf16", None, "float32"),
        ("", None, "float32"),
    ],
)
def test_auto_is_a_rule_by_flags(
    flags: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, flag: str, limit: str | None, dtype: str
) -> None:
    flags(flag)
    if limit:
        monkeypatch.setenv(devices.ISA_LIMIT, limit)
    assert devices.auto_dtype("cpu") == dtype


def test_auto_measures_nothing_and_stores_nothing(
    flags: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two machines of one kind are the same engine, although one of them is busy."""
    flags("amx_bf16")
    for clock in ("time", "monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, clock, lambda: pytest.fail("timed"))
    spec = EngineSpec(name="m", model="embedded:smollm2-135m")
    assert resolved(spec).hash() == resolved(spec.model_copy(update={"device": "cpu"})).hash()
    assert [path.name for path in tmp_path.iterdir()] == ["cpuinfo"]


def test_without_flags_auto_is_float32(flags: Callable[[str], None]) -> None:
    assert devices.auto_dtype("cpu") == "float32"


def test_auto_is_the_gpu_if_there_is_one() -> None:
    assert devices.device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("name", "message"), [("gpu0", "unknown device 'gpu0'"), ("cuda:64", "no device 'cuda:64'")]
)
def test_unknown_device_is_refused(name: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        devices.auto_dtype(name)


def test_batches_hold_every_row_once_and_stay_within_the_budget() -> None:
    lengths = np.random.default_rng(1).integers(1, 257, size=2000)
    batches = list(devices.batches(lengths, 8192))
    assert sorted(np.concatenate(batches)) == list(range(2000))
    assert max(len(b) * lengths[b].max() for b in batches) <= 8192
    # At most 5 % of the positions are padding.
    assert sum(len(b) * lengths[b].max() for b in batches) < 1.05 * lengths.sum()


def test_text_longer_than_a_batch_gets_a_separate_batch() -> None:
    assert [b.tolist() for b in devices.batches([8193, 5], 8192)] == [[1], [0]]
