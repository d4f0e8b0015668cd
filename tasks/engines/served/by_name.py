"""Specs of hosted models by name: ``openai/gpt-5-mini``, ``openrouter/owner/model``, ``http://host:8000/v1#model``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

from tasks.engines.protocols import EngineError


class Prices(NamedTuple):
    """Prices of a model as its provider lists them.

    Attributes:
        usd_per_million_input_tokens, usd_per_million_output_tokens: US dollars; web searches cost extra.
        source: name and version of the price table.
    """

    usd_per_million_input_tokens: float
    usd_per_million_output_tokens: float
    source: str


PROVIDERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    # Other names with "openai/" and "google/" are repositories of Hugging Face: gpt-oss, Gemma, T5.
    "openai": (r"(gpt-(?!oss)|chatgpt-|codex-|o\d|ft:)", {"kind": "openai"}),
    "anthropic": ("", {"kind": "anthropic"}),
    "google": (r"gemini-", {"kind": "google"}),
    "openrouter": (
        r"[^/]+/",
        {
            "kind": "openai",
            "base_url": "https://openrouter.ai/api/v1",
            "api_key_env": "OPENROUTER_API_KEY",
            "options": {"dialect": "openrouter"},
        },
    ),
}
"""Provider -> pattern at the start of its models' names, and fields of their specs."""

SERVER_KEY = "CULTUREMETER_SERVER_KEY"
"""Variable with the key for a server named by its address; no other key is sent there."""


def fields_of(name: str) -> dict[str, Any] | None:
    """Return the spec fields of a hosted model; None if the name is not one.

    Raises:
        EngineError: an address has no model, or a name has not the form of its provider's names.
    """
    if re.match(r"https?://", name):
        base_url, _, model = name.partition("#")
        if not model:
            raise EngineError(
                f"{name!r} is a server without a model: write ADDRESS#MODEL, as in http://host:8000/v1#name"
            )
        server = {"kind": "openai", "base_url": base_url, "api_key_env": SERVER_KEY}
        return {"name": _label(model), "model": model, **server}
    provider, _, model = name.partition("/")
    if provider not in PROVIDERS or not model:
        return None
    pattern, fields = PROVIDERS[provider]
    if not re.match(pattern, model):
        if provider == "openrouter":
            raise EngineError(f"{name!r}: OpenRouter names models as owner/model: openrouter/owner/model")
        return None
    prices = prices_of(provider, model)
    paid = {k: v for k, v in prices._asdict().items() if k != "source"} if prices else {}
    return {"name": _label(model), "model": model, **fields, **paid}


def prices_of(provider: str, model: str) -> Prices | None:
    """Return a model's list prices from the installed genai-prices; None if it has no such model."""
    from genai_prices import Usage, calc_price

    try:
        million = calc_price(Usage(input_tokens=1000, output_tokens=1000), model, provider_id=provider)
    except LookupError:
        return None
    source = f"genai-prices {version('genai-prices')}"
    return Prices(float(million.input_price) * 1000, float(million.output_price) * 1000, source)


def _label(model: str) -> str:
    return model.rsplit("/", 1)[-1].lower()
