"""A shared store whose servers keep failing: numbers equal the recorded ones, and no request is repeated."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.engines.test_openai import Scripted
from tests.faulty import faulty_postgres, faulty_s3
from tests.golden.harness import differences, golden_path, metric_rows, new_home, read_golden, run
from warehouse import Warehouse
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import store_at

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.shared import patience
from warehouse.shared.database import Database

pytestmark = pytest.mark.heavy

TWICE = """
SELECT kind, request_hash, unit, count(DISTINCT part) FROM culturescope.registration
GROUP BY 1, 2, 3 HAVING count(DISTINCT part) > 1
"""


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
    url = shared_environment["CULTURESCOPE_WAREHOUSE"]
    address = urlsplit(url)
    assert address.port is not None
    with (
        faulty_s3(shared_environment["CULTURESCOPE_PARTS_ENDPOINT"]) as s3,
        faulty_postgres(address.port) as postgres,
    ):
        faulty = {
            "CULTURESCOPE_WAREHOUSE": url.replace(f":{address.port}/", f":{postgres.port}/"),
            "CULTURESCOPE_PARTS_ENDPOINT": s3.endpoint,
            "CULTURESCOPE_PATIENCE_S": "900",
        }
        for name, value in (shared_environment | faulty).items():
            monkeypatch.setenv(name, value)
        copy(Warehouse(LocalStore(blank)), store_at(tmp_path))
        home = new_home(blank, f"{evaluation}-away", evaluation, server.url)
        (home / "culturescope.duckdb").unlink()

        def restore_and_count(seconds: float) -> None:
            pauses.append(seconds)
            if postgres.is_cut:
                postgres.listen()

        calls, uncut = Counter[str](), Database.call

        def cut_at_times(self: Database, work: object) -> object:
            calls["n"] += 1
            if calls["n"] % 40 == 0:
                postgres.cut()
            return uncut(self, work)  # type: ignore[arg-type]

        s3.fault = lambda method, path: draw.choice(["", "", "", "503", "drop", "lost"])
        monkeypatch.setattr(patience.time, "sleep", restore_and_count)
        monkeypatch.setattr(Database, "call", cut_at_times)
        run(evaluation, home)
        assert calls["n"] > 80
        assert len(pauses) > 10
        recorded = read_golden(golden_path(evaluation, "metric_value"))
        assert differences(recorded, metric_rows(home, evaluation)) == []
        assert not list((home / "unsent").rglob("*.parquet"))
        twice = Database(url, "").call(lambda connection: connection.execute(TWICE).fetchall())
        assert twice == []
