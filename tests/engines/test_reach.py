"""No text is scored that is longer than those compared with plain passes, and no pass is wider."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from benchmarks import architectures as matrix
from tasks.engines import load
from tasks.engines.local import first_layers, packed_trie, self_check
from tasks.engines.local.masked import MaskedScorer
from tasks.engines.local.packed_trie import PackedTrieScorer
from tasks.engines.local.seq2seq import Seq2SeqScorer
from tasks.engines.protocols import Cloze, EngineError, TextPair
from tasks.engines.specs import load_spec
from tests.engines import tiny_models as tiny

SIZES: dict[str, Any] = {
    "vocab_size": 128, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 3,
    "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 2048,
}  # fmt: skip
SPAN = 300
"""Tokens of the windows here, which no setting names."""


class Masked(LlamaForCausalLM):
    """A decoder with a window of its own in a mask, which only its plain passes have."""

    def forward(self, *inputs: Any, **more: Any) -> Any:
        n = more["input_ids"].shape[1]
        if "position_ids" not in more:
            distance = torch.arange(n)[:, None] - torch.arange(n)
            allowed = (distance >= 0) & (distance < SPAN)
            more["attention_mask"] = torch.zeros(1, 1, n, n).masked_fill(~allowed, -1e30)
        return super().forward(*inputs, **more)


class Listed(LlamaForCausalLM):
    """A decoder whose last layer alone reads a span of its own, which is told by a list of the config."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        config.spans = [None, None, SPAN]
        attention = self.model.layers[2].self_attn
        whole = attention.forward

        def forward(hidden_states: torch.Tensor, *inputs: Any, **more: Any) -> Any:
            mask, n = more["attention_mask"], hidden_states.shape[1]
            if isinstance(mask, torch.Tensor):
                far = torch.arange(n)[:, None] - torch.arange(n) >= SPAN
                more["attention_mask"] = mask.masked_fill(far, torch.finfo(mask.dtype).min)
            return whole(hidden_states, *inputs, **more)

        attention.forward = forward


class Stretched(LlamaForCausalLM):
    """A decoder whose logits are flatter in long texts."""

    def forward(self, *inputs: Any, **more: Any) -> Any:
        output = super().forward(*inputs, **more)
        place = more.get("position_ids", torch.arange(more["input_ids"].shape[1])[None])
        if "position_ids" not in more and int(place.max()) >= SPAN:
            output.logits = output.logits * 0.9
        return output


class Wide(LlamaForCausalLM):
    """A decoder that reads places of the pass in place of positions from a width on."""

    def forward(self, *inputs: Any, **more: Any) -> Any:
        n = more["input_ids"].shape[1]
        if n > SPAN:
            more["position_ids"] = torch.arange(n)[None].expand_as(more["input_ids"])
        return super().forward(*inputs, **more)


def scorer(kind: type, folder: Path, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> PackedTrieScorer:
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SIZES))
    for parameter in model.parameters():
        parameter.data.normal_(std=0.3) if parameter.dim() > 1 else None
    model.save_pretrained(folder)
    matrix.tokenizer().save_pretrained(folder)
    monkeypatch.setattr(packed_trie, "AutoModelForCausalLM", kind)
    return PackedTrieScorer(tiny.spec(**fields), str(folder))


CALLS: dict[str, Callable[[PackedTrieScorer, str], Any]] = {
    "score": lambda engine, text: engine.score([text], [" w1", " w2 w3"]),
    "score_each": lambda engine, text: engine.score_each([text], [[" w1", " w2 w3"]])[0],
    "score_pairs": lambda engine, text: engine.score_pairs([TextPair(text, " w1")]).logprob,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", [Masked, Listed, Stretched])
def test_what_a_model_does_in_long_texts_alone_is_found_before_one_is_scored(
    kind: type, call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = scorer(kind, tmp_path, monkeypatch)
    short, long = matrix.drawn(150, 1), matrix.drawn(SPAN + 20, 2)
    before = CALLS[call](engine, short)
    assert engine.proven == (160, 160)
    for _ in range(2):
        with pytest.raises(
            EngineError,
            match=r"passes by .* in texts of up to 384 tokens; .* shorter ones, of up to 160, are scored",
        ):
            CALLS[call](engine, long)
    assert CALLS[call](engine, short) == pytest.approx(before, abs=1e-5), "as before: still proven"
    assert engine.proven == (160, 160)


def test_passes_are_no_wider_than_those_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = scorer(Wide, tmp_path, monkeypatch)
    many = [f" {matrix.drawn(4, seed)}" for seed in range(200)]
    few = engine.score(["w1 w2"], many[:20])
    with pytest.raises(EngineError, match="differ from plain passes"):
        engine.score(["w1 w2"], many)
    with pytest.raises(EngineError, match="differ from plain passes"):
        engine.score_pairs([TextPair("w1 w2", rest) for rest in many])
    engine.spec = engine.spec.model_copy(update={"batch_tokens": 256})
    assert engine.score(["w1 w2"], many)[:, :20] == pytest.approx(few, abs=1e-4)


def test_a_right_model_scores_up_to_its_context_in_float32_and_bfloat16(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = scorer(LlamaForCausalLM, tmp_path, monkeypatch)
    ids = matrix.words(matrix.drawn(700, 5))
    plain = [matrix.plain_score(engine_of_plain(tmp_path), [1, *ids], [9 + n]) for n in range(2)]
    text = matrix.drawn(700, 5)
    assert engine.score([text], [" w1", " w2"])[0] == pytest.approx(plain, abs=1e-4)
    assert engine.proven == (768, 768)
    with pytest.raises(EngineError, match="more than 2048"):
        engine.score([matrix.drawn(2100, 5)], [" w1"])
    half = PackedTrieScorer(tiny.spec(dtype="bfloat16"), str(tmp_path))
    assert half.score([text], [" w1", " w2"])[0] == pytest.approx(plain, abs=1)
    assert half.proven == (768, 768)
    assert {parameter.dtype for parameter in half.model.parameters()} == {torch.bfloat16}
    assert len(half.model.model.layers) == 3


def engine_of_plain(folder: Path) -> Any:
    return LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()


def test_the_reach_grows_in_steps_up_to_the_models_context() -> None:
    assert self_check.Reach(128, 128).beyond(129, 0, 4096) == (160, 128)
    assert self_check.Reach(128, 128).beyond(513, 20, 4096) == (640, 640)
    assert self_check.Reach(512, 512).beyond(9, 4000, 4096) == (512, 4096)
    assert self_check.Reach(512, 512).beyond(1000, 1000, 1001) == (1001, 1024)
    assert self_check.Reach().beyond(1, 0, 1) == (1, 0)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Tokens of the longest text of each comparison."""
    found: list[int] = []
    real = self_check._assert_equal

    def counted(scorer: Any, one: Any, other: Any, longest: int, *more: Any) -> None:
        found.append(longest)
        real(scorer, one, other, longest, *more)

    monkeypatch.setattr(self_check, "_assert_equal", counted)
    yield found
    load.unload()


def test_how_far_an_engine_was_compared_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: list[int]
) -> None:
    folder, models = tmp_path / "m", tmp_path / "models"
    scorer(LlamaForCausalLM, folder, monkeypatch)
    spec = load_spec(str(folder), dtype="float32")

    def call(n: int) -> Any:
        load.unload()
        compared.clear()
        return load.load(spec, models, "scorer").score([matrix.drawn(n, 1)], [" w1"])

    first = call(200)
    assert max(compared) == 224
    assert call(200) == pytest.approx(first, abs=1e-6)
    assert compared == []
    call(20)
    assert compared == []
    call(230)
    assert max(compared) == 256
    call(230)
    assert compared == []
    record = next((models / ".proofs").iterdir())
    for damaged in ("", "{}", '{"reach": [5]}', '{"reach": "ab"}', "[]"):
        record.write_text(damaged)
        call(20)
        assert max(compared) == 128, damaged


def test_layers_that_a_list_or_a_table_tells_apart_are_of_different_kinds() -> None:
    def n_kept(change: Callable[[Any], Any]) -> int:
        model = LlamaForCausalLM(LlamaConfig(**SIZES))
        change(model)
        with first_layers.first_layers(model):
            return len(model.model.layers)

    def buffer(model: Any, table: torch.Tensor) -> None:
        model.model.layers[1].self_attn.register_buffer("seen", table, persistent=False)

    assert n_kept(lambda model: None) == 1
    assert n_kept(lambda model: setattr(model.config, "spans", [None, 4, 4])) == 2
    assert n_kept(lambda model: setattr(model.config, "spans", [4, 4])) == 1, "of something else"
    assert n_kept(lambda model: setattr(model.model.layers[2].self_attn, "spans", (1, 2))) == 3
    assert n_kept(lambda model: buffer(model, torch.ones(1, 9, 9, dtype=torch.bool).tril())) == 2
    assert n_kept(lambda model: buffer(model, torch.tensor(7))) == 2


def test_long_sentences_of_encoders_are_compared_before_they_are_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Narrow(BertForMaskedLM):
        """An encoder that loses its first tokens in a batch of long sentences."""

        def forward(self, *inputs: Any, **more: Any) -> Any:
            if more["input_ids"].shape[1] > SPAN and len(more["input_ids"]) > 1:
                more["attention_mask"] = more["attention_mask"].clone()
                more["attention_mask"][:, :40] = 0
            return super().forward(*inputs, **more)

    sizes = SIZES | {"max_position_embeddings": 512}
    tiny.save(lambda: BertForMaskedLM(BertConfig(**sizes)), matrix.tokenizer(), tmp_path)
    monkeypatch.setattr("tasks.engines.local.masked.AutoModelForMaskedLM", Narrow)
    engine = MaskedScorer(tiny.spec(kind="masked"), str(tmp_path))
    assert engine.proven == (128, 0)
    texts = (matrix.drawn(SPAN + 10, 1), matrix.drawn(SPAN + 9, 2))
    with pytest.raises(EngineError, match="differ from plain passes"):
        engine.score_candidates(Cloze(texts, " ", " w3", ""), ["w1", "w2"])
    assert np.isfinite(engine.score_candidates(Cloze(("w5",), " ", " w3", ""), ["w1"]).logprob).all()


def test_long_sentences_of_encoder_decoders_are_compared_before_they_are_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Forgets(T5ForConditionalGeneration):
        """An encoder-decoder that loses the beginning of a long sentence where it gives its states."""

        def forward(self, *inputs: Any, **more: Any) -> Any:
            states = more.get("encoder_outputs")
            if states is not None and states[0].shape[1] > SPAN:
                more["encoder_outputs"] = (states[0] * 1.5,)
                more["past_key_values"] = None
            return super().forward(*inputs, **more)

    config = T5Config(
        vocab_size=128, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    tokenizer = matrix.tokenizer()
    tokenizer.model_max_length = 512
    tiny.save(lambda: T5ForConditionalGeneration(config), tokenizer, tmp_path)
    monkeypatch.setattr("tasks.engines.local.seq2seq.AutoModelForSeq2SeqLM", Forgets)
    engine = Seq2SeqScorer(tiny.spec(kind="seq2seq"), str(tmp_path))
    cloze = Cloze((matrix.drawn(SPAN + 10, 1),), " ", " w3", "")
    assert np.isfinite(engine.score_candidates(Cloze(("w5",), " ", " w3", ""), ["w1 w2"]).logprob).all()
    with pytest.raises(EngineError, match=r"differ from plain passes|cannot be scored"):
        engine.score_candidates(cloze, ["w1 w2 w3", "w2"])


FAMILIES: dict[str, dict[str, Any]] = {
    "mistral": {},
    "gemma3_text": {},
    "cohere2": {},
    "qwen2_moe": {"use_sliding_window": True, "max_window_layers": 2},
    "llama4_text": {},
    "phi3": {},
    "modernbert-decoder": {},
}


@pytest.mark.heavy
@pytest.mark.parametrize("window", [2048, 4096])
@pytest.mark.parametrize("name", FAMILIES)
def test_windows_longer_than_any_prompt_of_the_load_are_the_models_own(
    name: str, window: int, tmp_path: Path
) -> None:
    settings: dict[str, Any] = matrix.OWN.get(name, {}) | FAMILIES[name]
    usual = dir(matrix.CONFIG_MAPPING[name]())
    sizes = dict.fromkeys(("sliding_window", "local_attention", "attention_chunk_size"), window)
    sizes |= dict.fromkeys(("max_position_embeddings", "original_max_position_embeddings"), 2 * window)
    settings |= {key: value for key, value in sizes.items() if re.search(key, " ".join(usual))}
    matrix.save("packed_trie", name, settings, tmp_path)
    plain = matrix.AUTO["packed_trie"].from_pretrained(tmp_path, attn_implementation="eager").eval()
    text = matrix.drawn(window + 100, 9)
    expected = [matrix.plain_score(plain, [1, *matrix.words(text)], matrix.words(i)) for i in ("w1", "w2 w3")]
    del plain
    engine = PackedTrieScorer(tiny.spec(), str(tmp_path))
    assert engine.score([text], [" w1", " w2 w3"])[0] == pytest.approx(expected, abs=1e-4)
    paired = engine.score_pairs([TextPair(text, " w1"), TextPair(text, " w2 w3")])
    assert paired.logprob == pytest.approx(expected, abs=1e-4)
