"""Products of matrices in float32: which library multiplies where, and that values do not depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import architectures
from tasks.engines.local import devices, products
from tasks.engines.local.masked import MaskedScorer
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.local.seq2seq import Seq2SeqScorer
from tasks.engines.specs import EngineSpec

NEEDED = pytest.mark.skipif(not torch._C._has_mkldnn, reason="this build of PyTorch has no oneDNN")
SCORERS: dict[str, Any] = {"packed_trie": PackedTrieScorer, "masked": MaskedScorer, "seq2seq": Seq2SeqScorer}
MODELS = {"packed_trie": "llama", "masked": "bert", "seq2seq": "t5"}


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    devices.has_faster_onednn.cache_clear()
    yield
    devices.has_faster_onednn.cache_clear()


@NEEDED
@pytest.mark.parametrize(
    ("vendor", "flags", "limit", "is_faster"),
    [
        ("AuthenticAMD", "avx2 avx512f", None, True),
        ("AuthenticAMD", "avx2", None, False),
        ("GenuineIntel", "avx2 avx512f", None, False),
        ("", "", None, False),
        ("AuthenticAMD", "avx2 avx512f", "AVX2", False),
        ("AuthenticAMD", "avx2 avx512f", "avx512_core", True),
        ("AuthenticAMD", "avx2 avx512f", "DEFAULT", True),
    ],
)
def test_onednn_multiplies_on_amds_processors_with_avx512(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    vendor: str,
    flags: str,
    limit: str | None,
    is_faster: bool,
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n")
    monkeypatch.setattr(devices, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.delenv(devices.ISA_LIMIT, raising=False)
    if limit:
        monkeypatch.setenv(devices.ISA_LIMIT, limit)
    assert devices.has_faster_onednn() == is_faster


@NEEDED
def test_a_product_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "has_faster_onednn", lambda: True)
    torch.manual_seed(0)
    weight, bias = torch.randn(48, 64), torch.randn(48)
    sizes: list[torch.Tensor] = [
        torch.randn(7, 64), torch.randn(2, 5, 64), torch.randn(64, 9).T,
        torch.randn(2, 0, 64), torch.randn(64),
    ]  # fmt: skip
    for states in sizes:
        for own in (None, bias):
            found = products.linear(states, weight, own)
            torch.testing.assert_close(
                found, torch.nn.functional.linear(states, weight, own), atol=1e-4, rtol=0
            )
    half = products.linear(sizes[0].bfloat16(), weight.bfloat16())
    assert half.dtype == torch.bfloat16


@NEEDED
@pytest.mark.slow
@pytest.mark.parametrize("kind", SCORERS)
def test_scores_do_not_depend_on_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    """And plain passes, with which they are compared, are multiplied as PyTorch does."""
    architectures.save(kind, MODELS[kind], {}, tmp_path)
    spec = EngineSpec(name="m", kind=kind, model="x", dtype="float32", device="cpu")
    scores, is_plain = list[Any](), list[bool]()
    for is_faster in (False, True):

        def answer(is_faster: bool = is_faster) -> bool:
            is_plain.append(products._is_plain.get())
            return is_faster

        monkeypatch.setattr(devices, "has_faster_onednn", answer)
        scorer = SCORERS[kind](spec, str(tmp_path))
        scores.append(scorer.score_candidates(architectures.CLOZE, architectures.CANDIDATES).logprob)
    np.testing.assert_allclose(*scores, atol=1e-4)
    assert any(is_plain)
    assert not all(is_plain)
