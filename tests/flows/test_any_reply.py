"""Whatever a server replies, a whole run ends: each unit is answered or lost with a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from deployments.evaluations import evaluation, params
from flows.evaluation import evaluate
from tasks.engines.protocols import EngineError
from tasks.engines.served import transport
from tests.engines.test_any_reply import APIS, FINISHED, reason_of, replies
from tests.http_server import Answer, HttpServer, Request, Send
from warehouse import Warehouse

N_UNITS = 24
"""Prompts of a run, and as many different replies."""
LOST = """
SELECT sum(n_lost) FILTER (starts_with(reason, 'no answer from the server')),
    count(*) FILTER (reason = 'no answer from the server'), max(n)
FROM answer_loss WHERE request_hash = ?
"""
RUN = "SELECT run_id FROM run WHERE status = 'finished' AND NOT is_null AND occasion = ?"
STORED = "SELECT count(*) FROM response JOIN run_request AS r USING (request_hash) WHERE r.run_id = ?"


@pytest.fixture(autouse=True)
def _pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(transport, "MAX_WAIT_S", 0.01)


class Script:
    """A server that gives the prompts of a run, in the order in which they come, the replies of a list."""

    def __init__(self) -> None:
        """Start it."""
        self.replies: list[Any] = []
        self.places: dict[bytes, int] = {}
        self.http = HttpServer(self.answer)

    def begin(self, own: list[Any]) -> None:
        """Take the replies of the next run."""
        self.replies, self.places = own, {}

    def answer(self, request: Request) -> Send:
        """Return the reply to a prompt, the same at each try."""
        if request.method == "GET":
            return Answer({"data": []})
        place = self.places.setdefault(request.body, len(self.places))
        body = self.replies[place % len(self.replies)]
        return Answer(json.dumps(body).encode("utf-8", "replace"))


@pytest.fixture
def script(home: Path) -> Iterator[Script]:
    """A server behind an engine for each API."""
    server = Script()
    url = server.http.address
    for api in APIS:
        kind = "openai" if api == "responses" else api
        address = f"{url}/v1" if kind == "openai" else url
        chosen = 'api = "responses", ' if api == "responses" else ""
        (home / "engines" / f"{api}.toml").write_text(
            f'kind = "{kind}"\nmodel = "m"\nbase_url = "{address}"\n'
            f"options = {{ {chosen}max_retries = 1, timeout = 20 }}\n"
        )
    yield server
    server.http.close()


OWN = st.sampled_from(APIS).flatmap(
    lambda api: st.tuples(st.just(api), st.lists(replies(api), min_size=N_UNITS // 2, max_size=N_UNITS))
)
Check = Callable[[tuple[str, list[Any]]], None]


@pytest.fixture
def check(warehouse: Warehouse, script: Script) -> Check:
    """A function that sends a run through replies of one API, and checks its end."""
    numbers = count()

    def is_finished(api: str, body: Any) -> bool:
        try:
            reason = reason_of(api, json.loads(json.dumps(body)))
        except (AttributeError, TypeError, KeyError, IndexError):
            return False
        reason = reason.get("type") if isinstance(reason, dict) else reason
        return str(reason).strip().lower() in {*FINISHED, "filtered"}

    def run(case: tuple[str, list[Any]]) -> None:
        api, own = case
        script.begin(own)
        knobs: dict[str, Any] = {"benchmarks": ["normad", "casa"], "items_per_benchmark": 6, "judges": []}
        made = params("cure")(models=[api], max_lost=1, occasion=f"n{next(numbers)}", **knobs)
        try:
            evaluate(evaluation("cure"), made)
        except EngineError as error:
            assert re.search(r"\b(40[123457])\b", str(error)), error  # noqa: PT017 - a status of all requests
            assert "\n" not in str(error)  # noqa: PT017
            return
        run_id = warehouse.query(RUN, [made.occasion]).item()
        n_lost, n_nameless, n = warehouse.query(LOST, [run_id]).row(0)
        n_stored = warehouse.query(STORED, [run_id]).item()
        assert n_nameless == 0, "each loss has the server's reason"
        assert n_stored + (n_lost or 0) == n
        own = [own[place % len(own)] for place in range(len(script.places))]
        assert n_stored <= sum(is_finished(api, body) for body in own)

    return run


def through(check: Check, n: int) -> None:
    @settings(max_examples=n, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(OWN)
    def every(case: tuple[str, list[Any]]) -> None:
        check(case)

    every()


def test_runs_end_whatever_a_server_replies(check: Check) -> None:
    through(check, 3)


@pytest.mark.slow
@pytest.mark.heavy
def test_many_runs_end_whatever_a_server_replies(check: Check) -> None:
    through(check, 40)
