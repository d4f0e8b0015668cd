"""Log-probabilities of the output head against the model's own; another head is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from tasks.engines.local import output_head
from tasks.engines.local.masked import MaskedScorer
from tasks.engines.local.output_head import OutputHead, _log_sum_exp
from tasks.engines.protocols import EngineError
from tests.engines import tiny_models as tiny

SIZES = {"vocab_size": 50, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": 16}


class Changed(GPT2LMHeadModel):
    """A decoder that changes its logits after the output layer."""

    change: Callable[[torch.Tensor], torch.Tensor]

    def forward(self, *inputs: Any, **more: Any) -> Any:
        output = super().forward(*inputs, **more)
        output.logits = type(self).change(output.logits)
        return output


def decoder(change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    torch.manual_seed(0)
    model = type("Model", (Changed,), {"change": staticmethod(change)})(GPT2Config(**SIZES)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def scored(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return [V] log-probabilities after a text by the head, and by the model itself."""
    head = OutputHead(model)
    ids = torch.tensor([[1, 2, 3]])
    head.measure(input_ids=ids[:, :1])
    with torch.inference_mode():
        states, _ = head.run(input_ids=ids)
        own = head.logprobs(states[0, -1:], np.zeros(50, dtype=np.int64), np.arange(50))
        return own, log_softmax(model(input_ids=ids).logits[0, -1].float(), dim=-1).numpy()


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x, lambda x: 0.3 * x, lambda x: x / 8, lambda x: 5 * torch.tanh(x / 5),
        lambda x: x + torch.arange(50) / 10, lambda x: 0.5 * 30 * torch.tanh(x / 30),
        lambda x: 20 * torch.tanh(0.1 * x / 20),
    ],
    ids=["nothing", "scale", "divisor", "cap", "bias", "cap, then scale", "scale, then cap"],
)  # fmt: skip
def test_scales_and_caps_after_the_head_are_measured(change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    own, plain = scored(decoder(change))
    np.testing.assert_allclose(own, plain, atol=2e-5)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: torch.where(torch.arange(x.shape[-1]) > 4, x, 2 * x),
        lambda x: x**3, lambda x: -x, lambda x: x.clamp(-2, 2),
        lambda x: torch.where(torch.arange(x.shape[-1]) > 40, -torch.inf, x), lambda x: x.relu(),
        lambda x: x[..., :-3],
    ],
    ids=["two scales", "cube", "sign", "clamp", "masked tokens", "relu", "fewer tokens"],
)  # fmt: skip
def test_other_changes_are_refused(change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(EngineError, match=r"changes its logits after|bypasses its output layer"):
        scored(decoder(change))


def test_layer_that_is_no_plain_product_is_refused() -> None:
    class Squared(torch.nn.Linear):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return super().forward(states) ** 2

    model = decoder(lambda x: x)
    model.lm_head = Squared(8, 50, bias=False)
    with pytest.raises(EngineError, match="is not a plain product"):
        scored(model)


def test_masked_model_that_changes_its_logits_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cubed(BertForMaskedLM):
        def forward(self, *inputs: Any, **more: Any) -> Any:
            output = super().forward(*inputs, **more)
            output.logits = output.logits**3
            return output

    config = BertConfig(
        vocab_size=len(tiny.WORDPIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=40,
    )  # fmt: skip
    folder = tiny.save(lambda: BertForMaskedLM(config), tiny.bert_tokenizer(), tmp_path)
    MaskedScorer(tiny.spec(kind="masked"), str(folder))
    monkeypatch.setattr("tasks.engines.local.masked.AutoModelForMaskedLM", Cubed)
    with pytest.raises(EngineError, match="Cubed changes its logits"):
        MaskedScorer(tiny.spec(kind="masked"), str(folder))


@pytest.mark.parametrize("shift", [0.0, -93.0, -106.0, -1000.0, 80.0, 1000.0])
def test_log_sum_exp_does_not_depend_on_the_level_of_logits(shift: float) -> None:
    """Exponentials of -93 to -104 are denormal in float32, those of +89 infinite."""
    logits = torch.randn(7, 500, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + shift
    found = _log_sum_exp(logits.float()).double()
    torch.testing.assert_close(found, torch.logsumexp(logits.float().double(), dim=-1), atol=1e-4, rtol=0)


def test_log_sum_exp_of_a_row_depends_on_no_other_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_head, "CACHED_LOGITS", 1500)
    logits = torch.randn(7, 500, generator=torch.Generator().manual_seed(0)) - 96
    alone = _log_sum_exp(logits)
    assert torch.equal(_log_sum_exp(torch.cat([logits, torch.full((2, 500), 2000.0)]))[:7], alone)


def test_scores_of_a_model_with_low_logits_equal_its_own() -> None:
    """GPT-2's real logits lie about -100; a shift of all logits changes no probability."""
    model = decoder(lambda x: x)
    model.transformer.ln_f.weight.data.zero_()
    model.transformer.ln_f.bias.data.copy_(torch.tensor([1.0] + [0.0] * 7))
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    model.lm_head.weight.data[:, 0] -= 106
    own, plain = scored(model)
    np.testing.assert_allclose(own, plain, atol=2e-5)


def test_token_outside_the_head_is_an_error_and_no_number() -> None:
    model = decoder(lambda x: x)
    with pytest.raises(IndexError, match="head with 50 rows"):
        OutputHead(model).logprobs(torch.zeros(1, 8), np.array([0]), np.array([50]))
