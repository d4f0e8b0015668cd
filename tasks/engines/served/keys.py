"""Which key may go to which server: pairs such as ``OPENROUTER_API_KEY@openrouter.ai``.

A spec names both, and whoever wrote the spec chose them. A provider's own pair needs no permission, and
nothing leaves this machine for a server on it. The user allows every other pair once, and the home remembers
the pair, never the key.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from tasks.engines.served.by_name import PROVIDERS, SERVER_KEY
from tasks.engines.served.providers import SERVERS, server

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1", "0.0.0.0")
"""Names of this machine."""
FILE = "trusted_keys.txt"
"""File in the home with the pairs that the user has allowed, one a line."""

_VARIABLE = re.compile(rf"[A-Z][A-Z0-9_]*_(?:API_KEY|TOKEN)|{SERVER_KEY}")
_PAIR = re.compile(rf"(?:{_VARIABLE.pattern})@(?:http://)?[a-z0-9._\[\]:-]+")


def checked_variable(name: str) -> str:
    """Return the name of a variable that may hold the key of a server; raises ValueError for another."""
    if _VARIABLE.fullmatch(name):
        return name
    raise ValueError(
        f"only a variable whose name ends in _API_KEY or _TOKEN, or {SERVER_KEY}, may be sent to a server: "
        "put the key into such a variable"
    )


Variable = Annotated[str, AfterValidator(checked_variable)]


def pair_of(variable: str, base_url: str) -> str:
    """Return variable and host, with the port unless it is the usual one, and ``http://`` if unencrypted."""
    clear = "http://" if urlsplit(base_url).scheme == "http" else ""
    return f"{variable}@{clear}{server(base_url).partition('/')[0]}"


_OWN = {pair_of(each.key, each.url) for each in SERVERS.values()} | {
    pair_of(fields["api_key_env"], fields["base_url"])
    for _, fields in PROVIDERS.values()
    if "base_url" in fields
}


def needs_permission(pair: str) -> bool:
    """Return whether a pair is not a provider's own, and the server not on this machine."""
    host = urlsplit(f"//{pair.partition('@')[2].removeprefix('http://')}").hostname
    return host not in LOCAL_HOSTS and pair not in _OWN


def checked_pair(text: str) -> str:
    """Return a pair that a person wrote; raises ValueError if it is none."""
    if not _PAIR.fullmatch(text):
        raise ValueError(
            f"--trust-key {text[:100]!a}: write VARIABLE@HOST, as in MY_API_KEY@llm.example.org, with "
            "the port if it has one, and http:// before the host if the connection is not encrypted"
        )
    return text


def remembered(home: Path) -> list[str]:
    """Return the pairs that the user has allowed in this home; other lines of the file are left out."""
    try:
        lines = (home / FILE).read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return []
    return [line for line in lines if _PAIR.fullmatch(line)]


def remember(home: Path, pairs: list[str]) -> None:
    """Add pairs to those that the home remembers."""
    known = remembered(home)
    if new := [pair for pair in dict.fromkeys(pairs) if pair not in known]:
        with (home / FILE).open("a", encoding="utf-8") as file:
            file.writelines(f"{pair}\n" for pair in new)
