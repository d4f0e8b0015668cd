"""Pages on disk, with which a server can be asked whether they have changed.

A page is stored as two files, named by the SHA-256 of its address: ``.body`` and ``.json``. The JSON file
contains the body's digest, so that files that do not belong together after a crash are ignored.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path


@dataclass(frozen=True)
class CachedPage:
    """A page and its validators as the server sent them; a validator that it did not send is empty."""

    content: bytes
    content_type: str
    etag: str
    last_modified: str

    def conditions(self) -> dict[str, str]:
        """Return request headers that ask for the page only if it has changed."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


def load(folder: Path, url: str) -> CachedPage | None:
    """Return the page of an address; None if it is not stored or its files are damaged."""
    body, description = _paths(folder, url)
    try:
        content = body.read_bytes()
        fields = json.loads(description.read_bytes())
        if fields.pop("sha256") != sha256(content).hexdigest():
            return None
        stored = CachedPage(content, **fields)
        return stored if _usable(stored) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def save(folder: Path, url: str, page: CachedPage) -> None:
    """Store a page if it has a validator. A reader meanwhile gets the old page, the new page, or none."""
    if not _usable(page):
        return
    folder.mkdir(parents=True, exist_ok=True)
    body, description = _paths(folder, url)
    fields = asdict(page) | {"sha256": sha256(page.content).hexdigest()}
    del fields["content"]
    _replace(body, page.content)
    _replace(description, json.dumps(fields).encode())


def _paths(folder: Path, url: str) -> tuple[Path, Path]:
    # The address itself is not stored, because it may contain a key.
    name = sha256(url.encode()).hexdigest()
    return folder / f"{name}.body", folder / f"{name}.json"


def _usable(page: CachedPage) -> bool:
    """Return whether the page has a validator that fits into a request header."""
    texts = (page.content_type, page.etag, page.last_modified)
    return (
        all(isinstance(text, str) and text.isprintable() for text in texts)
        and (page.etag + page.last_modified).isascii()
        and bool(page.conditions())
    )


def _replace(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        temporary = Path(file.name)
        try:
            file.write(content)
            file.close()
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
