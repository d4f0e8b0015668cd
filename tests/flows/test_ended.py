"""A run that ends early says how: failed by an error, cancelled by a user, else interrupted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import pytest
from prefect.context import FlowRunContext
from prefect.exceptions import TerminationSignal

from flows import evaluation
from flows.evaluation import is_cancelled
from flows.runs import status_of
from tasks.engines.protocols import EngineError
from tests.flows.sessions import session
from tests.warehouse.rows import make_run
from warehouse import Warehouse, finish_run, save_run


@pytest.mark.parametrize(
    ("error", "is_wished", "status"),
    [
        (EngineError("the server is gone"), False, "failed"),
        (TerminationSignal(15), True, "cancelled"),
        (TerminationSignal(15), False, "interrupted"),
        (KeyboardInterrupt(), True, "interrupted"),
    ],
    ids=["an error", "cancelled", "the machine stops", "Ctrl-C"],
)
def test_a_run_that_ends_early_says_how(
    error: BaseException,
    is_wished: bool,
    status: str,
    warehouse: Warehouse,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own: Any = session("m")
    own.ids = {"m": "r1", "other": "r2"}

    def begin(_: object) -> None:
        with warehouse.write() as connection:
            save_run(connection, make_run("r1"))
            save_run(connection, make_run("r2", "other"))
            finish_run(connection, "r2")
        raise error

    monkeypatch.setattr(evaluation, "prepared", lambda *_: own)
    monkeypatch.setattr(evaluation, "answer_all", begin)
    monkeypatch.setattr(evaluation, "is_cancelled", lambda: is_wished)
    monkeypatch.setattr(type(own), "run_ids", lambda _: own.ids)
    with pytest.raises(type(error)):
        evaluation.evaluate(own.evaluation, own.params)
    stored = dict(warehouse.query("SELECT run_id, status FROM run").rows())
    assert status_of(warehouse, stored) == {"r1": status, "r2": "finished"}
    with warehouse.write() as connection:
        save_run(connection, make_run("r1"))
    assert dict(warehouse.query("SELECT run_id, status FROM run").rows())["r1"] == "running", "it resumes"


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({"own": "cancelling"}, True),
        ({"own": "running", "parent": "cancelling"}, True),
        ({"own": "running", "parent": "cancelled"}, True),
        ({"own": "running", "parent": "running"}, False),
        ({"own": "running", "parent": None}, False),
        ({}, False),
    ],
)
def test_a_flow_run_is_cancelled_with_the_one_that_it_is_part_of(
    states: dict[str, str | None], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Client:
        def __enter__(self) -> Client:
            return self

        def __exit__(self, *_: object) -> Literal[False]:
            return False

        def read_flow_run(self, name: str) -> Any:
            word = states[name]
            state = SimpleNamespace(
                is_cancelling=lambda: word == "cancelling", is_cancelled=lambda: word == "cancelled"
            )
            return SimpleNamespace(state=state if word else None)

    ids = SimpleNamespace(
        id="own" if states else None, root_flow_run_id="parent" if "parent" in states else None
    )
    monkeypatch.setattr(evaluation, "flow_run", ids)
    monkeypatch.setattr(evaluation, "get_client", lambda sync_client: Client())
    monkeypatch.setattr(FlowRunContext, "get", lambda: object())
    assert is_cancelled() is expected


def test_no_flow_run_is_cancelled_outside_of_one() -> None:
    assert is_cancelled() is False
