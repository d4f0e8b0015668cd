"""A damaged checkpoint is refused with one line that names the file and the remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

from tasks.engines import load
from tasks.engines.presence import doubt
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec, find_spec, load_spec
from tests.engines import tiny_models as tiny

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 100\n"
WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tokenizer = tiny.bert_tokenizer()
    config = GPT2Config(vocab_size=len(tokenizer), n_embd=8, n_layer=2, n_head=2, n_positions=600)
    return tiny.save(lambda: GPT2LMHeadModel(config), tokenizer, tmp_path / "m")  # type: ignore[no-untyped-call]


def configured(folder: Path, **fields: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def cut(folder: Path, n: int) -> None:
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:n])


def divided(folder: Path) -> None:
    """Divide the weights into parts, and take one away."""
    GPT2LMHeadModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="4KB")
    next(folder.glob("model-00002-*")).unlink()
    (folder / WEIGHTS).unlink(missing_ok=True)


def twice(folder: Path) -> None:
    """Keep the whole file beside parts of other weights."""
    whole = (folder / WEIGHTS).read_bytes()
    GPT2LMHeadModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="4KB")
    (folder / WEIGHTS).write_bytes(whole)


def with_adapter(folder: Path) -> None:
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "a/b"}')
    (folder / "adapter_model.safetensors").write_bytes(b"x")


def adapter_only(folder: Path) -> None:
    with_adapter(folder)
    for name in ("config.json", WEIGHTS):
        (folder / name).unlink()


def without(folder: Path, form: str) -> None:
    for path in folder.glob(form):
        path.unlink()


def no_unknown(folder: Path) -> None:
    file = folder / "tokenizer.json"
    fields = json.loads(file.read_text())
    fields["model"]["unk_token"] = "[NONE]"
    file.write_text(json.dumps(fields))


def with_weight(folder: Path, like: str, name: str) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file(tensors | {name: tensors[like].clone()}, folder / WEIGHTS, {"format": "pt"})


def shortened(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:-20])


def changed(folder: Path, change: Callable[[Any], Any], name: str = "") -> None:
    """Change all weights, or one."""
    tensors = load_file(folder / WEIGHTS)
    chosen = [name] if name else list(tensors)
    save_file(tensors | {key: change(tensors[key]) for key in chosen}, folder / WEIGHTS, {"format": "pt"})


def with_one(value: float) -> Callable[[Any], Any]:
    return lambda weight: weight.clone().index_fill_(0, torch.tensor([3]), value)


BIAS = "transformer.h.0.attn.c_attn.bias"
LAST = "transformer.h.1.mlp.c_fc.weight"
STATIC: dict[str, tuple[Callable[[Path], Any], str]] = {
    "empty": (lambda f: cut(f, 0), r"model\.safetensors is empty: get it again"),
    "cut in the header": (lambda f: cut(f, 100), r"model\.safetensors ends within its header"),
    "cut in the data": (lambda f: cut(f, -10), r"bytes: it was not copied whole, get it again"),
    "no safetensors": (lambda f: (f / WEIGHTS).write_bytes(b"\xff" * 99), "damaged or no safetensors file"),
    "pointer for weights": (
        lambda f: (f / WEIGHTS).write_bytes(POINTER), r"model\.safetensors is only git-lfs.*git lfs pull",
    ),
    "pointer for the tokenizer": (
        lambda f: (f / "tokenizer.json").write_bytes(POINTER), r"tokenizer\.json is only git-lfs's pointer",
    ),
    "missing part": (divided, r"index\.json names model-00002-\S+, not in the folder: get the missing files"),
    "part outside": (
        lambda f: (f / f"{WEIGHTS}.index.json").write_text('{"weight_map": {"a": "../b.safetensors"}}'),
        r"names a part outside the folder",
    ),
    "parts without an index": (
        lambda f: divided(f) or (f / f"{WEIGHTS}.index.json").unlink(),
        r"\(model-00001-\S+\) are not named model\.safetensors, and there is no \S+index\.json: get the",
    ),
    "two sets of weights": (twice, r"has two sets of weights, model\.safetensors and model-00001-\S+ …"),
    "weights as GGUF": (
        lambda f: (f / WEIGHTS).rename(f / "model-q4.gguf"), r"weights as GGUF alone: .*llama-server",
    ),
    "adapter under another name": (
        lambda f: (f / "adapters.safetensors").write_bytes((f / WEIGHTS).read_bytes()),
        r"has an adapter \(adapters\.safetensors\)",
    ),
    "pointer for the config": (
        lambda f: (f / "config.json").write_bytes(POINTER), r"config\.json is only git-lfs's pointer",
    ),
    "adapter beside weights": (with_adapter, r"has an adapter .*not applied here: merge it"),
    "adapter alone": (adapter_only, r"has an adapter .*merge it into its base model"),
    "no weights": (lambda f: without(f, WEIGHTS), r"there are no weights"),
    "no tokenizer": (lambda f: without(f, "token*"), r"there is no tokenizer \(tokenizer\.json\)"),
    **{
        f"cut {name}": (lambda f, name=name: shortened(f, name), rf"{re.escape(name)} is damaged or no JSON")
        for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json")
    },
    "more bytes": (
        lambda f: (f / WEIGHTS).write_bytes((f / WEIGHTS).read_bytes() + b"x"), r"not copied whole",
    ),
    "whole numbers for weights": (
        lambda f: changed(f, lambda weight: (weight * 9).to(torch.int8)),
        r"weights of type I8 .*config\.json has no quantization_config",
    ),
    "eight bits for weights": (
        lambda f: changed(f, lambda weight: weight.to(torch.float8_e4m3fn)), r"weights of type F8_E4M3",
    ),
    "broken config": (lambda f: (f / "config.json").write_text('{"a":'), r"config\.json cannot be read"),
}  # fmt: skip
LOADED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "more layers than the config": (
        lambda f: configured(f, n_layer=1), r"config\.json leaves out 11 weights .*another model",
    ),
    "fewer layers than the config": (lambda f: configured(f, n_layer=3), r"lacks 12 weights"),
    "other shapes": (lambda f: configured(f, n_embd=16), r"other shapes than its config\.json describes"),
    "a bias that the config has not": (
        lambda f: with_weight(f, BIAS, "transformer.ln_f.scale"), r"leaves out 1 weights .*ln_f\.scale",
    ),
    "NaN in the first layer": (lambda f: changed(f, with_one(np.nan), BIAS), r"is not a number"),
    "infinite in the last layer": (lambda f: changed(f, with_one(np.inf), LAST), r"weights are damaged"),
    "NaN in the head": (
        lambda f: changed(f, with_one(np.nan), "transformer.wte.weight"), r"a probability is not a number"
    ),
    "unknown quantisation": (
        lambda f: configured(f, quantization_config={"quant_method": "none"}), r"read as plain numbers",
    ),
    "heads that do not divide": (lambda f: configured(f, n_head=3), r"cannot be loaded .*divisible"),
    "unknown activation": (
        lambda f: configured(f, activation_function="no"), r"name 'no', which transformers does not",
    ),
    "a length that is none": (lambda f: configured(f, n_positions="many"), r"cannot be loaded .*n_positions"),
    **{
        f"weights of an adapter: {name}": (
            lambda f, name=name: with_weight(f, BIAS, name), r"weights of an adapter .*merge it into",
        )
        for name in (
            "transformer.h.0.attn.c_attn.lora_A.weight", "transformer.h.0.attn.c_attn.lora_magnitude_vector",
            "lm_head.modules_to_save.default.weight", "transformer.h.0.attn.c_attn.base_layer.bias",
        )
    },
    "code of its own": (
        lambda f: configured(f, model_type="own", auto_map={"AutoConfig": "own.Config"}),
        r"has code of its own.*trust_remote_code = true.*--trust-remote-code",
    ),
    "a tokenizer without its unknown token": (no_unknown, r"cannot be loaded .*Missing \[UNK\]"),
}  # fmt: skip


@pytest.mark.parametrize("case", [*STATIC, *LOADED])
def test_damage_is_one_line_with_advice(folder: Path, tmp_path: Path, case: str) -> None:
    damage, message = (STATIC | LOADED)[case]
    damage(folder)
    with pytest.raises(EngineError, match=message) as caught:
        load.load(load_spec(str(folder), dtype="float32"), tmp_path / "models", "score")
    assert "\n" not in str(caught.value)
    assert "'m'" in str(caught.value)


@pytest.mark.parametrize("case", STATIC)
def test_a_dry_run_says_so_too(folder: Path, case: str) -> None:
    damage, message = STATIC[case]
    damage(folder)
    with pytest.raises(EngineError, match=message):
        doubt(find_spec(str(folder), None))


@pytest.mark.parametrize("kind", ["packed_trie", "vllm"])
def test_damage_is_found_before_any_library_reads_the_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    cut(folder, -10)
    monkeypatch.setattr(load, "_build", lambda *_: pytest.fail("loaded"))
    with pytest.raises(EngineError, match="not copied whole"):
        load.load(EngineSpec(name="m", kind=kind, model=str(folder), dtype="float32"), tmp_path)


def test_weights_of_other_tasks_may_be_left_over(folder: Path, tmp_path: Path) -> None:
    with_weight(folder, BIAS, "transformer.h.0.attn.masked_bias")
    with_weight(folder, BIAS, "pooler.dense.bias")
    load.load(load_spec(str(folder), dtype="float32"), tmp_path / "models", "score")
    load.unload()


@pytest.mark.parametrize(
    "fields",
    [{"return_dict": False}, {"output_attentions": True}, {"output_hidden_states": True, "use_cache": False}],
)
def test_settings_of_what_a_model_returns_change_nothing(
    folder: Path, tmp_path: Path, fields: dict[str, Any]
) -> None:
    def scores() -> Any:
        load.unload()
        engine = load.load(load_spec(str(folder), dtype="float32"), tmp_path / "models", "score")
        return engine.score(["the food of peru"], [" rice", " salt"])

    before = scores()
    configured(folder, **fields)
    assert scores() == pytest.approx(before, abs=1e-6)
    load.unload()


def test_a_path_that_is_no_models_folder_says_which_is(folder: Path) -> None:
    with pytest.raises(EngineError, match=rf"is a file of weights: give its folder, {folder}"):
        find_spec(str(folder / WEIGHTS), None)
    trained = folder.parent / "run"
    for step in (500, 1000):
        (trained / f"checkpoint-{step}").mkdir(parents=True)
        (trained / f"checkpoint-{step}" / "config.json").write_text("{}")
    with pytest.raises(EngineError, match=rf"give a folder in it, {trained}/checkpoint-1000$"):
        find_spec(str(trained), None)
    single = folder.parent / "model.gguf"
    single.write_bytes(b"GGUF")
    with pytest.raises(EngineError, match=r"is a GGUF file: .*llama-server -m FILE"):
        find_spec(str(single), None)
