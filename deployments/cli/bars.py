"""Progress displays: bars on a terminal, a line from time to time in a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn

from deployments.show.display import clean, err, say
from tasks.loop import progress

EVERY_S = 30.0
"""Seconds between two lines of a log."""


def duration(seconds: float) -> str:
    """Return seconds in words: 8 s, 3 min 20 s, 2 h 5 min."""
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if hours else f"{minutes} min {rest} s"


@contextmanager
def bars() -> Iterator[None]:
    """Show the progress that steps report within the block: one bar per label on a terminal, lines in a log.

    A log gets a line per unfinished label every ``EVERY_S``, even if nothing was reported meanwhile, and one
    when the label is done.
    """
    drawn = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=err,
        speed_estimate_period=600,
    )
    known: dict[str, Any] = {}
    lock, over, latest = Lock(), Event(), drawn.get_time()

    def listener(label: str, advance: int, total: int) -> None:
        nonlocal latest
        with lock:
            if label not in known:
                known[label] = drawn.add_task(clean(label), total=total, speed="")
                if advance:  # count from the last report, so that loading the engine is included
                    drawn.tasks[known[label]].start_time = latest
            latest = drawn.get_time()
            task = drawn.tasks[known[label]]
            was_finished = task.finished
            if total > task.total:
                task.finished_time = None  # the total has grown
            drawn.update(known[label], advance=advance, total=total)
            if task.speed and total > 1000:
                drawn.update(known[label], speed=f"{task.speed:,.0f} items/s")
            if task.finished and not was_finished and not err.is_terminal:
                say(_line(task), style="")

    def tell() -> None:
        while not over.wait(EVERY_S):
            for task in drawn.tasks:
                if task.completed > 0 and not task.finished:
                    say(_line(task), style="")

    with progress.listen(listener):
        if err.is_terminal:
            with drawn:
                yield
            return
        teller = Thread(target=tell, name="progress", daemon=True)
        teller.start()
        try:
            yield
        finally:
            over.set()
            teller.join()


def _line(task: Task) -> str:
    """Return "label done/total" with the rate and the time left or, once done, the time taken."""
    text = f"{task.description} {task.completed:,.0f}/{task.total:,.0f}"
    elapsed = max(task.elapsed or 0.0, 1e-9)
    if task.finished:
        return f"{text} in {duration(elapsed)}"
    rate = task.completed / elapsed  # over the whole time, since a server answers in bursts
    return f"{text}, {rate:,.1f}/s, about {duration((task.remaining or 0) / rate)} left"
