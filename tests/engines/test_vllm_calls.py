"""Tests of the arguments that vLLM gets and of how its answers are read, in which vLLM does not run.

In ``test_vllm`` it runs.
"""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tasks.engines.local import memory, vllm_engine
from tasks.engines.local.vllm_engine import VllmEngine, _arguments, _generation, _token_logprobs
from tasks.engines.protocols import RAW, EngineError, Generation, Sampling, TextPair, TokenAlternatives
from tasks.engines.specs import EngineSpec

CONTEXT = 8
PAIRS = [([2, 4], 0), ([3], 1), ([4], 0)]
"""Tokens of each pair's continuation, and the number of tokens cut from its context."""


def spec(**fields: Any) -> EngineSpec:
    return EngineSpec(name="m", kind="vllm", model="owner/m", revision="0" * 40, **fields)


def answer(text: str, prompt: list[int], finish_reason: str | None = "stop") -> Any:
    """Return vLLM's output of one token for each character; each has one alternative, "?"."""
    logprobs = [
        {
            token: SimpleNamespace(decoded_token=character, logprob=-0.5, rank=1),
            999: SimpleNamespace(decoded_token="?", logprob=-1.5, rank=2),
        }
        for token, character in enumerate(text)
    ]
    completion = SimpleNamespace(
        text=text, finish_reason=finish_reason, token_ids=list(range(len(text))), logprobs=logprobs
    )
    return SimpleNamespace(outputs=[completion], prompt_token_ids=prompt)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> VllmEngine:
    """An engine whose tokenizer has a token for each character, and whose vLLM repeats the prompt."""

    class Repeating:
        def generate(self, requests: list[Any], params: Any, use_tqdm: bool) -> list[Any]:
            tokens = [request["prompt_token_ids"] for request in requests]
            return [answer("".join(map(chr, own)), own) for own in tokens]

    made = VllmEngine.__new__(VllmEngine)
    made.spec, made._context, made._llm = spec(), CONTEXT, Repeating()
    made._lock = vllm_engine.Lock()
    monkeypatch.setattr(vllm_engine, "_sampling_params", lambda *settings: settings)
    monkeypatch.setattr(
        vllm_engine.pairing, "context_tokens", lambda _, text, variables: list(map(ord, text))
    )
    made.tokenizer = None
    return made


def test_a_generation_has_the_text_counts_seed_and_alternatives() -> None:
    generation = _generation(answer("ab", [1, 2, 3], "length"), Sampling(seed=7), alternatives=2)
    assert generation == Generation(
        text="ab", finish_reason="length", prompt_tokens=3, completion_tokens=2, seed=7,
        tokens=tuple(TokenAlternatives(character, {character: -0.5, "?": -1.5}) for character in "ab"),
    )  # fmt: skip
    assert _generation(answer("a", [1], None), Sampling(), alternatives=0).finish_reason == "unknown"
    assert _generation(answer("a", [1]), Sampling(), alternatives=0).tokens == ()


def test_a_continued_text_is_cut_on_the_left_so_that_the_answer_fits(engine: VllmEngine) -> None:
    raw = [[{"role": RAW, "content": text}] for text in ("abc", "abcdefghij")]
    short, long = engine.generate(raw, [Sampling(max_tokens=3, seed=1), Sampling(max_tokens=7, seed=2)])
    assert (short.text, short.seed) == ("abc", 1)
    assert (long.text, long.seed) == ("j", 2)
    with pytest.raises(EngineError, match="holds 8 tokens, and max_tokens is 8: set a smaller max_tokens"):
        engine.generate(raw, Sampling(max_tokens=8))


def test_scores_are_sums_over_the_tokens_of_each_continuation(
    engine: VllmEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token's log-probability is minus its number over 10; its rank is 1 if it is even."""

    def generate(requests: list[Any], params: Any, use_tqdm: bool) -> list[Any]:
        scored = [request["prompt_token_ids"] for request in requests]
        return [
            SimpleNamespace(prompt_logprobs=[None, *({t: logprob_of(t)} for t in tokens[1:])])
            for tokens in scored
        ]

    def logprob_of(token: int) -> Any:
        return SimpleNamespace(logprob=-token / 10, rank=1 + token % 2)

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(SamplingParams=dict))
    monkeypatch.setattr(vllm_engine, "REQUESTS_PER_CALL", 2)
    monkeypatch.setattr(vllm_engine, "prefix_tokens", lambda tokenizer, prefix: [1] * len(prefix))
    monkeypatch.setattr(vllm_engine, "continuation_tokens", lambda *_: [[2, 4], [3]])
    tokens = [SimpleNamespace(tokens=[1, *own], n_scored=len(own), n_cut=cut) for own, cut in PAIRS]
    monkeypatch.setattr(vllm_engine.pairing, "pair_tokens", lambda *_: tokens)
    engine._llm = SimpleNamespace(generate=generate)
    reports: list[int] = []
    pairs = engine.score_pairs([TextPair("", "")] * 3, reports.append)
    np.testing.assert_allclose(pairs.logprob, [-0.6, -0.3, -0.4])
    assert pairs.is_greedy.tolist() == [True, False, True]
    assert (pairs.n_tokens.tolist(), pairs.n_cut.tolist(), reports) == ([2, 1, 1], [0, 1, 0], [2, 1])
    scores = engine._score(["a", "bc"], "", [" x y", " z"], reports.append)
    np.testing.assert_allclose(scores.logprob, [[-0.6, -0.3]] * 2, rtol=1e-6)
    mean = (math.exp(-0.2) + math.exp(-0.4)) / 2
    np.testing.assert_allclose(scores.probability, [[mean, math.exp(-0.3)]] * 2, rtol=1e-6)
    assert (scores.n_tokens.tolist(), reports[2:]) == ([2, 1], [2, 2])


def test_a_closed_engine_and_an_error_of_vllm_are_engine_errors(engine: VllmEngine) -> None:
    raw = [[{"role": RAW, "content": "abc"}]]
    engine._llm = SimpleNamespace(generate=lambda *_, **__: 1 / 0)
    with pytest.raises(EngineError, match="vLLM gave no answer for model 'm': division by zero"):
        engine.generate(raw, Sampling(max_tokens=1))

    class EngineDeadError(Exception):
        """An error with the name that vLLM gives it."""

    def die(*_: object, **__: object) -> None:
        raise EngineDeadError("see stack trace")

    engine._llm = SimpleNamespace(generate=die)
    with pytest.raises(EngineError, match=r"engine ended.*kernels cannot run"):
        engine.generate(raw, Sampling(max_tokens=1))
    engine._llm = None
    with pytest.raises(EngineError, match="was closed because another was loaded"):
        engine.generate(raw, Sampling(max_tokens=1))


def test_log_probabilities_are_those_of_the_continuations_tokens() -> None:
    positions = [None, *({token: SimpleNamespace(logprob=-float(token))} for token in (5, 6, 7))]
    np.testing.assert_array_equal(_token_logprobs(positions, 2, [6, 7]), [-6.0, -7.0])


def test_cpu_takes_whole_prompts_and_gpu_a_share_of_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_CPU_KVCACHE_SPACE", raising=False)
    monkeypatch.setattr(vllm_engine, "_has_few_cores", lambda: False)
    cpu = _arguments(spec(batch_tokens=1024), on_cpu=True, context=4096)
    assert (cpu["enforce_eager"], cpu["enable_chunked_prefill"]) == (True, False)
    assert (cpu["max_model_len"], cpu["max_num_batched_tokens"]) == (1024, 1024)
    assert cpu["kv_cache_memory_bytes"] == memory.CPU_KV_CACHE_BYTES
    short = _arguments(spec(batch_tokens=1024), on_cpu=True, context=512)
    assert (short["max_model_len"], short["max_num_batched_tokens"]) == (512, 1024)
    longer = _arguments(spec(batch_tokens=1024, options={"max_model_len": 2048}), on_cpu=True, context=4096)
    assert (longer["max_model_len"], longer["max_num_batched_tokens"]) == (2048, 2048)
    gpu = _arguments(spec(), on_cpu=False, context=4096)
    assert (gpu["max_model_len"], gpu["hf_overrides"]) == (-1, {"head_dtype": "float32"})
    assert gpu["gpu_memory_utilization"] == memory.GPU_SHARE
    assert "enforce_eager" not in gpu
    bounded = _arguments(spec(options={"kv_cache_memory_bytes": 10**9}), on_cpu=False, context=4096)
    assert (bounded["kv_cache_memory_bytes"], bounded["gpu_memory_utilization"]) == (10**9, 0.05)
    assert {each["load_format"] for each in (cpu, gpu)} == {"safetensors"}
    assert {each["revision"] for each in (cpu, gpu)} == {"0" * 40}
