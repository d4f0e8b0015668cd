"""An engine proves its scores once for each model, code, library and processor, and no less often."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5ForConditionalGeneration,
)

from tasks.engines import load, proofs
from tasks.engines.local import devices, output_head, self_check
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec, load_spec
from tests.engines import tiny_models as tiny

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 2}


def gpt2(folder: Path) -> Path:
    tokenizer = tiny.bert_tokenizer()
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=2, n_head=2, n_positions=600)
    return tiny.save(lambda: GPT2LMHeadModel(config), tokenizer, folder)  # type: ignore[no-untyped-call]


def bert(folder: Path) -> Path:
    tokenizer = tiny.bert_tokenizer()
    config = BertConfig(vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, **SIZES)
    return tiny.save(lambda: BertForMaskedLM(config), tokenizer, folder)


def t5(folder: Path) -> Path:
    tokenizer = tiny.t5_tokenizer()
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2,
        decoder_start_token_id=0,
    )  # fmt: skip
    return tiny.save(lambda: T5ForConditionalGeneration(config), tokenizer, folder)


MODELS: dict[str, Callable[[Path], Path]] = {"packed_trie": gpt2, "masked": bert, "seq2seq": t5}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Classes of the models whose scores were compared with plain passes."""
    found: list[str] = []
    real = self_check._assert_equal

    def counted(scorer: Any, *scores: Any) -> None:
        found.append(type(scorer.model).__name__)
        real(scorer, *scores)

    monkeypatch.setattr(self_check, "_assert_equal", counted)
    yield found
    load.unload()


def scores(kind: Any, folder: Path, models: Path, **fields: Any) -> Any:
    load.unload()
    spec = EngineSpec(
        name="m", kind=kind, model=str(folder), **{"dtype": "float32", "device": "cpu"} | fields
    )
    cloze = tiny.ENGLISH
    return load.load(spec, models, "candidates").score_candidates(cloze, tiny.candidates(cloze)).logprob


@pytest.mark.parametrize("kind", MODELS)
def test_a_second_load_gives_the_same_numbers_without_a_comparison(
    kind: str, tmp_path: Path, compared: list[str]
) -> None:
    folder = MODELS[kind](tmp_path / "m")
    first = scores(kind, folder, tmp_path / "models")
    assert compared
    compared.clear()
    moved = folder.rename(tmp_path / "elsewhere")
    assert scores(kind, moved, tmp_path / "models").tolist() == first.tolist()
    assert compared == []


def new_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    tensors = load_file(folder / "model.safetensors")
    changed = {name: tensor * 1.01 for name, tensor in tensors.items()}
    save_file(changed, folder / "model.safetensors", {"format": "pt"})
    return {}


def new_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(proofs, "_code", lambda: "other")
    return {}


def new_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(proofs, "_versions", lambda: ["torch 9"])
    return {}


def new_processor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(devices, "flags", lambda: "flags: sse2")
    return {}


def other_instructions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv(devices.ISA_LIMIT, "AVX2")
    return {}


CHANGES: dict[str, Callable[[Path, pytest.MonkeyPatch], dict[str, Any]]] = {
    "weights": new_weights,
    "code": new_code,
    "library": new_library,
    "processor": new_processor,
    "instructions": other_instructions,
    "dtype": lambda *_: {"dtype": "bfloat16"},
    "passes": lambda *_: {"batch_tokens": 128},
    "attention": lambda *_: {"options": {"low_cpu_mem_usage": True}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_may_change_a_score_is_proven_anew(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: list[str]
) -> None:
    folder = gpt2(tmp_path / "m")
    scores("packed_trie", folder, tmp_path / "models")
    compared.clear()
    scores("packed_trie", folder, tmp_path / "models", **CHANGES[change](folder, monkeypatch))
    assert compared


def test_a_refused_engine_is_refused_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: list[str]
) -> None:
    folder, models = gpt2(tmp_path / "m"), tmp_path / "models"
    monkeypatch.setattr(output_head.OutputHead, "_after", lambda _, logits, start=0: logits * 1.1)
    for _ in range(2):
        with pytest.raises(EngineError, match=r"differ from plain|not supported"):
            scores("packed_trie", folder, models)
    assert not (models / ".proofs").exists()


def test_a_home_that_cannot_be_written_only_costs_time(tmp_path: Path, compared: list[str]) -> None:
    folder, models = gpt2(tmp_path / "m"), tmp_path / "models"
    models.mkdir()
    (models / ".proofs").write_text("no folder")
    scores("packed_trie", folder, models)
    compared.clear()
    scores("packed_trie", folder, models)
    assert compared


def test_code_of_a_repository_is_proven_at_every_load(tmp_path: Path) -> None:
    spec = load_spec(str(gpt2(tmp_path / "m")), dtype="float32")
    assert proofs.record_of(spec, tmp_path) is not None
    own_code = spec.model_copy(update={"options": {"trust_remote_code": True}})
    assert proofs.record_of(own_code, tmp_path) is None
    assert proofs.record_of(spec.model_copy(update={"kind": "vllm"}), tmp_path) is None
