"""vLLM in process, against a plain transformers forward pass. Float32, so that numbers compare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import psutil
import pytest
import torch
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from tasks.engines import load, prompting
from tasks.engines.local import memory
from tasks.engines.local.vllm_engine import FEW_CORES, VllmEngine
from tasks.engines.protocols import RAW, EngineError, Generator, Sampling, Scorer, TextPair
from tasks.engines.specs import EngineSpec
from tasks.loop.written import option_logprobs
from tests.waiting import LONGEST_WAIT_S, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.heavy,
    pytest.mark.skipif(find_spec("vllm") is None, reason="the extra [cpu] or [gpu] is not installed"),
]

ITEMS = [
    "ceviche", "ceviche mixto", "fufu", "rice", "fried rice", "fried rice with eggs", "寿司", "7 Up",
    "lomo saltado", "s", "attiéké", "borscht (Ukrainian)",
]  # fmt: skip
BATCH_TOKENS = 1024
SCHEMA = {
    "type": "object",
    "properties": {"dish": {"type": "string", "maxLength": 20}, "spicy": {"type": "boolean"}},
    "required": ["dish", "spicy"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def engine(smollm2_folder: Path) -> Iterator[VllmEngine]:
    spec = EngineSpec(
        name="smol", kind="vllm", model="embedded:smollm2-135m", dtype="float32", batch_tokens=BATCH_TOKENS,
        options={"max_model_len": 512, "kv_cache_memory_bytes": 1 << 28, "max_num_seqs": 32},
    )  # fmt: skip
    engine = VllmEngine(spec, str(smollm2_folder))
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def brute(smollm2_folder: Path, smollm2_tokenizer: PreTrainedTokenizerBase) -> torch.nn.Module:
    model: torch.nn.Module = AutoModelForCausalLM.from_pretrained(smollm2_folder, dtype=torch.float32)
    return model


@torch.inference_mode()
def brute_score(model: torch.nn.Module, tokenizer: PreTrainedTokenizerBase, prefix: str, item: str) -> float:
    """Tokenise the whole text, run it once, and return the sum of the item's log-probabilities."""
    start = prompting.prefix_tokens(tokenizer, prefix)
    ids = tokenizer(prefix + item, add_special_tokens=False).input_ids
    assert ids[: len(start)] == start
    logprobs = torch.log_softmax(model(torch.tensor([ids])).logits[0].float(), dim=-1)
    return sum(float(logprobs[i - 1, ids[i]]) for i in range(len(start), len(ids)))


def prefixes(engine: VllmEngine) -> list[str]:
    return engine.frame(["Name a food of Peru.", "Name a food that people eat in Ghana."]).prefixes


def test_no_worker_process_on_few_cores(engine: VllmEngine) -> None:
    names = [child.name() for child in psutil.Process().children(recursive=True)]
    assert any("EngineCore" in name for name in names)
    has_worker = any("Worker" in name for name in names)
    assert has_worker == ((os.cpu_count() or 1) >= FEW_CORES and not torch.cuda.is_available())


def test_vllm_is_scorer_and_generator(engine: VllmEngine) -> None:
    assert isinstance(engine, Scorer)
    assert isinstance(engine, Generator)


def test_scores_equal_a_plain_forward_pass(
    engine: VllmEngine, brute: torch.nn.Module, smollm2_tokenizer: PreTrainedTokenizerBase
) -> None:
    done: list[int] = []
    scores = engine.score(prefixes(engine), ITEMS, done.append)
    expected = [[brute_score(brute, smollm2_tokenizer, p, i) for i in ITEMS] for p in prefixes(engine)]
    assert scores.dtype == np.float32
    np.testing.assert_allclose(scores, expected, atol=1e-3, rtol=0)
    assert sum(done) == scores.size


@pytest.mark.heavy
def test_scores_do_not_depend_on_order_batch_or_earlier_calls(engine: VllmEngine) -> None:
    scores = engine.score(prefixes(engine), ITEMS)
    backwards = engine.score(prefixes(engine)[::-1], ITEMS[::-1])
    np.testing.assert_allclose(backwards[::-1, ::-1], scores, atol=1e-3, rtol=0)
    alone = engine.score(prefixes(engine)[1:], ITEMS[4:5])
    np.testing.assert_allclose(alone, scores[1:, 4:5], atol=1e-3, rtol=0)


def test_token_counts_equal_the_tokenizers(engine: VllmEngine) -> None:
    counts = engine.count_tokens(prefixes(engine)[0], ["rice", "fried rice", "7 Up"])
    assert counts.tolist() == [len(engine.tokenizer(t).input_ids) for t in ("rice", "fried rice", "7 Up")]


def test_generations_are_valid_json_and_repeatable(engine: VllmEngine) -> None:
    countries = ["Peru", "Ghana", "Japan", "India", "Italy", "Mexico", "Ukraine", "Fiji"]
    talks = [[{"role": "user", "content": f"Name a dish of {c}. Answer as JSON."}] for c in countries]
    sampling = Sampling(temperature=1.0, max_tokens=64, seed=7)
    answers = engine.generate(talks, sampling, SCHEMA)
    for answer in answers:
        jsonschema.validate(json.loads(answer.text), SCHEMA)
        assert answer.finish_reason == "stop"
        assert answer.seed == 7
        assert answer.prompt_tokens > 20
        assert 1 < answer.completion_tokens <= 64
    assert engine.generate(talks, sampling, SCHEMA) == answers
    other = engine.generate(talks, Sampling(temperature=1.0, max_tokens=64, seed=8), SCHEMA)
    assert [a.text for a in other] != [a.text for a in answers]


def test_one_call_takes_several_seeds_and_schemas(engine: VllmEngine) -> None:
    talks = [[{"role": "user", "content": f"Name a dish of {c}."}] for c in ("Peru", "Ghana", "Japan")]
    samplings = [Sampling(temperature=1.0, max_tokens=24, seed=seed) for seed in (1, 2, 3)]
    samplings[1] = Sampling(max_tokens=64)
    together = engine.generate(talks, samplings, [None, SCHEMA, None], [0, 0, 5])
    jsonschema.validate(json.loads(together[1].text), SCHEMA)
    assert [bool(answer.tokens) for answer in together] == [False, False, True]
    assert [answer.seed for answer in together] == [1, 0, 3]
    alone = engine.generate(talks[:1], samplings[0]) + engine.generate(talks[1:2], samplings[1], SCHEMA)
    assert [answer.text for answer in together[:2]] == [answer.text for answer in alone]


@pytest.mark.heavy
def test_seeded_samples_repeat_over_several_passes(engine: VllmEngine) -> None:
    talks = [[{"role": "user", "content": f"{i} " + "word " * 380 + "Go on."}] for i in range(4)]
    sampling = Sampling(temperature=1.0, max_tokens=8, seed=3)
    answers = engine.generate(talks, sampling)
    assert sum(answer.prompt_tokens for answer in answers) > BATCH_TOKENS
    assert all(answer.completion_tokens > 0 for answer in answers)
    assert engine.generate(talks, sampling) == answers


@pytest.mark.heavy
def test_token_alternatives_equal_scores(engine: VllmEngine) -> None:
    """Without a schema alternatives have the model's natural-log probabilities at any temperature."""
    question = "Is ceviche a dish of Peru? Answer yes or no."
    talk = [[{"role": "user", "content": question}]]
    plain = engine.generate(talk, Sampling(temperature=0.5, max_tokens=5, seed=1))[0]
    answer = engine.generate(talk, Sampling(temperature=0.5, max_tokens=5, seed=1), None, 20)[0]
    assert (answer.text, plain.tokens) == (plain.text, ())
    assert len(answer.tokens) == answer.completion_tokens
    assert "".join(token.text for token in answer.tokens).startswith(answer.text)
    first = answer.tokens[0].logprobs
    assert 10 <= len(first) <= 21
    assert answer.tokens[0].text in first
    prefix = engine.frame([question]).prefixes
    texts = list(first)
    counts = engine.count_tokens(prefix[0], texts)
    scores = engine.score(prefix, texts)[0]
    alike = [(first[t], s) for t, s, n in zip(texts, scores, counts, strict=True) if n == 1]
    assert len(alike) >= 10
    given, scored = np.array(alike).T
    np.testing.assert_allclose(given, scored, atol=1e-3, rtol=0)


@torch.inference_mode()
def test_option_logprobs_under_a_schema_equal_a_plain_pass(
    engine: VllmEngine, brute: torch.nn.Module, smollm2_tokenizer: PreTrainedTokenizerBase
) -> None:
    """Under a schema they are shares of the permitted tokens, after the generated ones.

    Generated tokens may differ from the tokenizer's: SmolLM2 generates '":' and '"' here, not '":"'.
    """
    question = "Is ceviche a dish of Peru? Answer as JSON, yes or no."
    schema = SCHEMA | {"properties": {"label": {"enum": ["yes", "no"]}}, "required": ["label"]}
    talk = [[{"role": "user", "content": question}]]
    answer = engine.generate(talk, Sampling(max_tokens=20), schema, 20)[0]
    found = option_logprobs(answer.tokens, answer.text, ("yes", "no"), "label")
    assert found is not None
    assert set(found) == {"yes", "no"}
    assert 0.99 < np.exp(list(found.values())).sum() <= 1 + 1e-5  # nothing else is permitted

    texts = [token.text for token in answer.tokens]
    begin = texts.index(json.loads(answer.text)["label"])
    ids = smollm2_tokenizer(engine.frame([question]).prefixes[0], add_special_tokens=False).input_ids
    for text in texts[:begin]:
        ids += smollm2_tokenizer(text, add_special_tokens=False).input_ids
    assert len(ids) == answer.prompt_tokens + begin
    ways = smollm2_tokenizer.convert_tokens_to_ids(["yes", "ye", "y", "no", "n"])
    shares = torch.softmax(brute(torch.tensor([ids])).logits[0, -1, ways].float(), dim=-1)
    expected = {"yes": float(shares[:3].sum().log()), "no": float(shares[3:].sum().log())}
    assert found == pytest.approx(expected, abs=2e-3)


@pytest.mark.heavy
def test_stop_texts_and_length_end_an_answer(engine: VllmEngine) -> None:
    talk = [[{"role": "user", "content": "Count: one, two, three, four, five, six."}]]
    cut = engine.generate(talk, Sampling(max_tokens=3))[0]
    assert (cut.finish_reason, cut.completion_tokens) == ("length", 3)
    full = engine.generate(talk, Sampling(max_tokens=40))[0].text
    word = full.split()[2]
    stopped = engine.generate(talk, Sampling(max_tokens=40, stop=(word,)))[0]
    assert stopped.finish_reason == "stop"
    assert word not in stopped.text


def test_too_long_prompt_is_refused_in_scoring(engine: VllmEngine) -> None:
    with pytest.raises(EngineError, match=r"vLLM gave no answer.*512"):
        engine.score(["word " * 600], [" rice"])


def test_too_long_prompt_is_cut_off_and_the_others_are_answered(engine: VllmEngine) -> None:
    """A prompt of 511 tokens leaves room for one token, a prompt of 512 for none."""
    base = engine.generate([[{"role": "user", "content": "a"}]], Sampling(max_tokens=1))[0].prompt_tokens
    words = (1, 512 - base, 513 - base, 600)
    talks = [[{"role": "user", "content": " ".join(["a"] * n)}] for n in words]
    own = [Sampling(max_tokens=4, seed=seed) for seed in range(4)]
    short, edge, full, over = engine.generate(talks, own)
    assert (short.prompt_tokens, short.completion_tokens) == (base, 4)
    assert (edge.prompt_tokens, edge.completion_tokens) == (511, 1)
    assert (full.text, full.finish_reason) == ("", "length")
    assert (full.prompt_tokens, full.completion_tokens) == (512, 0)
    assert (over.text, over.finish_reason, over.seed) == ("", "length", 3)
    assert engine.generate(talks[3:], own[3:]) == [over]


def test_base_model_completes_one_line(engine: VllmEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a chat template the prompt is raw text with a cue, and the answer ends with its line."""
    prompt, sampling = "Name a food.\nQuestion: What do people eat?", Sampling(max_tokens=40)
    raw = [{"role": RAW, "content": prompt + prompting.COMPLETION_CUE}]
    [whole] = engine.generate([raw], sampling)
    assert "\n" in whole.text.strip(), "the model generated only one line: the test needs two"
    monkeypatch.setattr(engine.tokenizer, "chat_template", None)
    user = {"role": "user", "content": prompt}
    [line] = engine.generate([[user]], sampling)
    assert (line.text, line.finish_reason) == (whole.text.partition("\n")[0], "stop")
    [bound] = engine.generate([[user]], sampling, SCHEMA)
    jsonschema.validate(json.loads(bound.text), SCHEMA)
    turns = [user, {"role": "assistant", "content": "Rice"}, user]
    with pytest.raises(EngineError, match="cannot hold a conversation of several turns"):
        engine.generate([turns], sampling)


def test_too_long_prompt_of_a_base_model_is_cut_off(
    engine: VllmEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine.tokenizer, "chat_template", None)
    long, short = ([{"role": "user", "content": "rice " * n}] for n in (600, 3))
    over, fitting = engine.generate([long, short], Sampling(max_tokens=4, seed=3))
    assert (over.text, over.finish_reason, over.completion_tokens, over.seed) == ("", "length", 0, 3)
    assert fitting.completion_tokens


@pytest.mark.heavy
@pytest.mark.parametrize("is_killed", [True, False], ids=["killed", "ends"])
def test_no_process_of_vllm_outlives_its_parent(smollm2_folder: Path, is_killed: bool) -> None:
    """A finalizer registered before vLLM's makes all finalizers run last; the processes must end even so."""
    code = (
        "import sys, weakref\n"
        "weakref.finalize(weakref.WeakSet, print)\n"
        "from tasks.engines.local.vllm_engine import FEW_CORES, VllmEngine\n"
        "from tasks.engines.specs import EngineSpec\n"
        "if __name__ == '__main__':\n"
        "    options = {'max_model_len': 128, 'kv_cache_memory_bytes': 1 << 26}\n"
        "    spec = EngineSpec(name='m', kind='vllm', model='m', dtype='float32', options=options)\n"
        "    engine = VllmEngine(spec, sys.argv[1])\n"
        "    print('loaded', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(smollm2_folder)]
    ours = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with ours:
        try:
            assert ours.stdout is not None
            assert any(line.startswith(b"loaded") for line in ours.stdout)
            below = psutil.Process(ours.pid).children(recursive=True)
            assert sum("".join(p.cmdline()[:1]).startswith("VLLM::") for p in below) >= 1
            if not is_killed:
                ours.communicate(timeout=60)
                assert ours.returncode == 0
        finally:
            ours.kill()
    gone, alive = psutil.wait_procs(below, timeout=30)
    assert len(gone) >= 2
    assert not alive


def test_a_call_ends_when_its_core_process_is_killed(smollm2_folder: Path) -> None:
    options = {"max_model_len": 512, "kv_cache_memory_bytes": 1 << 26}
    spec = EngineSpec(name="m", kind="vllm", model="m", dtype="float32", options=options)
    engine = VllmEngine(spec, str(smollm2_folder))
    (core,) = engine._llm.llm_engine.engine_core.resources.engine_manager.processes
    conversations = [
        [{"role": "user", "content": f"Write a long story about {n} dishes."}] for n in range(64)
    ]
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(engine.generate, conversations, Sampling(max_tokens=400))
        until(lambda: psutil.Process(core.pid).cpu_times().user > 0 and engine._lock.locked())
        os.kill(core.pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="Its engine ended"):
            call.result(LONGEST_WAIT_S)
    with pytest.raises(EngineError, match="Its engine ended"):
        engine.generate(conversations[:1], Sampling(max_tokens=4))
    engine.close()


def test_wrong_device_and_broken_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="asks for device 'tpu', but the installed vLLM runs on"):
        VllmEngine(EngineSpec(name="m", kind="vllm", model="m", device="tpu"), str(tmp_path))
    with pytest.raises(EngineError, match=r"vLLM cannot load model 'm' from"):
        VllmEngine(EngineSpec(name="m", kind="vllm", model="m"), str(tmp_path))


def test_closed_engine_is_refused(engine: VllmEngine) -> None:
    """A copy with stand-in processes is closed, as the tests share the engine."""
    ended: list[str] = []
    core = SimpleNamespace(shutdown=lambda: ended.append("core"))
    guard = SimpleNamespace(terminate=lambda: ended.append("guard"), wait=lambda: 0)
    closed: Any = copy(engine)
    closed._llm, closed._guard = SimpleNamespace(llm_engine=SimpleNamespace(engine_core=core)), guard
    closed.close()
    closed.close()
    assert ended == ["core", "guard", "guard"]
    with pytest.raises(EngineError, match="was closed because another was loaded"):
        closed.score(["What?"], [" rice"])


@pytest.mark.heavy
def test_two_vllm_engines_alternate_in_one_process(
    models_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, "16")
    options = {"max_model_len": 256, "kv_cache_memory_bytes": 1 << 27}
    specs = [
        EngineSpec(name=dtype, kind="vllm", model="embedded:smollm2-135m", dtype=dtype, options=options)  # type: ignore[arg-type]
        for dtype in ("float32", "bfloat16")
    ]
    talk = [[{"role": "user", "content": "Name a dish of Peru."}]]
    try:
        engines = [load.load(spec, models_cache, "generate") for spec in specs]
        for _ in range(2):
            for spec, engine in zip(specs, engines, strict=True):
                assert load.load(spec, models_cache, "generate") is engine
                assert engine.generate(talk, Sampling(max_tokens=8))[0].completion_tokens == 8
        monkeypatch.setenv(memory.VARIABLE, "0.5")
        load.load(EngineSpec(name="m", kind="fake", model="m", options={"memory_gib": 0.5}), models_cache)
        for engine in engines:
            with pytest.raises(EngineError, match="was closed because another was loaded"):
                engine.generate(talk, Sampling(max_tokens=8))
    finally:
        load.unload()


def test_scores_of_pairs_equal_a_plain_pass(
    engine: VllmEngine, brute: torch.nn.Module, smollm2_tokenizer: PreTrainedTokenizerBase
) -> None:
    """Pairs that share a context have the scores of single pairs, with or without a cached context."""
    context = "Question: What do people in Peru eat?\nAnswer:"
    pairs = [TextPair(context, " " + item) for item in ITEMS]
    scores = engine.score_pairs(pairs + pairs)
    expected = [brute_score(brute, smollm2_tokenizer, context, " " + item) for item in ITEMS]
    assert scores.logprob == pytest.approx(expected * 2, abs=1e-3)
    assert list(scores.n_cut) == [0] * len(scores.n_cut)
