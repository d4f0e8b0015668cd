"""A run whose store went away ends as what the automations of a pool run again, and as an error by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deployments.serve import served
from flows import away
from flows.away import StoreUnreachable, crashed_if_away
from warehouse import StoreAway


def ended(monkeypatch: pytest.MonkeyPatch, flow_run: object, error: Exception) -> BaseException:
    """What comes out of a flow in which an error was raised."""
    context = SimpleNamespace(flow_run=flow_run) if flow_run else None
    monkeypatch.setattr(away.FlowRunContext, "get", lambda: context)
    with pytest.raises(BaseException) as raised, crashed_if_away():  # noqa: PT011 - whatever it is
        raise error
    return raised.value


def test_what_a_deployment_started_has_crashed(monkeypatch: pytest.MonkeyPatch) -> None:
    error = ended(monkeypatch, SimpleNamespace(deployment_id="d"), StoreAway("s3 does not answer"))
    assert isinstance(error, StoreUnreachable)
    assert not isinstance(error, Exception), "Prefect would call the run failed"
    assert str(error) == "s3 does not answer"


@pytest.mark.parametrize("flow_run", [None, SimpleNamespace(deployment_id=None)])
def test_by_hand_the_error_is_raised(monkeypatch: pytest.MonkeyPatch, flow_run: object) -> None:
    assert isinstance(ended(monkeypatch, flow_run, StoreAway("s3")), StoreAway)


def test_other_errors_stay_what_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(ended(monkeypatch, SimpleNamespace(deployment_id="d"), ValueError("x")), ValueError)


def test_no_further_evaluation_is_tried_on_a_store_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
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
