"""Each log-likelihood and each metric equals that of the harness's own run, over every way of asking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig

from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import RAW, Generation, Sampling
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Completions
from tasks.evaluations.harness import read, rows
from tasks.evaluations.harness.study import HarnessParams, build_study
from tasks.evaluations.recipe.study import HEADLINE
from tests.evaluations.harness.tasks_written import CHATS, MULTITURN, TASKS, write_tasks

pytestmark = pytest.mark.slow

NATS = 1e-4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, smollm2_folder: Path) -> Path:
    """A small random model with the embedded model's tokenizer and chat template."""
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=64, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, vocab_size=49152,
        intermediate_size=96, max_position_embeddings=256, tie_word_embeddings=True,
    )  # fmt: skip
    model = AutoModelForCausalLM.from_config(config)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            parameter.data.normal_(std=0.2)
    folder = tmp_path_factory.mktemp("model")
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(smollm2_folder).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> PackedTrieScorer:
    return PackedTrieScorer(EngineSpec(name="tiny", model="x", dtype="float32"), str(folder))


@pytest.fixture(scope="module")
def peer(folder: Path) -> Any:
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=str(folder), dtype="float32", device="cpu", batch_size=4)


class _Writer:
    """The peer's own generation behind our protocol: what is compared is prompts, stops and scoring."""

    def __init__(self, peer: Any) -> None:
        self.peer = peer

    def generate(
        self, conversations: Sequence[Any], samplings: Sequence[Sampling], *_: Any
    ) -> list[Generation]:
        requests = []
        for talk, sampling in zip(conversations, samplings, strict=True):
            is_raw = talk[0]["role"] == RAW
            text = talk[0]["content"] if is_raw else self.peer.apply_chat_template([dict(m) for m in talk])
            kwargs = {"until": list(sampling.stop), "max_gen_toks": sampling.max_tokens, "do_sample": False}
            requests.append(SimpleNamespace(args=(text, kwargs)))
        texts = self.peer.generate_until(requests, disable_tqdm=True)
        return [Generation(text, "stop", 1, 1) for text in texts]


def answered(engine: Any, peer: Any) -> Any:
    """Completions that are made when they are looked at."""

    def completions(request: Any) -> Any:
        own = engine if request.ability == "score" else _Writer(peer)
        return request.decode(request.compute(own, request.units, lambda n: None))

    return completions


@pytest.mark.nets(6)
@pytest.mark.parametrize("name", TASKS)
def test_equals_the_harness(name: str, engine: Any, peer: Any, tmp_path: Path) -> None:
    import lm_eval
    from lm_eval.tasks import TaskManager

    (file,) = write_tasks(tmp_path, [name]).values()
    chat, multiturn = name in CHATS, name in MULTITURN
    theirs = lm_eval.simple_evaluate(
        peer,
        tasks=[str(file)],
        apply_chat_template=chat,
        fewshot_as_multiturn=multiturn,
        bootstrap_iters=0,
        task_manager=TaskManager(include_defaults=False),
    )
    params = HarnessParams(models=["x"], tasks=[str(file)], chat=chat, multiturn=multiturn)
    study = build_study(params, {}, {})
    completions: Completions = answered(engine, peer)
    answers = read.stored(study, HEADLINE, completions)
    task = f"invented_{name}"
    for sample in theirs["samples"][task]:
        own = answers[f"{task}:{sample['doc_id']:06d}"]
        if not study.tasks[task].writes:
            expected = [response for responses in sample["resps"] for response in responses]
            np.testing.assert_allclose(own.logprob, [each[0] for each in expected], atol=NATS)  # type: ignore[union-attr]
            assert own.is_greedy.tolist() == [each[1] for each in expected]  # type: ignore[union-attr]
    every = {
        row.metric: row.value
        for row in rows.model_rows(
            study, read.read(study, completions, None), np.full(len(study.items), np.nan)
        )
        if row.slice_kind == "overall"
    }
    found = {
        key.replace(",none", "").replace(",", "_"): value
        for key, value in theirs["results"][task].items()
        if "," in key and "stderr" not in key
    }
    assert found
    for metric, value in found.items():
        assert every[metric] == pytest.approx(value, abs=1e-5, rel=1e-4), metric


def test_what_the_model_cannot_hold_is_counted(engine: Any, peer: Any, tmp_path: Path) -> None:
    (file,) = write_tasks(tmp_path, ["too_long"]).values()
    study = build_study(HarnessParams(models=["x"], tasks=[str(file)]), {}, {})
    answers = read.read(study, answered(engine, peer), None)
    assert answers[HEADLINE].n_cut == len(study.items)
