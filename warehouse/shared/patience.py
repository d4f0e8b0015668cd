"""Waiting for a server that does not answer: tries with growing pauses, said once, until patience ends.

A server that starts anew is there after seconds, one that somebody has to mend after minutes. What was paid
for is kept on this machine meanwhile (``outbox``), so to wait costs nothing but time.
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from warehouse import interruption
from warehouse.away import StoreAway
from warehouse.storage import WarehouseError

T = TypeVar("T")

VARIABLE = "CULTURESCOPE_PATIENCE_S"
_DEFAULT_S = 900.0
_FIRST_S, _LONGEST_S = 0.2, 30.0
"""The first pause; each is twice the one before, up to the second."""

_log = logging.getLogger("culturescope")
_waiting: dict[str, int] = {}
"""Server -> how many threads of this process wait for it: one of them says so."""
_mutex = threading.Lock()


def patience_s() -> float:
    """Seconds for which a server that does not answer is tried again. Raises WarehouseError for no number."""
    given = os.environ.get(VARIABLE) or _DEFAULT_S
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise WarehouseError(f"{VARIABLE} is {given!r}: set it to a number of seconds, such as 900.")
    return seconds


def patiently(
    place: str, work: Callable[[], T], why_away: Callable[[Exception], str | None], advice: str
) -> T:
    """Return `work`'s result; it is called again while the server at `place` does not answer.

    Args:
        why_away: of an error in words; None: to try again is no use, and the error is raised as it is.
        advice: where to look, for the error that ends it.

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
                left = patience_s() - taken
                if left <= 0:
                    raise StoreAway(
                        f"{place} does not answer ({why}), for {_words(taken)} now. {advice}"
                    ) from None
                if not is_waiting:
                    is_waiting, says_so = True, _count(place, 1) == 1
                    if says_so:
                        _log.warning(
                            "%s does not answer (%s): trying again for up to %s (%s)",
                            place, why, _words(left), VARIABLE,
                        )  # fmt: skip
            time.sleep(min(pause, left))
            interruption.check()
            paused, pause = paused + pause, min(2 * pause, _LONGEST_S)
        if says_so:
            _log.warning("%s answers again, after %s", place, _words(time.monotonic() - since))
        return result
    finally:
        if is_waiting:
            _count(place, -1)


def _count(place: str, change: int) -> int:
    with _mutex:
        _waiting[place] = _waiting.get(place, 0) + change
        return _waiting[place]


def _words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
