"""A form that is incomplete, late, too long or malformed is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.requests import Request

from deployments.people import site

FORM = (b"content-type", b"application/x-www-form-urlencoded")


def read(chunks: Sequence[bytes], *, ends: bool = True) -> dict[str, str]:
    """Return the form that arrives in these chunks; without an end the sender never finishes."""

    async def reading() -> dict[str, str]:
        left = list(chunks)

        async def receive() -> dict[str, Any]:
            if left:
                body = left.pop(0)
                return {"type": "http.request", "body": body, "more_body": bool(left) or not ends}
            await asyncio.Event().wait()
            raise AssertionError("never")

        return await site.read_form(Request({"type": "http", "headers": [FORM]}, receive))

    return asyncio.run(reading())


def test_form_may_arrive_in_chunks() -> None:
    assert read([b"a=1&", b"b=", b"%C3%A9"]) == {"a": "1", "b": "é"}


@pytest.mark.parametrize("chunks", [[b""], [b"a=1", b"&b"]])
def test_incomplete_form_is_refused_after_a_time_limit(
    monkeypatch: pytest.MonkeyPatch, chunks: list[bytes]
) -> None:
    monkeypatch.setattr(site, "BODY_PATIENCE_S", 0.01)
    with pytest.raises(site.RefusedError) as refusal:
        read(chunks, ends=False)
    assert refusal.value.status == 408


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"a=" + b"x" * site.MAX_BODY, 413), (b"a=%FF", 400), (b"a=1&a=2", 400), ("a=é".encode(), 400)],
)
def test_invalid_form_is_refused_with_its_status(body: bytes, status: int) -> None:
    with pytest.raises(site.RefusedError) as refusal:
        read([body])
    assert refusal.value.status == status
