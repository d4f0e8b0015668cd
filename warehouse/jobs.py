"""Jobs that were sent to servers and are not all answered, stored so that nobody pays for them twice.

A job is stored as a note: a name, and a text that only its sender reads. The notes of one request are
together. A sender reads them under a lock that is shared by all processes of the store.
"""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import get_ident
from typing import Protocol

from warehouse.outside import WriterLock


class StoredJobs(Protocol):
    """The jobs of one request."""

    @property
    def folder(self) -> Path:
        """Return this machine's folder for temporary files of a call."""

    def locked(self) -> "AbstractContextManager[StoredJobs]":
        """Hold the lock within the block; yield the same jobs, whose changes fail if the lock is lost."""

    def notes(self) -> Mapping[str, tuple[str, float]]:
        """Return name -> text, and the seconds since it was last changed.

        The seconds are infinite if only the end of its holder releases the lock. If the lock can be lost, the
        writer of a note may still run, and be about to do what the note says.
        """

    def write(self, name: str, text: str) -> None:
        """Write or replace a note; a kill leaves the old text or the new one, both complete."""

    def delete(self, name: str) -> None:
        """Delete a note if it exists."""

    def place(self, name: str) -> str:
        """Return where a note is, for advice such as "delete …"."""


class FolderJobs:
    """Jobs as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator["FolderJobs"]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with WriterLock(self.folder / "lock"):
            yield self

    def notes(self) -> Mapping[str, tuple[str, float]]:
        texts: dict[str, tuple[str, float]] = {}
        for path in sorted(self.folder.glob("*.json")):
            try:
                # A damaged file becomes a text that no sender accepts.
                text = path.read_text(encoding="utf-8", errors="surrogateescape")
            except FileNotFoundError:
                continue  # another run has deleted it meanwhile: its server answered nothing
            texts[path.stem] = text, math.inf
        return texts

    def write(self, name: str, text: str) -> None:
        path = self._path(name)
        temporary = path.with_suffix(f".{os.getpid()}-{get_ident()}")  # two runs may wait for one job
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def delete(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def place(self, name: str) -> str:
        return str(self._path(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"
