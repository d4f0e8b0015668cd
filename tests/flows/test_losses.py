"""One unit may fail; a run does not end for it. What is lost is counted, shown, and sent again later."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation, params
from deployments.show.losses import without_number
from flows.evaluation import evaluate
from flows.losses import withheld
from tasks.engines.protocols import EngineError
from tasks.engines.served import transport
from tasks.loop.rows import OVERALL, scored
from tasks.report.sentences import FAILED, Loss, in_words
from tests.golden import served
from tests.http_server import Answer, HttpServer, Request, Send
from warehouse import Warehouse, run_checks

Serve = Callable[[Callable[[Request, dict[str, Any]], Send]], HttpServer]
RUN: dict[str, Any] = {"benchmarks": ["normad", "casa"], "items_per_benchmark": 6, "judges": []}
"""Two dozen prompts without a judge."""


@pytest.fixture(autouse=True)
def _pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "FIRST_WAIT_S", 0.001)


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Start a server behind the engine "far"; its answer is a function of the request and a good reply."""
    servers: list[HttpServer] = []

    def start(answer: Callable[[Request, dict[str, Any]], Send]) -> HttpServer:
        def send(request: Request) -> Send:
            if request.method == "GET":
                return Answer({"data": []})
            return answer(request, served.reply({"seed": None, **request.json}))

        servers.append(HttpServer(send))
        (home / "engines").mkdir(exist_ok=True)
        (home / "engines" / "far.toml").write_text(
            f'kind = "openai"\nmodel = "m"\nbase_url = "{servers[-1].address}/v1"\nserved_as = "far"\n'
            "options = { max_retries = 1, timeout = 20 }\n"
        )
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def run(**knobs: Any) -> str:
    return evaluate(evaluation("cure"), params("cure")(models=["far"], **RUN | knobs))


def number(request: Request) -> int:
    """Return a number that depends on the prompt alone."""
    text = request.json["messages"][-1]["content"]
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 24


ODD: dict[str, Callable[[dict[str, Any]], Send]] = {
    "broken off": lambda body: Answer(ended(body, "error")),
    "unknown reason": lambda body: Answer(ended(body, "brand_new")),
    "no reason": lambda body: Answer(ended(body, None)),
    "error inside": lambda body: Answer({"error": {"code": 502, "message": "upstream"}}),
    "no choices": lambda body: Answer({"choices": []}),
    "rejected": lambda body: Answer({"error": {"message": "no"}}, 400),
    "no JSON": lambda body: Answer(b"<html>busy</html>"),
}


def ended(body: dict[str, Any], reason: str | None) -> dict[str, Any]:
    body["choices"][0]["finish_reason"] = reason
    return body


def prompts_of(server: HttpServer) -> list[int]:
    return [number(request) for request in server.received if request.method == "POST"]


@pytest.mark.nets(3)
@pytest.mark.parametrize("odd", ODD)
def test_one_odd_reply_costs_one_unit_and_a_later_run_sends_it_again(
    warehouse: Warehouse, serve: Serve, odd: str
) -> None:
    first: list[int] = []

    def answer(request: Request, body: dict[str, Any]) -> Send:
        first[:] = first or [number(request)]
        return ODD[odd](body) if number(request) == first[0] and not is_mended else Answer(body)

    is_mended = False
    server = serve(answer)
    config = run(max_lost=0.3)
    stored = warehouse.query("SELECT count(*) FROM response").item()
    rows = warehouse.query("SELECT reason, n_lost, n FROM answer_loss WHERE reason LIKE ?", [f"{FAILED}: %"])
    n = rows["n"][0]
    assert 0 < n - stored <= n * 0.3
    assert rows["n_lost"].sum() == n - stored
    assert warehouse.query("SELECT status FROM run WHERE NOT is_null").rows() == [("finished",)]

    is_mended, n_before = True, len(server.received)
    assert run(max_lost=0.3) == config
    assert len(server.received) - n_before <= n - stored + 1, "only what was lost, and the check of the key"
    assert warehouse.query("SELECT count(*) FROM response").item() == n
    assert warehouse.query("SELECT count(*) FROM answer_loss WHERE reason LIKE ?", [f"{FAILED}%"]).item() == 0
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_model_is_given_up_once_losses_pass_the_limit(warehouse: Warehouse, serve: Serve) -> None:
    def answer(request: Request, body: dict[str, Any]) -> Send:
        return Answer({"error": {"message": "no"}}, 400) if number(request) % 2 else Answer(body)

    serve(answer)
    with pytest.raises(EngineError, match=r"400: no.* answers lost; max_lost allows 10%"):
        run()
    assert warehouse.query("SELECT count(*) FROM response").item() > 0, "what came is kept"
    assert warehouse.query("SELECT status FROM run WHERE NOT is_null").rows() != [("finished",)]
    run(max_lost=1)
    assert warehouse.query("SELECT status FROM run WHERE NOT is_null").rows() == [("finished",)]


def test_run_ends_at_once_where_nothing_works(warehouse: Warehouse, serve: Serve) -> None:
    server = serve(lambda *_: Answer({"error": {"message": "no such parameter"}}, 400))
    with pytest.raises(EngineError, match="no such parameter") as caught:
        run()
    assert "\n" not in str(caught.value)
    assert len(prompts_of(server)) <= 32


def test_reasoning_model_scores_right_with_limits_of_models_that_do_not_think(
    warehouse: Warehouse, serve: Serve
) -> None:
    """It thinks with 900 tokens, which its server counts in the limit of an answer."""

    def answer(request: Request, body: dict[str, Any]) -> Send:
        limit = request.json.get("max_tokens") or request.json["max_completion_tokens"]
        body["usage"] |= {
            "completion_tokens": min(limit, 940),
            "completion_tokens_details": {"reasoning_tokens": 900},
        }
        if limit < 940:
            body["choices"][0] |= {
                "finish_reason": "length",
                "message": {"content": None, "reasoning": "Hm."},
            }
        return Answer(body)

    serve(answer)
    run(max_tokens=64)
    ended = warehouse.query("SELECT DISTINCT finish_reason FROM response WHERE finish_reason = 'length'")
    assert ended.is_empty()
    assert warehouse.query("SELECT max(n_lost) FROM answer_loss WHERE reason LIKE 'cut%'").item() is None


def test_more_than_half_cut_off_withholds_the_numbers_and_says_so(warehouse: Warehouse, serve: Serve) -> None:
    def answer(request: Request, body: dict[str, Any]) -> Send:
        body["choices"][0] |= {"finish_reason": "length", "message": {"content": None}}
        return Answer(body)

    serve(answer)
    run()
    values = warehouse.query(
        "SELECT DISTINCT value, unscored_reason FROM metric_value JOIN run USING (run_id) "
        "WHERE NOT is_null AND metric NOT IN ('answered', 'unanswered')"
    )
    assert values["value"].to_list() == [None] * values.height
    rows = warehouse.query("SELECT role, engine, reason, n_lost, n FROM answer_loss").rows()
    n = rows[0][-1]
    assert f"more than half of the answers are lost ({n} of {n})" in values["unscored_reason"].to_list()
    assert in_words("far", [Loss(*row) for row in rows]) == [
        f"far: {n} of {n} answers lost: {n} cut off at max_tokens (raise --max-tokens)"
    ]


@pytest.mark.parametrize("style", ["direct", "reasoned"])
def test_verdicts_that_cannot_be_read_are_lost_and_named(
    warehouse: Warehouse, serve: Serve, style: str
) -> None:
    """The judge's reply has the form's field, but no verdict in it."""
    sent: list[str] = []

    def answer(request: Request, body: dict[str, Any]) -> Send:
        sent.append(request.json["model"])
        if sent[-1] == "judge":
            message = {"content": '{"explanation": "People do this out of respect."}'}
            body["choices"][0] |= {"message": message, "finish_reason": "stop"}
        return Answer(body)

    serve(answer)
    far = (warehouse.home / "engines" / "far.toml").read_text()
    (warehouse.home / "engines" / "critic.toml").write_text(
        far.replace('"m"', '"judge"').replace("far", "critic")
    )
    run(judges=["critic"], judge_style=style)
    rows = warehouse.query(
        "SELECT role, engine, reason, n_lost, n FROM answer_loss WHERE role = 'judge' AND model = 'far'"
    ).rows()
    n = sent.count("judge")
    assert in_words("far", [Loss(*row) for row in rows]) == [
        f"critic on far: {n} of {n} verdicts lost: {n} without a verdict that can be read"
    ]
    (run_id,) = warehouse.query("SELECT run_id FROM run WHERE model = 'far'")["run_id"]
    (line,) = without_number(warehouse, [run_id])
    assert line.startswith("far: no Connotation, Coverage: ")


def test_losses_in_words_name_engine_reasons_and_advice() -> None:
    of_model = [
        Loss("candidate", "m", "refused", 1, 40),
        Loss("judge", "j", "unparsable answer", 2, 40),
        Loss("judge", "j", f"{FAILED}: down", 38, 40),
        Loss("simulator", "s", "none", 0, 9),
    ]
    assert in_words("m", of_model) == [
        "m: 1 of 40 answers lost: 1 refused",
        f"j on m: 40 of 40 verdicts lost: 38 {FAILED}: down (a later run sends them again), "
        "2 unparsable answer",
    ]
    assert [line[:4] for line in in_words("m", of_model, above=0.05)] == ["j on"]


def test_losses_of_an_earlier_occasion_are_not_those_of_a_model_now(
    warehouse: Warehouse, serve: Serve
) -> None:
    """The first run freezes the cohort, so the second reads its answers, under the same name."""

    def answer(request: Request, body: dict[str, Any]) -> Send:
        if is_cut:
            body["choices"][0] |= {"finish_reason": "length", "message": {"content": None}}
        return Answer(body if is_cut or number(request) else {"choices": []})

    is_cut = True
    serve(answer)
    run()
    is_cut = False
    run(occasion="second", max_lost=1)
    of_second = "(SELECT run_id FROM run WHERE occasion = 'second' AND NOT is_null)"
    rows = warehouse.query(f"SELECT reason, n_lost, n FROM answer_loss WHERE request_hash IN {of_second}")
    assert not [row for row in rows.rows() if row[0].startswith("cut off")]
    values = warehouse.query(f"SELECT value FROM metric_value WHERE run_id IN {of_second}")["value"]
    assert values.drop_nulls().len() > 3, "what the first lost withholds nothing"


def test_refusals_withhold_no_number() -> None:
    rows = [scored("exact_match", OVERALL, 0.0, (10, 0)), scored("unanswered", ("reason", "x"), 0.9, (10, 0))]
    assert withheld(rows, [Loss("candidate", "m", "refused", 10, 10)]) == rows
    lost = withheld(rows, [Loss("candidate", "m", "cut off at max_tokens", 6, 10)])
    assert [row.value for row in lost] == [None, 0.9]
    assert (lost[0].n_scored, lost[0].n_unscored) == (0, 10)
