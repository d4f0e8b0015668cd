"""The faster precision of a device is measured once and stays the same; batches fit their budget."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tasks.engines.local import devices
from tasks.engines.protocols import EngineError

HAS_AMX = Path("/proc/cpuinfo").is_file() and "amx_bf16" in Path("/proc/cpuinfo").read_text()


def chosen(**environment: str) -> str:
    """Return the precision that a new process on this CPU chooses."""
    code = "from tasks.engines.local.devices import fastest_dtype; print(fastest_dtype('cpu'))"
    own = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=own)
    return done.stdout.strip()


def test_cpu_without_native_bfloat16_uses_float32() -> None:
    assert chosen(ONEDNN_MAX_CPU_ISA="AVX2") == "float32"


@pytest.mark.skipif(not HAS_AMX, reason="this CPU has no AMX")
def test_cpu_with_amx_uses_bfloat16() -> None:
    assert chosen() == "bfloat16"


@pytest.mark.parametrize(
    ("float32", "bfloat16", "faster"),
    [(1.0, 0.2, "bfloat16"), (1.0, 0.8, "bfloat16"), (1.0, 0.9, "float32"), (1.0, 20.0, "float32")],
)
def test_bfloat16_is_chosen_only_if_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, float32: float, bfloat16: float, faster: str
) -> None:
    monkeypatch.setattr(devices, "_seconds_of_products", lambda: {"float32": float32, "bfloat16": bfloat16})
    assert devices._fastest_dtype.__wrapped__("cpu") == faster


def test_precisions_are_timed_once_per_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = devices.fastest_dtype("cpu")
    monkeypatch.setattr(devices, "_seconds_of_products", lambda: pytest.fail("timed again"))
    assert devices.fastest_dtype("cpu") == first


def test_chosen_precision_is_stored_per_cpu_and_reused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file stored beside the specs is read too; a damaged file is ignored."""
    seconds = {"float32": 1.0, "bfloat16": 0.1}
    monkeypatch.setattr(devices, "_seconds_of_products", lambda: seconds)
    fresh = devices._fastest_dtype.__wrapped__
    folder = tmp_path / "engines"
    assert fresh("cpu", folder) == "bfloat16"
    seconds["bfloat16"] = 2.0
    assert fresh("cpu", folder) == fresh("cpu", tmp_path / "devices") == "bfloat16"
    assert fresh("cpu", tmp_path / "other" / "folder") == "float32"
    next(folder.glob("faster-dtype-*[!k]")).write_text("bflo")
    assert fresh("cpu", folder) == "float32"
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2_VNNI")
    seconds["bfloat16"] = 0.1
    assert fresh("cpu", folder) == "bfloat16"


def test_both_precisions_are_timed() -> None:
    seconds = devices._seconds_of_products()
    assert seconds.keys() == {"float32", "bfloat16"}
    assert all(value > 0 for value in seconds.values())


def test_auto_is_the_gpu_if_there_is_one() -> None:
    assert devices.device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("name", "message"), [("gpu0", "unknown device 'gpu0'"), ("cuda:64", "no device 'cuda:64'")]
)
def test_unknown_device_is_refused(name: str, message: str) -> None:
    with pytest.raises(EngineError, match=message):
        devices.fastest_dtype(name)


def test_batches_hold_every_row_once_and_stay_within_the_budget() -> None:
    lengths = np.random.default_rng(1).integers(1, 257, size=2000)
    batches = list(devices.batches(lengths, 8192))
    assert sorted(np.concatenate(batches)) == list(range(2000))
    assert max(len(b) * lengths[b].max() for b in batches) <= 8192
    # At most 5 % of the positions are padding.
    assert sum(len(b) * lengths[b].max() for b in batches) < 1.05 * lengths.sum()


def test_text_longer_than_a_batch_gets_a_separate_batch() -> None:
    assert [b.tolist() for b in devices.batches([8193, 5], 8192)] == [[1], [0]]
