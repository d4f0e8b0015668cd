"""Longest context of a model, which a prompt and its completion share: known without loading or asking it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from tasks.engines.served.providers import SERVERS, server
from tasks.engines.specs import EngineSpec
from tasks.parsing import parse_json

_HOSTS = {urlsplit(each.url).hostname: kind for kind, each in SERVERS.items()} | {
    "openrouter.ai": "openrouter"
}
"""Host of a provider -> its name in the table of prices."""

_FIELDS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length", "n_ctx")
"""Fields of a model's ``config.json`` that hold it."""


def context_of(spec: EngineSpec | None) -> int | None:
    """Return the most tokens of a prompt with its completion; None if unknown.

    It is the spec's own ``max_model_len``, what the price table states for a provider's model, or what the
    folder of a model on this machine states.
    """
    if spec is None:
        return None
    own = spec.options.get("max_model_len")
    if isinstance(own, int) and own > 0:
        return own
    if not spec.is_served:
        return _of_folder(Path(spec.model).expanduser() / "config.json")
    base_url = spec.base_url or SERVERS[spec.kind].url
    provider = _HOSTS.get(urlsplit(f"https://{server(base_url)}").hostname)
    return _of_provider(provider, spec.model) if provider else None


def _of_provider(provider: str, model: str) -> int | None:
    from genai_prices import data_snapshot

    try:
        _, found = data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    return found.context_window or None


def _of_folder(config: Path) -> int | None:
    try:
        fields = parse_json(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(fields, dict):
        return None
    text = fields.get("text_config")
    every = [fields, text] if isinstance(text, dict) else [fields]
    known = [own[name] for own in every for name in _FIELDS if isinstance(own.get(name), int)]
    return max(known, default=None)
