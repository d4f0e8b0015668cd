"""A shared store whose servers keep failing: numbers equal the recorded ones, and no request is repeated."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.engines.served import Scripted
from tests.faulty import FaultyPostgres, FaultyS3, faulty_postgres, faulty_s3
from tests.golden.harness import (
    differences,
    golden_path,
    metric_rows,
    new_home_of_shared_store,
    read_golden,
    run,
)

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.shared import patience
from warehouse.shared.database import Database

pytestmark = pytest.mark.heavy

LATENCY_S = 2.0
TWICE = """
SELECT kind, request_hash, unit, count(DISTINCT part) FROM culturemeter.registration
GROUP BY 1, 2, 3 HAVING count(DISTINCT part) > 1
"""


class Away(NamedTuple):
    """A shared store behind proxies, and the home of a machine that uses it."""

    s3: FaultyS3
    postgres: FaultyPostgres
    url: str
    home: Path


@contextmanager
def away(
    evaluation: str,
    blank: Path,
    cache: Path,
    server: Scripted,
    shared: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Away]:
    """Yield a store with the reference data, which this process reaches through the proxies only."""
    url = shared["CULTUREMETER_WAREHOUSE"]
    address = urlsplit(url)
    assert address.port is not None
    with (
        faulty_s3(shared["CULTUREMETER_PARTS_ENDPOINT"]) as s3,
        faulty_postgres(address.port) as postgres,
    ):
        faulty = {
            "CULTUREMETER_WAREHOUSE": url.replace(f":{address.port}/", f":{postgres.port}/"),
            "CULTUREMETER_PARTS_ENDPOINT": s3.endpoint,
            "CULTUREMETER_PATIENCE_S": "900",
        }
        for name, value in (shared | faulty).items():
            monkeypatch.setenv(name, value)
        home = new_home_of_shared_store(blank, cache, cache.name, evaluation, server.url)
        yield Away(s3, postgres, url, home)


def assert_recorded_numbers_and_no_answer_twice(evaluation: str, there: Away) -> None:
    recorded = read_golden(golden_path(evaluation, "metric_value"))
    assert differences(recorded, metric_rows(there.home, evaluation)) == []
    assert not list((there.home / "unsent").rglob("*.parquet"))
    assert Database(there.url, "").call(lambda connection: connection.execute(TWICE).fetchall()) == []


@pytest.mark.parametrize("evaluation", ["cure", "spectral"])
def test_a_run_on_failing_servers_gives_the_recorded_numbers(
    blank: Path,
    tmp_path: Path,
    server: Scripted,
    shared_environment: dict[str, str],
    evaluation: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw, pauses = random.Random(0), list[float]()
    with away(evaluation, blank, tmp_path, server, shared_environment, monkeypatch) as there:

        def restore_and_count(seconds: float) -> None:
            pauses.append(seconds)
            if there.postgres.is_cut:
                there.postgres.listen()

        calls, uncut = Counter[str](), Database.call

        def cut_at_times(self: Database, work: object) -> object:
            calls["n"] += 1
            if calls["n"] % 40 == 0:
                there.postgres.cut()
            return uncut(self, work)  # type: ignore[arg-type]

        there.s3.fault = lambda method, path: draw.choice(["", "", "", "503", "drop", "lost"])
        monkeypatch.setattr(patience.time, "sleep", restore_and_count)
        monkeypatch.setattr(Database, "call", cut_at_times)
        run(evaluation, there.home)
        assert calls["n"] > 80
        assert len(pauses) > 10
        assert_recorded_numbers_and_no_answer_twice(evaluation, there)


def test_a_run_on_a_slow_store_gives_the_recorded_numbers(
    blank: Path,
    tmp_path: Path,
    server: Scripted,
    shared_environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wait(method: str, path: str) -> str:
        Event().wait(LATENCY_S)
        return ""

    with away("spectral", blank, tmp_path, server, shared_environment, monkeypatch) as there:
        asked = len(there.s3.asked)
        there.s3.fault = wait
        run("spectral", there.home)
        there.s3.fault = lambda method, path: ""
        assert len(there.s3.asked) > asked
        assert_recorded_numbers_and_no_answer_twice("spectral", there)
