"""A form arrives whole and in time, or is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.requests import Request

from deployments.people import site

FORM = (b"content-type", b"application/x-www-form-urlencoded")


def read(chunks: Sequence[bytes], *, ends: bool = True) -> dict[str, str]:
    """The form that arrives in these chunks; one that does not end keeps its sender waiting for ever."""

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


def test_a_form_may_come_in_pieces() -> None:
    assert read([b"a=1&", b"b=", b"%C3%A9"]) == {"a": "1", "b": "é"}


@pytest.mark.parametrize("chunks", [[b""], [b"a=1", b"&b"]])
def test_a_half_sent_form_is_not_waited_for_for_ever(
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
def test_what_is_no_form_is_refused(body: bytes, status: int) -> None:
    with pytest.raises(site.RefusedError) as refusal:
        read([body])
    assert refusal.value.status == status
