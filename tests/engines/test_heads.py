"""A model that changes its logits after the output layer is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import BertConfig, BertForMaskedLM

from tasks.engines.local.masked import MaskedScorer
from tasks.engines.protocols import EngineError
from tests.engines import tiny_models as tiny


class Doubled(BertForMaskedLM):
    """A model whose logits are not those of its output layer."""

    def forward(self, *inputs: Any, **more: Any) -> Any:
        output = super().forward(*inputs, **more)
        output.logits = 2 * output.logits
        return output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = BertConfig(
        vocab_size=len(tiny.WORDPIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=40,
    )  # fmt: skip
    build: Callable[[], Any] = lambda: BertForMaskedLM(config)  # noqa: E731 - a model is made after its seed
    return tiny.save(build, tiny.bert_tokenizer(), tmp_path_factory.mktemp("heads"))


def test_model_that_changes_its_logits_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MaskedScorer(tiny.spec(), str(folder))
    monkeypatch.setattr("tasks.engines.local.masked.AutoModelForMaskedLM", Doubled)
    with pytest.raises(EngineError, match="Doubled changes its logits"):
        MaskedScorer(tiny.spec(), str(folder))
