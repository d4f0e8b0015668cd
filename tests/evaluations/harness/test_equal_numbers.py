"""Each log-likelihood and metric equals that of the harness's own run, over every form of task."""

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
from tasks.evaluations.harness import read
from tasks.evaluations.harness.study import HarnessParams, build_study
from tasks.evaluations.recipe.study import HEADLINE
from tests.evaluations.harness.tasks_written import TASKS, numbers_of_both, run_both, write_tasks

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
    """The peer's own generation behind our protocol, to compare prompts, stops and scoring."""

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
    """Return completions that are computed on demand."""

    def completions(request: Any) -> Any:
        own = engine if request.ability == "score" else _Writer(peer)
        return request.decode(request.compute(own, request.units, lambda n: None))

    return completions


@pytest.mark.nets(6)
@pytest.mark.parametrize("name", TASKS)
def test_likelihoods_and_metrics_equal_the_harnesss(
    name: str, engine: Any, peer: Any, tmp_path: Path
) -> None:
    completions: Completions = answered(engine, peer)
    theirs, study, answers = run_both(peer, name, tmp_path, completions)
    (task,) = study.tasks
    stored = read.stored(study, HEADLINE, completions)
    for sample in theirs["samples"][task]:
        if not study.tasks[task].writes:
            own = stored[f"{task}:{sample['doc_id']:06d}"]
            expected = [response for responses in sample["resps"] for response in responses]
            np.testing.assert_allclose(own.logprob, [each[0] for each in expected], atol=NATS)  # type: ignore[union-attr]
            assert own.is_greedy.tolist() == [each[1] for each in expected]  # type: ignore[union-attr]
    values, ours = numbers_of_both(theirs, study, answers)
    assert ours == pytest.approx(values, abs=1e-5, rel=1e-4)


def test_contexts_that_are_cut_are_counted(engine: Any, peer: Any, tmp_path: Path) -> None:
    (file,) = write_tasks(tmp_path, ["too_long"]).values()
    study = build_study(HarnessParams(models=["x"], tasks=[str(file)]), {}, {})
    answers = read.read(study, answered(engine, peer), None)
    assert answers[HEADLINE].n_cut == len(study.items)
