"""Progress of the work, reported by steps and drawn by the command line.

Without a listener (a Prefect worker) reports are dropped. This is a file of its own because the ingest of
sources reports too, and imports nothing else from the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str, int, int], None]
"""(label, amount done since the last report, total of the label)"""

_listeners: list[Listener] = []


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send reports made within the block to ``listener``."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def report(label: str, advance: int, total: int) -> None:
    """Report to the listeners that ``advance`` more of ``total`` are done."""
    for listener in _listeners:
        listener(label, advance, total)
