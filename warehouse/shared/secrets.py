"""Passwords and keys stay out of all that is shown, logged or stored."""

import os
import re
from urllib.parse import unquote

_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "PGPASSWORD")
_BEFORE_HOST = re.compile(r"\w+://[^:/?]*:([^/?]*)@")
_OPTION = re.compile(r"[?&]password=([^&]*)")
"""Not by a parser of addresses: of what is none it would show everything."""
_SHORTEST = 4
"""Shorter ones would blacken ordinary words, and protect nothing."""


def redacted(text: object, url: str = "") -> str:
    """A message of a library without the password of `url` and the keys of the environment, on one line."""
    password = password_of(url)
    secrets = {os.environ.get(name, "") for name in _VARIABLES} | {url, password, unquote(password)}
    line = " ".join(str(text).split())
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            line = line.replace(secret, "***")
    return line


def password_of(url: str) -> str:
    """The password in an address as it is written there, before the host or as an option, or nothing."""
    match = _BEFORE_HOST.match(url) or _OPTION.search(url)
    return match[1] if match else ""
