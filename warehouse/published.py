"""Reading the published file: one DuckDB instance per process, attached anew when the file has been replaced.

Starting an instance and attaching the file costs 40 ms, a cursor on a standing one half a millisecond. The
file is locked (shared) only while somebody reads: an idle process keeps no outside program from writing.
"""

import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

import duckdb

from warehouse.state import FileSign, sign_of

__all__ = ["HeldOutside", "lock_shared", "reader"]

_ATTACH = "ATTACH '{path}' AS culturescope (READ_ONLY)"  # ATTACH takes no parameters


class HeldOutside(Exception):  # noqa: N818 - it is no error yet: who reads waits for a while
    """An outside program has the file open for writing."""


class _Version:
    """The published file as it was at one time. It stays readable when another takes its name."""

    def __init__(self, path: Path) -> None:
        self.path, self.signs, self.readers = path, _signs(path), 0
        # An in-memory database of its own, because connect(path) returns a cached instance, and so an old
        # version, while anybody in this process still reads one. Spills go to the system's temporary folder:
        # the default for in-memory databases is the working directory. Parts are not kept in memory.
        spill = Path(tempfile.gettempdir()) / f"culturescope-{uuid4().hex}"
        self.instance = duckdb.connect(
            ":memory:", config={"temp_directory": str(spill), "enable_external_file_cache": False}
        )
        self.file = path.open("rb")
        try:
            self.instance.execute(_ATTACH.replace("{path}", str(path).replace("'", "''")))
        except BaseException:
            self.close()
            raise

    def is_current(self, path: Path) -> bool:
        """Whether the file at `path` is still this one, and no outside program has written to it."""
        return self.path == path and self.signs == _signs(path)

    def close(self) -> None:
        """Let go of the file; cursors that are still open keep the instance."""
        self.instance.close()
        self.file.close()


class _Standing:
    """The version that the readers of this process share."""

    def __init__(self) -> None:
        self._version: _Version | None = None
        self._mutex = threading.Lock()
        self._parents: list[_Version | None] = []
        os.register_at_fork(
            before=self._before_fork, after_in_parent=self._mutex.release, after_in_child=self._in_child
        )

    def enter(self, path: Path) -> _Version:
        """The version at `path`, locked, with one reader more."""
        with self._mutex:
            version = self._version
            if version is None or not version.is_current(path):
                self._leave_to_its_readers()
                version = self._version = _attached(path)
            elif not version.readers and not lock_shared(version.file):
                raise HeldOutside
            version.readers += 1
            return version

    def leave(self, version: _Version) -> None:
        """One reader less; the last one unlocks the file."""
        with self._mutex:
            version.readers -= 1
            if version.readers:
                return
            if version is self._version:
                # POSIX locks belong to the process and the file: this gives up DuckDB's own as well.
                fcntl.lockf(version.file, fcntl.LOCK_UN)
            else:
                version.close()

    def _leave_to_its_readers(self) -> None:
        version, self._version = self._version, None
        if version is not None and not version.readers:
            version.close()

    def _before_fork(self) -> None:
        # The threads of an instance do not exist in a child, which would wait for them for ever.
        self._mutex.acquire()
        if self._version is not None and not self._version.readers:
            self._leave_to_its_readers()

    def _in_child(self) -> None:
        self._parents.append(self._version)  # neither used nor closed here
        self._version = None
        self._mutex.release()


_standing = _Standing()


@contextmanager
def reader(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to what is published at `path` now, which it keeps until the block ends.

    Raises HeldOutside, or what DuckDB raises for a file that it cannot attach.
    """
    version = _standing.enter(path)
    try:
        connection = version.instance.cursor()
        try:
            connection.execute("USE culturescope")
            yield connection
        finally:
            connection.interrupt()  # after Ctrl-C a query would go on, and close() wait for its end
            connection.close()
    finally:
        _standing.leave(version)


def lock_shared(file: BinaryIO) -> bool:
    """Take the POSIX lock of a reader, which DuckDB's own write lock excludes. False if a writer has it."""
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _attached(path: Path) -> _Version:
    while True:
        try:
            version = _Version(path)
        except duckdb.Error as error:
            if "Could not set lock" in str(error):
                raise HeldOutside from error
            raise
        if version.is_current(path):
            return version
        version.close()  # another took its name meanwhile: which of the two is attached is unknown


def _signs(path: Path) -> tuple[FileSign | None, FileSign | None]:
    """Of the file, and of the log that an outside program keeps beside it while it writes."""
    return sign_of(path), sign_of(path.with_name(f"{path.name}.wal"))
