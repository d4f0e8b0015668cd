"""The model hash: equal for one model in all engines, different for different models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tasks.engines.specs import EngineSpec, model_hash

HUB: dict[str, Any] = {"name": "a", "model": "owner/model", "dtype": "float32"}
SERVED: dict[str, Any] = {"name": "s", "kind": "openai", "model": "gpt", "base_url": "http://host:8000/v1"}


def spec(base: dict[str, Any], **changes: Any) -> EngineSpec:
    return EngineSpec(**{**base, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "b"},
        {"kind": "vllm"},
        {"kind": "masked"},
        {"dtype": "bfloat16"},
        {"device": "cpu"},
        {"batch_tokens": 64},
        {"kind": "vllm", "options": {"max_model_len": 99}},
        {"compile": True},
        {"usd_per_million_input_tokens": 1, "usd_per_million_output_tokens": 1},
    ],
)
def test_engine_precision_options_and_price_keep_the_model_hash(changes: dict[str, Any]) -> None:
    assert model_hash(spec(HUB, **changes)) == model_hash(spec(HUB))


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        (HUB, {"model": "owner/other"}),
        (HUB, {"revision": "abc"}),
        (HUB, {"prompt_style": "base"}),
        (SERVED, {"model": "gpt-2"}),
        (SERVED, {"base_url": "http://other:8000/v1"}),
        (SERVED, {"served_as": "lab"}),
        (SERVED, {"reasoning": "high"}),
        (SERVED, {"web": True}),
    ],
)
def test_model_revision_style_and_server_change_the_model_hash(
    base: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert model_hash(spec(base, **changes)) != model_hash(spec(base))


def test_model_hash_of_a_folder_is_its_weights(tmp_path: Path) -> None:
    def folder(name: str, **weights: bytes) -> EngineSpec:
        (tmp_path / name).mkdir(exist_ok=True)
        for file, content in weights.items():
            (tmp_path / name / f"{file}.safetensors").write_bytes(content)
        return EngineSpec(name=name, model=str(tmp_path / name), dtype="float32")

    first = model_hash(folder("a", one=b"1", two=b"2"))
    assert model_hash(folder("b", two=b"1", one=b"2")) == first, "names of files and folders do not count"
    assert model_hash(folder("c", one=b"1", two=b"2", adapter_model=b"3")) != first
    assert model_hash(folder("d", one=b"1")) != first
    assert model_hash(folder("a", one=b"changed")) != first, "a file that has changed is read again"
    assert model_hash(folder("e")) != model_hash(folder("f")), "without weights the path is all there is"
