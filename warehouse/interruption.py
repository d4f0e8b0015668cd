"""Guard against a Ctrl-C that a library swallows: nothing is written after it.

Python raises KeyboardInterrupt wherever the main thread is, in a library's callback too. Polars drops the
exception there and puts another text in place of a literal: about one interruption in 500 of
``with_columns(pl.lit("name"))`` left wrong rows and no error (polars 2.1). So the handler of Ctrl-C calls
`note` before it raises, and every write calls `check`.
"""

from __future__ import annotations

from threading import Event

_noted = Event()


def note() -> None:
    """Record a Ctrl-C: from now on `check` raises in every thread."""
    _noted.set()


def forget() -> None:
    """Clear the record of a Ctrl-C."""
    _noted.clear()


def has_come() -> bool:
    """Return whether a Ctrl-C is recorded."""
    return _noted.is_set()


def check() -> None:
    """Raise KeyboardInterrupt after Ctrl-C. Call it before something is written for good."""
    if has_come():
        raise KeyboardInterrupt
