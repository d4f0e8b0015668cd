"""Cache pages and figures in the home folder, so that unchanged ones are not drawn again.

Each version of the code has a cache folder of its own; other versions' folders are removed.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import tasks
from warehouse import WarehouseError
from warehouse.storage import written_whole

MOST = 4_000
"""Most files kept; the least recently used are removed."""
_CODE = (".py", ".html", ".css", ".js", ".toml")
_DRAWN_WITH = ("matplotlib", "jinja2", "polars", "numpy")


def drawing_cache(home: Path) -> CachedFiles:
    """Return this code version's cache in a home folder; other versions' caches are removed."""
    root = home / "cache" / "drawn"
    own = root / code_sign()[:16]
    for folder in root.iterdir() if root.is_dir() else ():
        if folder != own:
            shutil.rmtree(folder, ignore_errors=True)
    return CachedFiles(own)


@contextmanager
def frozen_heap() -> Iterator[None]:
    """Leave existing objects out of garbage collections within the block.

    Figures create so many objects that collections, which visit all modules again, take a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class CachedFiles(MutableMapping[str, bytes]):
    """A folder of files by name. If a file cannot be read or written, its page is drawn all the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> bytes:
        try:
            content = (self._folder / name).read_bytes()
            os.utime(self._folder / name)
        except OSError as error:
            raise KeyError(name) from error
        return content

    def __setitem__(self, name: str, content: bytes) -> None:
        try:
            with written_whole(self._folder / name, len(content)) as temporary:
                temporary.write_bytes(content)
            self._tidy()
        except (OSError, WarehouseError):
            return

    def __delitem__(self, name: str) -> None:
        (self._folder / name).unlink(missing_ok=True)

    def __iter__(self) -> Iterator[str]:
        return (path.name for path in self._folder.iterdir()) if self._folder.is_dir() else iter(())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _tidy(self) -> None:
        if len(self) <= MOST:
            return
        files = sorted(self._folder.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in files[: len(files) - MOST // 2]:
            path.unlink(missing_ok=True)


@cache
def code_sign() -> str:
    """Return a hash of the code that draws pages and of its libraries' versions."""
    hashed = sha256(" ".join(map(version, _DRAWN_WITH)).encode())
    (root,) = tasks.__path__
    for path in sorted(Path(root).rglob("*")):
        if path.suffix in _CODE:
            hashed.update(path.relative_to(root).as_posix().encode())
            hashed.update(path.read_bytes())
    return hashed.hexdigest()
