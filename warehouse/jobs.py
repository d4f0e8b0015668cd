"""Jobs that servers were sent and have not all answered, written down so that nobody pays for them twice.

A job is a note: a name, and a text that only its sender understands. Notes of the same thing asked are
together. Whoever is about to send looks at them under a lock, which all who share the store wait for.
"""

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import get_ident
from typing import Protocol

from filelock import FileLock


class StoredJobs(Protocol):
    """The jobs of one thing that is asked."""

    @property
    def folder(self) -> Path:
        """Return this machine's folder for files that last as long as a call."""

    def locked(self) -> "AbstractContextManager[StoredJobs]":
        """Hold the lock; gives the same jobs, whose changes fail where the lock was lost meanwhile."""

    def notes(self) -> Mapping[str, tuple[str, float]]:
        """Name -> text, and for how many seconds it has stood there unchanged.

        The latter is infinite where a lock goes with its holder only. Where it can be lost, who wrote a note
        may live, and be about to do what the note says.
        """

    def write(self, name: str, text: str) -> None:
        """Write a note, or write it anew: killed at any point there is the old one or the new one."""

    def delete(self, name: str) -> None:
        """Delete a note, if it is there."""

    def place(self, name: str) -> str:
        """Return the place of a note, for people: "delete …"."""


class FolderJobs:
    """Jobs as files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def locked(self) -> Iterator["FolderJobs"]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self.folder / "lock"):
            yield self

    def notes(self) -> Mapping[str, tuple[str, float]]:
        texts: dict[str, tuple[str, float]] = {}
        for path in sorted(self.folder.glob("*.json")):
            try:
                text = path.read_text(
                    encoding="utf-8", errors="surrogateescape"
                )  # no sender takes it for text
            except FileNotFoundError:
                continue  # another run has seen meanwhile that nothing of it was answered
            texts[path.stem] = text, math.inf
        return texts

    def write(self, name: str, text: str) -> None:
        path = self._path(name)
        new = path.with_suffix(f".{os.getpid()}-{get_ident()}")  # two runs may wait for one job
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)

    def delete(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def place(self, name: str) -> str:
        return str(self._path(name))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"
