"""Waiting for a server that does not answer: tries with growing pauses, logged once, until a limit.

A restart takes a server seconds, a repair minutes. Paid answers are kept on this machine meanwhile
(``outbox``), so waiting costs only time. A server that never answered this machine may have a wrong address,
and is tried for seconds only.
"""

import hashlib
import logging
import math
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from warehouse import interruption
from warehouse.storage import StoreAway, WarehouseError, private_folder

T = TypeVar("T")

VARIABLE = "CULTUREMETER_PATIENCE_S"
_DEFAULT_S = 900.0
_UNKNOWN_SERVER_S = 10.0
"""Default seconds for a server that never answered this machine."""
_FIRST_S, _LONGEST_S = 0.2, 30.0
"""First and longest pause; each pause is twice the one before."""

_log = logging.getLogger("culturemeter")
_waiting: dict[str, int] = {}
"""Server -> number of threads of this process that wait for it; the first one logs it."""
_contacted: set[Path] = set()
"""Contact files of servers that have answered this process."""
_mutex = threading.Lock()


def contact_file(home: Path, address: str) -> Path:
    """Return the file that exists once the server at an address has answered this machine."""
    return home / "met" / hashlib.sha256(address.encode()).hexdigest()[:16]


def patience_s(is_known: bool = True) -> float:
    """Return the seconds for which a server that does not answer is tried again.

    is_known: whether it has answered this machine before. Raises WarehouseError if the variable is not a
    number.
    """
    patience = os.environ.get(VARIABLE) or (_DEFAULT_S if is_known else _UNKNOWN_SERVER_S)
    try:
        seconds = float(patience)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise WarehouseError(f"{VARIABLE} is {patience!r}: set it to a number of seconds, such as 900.")
    return seconds


def patiently(
    place: str,
    work: Callable[[], T],
    why_away: Callable[[Exception], str | None],
    advice: str,
    contact: Path | None = None,
) -> T:
    """Return `work`'s result; `work` is called again while the server at `place` does not answer.

    Args:
        why_away: error -> why the server counts as away, or None for an error to raise at once.
        advice: what to check, for the final error.
        contact: file that exists if the server has answered before (``contact_file``); None: it has.

    Raises:
        StoreAway: the server did not answer for `patience_s` seconds.
    """
    pause, since, paused = _FIRST_S, time.monotonic(), 0.0
    is_waiting = is_logger = False
    try:
        while True:
            try:
                result = work()
                break
            except Exception as error:
                reason, elapsed = why_away(error), max(paused, time.monotonic() - since)
                if reason is None:
                    raise
                is_known = contact is None or contact in _contacted or contact.exists()
                remaining = patience_s(is_known) - elapsed
                if remaining <= 0:
                    never = "" if is_known else ", and it never answered this machine before"
                    raise StoreAway(
                        f"{place} does not answer ({reason}): tried for {_words(elapsed)}{never}. {advice}"
                    ) from None
                if not is_waiting:
                    is_waiting, is_logger = True, _count(place, 1) == 1
                    if is_logger:
                        _log.warning(
                            "%s does not answer (%s): trying again for up to %s (%s)",
                            place, reason, _words(remaining), VARIABLE,
                        )  # fmt: skip
            pause = min(pause, remaining)
            time.sleep(pause)
            interruption.check()
            paused, pause = paused + pause, min(2 * pause, _LONGEST_S)
        if is_logger:
            _log.warning("%s answers again, after %s", place, _words(time.monotonic() - since))
        if contact is not None:
            _remember(contact)
        return result
    finally:
        if is_waiting:
            _count(place, -1)


def _remember(contact: Path) -> None:
    if contact in _contacted:
        return
    _contacted.add(contact)
    with suppress(OSError):  # in a read-only home: other processes then count the server as unknown
        private_folder(contact.parent)
        contact.touch()


def _count(place: str, change: int) -> int:
    with _mutex:
        _waiting[place] = _waiting.get(place, 0) + change
        return _waiting[place]


def _words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
