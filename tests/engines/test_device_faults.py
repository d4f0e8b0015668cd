"""Faults of devices: too little memory in a pass, a lost device, and the settings and kernels of CUDA.

What needs a GPU is marked `gpu` and is skipped without one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from benchmarks import architectures
from tasks.engines.local import attention, device_faults, devices, output_head
from tasks.engines.local.attention import block_attention, prefix_attention
from tasks.engines.local.device_faults import DeviceLost
from tasks.engines.local.masked import MaskedScorer
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.local.seq2seq import Seq2SeqScorer
from tasks.engines.protocols import EngineError, TextPair
from tasks.engines.specs import EngineSpec
from tests.conftest import REPOSITORY

GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU that torch can use"),
]
NO_MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
LOST = RuntimeError("CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be")
SCORERS: dict[str, Any] = {"packed_trie": PackedTrieScorer, "masked": MaskedScorer, "seq2seq": Seq2SeqScorer}
MODELS = {"packed_trie": "llama", "masked": "bert", "seq2seq": "t5"}
PROMPTS, ITEMS = architectures.PROMPTS, architectures.ITEMS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the folder of a tiny model for a kind of scorer."""
    made: dict[str, Path] = {}

    def save(kind: Any) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            architectures.save(kind, MODELS[kind], {}, made[kind])
        return made[kind]

    return save


@pytest.fixture
def scorer(folder: Callable[[str], Path]) -> PackedTrieScorer:
    return loaded(folder, "packed_trie")


def loaded(folder: Callable[[str], Path], kind: Any, dtype: Any = "float32", device: str = "cpu") -> Any:
    spec = EngineSpec(name="m", kind=kind, model="x", dtype=dtype, device=device, batch_tokens=256)
    return SCORERS[kind](spec, str(folder(kind)))


def failing(monkeypatch: pytest.MonkeyPatch, scorer: Any, error: Exception, *passes: int) -> list[int]:
    """Let passes of these numbers fail; return the number of tokens of every pass."""
    run, seen = scorer._head.run, list[int]()

    def fail(**inputs: Any) -> Any:
        given = inputs.get("input_ids")
        seen.append(0 if given is None else given.numel())
        if len(seen) in passes:
            raise error
        return run(**inputs)

    monkeypatch.setattr(scorer._head, "run", fail)
    return seen


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "score": lambda s, report: s.score(PROMPTS, ITEMS, report),
    "score_each": lambda s, report: np.stack(s.score_each(PROMPTS, [ITEMS] * 3, report)),
    "score_pairs": lambda s, report: s.score_pairs([TextPair(PROMPTS[0], i) for i in ITEMS], report).logprob,
}


@pytest.mark.parametrize("call", CALLS)
def test_a_pass_that_is_too_large_is_repeated_with_half_of_its_tokens(
    scorer: PackedTrieScorer, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    whole, done = list[int](), list[int]()
    expected = CALLS[call](scorer, whole.append)
    failing(monkeypatch, scorer, NO_MEMORY, 2 if call == "score" else 1)
    found = CALLS[call](scorer, done.append)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert sum(done) == sum(whole), "work was reported twice"
    assert (scorer.spec.batch_tokens, scorer.is_halved) == (128, True)
    np.testing.assert_allclose(CALLS[call](scorer, None), expected, atol=1e-5)


@pytest.mark.parametrize("kind", SCORERS)
def test_memory_that_is_short_twice_is_refused_with_advice(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    scorer = loaded(folder, kind)
    failing(monkeypatch, scorer, NO_MEMORY, *range(1, 99))
    for _ in range(2):
        with pytest.raises(EngineError, match=r"^model 'm': out of memory .* of 128 tokens .*batch_tokens"):
            scorer.score_candidates(architectures.CLOZE, architectures.CANDIDATES)


def test_memory_of_the_processor_counts_too(
    scorer: PackedTrieScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RuntimeError(
        "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory: you"
    )
    failing(monkeypatch, scorer, error, 1)
    assert np.isfinite(scorer.score(PROMPTS, ITEMS)).all()
    assert scorer.is_halved


@pytest.mark.parametrize("kind", SCORERS)
def test_a_lost_device_gives_the_engine_up_with_the_reason(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    scorer = loaded(folder, kind)
    passes = failing(monkeypatch, scorer, LOST, 1)
    for _ in range(2):
        with pytest.raises(
            DeviceLost, match=r"^model 'm': its device failed \(CUDA error: an illegal memory"
        ):
            scorer.score_candidates(architectures.CLOZE, architectures.CANDIDATES)
    assert len(passes) == 1, "it computes on a lost device"


def test_a_device_that_is_lost_while_scores_are_compared_does_not_blame_the_architecture(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, **inputs: Any) -> Any:
        raise LOST

    monkeypatch.setattr(output_head.OutputHead, "run", fail)
    with pytest.raises(DeviceLost, match="its device failed"):
        loaded(folder, "packed_trie")


@pytest.mark.parametrize(("error", "wanted"), [(NO_MEMORY, "out of memory"), (LOST, "its device failed")])
def test_faults_while_a_model_is_loaded_are_errors_of_the_engine(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, error: Exception, wanted: str
) -> None:
    def fail(self: Any, *arguments: Any, **more: Any) -> Any:
        raise error

    monkeypatch.setattr(LlamaForCausalLM, "to", fail)
    with pytest.raises(EngineError, match=wanted):
        loaded(folder, "packed_trie")


def test_other_errors_are_raised_as_they_are(
    scorer: PackedTrieScorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, scorer, RuntimeError("shapes do not match"), 1)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        scorer.score(PROMPTS, ITEMS)
    assert not device_faults.is_lost(ValueError("CUDA error"))


def test_float32_is_multiplied_in_float32() -> None:
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.fp32_precision, cudnn.conv.fp32_precision  # type: ignore[attr-defined]
    try:
        torch.set_float32_matmul_precision("high")
        devices.multiply_exactly()
        assert matmul.fp32_precision == "ieee"
        assert cudnn.conv.fp32_precision == "ieee"  # type: ignore[attr-defined]
        assert not matmul.allow_bf16_reduced_precision_reduction
        assert not matmul.allow_fp16_reduced_precision_reduction
    finally:
        matmul.fp32_precision, cudnn.conv.fp32_precision = before  # type: ignore[attr-defined]


def test_cuda_gets_growing_segments_and_fixed_workspaces_unless_the_user_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG"
    for name in names:
        monkeypatch.delenv(name, raising=False)
    devices.device("cpu")
    assert [os.environ.get(name) for name in names] == ["expandable_segments:True", None, ":4096:8"]
    monkeypatch.delenv(names[0])
    monkeypatch.setenv(names[1], "max_split_size_mb:128")
    monkeypatch.setenv(names[2], ":16:8")
    devices.device("cpu")
    assert [os.environ.get(name) for name in names] == [None, "max_split_size_mb:128", ":16:8"]


def blocks(group: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> tuple[Any, ...]:
    """Return queries, keys, values, a mask, and shared keys and values of random blocks."""
    torch.manual_seed(0)
    n, kv_heads, q, k, c, d = 3, 2, 32, 64, 32, 16
    drawn = [torch.randn(*size) for size in (
        (n, kv_heads, q, group, d), (n, kv_heads, k, d), (n, kv_heads, k, d), (1, kv_heads, c, d),
        (1, kv_heads, c, d),
    )]  # fmt: skip
    query, key, value, *shared = (states.to(device, dtype) for states in drawn)
    seen = torch.rand(n, 1, q, 1, c + k, device=device) < 0.5
    seen[..., 0] = True
    mask = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill(~seen, torch.finfo(dtype).min)
    return query, key, value, mask, tuple(shared)


@pytest.mark.parametrize("group", [1, 4])
def test_the_fused_kernel_gets_no_heads_that_share_keys_and_gives_the_same(
    group: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, key, value, mask, shared = blocks(group)
    fused, calls = attention.scaled_dot_product_attention, list[dict[str, Any]]()

    def kernel(*states: torch.Tensor, **more: Any) -> torch.Tensor:
        calls.append(more)
        assert states[0].shape[1] == states[1].shape[1], "heads share keys"
        assert more["attn_mask"].shape[-1] % 8 == 0, "the kernel would copy the mask"
        return fused(*states, **more)

    monkeypatch.setattr(attention, "scaled_dot_product_attention", kernel)
    found = attention._fused(query, key, value, mask, None, shared)
    assert len(calls) == 1
    assert not calls[0].get("enable_gqa")
    expected = block_attention(query, key, value, mask, None, shared)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("is_masked", [False, True])
def test_prefixes_share_keys_only_where_a_kernel_takes_them(
    dtype: torch.dtype, is_masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, heads, 24, 16).to(dtype) for heads in (8, 2, 2))
    mask = torch.ones(24, 24, dtype=torch.bool).tril() if is_masked else None
    expected = prefix_attention(query, key, value, mask, None, is_fused=False)
    fused, calls = attention.scaled_dot_product_attention, list[dict[str, Any]]()

    def kernel(*states: torch.Tensor, **more: Any) -> torch.Tensor:
        calls.append(more)
        return fused(*states, **more)

    monkeypatch.setattr(attention, "scaled_dot_product_attention", kernel)
    found = prefix_attention(query, key, value, mask, None, is_fused=True)
    torch.testing.assert_close(found, expected, atol=1e-5 if dtype == torch.float32 else 0.02, rtol=0)
    assert [call["enable_gqa"] for call in calls] == [dtype == torch.bfloat16 and not is_masked]


def test_probabilities_are_of_float32_logits_in_every_precision(
    folder: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, dtypes = loaded(folder, "packed_trie", "bfloat16"), set[torch.dtype]()
    summed = torch.logsumexp

    def record(logits: torch.Tensor, *more: Any, **others: Any) -> torch.Tensor:
        dtypes.add(logits.dtype)
        return summed(logits, *more, **others)

    monkeypatch.setattr(torch, "logsumexp", record)
    scorer.score(PROMPTS, ITEMS)
    assert scorer.model.dtype == torch.bfloat16
    assert dtypes == {torch.float32}


def test_engines_use_one_stream_and_wait_for_their_copies() -> None:
    """So no copy is read before it has arrived, and no memory is reused while another stream reads it."""
    files = [*Path(devices.__file__).parent.glob("*.py")]
    words = ("non_blocking", "pin_memory", "cuda.Stream", "cuda.stream", "CUDAGraph")
    assert len(files) > 20
    assert [(file.name, word) for file in files for word in words if word in file.read_text()] == []


def test_a_repeated_call_gives_the_same_digits(scorer: PackedTrieScorer) -> None:
    first = scorer.score(PROMPTS, ITEMS)
    np.testing.assert_array_equal(scorer.score(PROMPTS, ITEMS), first)


class TestGpu:
    """Tests of the same faults on a GPU."""

    pytestmark = GPU

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
    def test_scores_equal_the_processors_and_repeat(self, folder: Any, dtype: str) -> None:
        expected = loaded(folder, "packed_trie").score(PROMPTS, ITEMS)
        scorer = loaded(folder, "packed_trie", dtype, "cuda")
        found = scorer.score(PROMPTS, ITEMS)
        np.testing.assert_allclose(found, expected, atol=1e-4 if dtype == "float32" else 0.5)
        np.testing.assert_array_equal(scorer.score(PROMPTS, ITEMS), found)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_no_attention_falls_back_to_plain_products(self, dtype: torch.dtype) -> None:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        fused = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]
        query, key, value, mask, shared = blocks(4, dtype, "cuda")
        prefixes = [torch.randn(2, heads, 24, 16, device="cuda", dtype=dtype) for heads in (8, 2, 2)]
        tril = torch.ones(24, 24, dtype=torch.bool, device="cuda").tril()
        with sdpa_kernel(fused):
            block_attention(query, key, value, mask, None, shared)
            for prefix_mask in (None, tril):
                prefix_attention(*prefixes, prefix_mask, None, is_fused=True)

    def test_tf32_of_another_library_changes_no_score(self, folder: Any) -> None:
        expected = loaded(folder, "packed_trie").score(PROMPTS, ITEMS)
        torch.set_float32_matmul_precision("high")
        found = loaded(folder, "packed_trie", "float32", "cuda").score(PROMPTS, ITEMS)
        np.testing.assert_allclose(found, expected, atol=1e-4)

    def test_scores_do_not_depend_on_the_stream(self, folder: Any) -> None:
        scorer = loaded(folder, "packed_trie", "float32", "cuda")
        expected = scorer.score(PROMPTS, ITEMS)
        with torch.cuda.stream(torch.cuda.Stream()):
            np.testing.assert_array_equal(scorer.score(PROMPTS, ITEMS), expected)

    def test_passes_of_many_widths_leave_no_gaps(self, folder: Any) -> None:
        scorer = loaded(folder, "packed_trie", "float32", "cuda")
        for n in np.random.default_rng(0).permutation(64):
            scorer.score([*PROMPTS, *PROMPTS[:1] * int(n)], ITEMS)
        assert torch.cuda.memory_reserved() <= 1.5 * torch.cuda.max_memory_allocated() + 2**26

    def test_a_device_that_fails_gives_the_engine_up(self, folder: Any) -> None:
        """In a process of its own, because a failed device serves its process no more."""
        code = f"""
import torch
from tests.engines import test_device_faults as faults
scorer = faults.loaded(lambda kind: {str(folder("packed_trie"))!r}, "packed_trie", "float32", "cuda")
run = scorer._head.run
def fail(**inputs):
    torch.zeros(1, device="cuda")[torch.tensor([9], device="cuda")]
    return run(**inputs)
scorer._head.run = fail
try:
    scorer.score(faults.PROMPTS, faults.ITEMS)
except faults.DeviceLost as error:
    print(error)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=300
        )
        assert "its device failed" in done.stdout, done.stdout + done.stderr

    def test_a_pass_without_memory_is_halved(self, folder: Any) -> None:
        scorer = loaded(folder, "packed_trie", "float32", "cuda")
        expected = scorer.score(PROMPTS, ITEMS)
        held = torch.empty(max(0, torch.cuda.mem_get_info()[0] - 2**20), dtype=torch.uint8, device="cuda")
        with pytest.raises(EngineError, match="out of memory"):
            scorer.score([*PROMPTS] * 64, ITEMS)
        del held
        torch.cuda.empty_cache()
        np.testing.assert_allclose(scorer.score(PROMPTS, ITEMS), expected, atol=1e-4)


def test_the_tiny_decoder_has_heads_that_share_keys(folder: Callable[[str], Path]) -> None:
    config = LlamaConfig.from_pretrained(folder("packed_trie"))
    assert config.num_attention_heads > config.num_key_value_heads
