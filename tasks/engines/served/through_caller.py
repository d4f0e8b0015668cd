"""Lets providers' own clients send by our ``Caller``: bounded, tried again, cleaned, like every request.

A client (``anthropic``, ``google-genai``) knows addresses, headers and fields of its API. What it sends goes
through a transport of its HTTP library that hands the request to a ``Caller``, so that deadlines, caps,
retries with Retry-After and the hiding of keys are those of all servers; the client's own are switched off.
"""

from __future__ import annotations

from dataclasses import replace

import httpx2

from tasks.engines.secrets import Secrets
from tasks.engines.served.transport import EXCERPT, Caller, Failed, Unreadable

HEADERS = ("anthropic-beta", "anthropic-version", "content-type", "user-agent", "x-goog-api-client")
"""What is passed on: clients add further ones, also those that variables of the environment name."""
CREDENTIALS = ("authorization", "x-api-key", "x-goog-api-key")
"""Passed on if it is the spec's key that they hold, and no other that the environment has."""


def http_client(caller: Caller, key: str) -> httpx2.AsyncClient:
    """What a client sends by; close it afterwards. Every response is a JSON object with status 200."""
    return httpx2.AsyncClient(transport=_Transport(replace(caller, url=""), key))


def failed(error: Exception, secrets: Secrets) -> Failed:
    """Why a client gave up: what the ``Caller`` met, which it wraps; or its own words, cleaned."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, Failed):
            return cause
        cause = cause.__cause__ or cause.__context__
    return Unreadable(200, secrets.hide(f"{type(error).__name__}: {error}")[:EXCERPT])


class _Transport(httpx2.AsyncBaseTransport):  # type: ignore[misc]
    def __init__(self, caller: Caller, key: str) -> None:
        self._caller, self._key = caller, key

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: request.headers[name] for name in HEADERS if name in request.headers}
        given = {name: request.headers[name] for name in CREDENTIALS if name in request.headers}
        headers |= {name: value for name, value in given.items() if value.split()[-1:] == [self._key]}
        content = await request.aread()
        body = await self._caller.ask(request.method, str(request.url), content=content, headers=headers)
        return httpx2.Response(200, json=body, request=request)
