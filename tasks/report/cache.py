"""Caches pages and figures by the content that they are made from, so that none is drawn twice. Drawing stays
pure: without a store, everything is drawn. A caller that has a store opens it with ``cached_in``.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl

from tasks.report.svg import Drawn, collect_figures, collected_figures

_STORE: ContextVar[MutableMapping[str, bytes] | None] = ContextVar("store", default=None)


@contextmanager
def cached_in(store: MutableMapping[str, bytes]) -> Iterator[None]:
    """Use a store within the block: read cached pages and figures, and add new ones."""
    token = _STORE.set(store)
    try:
        yield
    finally:
        _STORE.reset(token)


def drawn_once(draw: Callable[..., str], *content: Any) -> str:
    """Return ``draw(*content)``, from the store if it was drawn from equal content before. Figures within it
    are cached too, for callers of ``collected_figures``.

    Args:
        content: texts, numbers, arrays, frames, dataclasses, lists and mappings of these: everything except
            the code that the text depends on.
    """
    store = _STORE.get()
    if store is None:
        return draw(*content)
    wants_files = collect_figures({})
    name = digest([draw.__module__, draw.__qualname__, wants_files, content])
    if (drawing := _read(store.get(name))) is None:
        drawing = _drawn_with_files(draw, content) if wants_files else (draw(*content), {})
        store[name] = _written(*drawing)
    text, figures = drawing
    collect_figures(figures)
    return text


def _drawn_with_files(draw: Callable[..., str], content: tuple[Any, ...]) -> tuple[str, dict[str, Drawn]]:
    with collected_figures() as figures:
        return draw(*content), figures


def digest(content: Any) -> str:
    """Return a hash of content that ``drawn_once`` accepts. Raises TypeError for any other type."""
    hashed = sha256()
    for part in _parts(content):
        hashed.update(len(part).to_bytes(8, "big"))
        hashed.update(part)
    return hashed.hexdigest()


def _parts(content: Any) -> Iterator[bytes]:
    match content:
        case None | bool() | int() | float() | str():
            yield f"{type(content).__name__} {content!r}".encode()
        case pl.DataFrame():
            yield f"{content.schema} {content.height}".encode()
            yield from (column.hash(seed=1).to_numpy().tobytes() for column in content)
            yield from (column.is_null().to_numpy().tobytes() for column in content)
        case np.ndarray():
            yield f"{content.dtype} {content.shape}".encode()
            yield np.ascontiguousarray(content).tobytes()
        case Mapping():
            yield f"mapping {len(content)}".encode()
            for name, value in content.items():
                yield from _parts(name)
                yield from _parts(value)
        case list() | tuple():
            yield f"list {len(content)}".encode()
            for value in content:
                yield from _parts(value)
        case _ if dataclasses.is_dataclass(content):
            yield type(content).__qualname__.encode()
            for field in dataclasses.fields(content):
                yield field.name.encode()
                yield from _parts(getattr(content, field.name))
        case _:
            raise TypeError(f"pages cannot be cached by a {type(content).__name__}")


def _written(text: str, figures: Mapping[str, Drawn]) -> bytes:
    files = {
        name: [each.description, each.svg, base64.b64encode(each.pdf).decode(), each.csv]
        for name, each in figures.items()
    }
    return json.dumps([text, files]).encode()


def _read(content: bytes | None) -> tuple[str, dict[str, Drawn]] | None:
    """Return the content of a file of ``_written``; None for anything else, such as a damaged file."""
    try:
        text, files = json.loads(content or b"")
        figures = {n: Drawn(d, svg, base64.b64decode(pdf), csv) for n, (d, svg, pdf, csv) in files.items()}
    except (ValueError, TypeError, AttributeError):
        return None
    return text, figures
