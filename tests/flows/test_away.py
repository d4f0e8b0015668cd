"""If the store is unreachable, a pool's run crashes, so that automations resume it; others raise an error."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from prefect.context import FlowRunContext

from deployments.serve import served
from flows.evaluation import StoreUnreachable, crashed_if_away
from warehouse import StoreAway


def ended(monkeypatch: pytest.MonkeyPatch, flow_run: object, error: Exception) -> BaseException:
    """Return the exception that leaves a flow in which this error was raised."""
    context = SimpleNamespace(flow_run=flow_run) if flow_run else None
    monkeypatch.setattr(FlowRunContext, "get", lambda: context)
    with pytest.raises(BaseException) as raised, crashed_if_away():  # noqa: PT011 - whatever it is
        raise error
    return raised.value


def test_run_of_a_deployment_crashes_if_the_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ended(monkeypatch, SimpleNamespace(deployment_id="d"), StoreAway("s3 does not answer"))
    assert isinstance(error, StoreUnreachable)
    assert not isinstance(error, Exception), "Prefect would call the run failed"
    assert str(error) == "s3 does not answer"


@pytest.mark.parametrize("flow_run", [None, SimpleNamespace(deployment_id=None)])
def test_run_by_hand_raises_the_error(monkeypatch: pytest.MonkeyPatch, flow_run: object) -> None:
    assert isinstance(ended(monkeypatch, flow_run, StoreAway("s3")), StoreAway)


def test_other_errors_are_raised_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(ended(monkeypatch, SimpleNamespace(deployment_id="d"), ValueError("x")), ValueError)


def test_no_further_evaluation_is_tried_if_the_store_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def run(name: str, params: object) -> str:
        tried.append(name)
        raise StoreAway("s3")

    params: Any = SimpleNamespace(occasion="", model_copy=lambda update: params)
    monkeypatch.setattr(served, "packs_of_all", lambda params: {"cure": [], "spectral": []})
    monkeypatch.setattr(served, "one_of_all", lambda name, params, packs: params)
    monkeypatch.setattr(served, "_run", run)
    with pytest.raises(StoreAway):
        served.run_all(params)
    assert tried == ["cure"]
