"""Hosted models named by one string: provider, server, key variable and prices."""

from __future__ import annotations

import pytest

from tasks.engines.protocols import EngineError
from tasks.engines.served import by_name
from tasks.engines.served.by_name import SERVER_KEY, fields_of, prices_of
from tasks.engines.specs import EngineSpec, find_spec

OPENROUTER = {
    "kind": "openai",
    "base_url": "https://openrouter.ai/api/v1",
    "api_key_env": "OPENROUTER_API_KEY",
}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("openai/gpt-5-mini", {"kind": "openai", "model": "gpt-5-mini", "name": "gpt-5-mini"}),
        ("openai/o3", {"kind": "openai", "model": "o3"}),
        ("openai/ft:gpt-4o-mini:us:x", {"kind": "openai", "model": "ft:gpt-4o-mini:us:x"}),
        ("anthropic/claude-haiku-4-5", {"kind": "anthropic", "model": "claude-haiku-4-5"}),
        ("google/gemini-2.5-flash", {"kind": "google", "model": "gemini-2.5-flash"}),
        ("openrouter/qwen/qwen3-8b", {**OPENROUTER, "model": "qwen/qwen3-8b", "name": "qwen3-8b"}),
        (
            "http://host:8000/v1#Qwen/Qwen3-8B",
            {"kind": "openai", "base_url": "http://host:8000/v1", "api_key_env": SERVER_KEY,
             "model": "Qwen/Qwen3-8B", "name": "qwen3-8b"},
        ),
    ],
)  # fmt: skip
def test_string_names_provider_model_server_and_key(name: str, fields: dict[str, str]) -> None:
    spec = find_spec(name, None)
    assert {field: getattr(spec, field) for field in fields} == fields
    assert spec.is_served


@pytest.mark.parametrize(
    "name", ["openai/gpt-oss-20b", "google/gemma-3-270m", "google-t5/t5-small", "openai/whisper-1"]
)
def test_hugging_face_repositories_of_providers_are_local_models(name: str) -> None:
    assert fields_of(name) is None
    assert not find_spec(name, None).is_served


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("http://host:8000/v1", "without a model"),
        ("openrouter/gpt-4o", "owner/model"),
        ("http://user:secret@host/v1#m", "user name or password"),
    ],
)
def test_incomplete_name_and_name_with_a_password_are_refused(name: str, why: str) -> None:
    with pytest.raises(EngineError, match=why) as refused:
        find_spec(name, None)
    assert "secret" not in str(refused.value)


def test_every_provider_has_its_own_key_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("openai/gpt-4o", "anthropic/claude-opus-5", "google/gemini-2.5-pro", "openrouter/a/b")
    names += ("http://h/v1#m",)
    assert len({find_spec(name, None).key_variable for name in names}) == len(names)


def test_prices_come_from_genai_prices() -> None:
    prices = prices_of("openai", "gpt-4o-mini")  # 0.15 and 0.60 US dollars per million since July 2024
    assert prices is not None
    assert prices[:2] == pytest.approx((0.15, 0.60))
    assert prices.source.startswith("genai-prices ")
    spec = find_spec("openai/gpt-4o-mini", None)
    assert (spec.usd_per_million_input_tokens, spec.usd_per_million_output_tokens) == pytest.approx(
        (0.15, 0.60)
    )


def test_model_unknown_to_the_price_table_has_no_price() -> None:
    assert prices_of("openai", "gpt-nobody-sells-this") is None
    assert find_spec("openai/gpt-nobody-sells-this", None).usd_per_million_input_tokens is None


def test_prices_are_not_in_the_engine_hash() -> None:
    named = find_spec("openai/gpt-4o-mini", None)
    assert named.hash() == EngineSpec(name="mine", kind="openai", model="gpt-4o-mini").hash()


def test_every_provider_has_an_engine_kind() -> None:
    for _, fields in by_name.PROVIDERS.values():
        assert EngineSpec(name="x", model="x", **fields).is_served
