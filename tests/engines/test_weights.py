"""The model hash: equal for one model in all engines, different for different models."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.engines.specs import EngineSpec, model_hash

HUB: dict[str, Any] = {"name": "a", "model": "owner/model", "content": "commit:1", "dtype": "float32"}
SERVED: dict[str, Any] = {"name": "s", "kind": "openai", "model": "gpt", "base_url": "http://host:8000/v1"}


def spec(base: dict[str, Any], **changes: Any) -> EngineSpec:
    return EngineSpec(**{**base, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "b"},
        {"model": "owner/renamed"},
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
        (HUB, {"content": "commit:2"}),
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
