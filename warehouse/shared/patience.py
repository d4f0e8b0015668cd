"""Waiting for a server that does not answer: tries with growing pauses, said once, until patience ends.

A server that starts anew is there after seconds, one that somebody has to mend after minutes. What was paid
for is kept on this machine meanwhile (``outbox``), so to wait costs nothing but time. A server that never
answered this machine may have a wrong address, and is tried for seconds only.
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
from warehouse.away import StoreAway
from warehouse.storage import WarehouseError, private_folder

T = TypeVar("T")

VARIABLE = "CULTURESCOPE_PATIENCE_S"
_DEFAULT_S = 900.0
_STRANGER_S = 10.0
"""Seconds for which a server is tried that never answered this machine, where the variable says nothing."""
_FIRST_S, _LONGEST_S = 0.2, 30.0
"""The first pause; each is twice the one before, up to the second."""

_log = logging.getLogger("culturescope")
_waiting: dict[str, int] = {}
"""Server -> how many threads of this process wait for it: one of them says so."""
_signed: set[Path] = set()
"""Signs of servers that have answered this process."""
_mutex = threading.Lock()


def met(home: Path, address: str) -> Path:
    """Return the file that is there once the server at an address has answered this machine."""
    return home / "met" / hashlib.sha256(address.encode()).hexdigest()[:16]


def patience_s(is_known: bool = True) -> float:
    """Seconds for which a server that does not answer is tried again. Raises WarehouseError for no number.

    is_known: whether it has answered this machine before.
    """
    patience = os.environ.get(VARIABLE) or (_DEFAULT_S if is_known else _STRANGER_S)
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
    sign: Path | None = None,
) -> T:
    """Return `work`'s result; it is called again while the server at `place` does not answer.

    Args:
        why_away: of an error in words; None: to try again is no use, and the error is raised as it is.
        advice: where to look, for the error that ends it.
        sign: the file that says that the server has answered before (``met``); None: it has.

    Raises:
        StoreAway: it did not answer for `patience_s` seconds.
    """
    pause, since, paused = _FIRST_S, time.monotonic(), 0.0
    is_waiting = says_so = False
    try:
        while True:
            try:
                result = work()
                break
            except Exception as error:
                why, taken = why_away(error), max(paused, time.monotonic() - since)
                if why is None:
                    raise
                is_known = sign is None or sign in _signed or sign.exists()
                left = patience_s(is_known) - taken
                if left <= 0:
                    never = "" if is_known else ", and it never answered this machine before"
                    raise StoreAway(
                        f"{place} does not answer ({why}), for {_words(taken)} now{never}. {advice}"
                    ) from None
                if not is_waiting:
                    is_waiting, says_so = True, _count(place, 1) == 1
                    if says_so:
                        _log.warning(
                            "%s does not answer (%s): trying again for up to %s (%s)",
                            place, why, _words(left), VARIABLE,
                        )  # fmt: skip
            pause = min(pause, left)
            time.sleep(pause)
            interruption.check()
            paused, pause = paused + pause, min(2 * pause, _LONGEST_S)
        if says_so:
            _log.warning("%s answers again, after %s", place, _words(time.monotonic() - since))
        if sign is not None:
            _remember(sign)
        return result
    finally:
        if is_waiting:
            _count(place, -1)


def _remember(sign: Path) -> None:
    if sign in _signed:
        return
    _signed.add(sign)
    with suppress(OSError):  # a home that cannot be written: other processes do not know the server
        private_folder(sign.parent)
        sign.touch()


def _count(place: str, change: int) -> int:
    with _mutex:
        _waiting[place] = _waiting.get(place, 0) + change
        return _waiting[place]


def _words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
