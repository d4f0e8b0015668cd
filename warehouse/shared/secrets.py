"""Removes passwords and keys from texts that are shown, logged or stored."""

import os
import re
from urllib.parse import unquote

_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD")
_BEFORE_HOST = re.compile(r"\w+://[^:/?]*:([^/?]*)@")
_OPTION = re.compile(r"[?&]password=([^&]*)")
"""Patterns of a password. A URL parser would miss the password in a malformed address."""
_SHORTEST = 4
"""Least length of a secret: shorter ones would blacken ordinary words, and protect nothing."""


def redacted(text: object, url: str = "") -> str:
    """Return a library's message on one line, without the password of `url` and the environment's keys."""
    password = password_of(url)
    secrets = {os.environ.get(name, "") for name in _VARIABLES} | {url, password, unquote(password)}
    line = " ".join(str(text).split())
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            line = line.replace(secret, "***")
    return line


def password_of(url: str) -> str:
    """Return the password in an address, as written before the host or as an option; empty if none."""
    match = _BEFORE_HOST.match(url) or _OPTION.search(url)
    return match[1] if match else ""
