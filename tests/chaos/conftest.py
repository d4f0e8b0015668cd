"""Fixtures of the chaos suite: homes for every flow, and the process that runs flows.

CULTUREMETER_CHAOS scales the work: 1 (the default) is the suite of benchmarks/README.md, 0.1 a tenth of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

from tests.builders.culturall.model_server import SOLVERS, Models, rows, serving
from tests.chaos.forked import Forked, dishes_of, pages_of, queue_of
from tests.golden.conftest import Homes, fresh, server
from tests.golden.harness import EVALUATIONS, differences, golden_path, metric_rows, read_golden
from tests.golden.test_contract import assert_nothing_twice
from tests.ingest.conftest import dishes
from warehouse import Warehouse, run_checks

__all__ = ["fresh", "server"]

SCALE = float(os.environ.get("CULTUREMETER_CHAOS") or 1)
DISHES, EXCERPTS = 500, 6


@pytest.fixture(scope="session")
def forked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forked]:
    forked = Forked(lambda: request.getfixturevalue("prefect_api"), tmp_path_factory.mktemp("chaos"))
    yield forked
    forked.close()


@pytest.fixture(scope="session")
def new(fresh: Homes) -> Iterator[Homes]:
    """Every call: a new home in which a flow can run."""
    with ExitStack() as servers:

        def home(flow: str) -> Path:
            if flow in EVALUATIONS:
                return fresh(flow)
            home = fresh("spectral")
            dish = {"origin": "Peru", "lang": "en", "obj_label": ["fish"]}
            dishes = (dish | {"url": f"Q{n}", "sub_label": f"dish {n}"} for n in range(DISHES))
            dishes_of(home).write_text("".join(json.dumps(line) + "\n" for line in dishes))
            excerpts = ({"text": row["fact"], "language": "ja"} for row in rows("ja")[:EXCERPTS])
            pages_of(home).write_text("".join(json.dumps(line) + "\n" for line in excerpts))
            if flow == "build_culturall":
                servers.enter_context(serving(home, Models("ja")))
            return home

        yield home


@pytest.fixture(scope="session")
def assert_complete() -> Callable[[str, Path], None]:
    """Assert that a finished flow has the rows of an undisturbed one: none lost, doubled or different."""

    def check(flow: str, home: Path) -> None:
        warehouse = Warehouse.open(home)
        if flow == "ingest":
            assert len({row["url"] for row in dishes(warehouse, "fmlama")}) == DISHES
        elif flow == "build_specnorm":
            drafts = "SELECT count(*), count(DISTINCT seed) FROM specnorm_draft"
            assert warehouse.query(drafts).row(0) == (12, 12)
            assert_each_prompt_once(warehouse)
            queue_of(home).unlink(missing_ok=True)
        elif flow == "build_culturall":
            drafts = "SELECT count(*), count(DISTINCT source_hash) FROM culturall_draft"
            assert warehouse.query(drafts).row(0) == (EXCERPTS, EXCERPTS)
            measures = warehouse.query("SELECT count(*) FROM culturall_measure").item()
            assert measures == EXCERPTS * len(SOLVERS)
            assert_each_prompt_once(warehouse)
        else:
            recorded = read_golden(golden_path(flow, "metric_value"))
            assert differences(recorded, metric_rows(home, flow)) == []
            assert_nothing_twice(home, flow)
        assert run_checks(warehouse).filter(pl.col("n_violations") > 0).rows() == []

    return check


def assert_each_prompt_once(warehouse: Warehouse) -> None:
    """Assert that no prompt has two stored completions."""
    n, n_distinct = warehouse.query(
        "SELECT count(*), count(DISTINCT request_hash || item) FROM response"
    ).row(0)
    assert n == n_distinct > 0
