"""The one error of all readers of files, and what turns failures of libraries into it.

polars and fastexcel raise ``PanicException``, which is no Exception, for some damaged files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class TableError(ValueError):
    """A file cannot be read: ``FILE, PLACE: what is wrong: what to do``.

    Attributes:
        what: the fault. advice: what to do. place: "line 3", "row 3", "entry 3" or "". line: number of the
            line, None where the format has none. file: "" until the reader of the file adds it.
    """

    def __init__(
        self, what: str, advice: str = "", *, place: str = "", line: int | None = None, file: str = ""
    ) -> None:
        self.what, self.advice, self.line, self.file = what, advice, line, file
        self.place = place or (f"line {line}" if line else "")
        super().__init__(what)

    def __str__(self) -> str:
        where = ", ".join(filter(None, (self.file, self.place)))
        return ": ".join(filter(None, (where, self.what, self.advice)))


@contextmanager
def reading(file: str | Path, kind: str = "file") -> Iterator[None]:
    """Turn any failure of a block into a TableError that names the file, panics included.

    kind: what the file should be, for the message.
    """
    try:
        yield
    except TableError as error:
        error.file = error.file or str(file)
        raise
    except OSError as error:
        if error.strerror is None:
            raise _unreadable(file, kind, error) from error
        raise TableError(f"cannot be read ({error.strerror})", "check the path", file=str(file)) from error
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise _unreadable(file, kind, error) from error


def _unreadable(file: str | Path, kind: str, error: BaseException) -> TableError:
    """Return the error for a library's failure, with the first line of its message."""
    message = " ".join((str(error).strip().splitlines() or [type(error).__name__])[0].split())[:200]
    return TableError(f"not a readable {kind}: {message}", "check the file", file=str(file))
