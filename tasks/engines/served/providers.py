"""Engines that run elsewhere: whose server a kind asks, where its key is, how addresses are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit


class Provider(NamedTuple):
    """Whose server a kind asks where a spec names none.

    Attributes:
        key: the variable that usually holds its key.
        unsent: what of a sampling its API does not take.
    """

    url: str
    key: str
    unsent: tuple[str, ...] = ()


SERVERS: Mapping[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com", "ANTHROPIC_API_KEY", unsent=("seed",)),
    "google": Provider("https://generativelanguage.googleapis.com", "GEMINI_API_KEY"),
}
"""Kinds that run elsewhere."""


def server(base_url: str) -> str:
    """What two addresses of one server have in common: host in lower case, port unless default, path.

    Raises:
        ValueError: no http address, or it holds a user name or password, which would be stored and shown.
    """
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError:  # its words quote the address
        parts, host, port = urlsplit(""), None, None
    default = {"http": 80, "https": 443}.get(parts.scheme)
    if default is None or not host:
        raise ValueError("base_url is no address: write it like http://host:8000/v1")
    if parts.username is not None:
        raise ValueError(
            "base_url holds a user name or password: take it out, and put the key into the environment "
            "variable that api_key_env names"
        )
    host = f"[{host}]" if ":" in host else host
    return (host if port in (None, default) else f"{host}:{port}") + parts.path.rstrip("/")
