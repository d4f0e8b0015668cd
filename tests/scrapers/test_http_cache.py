"""The copy on disk: used if the server confirms it, ignored if damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from scrapers import http_cache
from tests.scrapers.conftest import OpenSession
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply

MODIFIED = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("validator", "condition"),
    [({"ETag": 'W/"1"'}, "If-None-Match"), ({"Last-Modified": MODIFIED}, "If-Modified-Since")],
)
def test_unchanged_page_comes_from_the_cache(
    web: MisbehavingServer, open_session: OpenSession, validator: dict[str, str], condition: str
) -> None:
    headers = {"Content-Type": "text/html; charset=utf-8", **validator}
    web.replies["/page"] = [Reply(body=b"content", headers=headers)]
    first = open_session().get(web.url("/page"))
    second = open_session().get(web.url("/page"))
    assert (first.from_cache, second.from_cache) == (False, True)
    assert (second.content, second.content_type, second.charset) == (b"content", "text/html", "utf-8")
    asked = [seen.headers.get(condition) for seen in web.asked("/page")]
    assert asked == [None, *validator.values()]


def test_changed_page_replaces_the_copy(web: MisbehavingServer, open_session: OpenSession) -> None:
    old, new = Reply(body=b"old", headers={"ETag": '"1"'}), Reply(body=b"new", headers={"ETag": '"2"'})
    web.replies["/page"] = [old, new]
    pages = [open_session().get(web.url("/page")) for _ in range(3)]
    assert [page.content for page in pages] == [b"old", b"new", b"new"]
    assert [page.from_cache for page in pages] == [False, False, True]


@pytest.mark.parametrize(
    "headers", [{}, {"ETag": '"1"', "Cache-Control": "private, No-Store"}, {"ETag": '"é"'}]
)
def test_page_without_a_validator_is_not_stored(
    web: MisbehavingServer, open_session: OpenSession, tmp_path: Path, headers: dict[str, str]
) -> None:
    web.replies["/page"] = [Reply(body=b"content", headers=headers)]
    pages = [open_session().get(web.url("/page")) for _ in range(2)]
    assert [page.content for page in pages] == [b"content", b"content"]
    assert not list((tmp_path / "cache").glob("*"))


def _edit(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


DAMAGES: dict[str, Callable[[Path, Path], object]] = {
    "body cut off": lambda body, _: body.write_bytes(body.read_bytes()[:-1]),
    "body of a later page": lambda body, _: body.write_bytes(b"later"),
    "body missing": lambda body, _: body.unlink(),
    "description missing": lambda _, description: description.unlink(),
    "description empty": lambda _, description: description.write_bytes(b""),
    "no JSON": lambda _, description: description.write_bytes(b"\xff{"),
    "no object": lambda _, description: description.write_text("[]"),
    "no digest": lambda _, description: description.write_text("{}"),
    "unknown field": lambda _, description: _edit(description, more=1),
    "validator is no text": lambda _, description: _edit(description, etag=1),
    "validator would inject a header": lambda _, description: _edit(description, etag='"1"\r\nX: 1'),
    "type is no text": lambda _, description: _edit(description, content_type=None),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_copy_is_fetched_again(
    web: MisbehavingServer, open_session: OpenSession, tmp_path: Path, damage: Callable[[Path, Path], object]
) -> None:
    web.replies["/page"] = [Reply(body=b"content", headers={"ETag": '"1"'})]
    open_session().get(web.url("/page"))
    (body,), (description,) = ((tmp_path / "cache").glob(f"*.{end}") for end in ("body", "json"))
    damage(body, description)
    again = [open_session().get(web.url("/page")) for _ in range(2)]
    assert [(page.content, page.from_cache) for page in again] == [(b"content", False), (b"content", True)]


def test_each_address_has_its_own_copy_and_is_not_stored(
    web: MisbehavingServer, open_session: OpenSession, tmp_path: Path
) -> None:
    for path in ("/page?key=secret1", "/page?key=secret2"):
        web.replies[path] = [Reply(body=path.encode(), headers={"ETag": '"same"'})]
        open_session().get(web.url(path))
    assert open_session().get(web.url("/page?key=secret1")).content == b"/page?key=secret1"
    files = list((tmp_path / "cache").iterdir())
    assert sorted(file.suffix for file in files) == [".body", ".body", ".json", ".json"]
    assert not any(b"secret" in file.read_bytes() for file in files if file.suffix == ".json")


def test_failed_write_leaves_the_old_copy_and_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = http_cache.CachedPage(b"old", "text/html", '"1"', "")
    http_cache.save(tmp_path, "u", old)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        http_cache.save(tmp_path, "u", http_cache.CachedPage(b"new", "text/html", '"2"', ""))
    assert http_cache.load(tmp_path, "u") == old
    assert len(list(tmp_path.iterdir())) == 2
