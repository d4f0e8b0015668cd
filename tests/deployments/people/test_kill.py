"""The server is killed twenty times while people save: every acknowledged save is stored."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from random import Random

import pytest

from benchmarks.people import STUDY, Crowd, command, lost_values, served, take_part
from deployments.serve.server import free_port

pytestmark = pytest.mark.heavy

KILLS, PEOPLE = 20, 20


def test_no_acknowledged_save_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    command(tmp_path, "new", STUDY, "--study", "spectral-ranking", "--people", str(PEOPLE))
    port, crowd, dice, done = free_port(), Crowd(), Random(0), threading.Event()

    async def visits(address: str, links: dict[str, str]) -> None:
        work = asyncio.create_task(take_part(address, links, 3600, crowd, pause=0.1))
        while not done.is_set() and not work.done():
            await asyncio.sleep(0.1)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    n_before = []
    for kill in range(KILLS):
        with served(tmp_path, port) as (address, links):
            if not kill:
                people = threading.Thread(target=lambda a=address, of=links: asyncio.run(visits(a, of)))
                people.start()
                while len({annotator for annotator, _, _ in crowd.acknowledged}) < PEOPLE:
                    assert people.is_alive()
                    time.sleep(0.05)
            n_before.append(len(crowd.seconds))
            time.sleep(0.5 + dice.random())
            while len(crowd.seconds) == n_before[-1]:  # under load
                assert people.is_alive()
                time.sleep(0.01)
    done.set()
    people.join()
    assert len(crowd.seconds) > n_before[-1]
    assert crowd.n_unanswered > 0
    assert sum(map(len, crowd.acknowledged.values())) > 10 * KILLS
    assert lost_values(tmp_path, crowd) == []
