"""At load every architecture proves that its scores equal plain passes; one that does not is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from benchmarks import architectures as matrix
from tasks.engines.local import first_layers, other_kinds
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.protocols import EngineError, TextPair
from tests.engines import tiny_models as tiny

LLAMA = {
    "vocab_size": 128, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 192,
}  # fmt: skip


def saved(model: Any, folder: Path, scale: float = 0.15) -> Path:
    torch.manual_seed(0)
    for parameter in model.parameters():
        parameter.data.normal_(std=scale) if parameter.dim() > 1 else None
    model.save_pretrained(folder)
    matrix.tokenizer().save_pretrained(folder)
    return folder


def scorer_of(folder: Path, **fields: Any) -> PackedTrieScorer:
    return PackedTrieScorer(tiny.spec(**fields), str(folder))


@pytest.mark.parametrize(
    "name",
    ["llama", "qwen2, windows", "qwen2_moe, windows", "modernbert-decoder", "llama4_text", "gemma3_text"],
)
def test_windows_chunks_and_heads_of_the_model_are_its_own(name: str, tmp_path: Path) -> None:
    """Windows that only the mask has, chunks, and a head with a transform: by all methods and orders."""
    ((kind, _, model_type, settings),) = [
        case for case in matrix.cases() if case[:2] == ("packed_trie", name)
    ]
    row = matrix.outcome(kind, name, model_type, settings, tmp_path)
    assert row.outcome == "equal", row


def test_rope_that_depends_on_the_text_limits_its_length(tmp_path: Path) -> None:
    ((kind, name, model_type, settings),) = [case for case in matrix.cases() if case[1] == "phi3, longrope"]
    row = matrix.outcome(kind, name, model_type, settings, tmp_path)
    assert row.outcome == "equal", row
    assert "reads 48 of 192 tokens: in longer texts its rope turns all tokens" in row.note
    engine = scorer_of(tmp_path)
    with pytest.raises(EngineError, match=r"has 97 tokens .*more than 48 \(in longer texts its rope"):
        engine.score(matrix.PROMPTS, [" w1"])


@pytest.mark.parametrize("rope", ["linear", "yarn", "llama3", "dynamic"])
def test_other_ropes_do_not_up_to_the_models_context(rope: str, tmp_path: Path) -> None:
    (kind, name, model_type, settings), *_ = [c for c in matrix.cases(["llama"]) if rope in c[1]]
    row = matrix.outcome(kind, name, model_type, settings, tmp_path)
    assert (row.outcome, row.note) == ("equal", ""), row


def test_decoder_without_attention_is_refused_with_advice_from_vllms_list(tmp_path: Path) -> None:
    ((kind, name, model_type, settings),) = matrix.cases(["mamba"])
    row = matrix.outcome(kind, name, model_type, settings, tmp_path)
    assert row.outcome == "refused", row
    assert (
        'choose kind = "vllm"' in row.note or "vLLM does not list" in row.note or "not installed" in row.note
    )


def test_advice_names_vllm_only_for_architectures_of_its_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_kinds, "vllm_architectures", lambda: {"MambaForCausalLM"})
    assert other_kinds.served_by("MambaForCausalLM", "m") == "choose kind = \"vllm\" for 'm'"
    assert other_kinds.served_by("OtherForCausalLM", "m").startswith("vLLM does not list OtherForCausalLM")
    monkeypatch.setattr(other_kinds, "vllm_architectures", lambda: None)
    assert "vLLM is not installed here" in other_kinds.served_by("MambaForCausalLM", "m")


class Stateful(LlamaForCausalLM):
    """A decoder whose numbers depend on the longest text so far."""

    longest = 0

    def forward(self, *inputs: Any, **more: Any) -> Any:
        output = super().forward(*inputs, **more)
        self.longest = max(self.longest, more["input_ids"].shape[1])
        output.logits = output.logits * (1 + self.longest / 1000)
        return output


class Windowed(LlamaForCausalLM):
    """A decoder with a window in its own code, which its plain passes apply."""

    def forward(self, *inputs: Any, **more: Any) -> Any:
        n = more["input_ids"].shape[1]
        if "position_ids" not in more:
            distance = torch.arange(n)[:, None] - torch.arange(n)
            allowed = (distance >= 0) & (distance < self.config.own_window)
            more["attention_mask"] = torch.zeros(1, 1, n, n).masked_fill(~allowed, -1e30)
        return super().forward(*inputs, **more)


@pytest.mark.parametrize(
    ("kind", "message"),
    [(Stateful, "depend on texts scored before|differ from plain"), (Windowed, "differ from plain passes")],
)
def test_model_that_differs_only_in_long_texts_is_refused(
    kind: type, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(LlamaForCausalLM(LlamaConfig(**LLAMA, own_window=100)), tmp_path)
    scorer_of(folder)
    monkeypatch.setattr("tasks.engines.local.packed_trie.AutoModelForCausalLM", kind)
    with pytest.raises(EngineError, match=message):
        scorer_of(folder)


def test_half_precision_is_checked_in_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference of 0.1 nat is below bfloat16's rounding, and is found; weights are as before."""

    class Slightly(LlamaForCausalLM):
        def forward(self, *inputs: Any, **more: Any) -> Any:
            if "position_ids" in more:
                more["position_ids"] = more["position_ids"] + (more["position_ids"] > 20)
            return super().forward(*inputs, **more)

    folder = saved(LlamaForCausalLM(LlamaConfig(**LLAMA)), tmp_path, 0.08)
    good = scorer_of(folder, dtype="bfloat16")
    assert {parameter.dtype for parameter in good.model.parameters()} == {torch.bfloat16}
    assert len(good.model.model.layers) == 3
    monkeypatch.setattr("tasks.engines.local.packed_trie.AutoModelForCausalLM", Slightly)
    with pytest.raises(EngineError, match=r"differ from plain passes by 0\.\d+ nats"):
        scorer_of(folder, dtype="bfloat16")


def test_settings_and_layers_are_as_before_after_the_check(tmp_path: Path) -> None:
    config = LlamaConfig(**LLAMA, own_window=100)
    engine = scorer_of(saved(LlamaForCausalLM(config), tmp_path))
    assert engine.model.config.own_window == 100
    assert len(engine.model.model.layers) == 3
    with first_layers.first_layers(engine.model):
        assert len(engine.model.model.layers) == 1


def kinds(settings: list[Any]) -> Iterator[int]:
    """Yield the number of first layers kept for each list of layers' settings."""
    for values in settings:
        model = LlamaForCausalLM(LlamaConfig(**LLAMA | {"num_hidden_layers": len(values)}))
        for layer, value in zip(model.model.layers, values, strict=True):
            layer.self_attn.window = value
        with first_layers.first_layers(model):
            yield len(model.model.layers)


def test_first_layers_hold_every_kind() -> None:
    assert list(kinds([[1, 1, 1], [1, 1, 2, 1], [1, None, 2, 2, 1]])) == [1, 3, 3]


def test_tokens_that_only_the_tokenizer_has_are_refused(tmp_path: Path) -> None:
    """A tokenizer with added tokens and a model that was not resized."""
    config = GPT2Config(vocab_size=100, n_embd=16, n_layer=2, n_head=2, n_positions=64)
    engine = scorer_of(saved(GPT2LMHeadModel(config), tmp_path))
    calls = {
        "item": lambda: engine.score(["w1 w2"], [" w3", " w110"]),
        "prompt": lambda: engine.score(["w1 w110"], [" w3"]),
        "each": lambda: engine.score_each(["w1 w2"], [[" w3", " w4 w110"]]),
        "pair": lambda: engine.score_pairs([TextPair("w110 w2", " w3")]),
    }
    for call in calls.values():
        with pytest.raises(
            EngineError, match=r"the token 'w110' has number 118, and model 'tiny' has only 100"
        ):
            call()
    assert np.isfinite(engine.score(["w1 w91"], [" w91"])).all()


def test_too_long_texts_are_cut_and_counted_or_refused(tmp_path: Path) -> None:
    config = GPT2Config(vocab_size=128, n_embd=16, n_layer=2, n_head=2, n_positions=64)
    engine = scorer_of(saved(GPT2LMHeadModel(config), tmp_path))
    long = matrix.drawn(200, 1)
    for call in (lambda: engine.score([long], [" w1 w2"]), lambda: engine.score_each([long], [[" w1 w2"]])):
        with pytest.raises(EngineError, match=r"has 202 tokens with its longest continuation, more than 64"):
            call()
    fits = " ".join(long.split()[:62])  # with the start token and one of the item's two, 64 are read
    whole = engine.score([fits], [" w1 w2"])
    assert engine.score_pairs([TextPair(fits, " w1 w2")]).logprob == pytest.approx(whole[0], abs=1e-4)
    cut = engine.score_pairs([TextPair(long, " w1 w2")])
    assert cut.n_cut.tolist() == [138]  # of 203 tokens, the last 65 remain, and the last is not read
    assert np.isfinite(cut.logprob).all()


@pytest.mark.heavy
@pytest.mark.parametrize("kind", matrix.NAMES)
def test_no_architecture_is_scored_wrongly(kind: str) -> None:
    """Every class of transformers that becomes tiny from its configuration."""
    rows = list(matrix.matrix([kind]))
    assert not [row for row in rows if row.outcome in ("wrong", "crashed")]
    assert (
        sum(row.outcome == "equal" for row in rows) >= {"packed_trie": 50, "masked": 20, "seq2seq": 4}[kind]
    )
