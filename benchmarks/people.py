"""Figure: a hundred people at once in a study: time of a save, and number of lost saves."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np

from benchmarks.process import show
from benchmarks.sizes import Sizes
from deployments.serve.server import free_port

BAR_MS = 200.0
STUDY = "load"
PAUSE_S = 3.0
"""Mean time between two saves of one person."""

DOMAINS = 9
PLACES = {"ranking": ("rank", 1), "most_different": ("about_you", 3), "comment": ("about_you", 3)}
"""Maps a field to its page and the page's place in everyone's assignment."""
CHOICES = ("house_numbers", "religions", "holidays", "languages", "currency")

Key = tuple[str, str, str]
"""(annotator, item, field)"""


@dataclass
class Crowd:
    """Observations of the people: acknowledged values by field in their order, seconds of each save,
    refusals.
    """

    acknowledged: dict[Key, list[object]] = field(default_factory=lambda: defaultdict(list))
    seconds: list[float] = field(default_factory=list)
    n_refused: int = 0
    n_unanswered: int = 0


def people(sizes: Sizes) -> None:
    """A study served by the command, and people as asyncio tasks of this process."""
    with TemporaryDirectory(prefix="culturescope-bench-") as folder:
        home = Path(folder)
        n, seconds = sizes.people, sizes.people_seconds
        command(home, "new", STUDY, "--study", "spectral-ranking", "--people", str(n))
        with served(home, free_port()) as (address, links):
            crowd = Crowd()
            asyncio.run(take_part(address, links, seconds, crowd))
        lost = lost_values(home, crowd)
    times = 1e3 * np.array(crowd.seconds)
    p50, p95, most = np.percentile(times, [50, 95, 100])
    verdict = "met" if p95 < BAR_MS and not lost and not crowd.n_unanswered else "missed"
    bad = f"lost {len(lost)}, refused {crowd.n_refused}, unanswered {crowd.n_unanswered}"
    show(
        f"{n} people for {seconds:.0f} s: {times.size:,} saves ({times.size / seconds:.0f} a second), p50 "
        f"{p50:.0f} ms, p95 {p95:.0f} ms, longest {most:.0f} ms; {bad}; "
        f"bar {BAR_MS:.0f} ms and none lost: {verdict}"
    )


def command(home: Path, *arguments: str) -> str:
    """``culturescope people`` in a process of its own; returns what it wrote to standard output."""
    done = subprocess.run(_command(*arguments), env=_environment(home), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


@contextmanager
def served(home: Path, port: int) -> Iterator[tuple[str, dict[str, str]]]:
    """The study's server as a process, ended by SIGKILL; gives its address and new links' paths by person."""
    links = home / f"links-{time.monotonic_ns()}.csv"
    with links.open("w") as file:
        process = subprocess.Popen(
            _command("serve", STUDY, "--port", str(port)), env=_environment(home), stdout=file,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        while not _answers(address):
            if process.poll() is not None:
                raise RuntimeError("the server ended")
            time.sleep(0.05)
        rows = (line.split(",") for line in links.read_text().splitlines())
        yield address, {code: link.removeprefix(address) for code, _, _, link in rows}
    finally:
        process.kill()
        process.wait()


async def take_part(
    address: str, links: dict[str, str], seconds: float, crowd: Crowd, pause: float = PAUSE_S
) -> None:
    """Everyone but the lead comes in, consents and saves fields until the time is over."""
    until = time.monotonic() + seconds
    codes = [code for code in links if code != "lead"]
    await asyncio.gather(*(_person(address, code, links[code], until, crowd, pause) for code in codes))


def lost_values(home: Path, crowd: Crowd) -> list[Key]:
    """Fields of which an acknowledged value is not among the stored revisions, in the order of saving."""
    database = sqlite3.connect(home / "people" / STUDY / "answers.sqlite")
    rows = database.execute("SELECT annotator, item, field, value FROM answer ORDER BY revision").fetchall()
    database.close()
    stored: dict[Key, list[object]] = defaultdict(list)
    for annotator, item, name, value in rows:
        stored[annotator, item, name].append(json.loads(value))
    return [key for key, values in crowd.acknowledged.items() if not _is_within(values, stored[key])]


def _is_within(values: Sequence[object], stored: Sequence[object]) -> bool:
    """Whether the values are there in this order; the same value again is no revision."""
    rest = iter(stored)
    distinct = [value for n, value in enumerate(values) if not n or value != values[n - 1]]
    return all(any(value == one for one in rest) for value in distinct)


async def _person(address: str, code: str, link: str, until: float, crowd: Crowd, pause: float) -> None:
    dice = random.Random(code)
    async with httpx.AsyncClient(base_url=address, timeout=60, follow_redirects=True) as client:
        await asyncio.sleep(dice.random() * pause)
        page = (await client.post(link)).text
        secret = re.findall(r'name="csrf" value="([^"]+)"', page)[0]
        (await client.post("/consent", data={"csrf": secret})).raise_for_status()
        n = 0
        while time.monotonic() < until:
            n += 1
            name = dice.choice(list(PLACES))
            item, place = PLACES[name]
            form, value = _value(name, n, dice)
            begun = time.perf_counter()
            try:
                reply = await client.post(f"/save/{place}/{name}", data={"csrf": secret, **form})
            except httpx.TransportError:
                crowd.n_unanswered += 1
                await asyncio.sleep(0.2)
                continue
            crowd.seconds.append(time.perf_counter() - begun)
            if reply.status_code == 200:
                crowd.acknowledged[code, item, name].append(value)
            else:
                crowd.n_refused += 1
            await asyncio.sleep(dice.expovariate(1 / pause))


def _value(name: str, n: int, dice: random.Random) -> tuple[dict[str, str], object]:
    """Return a field's value as the form sends it, and as it is stored."""
    if name == "ranking":
        ranks = [str(rank) for rank in dice.sample(range(1, DOMAINS + 1), DOMAINS)]
        return {f"ranking.{place}": rank for place, rank in enumerate(ranks)}, dict(
            zip(_domains(), ranks, strict=True)
        )
    value = dice.choice(CHOICES) if name == "most_different" else f"words {n}"
    return {name: value}, value


def _domains() -> list[str]:
    from deployments.people.studies import KINDS

    kind = (KINDS / "spectral-ranking.toml").read_text(encoding="utf-8")
    return re.findall(r'value = "(\w+)"', kind)[:DOMAINS]


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"{address}/static/people.css", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "deployments.cli.app", "people", *arguments]


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "CULTURESCOPE_HOME": str(home), "PYTHONPATH": str(Path(__file__).parent.parent)}
