"""Opens the connection to a server by the user's environment: keys, certificates, proxies.

What is wrong in the environment is one line that names the variable and never its value.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from tasks.engines.protocols import EngineError
from tasks.engines.served.failures import Failed, Unreachable

PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
_IS_RUNNING = "is the server running and base_url right?"


def checked_key(variable: str, key: str) -> str:
    """Return a key that can stand in a header.

    Raises:
        EngineError: it has a sign that no key has; the message names the variable and the sign, not the key.
    """
    wrong = {
        "a line break": any(sign in key for sign in "\r\n"),
        "a blank or tab": any(sign.isspace() and sign not in "\r\n" for sign in key),
        "a sign beyond ASCII": not key.isascii(),
        "quotation marks": key[:1] in "'\"`" or key[-1:] in "'\"`",
        "a placeholder": bool(re.match(r"[$<{%]|your[-_]", key, re.IGNORECASE)),
        "a control character": any((ord(sign) < 32 and not sign.isspace()) or sign == "\x7f" for sign in key),
    }
    if found := [name for name, is_there in wrong.items() if is_there]:
        raise EngineError(
            f"the environment variable {variable} holds {' and '.join(found)}, which no key has: export the "
            "key alone, as the provider shows it"
        )
    return key


def certificates(name: str) -> ssl.SSLContext:
    """Return the trusted certificates: those of SSL_CERT_FILE or SSL_CERT_DIR, else the usual ones.

    name: of the engine, for the error. Raises EngineError if the file cannot be read.
    """
    places = tuple(os.environ.get(variable, "") for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    try:
        return _context(places, tuple(os.stat(place).st_mtime_ns for place in places if place))
    except (OSError, ValueError) as error:
        file = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR")
        reason = error.strerror if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) else ""
        raise EngineError(
            f"engine {name!r}: SSL_CERT_FILE={file!r} cannot be read as certificates "
            f"({reason or 'no certificate in PEM form'}): name a PEM file of certificate authorities, or "
            "unset the variable"
        ) from None


@lru_cache(4)
def _context(places: tuple[str, ...], changed_at: tuple[int, ...]) -> ssl.SSLContext:
    """Return the trusted certificates of the environment; reading them takes 30 ms."""
    return httpx.create_ssl_context()


def open_client(
    name: str, headers: Mapping[str, str], trusted: ssl.SSLContext, most: int
) -> httpx.AsyncClient:
    """Return a client by the environment's proxies, without time limits of its own.

    Args:
        name: of the engine, for the error. most: kept connections.

    Raises:
        EngineError: a proxy's variable cannot be used; the message names the variable.
    """
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=most)
    try:
        return httpx.AsyncClient(headers=dict(headers), verify=trusted, limits=limits, timeout=None)
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        variable, value = _faulty_proxy()
        scheme = value.partition("://")[0] if "://" in value else ""
        if isinstance(error, ImportError):
            advice = "culturemeter reaches servers through http:// and https:// proxies: set one, or unset it"
            what = f"is a {scheme or 'SOCKS'} proxy"
        elif variable == "NO_PROXY":
            what, advice = (
                "has an entry that is no host",
                "write hosts and domains; networks (/8) are not read",
            )
        else:
            what = f"names no proxy{f' ({scheme}://)' if scheme else ''}"
            advice = "write it like http://proxy.example:3128, or unset it"
        raise EngineError(f"engine {name!r}: the environment variable {variable} {what}: {advice}") from None


def _faulty_proxy() -> tuple[str, str]:
    """Return name and value of the proxy variable that the HTTP library does not accept."""
    for variable in PROXIES:
        if value := os.environ.get(variable) or os.environ.get(variable.lower()):
            try:
                httpx.HTTPTransport(proxy=value if "://" in value else f"http://{value}").close()
            except (ImportError, ValueError, httpx.InvalidURL):
                return variable, value
    return "NO_PROXY", ""


def no_connection(error: Exception, url: str) -> Failed:
    """Return the failure for an error of the HTTP library or the operating system, with its cause."""
    causes = list(_chain(error))
    host = urlsplit(url).hostname or url
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return Unreachable(
                f"the certificate of {host} is not trusted: {cause.verify_message}",
                "if it is your organisation's, set SSL_CERT_FILE to a PEM file with its authority",
                is_transient=False,
            )
        if isinstance(cause, ssl.SSLError):
            reason = (cause.reason or str(cause)).replace("_", " ").lower()
            return Unreachable(f"no TLS with {host}: {reason}", "does the server speak https on that port?")
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return Unreachable(str(error), "check base_url", is_transient=False)
    words = next((os.strerror(e.errno) for e in reversed(causes) if _has_errno(e)), "")
    words = words or str(error) or type(error).__name__
    if isinstance(error, httpx.ProxyError):
        return Unreachable(f"the proxy refused: {words}", "check HTTPS_PROXY, ALL_PROXY and NO_PROXY")
    if isinstance(error, httpx.ConnectError) or not isinstance(error, httpx.HTTPError):
        return Unreachable(words, _IS_RUNNING)
    return Failed(None, words)  # the connection was there, and was lost


def _chain(error: BaseException | None) -> Any:
    """Yield an error and those below it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _has_errno(error: BaseException) -> bool:
    return isinstance(error, OSError) and bool(error.errno) and (error.errno or 0) > 0
