"""The user grants a model's permissions on the machine; its spec and files cannot."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForMaskedLM, BertConfig

from tasks.engines import load, specs
from tasks.engines.embedders import load_embedder
from tasks.engines.local.masked import MaskedScorer
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tests.engines import tiny_models as tiny


class Bomb:
    """A pickle that creates a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.fixture(autouse=True)
def nothing_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(specs.TRUST, "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A masked model whose only weights are a pickle."""
    tokenizer = tiny.bert_tokenizer()
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(vocab_size=len(tokenizer), **sizes)
    made = Path(tiny.save(lambda: AutoModelForMaskedLM.from_config(config), tokenizer, tmp_path / "bert"))
    weights = AutoModelForMaskedLM.from_pretrained(made).state_dict()
    (made / "model.safetensors").unlink()
    torch.save(weights, made / "pytorch_model.bin")
    return made


def test_pickled_weights_need_a_flag(folder: Path) -> None:
    spec = EngineSpec(name="m", kind="masked", model=str(folder), dtype="float32")
    with pytest.raises(EngineError, match=r"'m': .*pickle.*take a model with safetensors.*--trust-pickle"):
        MaskedScorer(spec, str(folder))
    specs.allow(pickle=True)
    assert MaskedScorer(spec, str(folder)).model is not None


def test_pickle_is_refused_before_it_is_read(folder: Path, tmp_path: Path) -> None:
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb(tmp_path / "gone off")))
    with pytest.raises(EngineError, match="--trust-pickle"):
        MaskedScorer(EngineSpec(name="m", kind="masked", model=str(folder), dtype="float32"), str(folder))
    assert not (tmp_path / "gone off").exists()


def test_pickle_is_never_read_as_word_vectors(tmp_path: Path) -> None:
    specs.allow(pickle=True)
    vectors = tmp_path / "vectors.bin"
    vectors.write_bytes(pickle.dumps(Bomb(tmp_path / "gone off")))
    with pytest.raises(EngineError, match=r"give the \.vec file"):
        load_embedder(str(vectors), tmp_path)
    assert not (tmp_path / "gone off").exists()


@pytest.mark.parametrize(
    ("options", "permission", "option"),
    [
        ({"trust_remote_code": True}, "remote_code", "remote-code"),
    ],
)
@pytest.mark.parametrize("kind", ["packed_trie", "vllm"])
def test_spec_cannot_grant_its_own_permission(
    kind: Any, options: dict[str, Any], permission: str, option: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    spec = EngineSpec(name="m", kind=kind, model="no/such", dtype="float32", options=options)
    monkeypatch.setattr(load, "_build", lambda *_: pytest.fail("loaded"))
    for refused in (lambda: load.check_ability(spec, "score"), lambda: load.load(spec, tmp_path)):
        with pytest.raises(EngineError, match=f"'m'.*--trust-{option}, or with CULTUREMETER_TRUST={option}"):
            refused()
    specs.allow(**{permission: True})
    load.check_ability(spec, "score")


def test_permissions_are_added_and_unknown_ones_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    specs.allow(remote_code=True)
    specs.allow(pickle=True)
    specs.allow()
    assert specs.is_allowed("remote-code")
    assert specs.is_allowed("pickle")
    monkeypatch.setenv(specs.TRUST, "pickles")
    assert not specs.is_allowed("pickle")
