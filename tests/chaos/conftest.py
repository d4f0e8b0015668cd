"""Fixtures of the chaos suite: homes for every flow, and the process that runs flows.

CULTURESCOPE_CHAOS scales how much is done: 1 (the default) is the suite of benchmarks/README.md, 0.1 a tenth.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.chaos.forked import FLOWS, Forked, dishes_of, queue_of
from tests.golden.conftest import Homes, blank, fresh, server
from tests.golden.harness import differences, golden_path, metric_rows, read_golden
from tests.golden.test_contract import assert_nothing_twice
from tests.ingest.rows import dishes
from warehouse import Warehouse, run_checks

__all__ = ["blank", "fresh", "server"]

SCALE = float(os.environ.get("CULTURESCOPE_CHAOS") or 1)
DISHES = 500


@pytest.fixture(scope="session")
def forked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    forked = Forked(lambda: request.getfixturevalue("prefect_api"), tmp_path_factory.mktemp("chaos"))
    yield forked
    forked.close()


@pytest.fixture(scope="session")
def new(fresh: Homes) -> Homes:
    """Every call: a new home in which a flow can run."""

    def home(flow: str) -> Path:
        if flow in FLOWS[-2:]:
            home = fresh("spectral")
            dish = {"origin": "Peru", "lang": "en", "obj_label": ["fish"]}
            lines = (dish | {"url": f"Q{n}", "sub_label": f"dish {n}"} for n in range(DISHES))
            dishes_of(home).write_text("".join(json.dumps(line) + "\n" for line in lines))
            return home
        return fresh(flow)

    return home


@pytest.fixture(scope="session")
def assert_complete() -> Callable[[str, Path], None]:
    """Nothing of a finished flow is lost, doubled or different from what it is when nothing disturbs it."""

    def check(flow: str, home: Path) -> None:
        warehouse = Warehouse.open(home)
        if flow == "ingest":
            assert len({row["url"] for row in dishes(warehouse, "fmlama")}) == DISHES
        elif flow == "build_specnorm":
            assert warehouse.query("SELECT count(*), count(DISTINCT seed) FROM specnorm_draft").row(0) == (
                12,
                12,
            )
            assert_each_prompt_once(warehouse)
            queue_of(home).unlink(missing_ok=True)
        else:
            recorded = read_golden(golden_path(flow, "metric_value"))
            assert differences(recorded, metric_rows(home, flow)) == []
            assert_nothing_twice(home, flow)
        wrong = run_checks(warehouse).filter(pl.col("n_violations") > 0)["check"].to_list()
        assert [name for name in wrong if name != "metric_outside_range"] == []  # numbers are compared above

    return check


def assert_each_prompt_once(warehouse: Warehouse) -> None:
    """No prompt has two stored completions."""
    n, n_distinct = warehouse.query(
        "SELECT count(*), count(DISTINCT request_hash || item) FROM response"
    ).row(0)
    assert n == n_distinct > 0
