"""Figure: seconds of a save, and number of lost saves, with a hundred people in a study at once."""

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
"""Mean seconds between two saves of one person."""

DOMAINS = 9
PLACES = {"ranking": ("rank", 1), "most_different": ("about_you", 3), "comment": ("about_you", 3)}
"""Page of each field, and the page's place in everyone's assignment."""
CHOICES = ("house_numbers", "religions", "holidays", "languages", "currency")

Key = tuple[str, str, str]
"""Annotator, item and field."""


@dataclass
class Crowd:
    """Observations: acknowledged values of each field in order, seconds of each save, and failed saves."""

    acknowledged: dict[Key, list[object]] = field(default_factory=lambda: defaultdict(list))
    seconds: list[float] = field(default_factory=list)
    n_refused: int = 0
    n_unanswered: int = 0


def people(sizes: Sizes) -> None:
    """Serve a study by the command, let people save as asyncio tasks of this process, and print the times."""
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        home = Path(folder)
        n, seconds = sizes.people, sizes.people_seconds
        command(home, "new", STUDY, "--study", "spectral-ranking", "--people", str(n))
        with served(home, free_port()) as (address, links):
            crowd = Crowd()
            asyncio.run(take_part(address, links, seconds, crowd))
        lost = lost_values(home, crowd)
    times = 1e3 * np.array(crowd.seconds)
    p50, p95, longest = np.percentile(times, [50, 95, 100])
    verdict = "met" if p95 < BAR_MS and not lost and not crowd.n_unanswered else "missed"
    failures = f"lost {len(lost)}, refused {crowd.n_refused}, unanswered {crowd.n_unanswered}"
    show(
        f"{n} people for {seconds:.0f} s: {times.size:,} saves ({times.size / seconds:.0f} a second), p50 "
        f"{p50:.0f} ms, p95 {p95:.0f} ms, longest {longest:.0f} ms; {failures}; "
        f"bar {BAR_MS:.0f} ms and none lost: {verdict}"
    )


def command(home: Path, *arguments: str) -> str:
    """Run ``culturemeter people`` in a process of its own; returns its standard output."""
    result = subprocess.run(_command(*arguments), env=_environment(home), capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(result.stdout + result.stderr)
    return result.stdout


@contextmanager
def served(home: Path, port: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Serve the study in a process that SIGKILL ends; yields its address and each person's path."""
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
                raise RuntimeError("the server ended before it answered")
            time.sleep(0.05)
        rows = (line.split(",") for line in links.read_text().splitlines())
        yield address, {code: link.removeprefix(address) for code, _, _, link in rows}
    finally:
        process.kill()
        process.wait()


async def take_part(
    address: str, links: dict[str, str], seconds: float, crowd: Crowd, pause: float = PAUSE_S
) -> None:
    """Let everyone except the lead sign in, consent and save fields until the time is over."""
    end = time.monotonic() + seconds
    codes = [code for code in links if code != "lead"]
    await asyncio.gather(*(_person(address, code, links[code], end, crowd, pause) for code in codes))


def lost_values(home: Path, crowd: Crowd) -> list[Key]:
    """Return the fields whose acknowledged values are not all among the stored revisions, in order."""
    database = sqlite3.connect(home / "people" / STUDY / "answers.sqlite")
    rows = database.execute("SELECT annotator, item, field, value FROM answer ORDER BY revision").fetchall()
    database.close()
    stored: dict[Key, list[object]] = defaultdict(list)
    for annotator, item, name, value in rows:
        stored[annotator, item, name].append(json.loads(value))
    return [key for key, values in crowd.acknowledged.items() if not _is_within(values, stored[key])]


def _is_within(values: Sequence[object], stored: Sequence[object]) -> bool:
    """Return whether the values are stored in this order; a repeated value makes no new revision."""
    stored_values = iter(stored)
    distinct = [value for n, value in enumerate(values) if not n or value != values[n - 1]]
    return all(any(value == stored_value for stored_value in stored_values) for value in distinct)


async def _person(address: str, code: str, link: str, end: float, crowd: Crowd, pause: float) -> None:
    chance = random.Random(code)
    async with httpx.AsyncClient(base_url=address, timeout=60, follow_redirects=True) as client:
        await asyncio.sleep(chance.random() * pause)
        page = (await client.post(link)).text
        token = re.findall(r'name="csrf" value="([^"]+)"', page)[0]
        (await client.post("/consent", data={"csrf": token})).raise_for_status()
        n = 0
        while time.monotonic() < end:
            n += 1
            name = chance.choice(list(PLACES))
            item, place = PLACES[name]
            form, value = _value(name, n, chance)
            start = time.perf_counter()
            try:
                reply = await client.post(f"/save/{place}/{name}", data={"csrf": token, **form})
            except httpx.TransportError:
                crowd.n_unanswered += 1
                await asyncio.sleep(0.2)
                continue
            crowd.seconds.append(time.perf_counter() - start)
            if reply.status_code == 200:
                crowd.acknowledged[code, item, name].append(value)
            else:
                crowd.n_refused += 1
            await asyncio.sleep(chance.expovariate(1 / pause))


def _value(name: str, n: int, chance: random.Random) -> tuple[dict[str, str], object]:
    """Return a field's new value, as the form sends it and as it is stored."""
    if name == "ranking":
        ranks = [str(rank) for rank in chance.sample(range(1, DOMAINS + 1), DOMAINS)]
        return {f"ranking.{place}": rank for place, rank in enumerate(ranks)}, dict(
            zip(_domains(), ranks, strict=True)
        )
    value = chance.choice(CHOICES) if name == "most_different" else f"words {n}"
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
    return {**os.environ, "CULTUREMETER_HOME": str(home), "PYTHONPATH": str(Path(__file__).parent.parent)}
