"""A model's tokens are those of its tokenizer.json, whatever tokenizer class its other files name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer, LlamaConfig, PreTrainedTokenizerFast, Qwen2Config

from tasks.engines.local import tokenizer_file
from tasks.engines.protocols import EngineError

TEXTS = ["in 1998 rice and salt", "rice  salt 12345", "Rice and SALT"]
MERGES = [("r", "i"), ("ri", "c"), ("ric", "e"), ("Ġ", "rice"), ("1", "9"), ("9", "8"), ("19", "98")]


def byte_level(*before: Any, normalizer: Any = None) -> Tokenizer:
    """Return a tokenizer over bytes, as GPT-2's, SmolLM2's and Qwen's are."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate(["<s>", "</s>", *letters, *map("".join, MERGES)])}
    made = Tokenizer(models.BPE(vocabulary, MERGES))
    if normalizer is not None:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.Sequence([*before, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    return made


def words() -> Tokenizer:
    """Return a tokenizer of whole words."""
    vocabulary = {word: i for i, word in enumerate(["<s>", "</s>", "<unk>", "in", "rice", "and", "salt"])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return made


def metaspace() -> Tokenizer:
    """Return a tokenizer of SentencePiece's kind."""
    pieces = ["<s>", "</s>", "<unk>", "▁", *"ricean dsltARESCL0123456789", "▁rice", "▁and"]
    made = Tokenizer(models.Unigram([(piece, -float(i)) for i, piece in enumerate(pieces)], unk_id=2))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    return made


FILES = {
    "bytes": byte_level(),
    "single digits": byte_level(pre_tokenizers.Digits(individual_digits=True)),
    "lower case": byte_level(normalizer=normalizers.Lowercase()),
    "words": words(),
    "SentencePiece": metaspace(),
}
CLASSES = ["GPT2TokenizerFast", "LlamaTokenizerFast", "PreTrainedTokenizerFast", "Qwen2Tokenizer", None]
CONFIGS = {"llama": LlamaConfig, "qwen2": Qwen2Config}


def saved(folder: Path, made: Tokenizer, named: str | None, model_type: str) -> str:
    made.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")  # type: ignore[no-untyped-call]
    CONFIGS[model_type]().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    file = folder / "tokenizer_config.json"
    fields = json.loads(file.read_text())
    del fields["tokenizer_class"]
    file.write_text(json.dumps(fields | ({"tokenizer_class": named} if named else {})))
    return str(folder)


@pytest.mark.parametrize("model_type", sorted(CONFIGS))
@pytest.mark.parametrize("named", CLASSES)
@pytest.mark.parametrize("kind", FILES)
def test_tokens_are_those_of_the_file(kind: str, named: str | None, model_type: str, tmp_path: Path) -> None:
    folder = saved(tmp_path, FILES[kind], named, model_type)
    tokenizer = tokenizer_file.read("m", folder, {})
    own = [FILES[kind].encode(text, add_special_tokens=False).ids for text in TEXTS]
    assert tokenizer(TEXTS, add_special_tokens=False).input_ids == own
    assert tokenizer.bos_token == "<s>"


def test_transformers_alone_gives_other_tokens_without_an_error(tmp_path: Path) -> None:
    """Otherwise this module could go."""
    tokenizer = AutoTokenizer.from_pretrained(saved(tmp_path, words(), None, "qwen2"))
    assert tokenizer(TEXTS[0], add_special_tokens=False).input_ids == []


def test_what_is_replaced_is_said_and_vllm_refuses(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = saved(tmp_path, byte_level(), "LlamaTokenizerFast", "llama")
    tokenizer_file.read("m", folder, {})
    assert "m: its files name the tokenizer class LlamaTokenizer, whose tokens differ" in caplog.text
    with pytest.raises(EngineError, match=r'vLLM reads the tokenizer class LlamaTokenizer.*"packed_trie"'):
        tokenizer_file.read("m", folder, {}, replaces=False)


def test_a_tokenizer_built_alike_is_not_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gemma3_folder: Path
) -> None:
    monkeypatch.setattr("tokenizers.Tokenizer.from_file", lambda _: pytest.fail("read again"), raising=False)
    tokenizer = AutoTokenizer.from_pretrained(gemma3_folder)
    assert type(tokenizer) is not PreTrainedTokenizerFast
    assert tokenizer_file.is_as_filed(tokenizer, gemma3_folder / tokenizer_file.FILE)


def test_merges_are_not_left_out_by_chance(tmp_path: Path) -> None:
    """A tokenizer with the dropout of its training gives the same tokens each time."""
    made = byte_level()
    plain = [made.encode(text, add_special_tokens=False).ids for text in TEXTS]
    made.model.dropout = 0.9
    for named in CLASSES:
        folder = saved(tmp_path, made, named, "llama")
        tokenizer = tokenizer_file.read("m", folder, {})
        assert tokenizer(TEXTS, add_special_tokens=False).input_ids == plain
    with pytest.raises(EngineError, match=r"other tokens each time \(dropout in tokenizer\.json\)"):
        tokenizer_file.read("m", folder, {}, replaces=False)
