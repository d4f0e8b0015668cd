"""How far the work has come: bars on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Lock, Thread

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from deployments.display import err
from tasks import progress

EVERY_S = 30.0
"""Seconds between two lines of a log."""


def bars() -> AbstractContextManager[None]:
    """Show what steps report within the block: a bar per label, or lines where nobody watches."""
    return _drawn() if err.is_terminal else _logged(EVERY_S)


def duration(seconds: float) -> str:
    """Seconds in words: 8 s, 3 min 20 s, 2 h 5 min."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


@contextmanager
def _drawn() -> Iterator[None]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=err, transient=False) as drawn:
        known: dict[str, TaskID] = {}

        def listener(label: str, advance: int, total: int) -> None:
            if label not in known:
                known[label] = drawn.add_task(label, total=total, speed="")
            task = drawn.tasks[known[label]]
            drawn.update(known[label], advance=advance)
            if task.speed and total > 1000:
                drawn.update(known[label], speed=f"{task.speed:,.0f} items/s")

        with progress.listen(listener):
            yield


@dataclass
class _Count:
    """How much of one label is done.

    Attributes:
        since: when its work began, the loading of its engine included.
        first, first_at: the first report; speed is measured from there, if there are more.
    """

    total: int
    since: float
    first: int
    first_at: float
    done: int = 0

    def line(self, label: str, now: float) -> str:
        """label done/total, and rate with the time that is left, or the time that it took."""
        text = f"{label} {self.done:,}/{self.total:,}"
        if self.done >= self.total:
            return f"{text} in {duration(now - self.since)}"
        rate = self.done / max(now - self.since, 1e-9)
        if self.done > self.first and now > self.first_at:
            rate = (self.done - self.first) / (now - self.first_at)
        return f"{text}, {rate:,.1f}/s, about {duration((self.total - self.done) / rate)} left"


@contextmanager
def _logged(every: float) -> Iterator[None]:
    """Print a line of each label under way every so many seconds, also while nothing is reported, and one
    when it is done."""
    counts: dict[str, _Count] = {}
    lock, over = Lock(), Event()
    latest = time.monotonic()

    def say(label: str) -> None:
        text = counts[label].line(label, time.monotonic())
        err.print(text, highlight=False, markup=False, soft_wrap=True)

    def listener(label: str, advance: int, total: int) -> None:
        nonlocal latest
        with lock:
            before, latest = latest, time.monotonic()
            count = counts.setdefault(label, _Count(total, before, advance, latest))
            count.done += advance
            if count.done >= total > count.done - advance:
                say(label)

    def tell() -> None:
        while not over.wait(every):
            with lock:
                for label, count in counts.items():
                    if 0 < count.done < count.total:
                        say(label)

    teller = Thread(target=tell, name="progress", daemon=True)
    with progress.listen(listener):
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()
