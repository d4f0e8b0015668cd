"""Runs that end once enough is sent: few prompts, a configuration of their own, nothing lost for others."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import doors
from deployments.show.losses import sent
from deployments.show.report import write_report
from flows.evaluation import evaluate
from flows.session import prepare
from flows.stored import recomputed
from tasks import registry
from tasks.loop import steps
from tasks.loop import until as loop_until
from tests.engines.served import completion
from tests.evaluations.recipe.made import evaluation
from tests.http_server import Answer, HttpServer, Request, Send
from warehouse import Warehouse, run_checks

N = 120
pytestmark = pytest.mark.heavy
WORD = {True: "yes", False: "no"}
OWN = evaluation(
    "short_answer",
    items="item,country,region,language,question,accepted\n"
    + "".join(
        f"i{n},C{n // 3},R,en,Question {n}?,{WORD[n % 10 < 3]}{n}|{WORD[n % 10 < 3]}\n" for n in range(N)
    ),
)
"""120 items in 40 clusters; "no" is right in 0.7 of them."""


def reply(request: Request) -> Send:
    """Answer as "strong" or "good", which are mostly right, or "null", which says what is mostly right."""
    if request.method == "GET":
        return Answer({"data": []})
    model, n = request.json["model"], int(request.json["messages"][-1]["content"].split()[1].rstrip("?"))
    drawn = int(hashlib.sha256(f"{model} {n}".encode()).hexdigest(), 16) % 100
    is_right = drawn < (98 if model == "strong" else 90)
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    return Answer(completion("no" if model == "null" else WORD[(n % 10 < 3) == is_right]) | {"usage": usage})


@pytest.fixture
def far(warehouse: Warehouse) -> Iterator[HttpServer]:
    """The three models behind a server."""
    server = HttpServer(lambda request: reply(request))
    for name in ("strong", "good", "null"):
        (warehouse.home / "engines" / f"{name}.toml").write_text(
            f'kind = "openai"\nmodel = "{name}"\nbase_url = "{server.address}/v1"\nserved_as = "{name}"\n'
            "options = { max_retries = 2, timeout = 20 }\n"
        )
    yield server
    server.close()


HARNESS = Path(__file__).parents[1] / "evaluations" / "harness" / "files"
STOPPABLE: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "choice": (lambda: evaluation("choice"), {}),
    "judged": (lambda: evaluation("judged"), {"judges": ["fake-b"]}),
    "short_answer": (lambda: evaluation("short_answer"), {}),
    "culturall": (lambda: registry.evaluation("culturall"), {"judges": ["fake-b"], "limit": 16}),
    "cure": (lambda: registry.evaluation("cure"), {"modes": ["thick"], "items_per_benchmark": 5}),
    "harness": (
        lambda: registry.evaluation("harness"),
        {"tasks": [str(HARNESS / "choice.yaml"), str(HARNESS / "written.yaml")], "cluster": "place"},
    ),
}


@pytest.mark.parametrize("name", STOPPABLE)
def test_numbers_of_every_such_evaluation_are_the_same_before_and_after_a_full_run(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(loop_until, "FIRST", 4)
    make, knobs = STOPPABLE[name]
    own = make()
    configs = [
        evaluate(own, own.params(models=["fake-a"], until=until, **knobs))
        for until in ("beyond-null", "width 0.9", "")
    ]
    assert len(set(configs)) == 3
    assert run_checks(warehouse)["n_violations"].sum() == 0
    compared = list(recomputed(lambda _: own))
    assert [(each.reason, each.differences) for each in compared] == [("", [])] * 3
    for config in configs[:2]:
        board = warehouse.query(
            f"FROM leaderboard_{own.name} WHERE config_hash = ? AND NOT is_null", [config]
        )
        assert board.height == 1, "a run that ended early is on its board"
        if own.name in doors():
            page = write_report(warehouse, warehouse.home / "page.html", config, own.name).read_text()
            assert "items sent (" in page
        assert 0 < numbers(warehouse, config, "fake-a")["share_sent"]["value"] <= 1
    assert numbers(warehouse, configs[1], "fake-a")["share_sent"]["value"] < 1


def run(*models: str, **knobs: Any) -> str:
    return evaluate(OWN, OWN.params(models=list(models), **knobs))


def numbers(warehouse: Warehouse, config: str, model: str) -> dict[str, dict[str, Any]]:
    sql = """SELECT m.*, r.profile FROM metric_value AS m JOIN run AS r USING (run_id)
    WHERE r.config_hash = ? AND r.model = ? AND slice_kind = 'overall'"""
    return {row["metric"]: row for row in warehouse.query(sql, [config, model]).to_dicts()}


def posted(server: HttpServer) -> list[str]:
    return [r.json["messages"][-1]["content"] for r in server.received if r.method == "POST"]


def test_run_ends_once_the_model_is_beyond_the_null_and_a_full_run_is_as_if_it_had_not_been(
    warehouse: Warehouse, far: HttpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = run("strong", "null", until="beyond-null")
    strong, null = (numbers(warehouse, config, name) for name in ("strong", "null"))
    share = strong["share_sent"]["value"]
    assert share < 0.5
    assert null["share_sent"]["value"] == 1, "a model that equals its null is never beyond it"
    assert len(set(posted(far))) == N
    assert strong["accuracy"]["ci_low"] > strong["accuracy"]["null_value"] == pytest.approx(0.7)
    assert strong["accuracy"]["n_scored"] == round(share * N)
    assert null["accuracy"]["value"] == pytest.approx(0.7)
    assert null["accuracy"]["profile"] == "custom, until beyond-null"
    said = sent(warehouse, OWN.name, config)
    ends = f"[{null['accuracy']['ci_low']:.3f}, {null['accuracy']['ci_high']:.3f}]"
    assert said[0].startswith(f"null: 120 of 120 items sent (100%) until beyond-null: 0.700 {ends}; its")
    assert said[1].startswith(f"strong: {round(share * N)} of 120 items sent ")
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert [r.differences for r in recomputed(lambda name: OWN)] == [[]]

    assert run("strong", "null", until=" beyond-null ") == config, "nothing is left to do"
    before = len(posted(far))
    whole = run("strong")
    assert whole != config
    assert len(posted(far)) - before == N - round(share * N), "the rest"
    alone = Warehouse.open(tmp_path / "alone")
    (alone.home / "engines").symlink_to(warehouse.home / "engines")
    monkeypatch.setenv("CULTUREMETER_HOME", str(alone.home))
    assert run("strong") == whole
    sql = """SELECT r.model, metric, slice_kind, slice, value, ci_low, ci_high, null_value, n_scored
    FROM metric_value JOIN run AS r USING (run_id) WHERE config_hash = ? ORDER BY ALL"""
    one, other = (w.query(sql, [whole]) for w in (warehouse, alone))
    assert one.equals(other, null_equal=True)


def test_killed_run_goes_on_where_it_stopped(
    warehouse: Warehouse, far: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, stored = steps.store, list[int]()

    def dies(answered: Any) -> Any:
        stored.append(len(far.received))
        if len(stored) == 4:
            raise KeyboardInterrupt
        return store(answered)

    monkeypatch.setattr(steps, "store", dies)
    with pytest.raises(KeyboardInterrupt):
        run("good", until="beyond-null", batch=8)
    monkeypatch.setattr(steps, "store", store)
    assert numbers(warehouse, run_config(until="beyond-null"), "good") == {}
    config = run("good", until="beyond-null", batch=8)
    again = len(posted(far)) - len(set(posted(far)))
    assert again <= 2 * 8, "a kill loses at most two parts"
    share = numbers(warehouse, config, "good")["share_sent"]["value"]
    assert len(set(posted(far))) == round(share * N) < N


def run_config(**knobs: Any) -> str:
    return prepare(OWN, OWN.params(models=["good"], **knobs)).config


def test_model_is_separate_from_another_ones_full_run(warehouse: Warehouse, far: HttpServer) -> None:
    with pytest.raises(
        ValueError, match=r"null has no finished full run under configuration \w+ \(.*: none\)"
    ):
        run("strong", until="separates null")
    run("null")
    with pytest.raises(ValueError, match=r"good has no finished .*\(models that have one: null\)"):
        run("strong", until="separates good")
    config = run("strong", until="separates null")
    own = numbers(warehouse, config, "strong")
    assert own["difference_from_other"]["ci_low"] > 0
    assert own["share_sent"]["value"] < 0.5
    assert own["accuracy"]["ci_low"] < own["accuracy"]["value"] <= own["accuracy"]["ci_high"]
    run("strong", until="width 0.3")
    sql = "SELECT metric, range_low FROM metric WHERE evaluation = ? AND source LIKE 'Waudby%' ORDER BY ALL"
    assert warehouse.query(sql, [OWN.name]).rows() == [("difference_from_other", -1), ("share_sent", 0)], (
        "the catalogue is the evaluation's, not that of the last rule"
    )


@pytest.mark.parametrize(
    ("name", "knobs", "reason"),
    [
        ("cure", {}, "each item is sent in two modes; --modes thin, or thick, sends one"),
        ("cure", {"modes": ["thick"], "judges": ["fake-b"]}, "exact_match, which needs no judges"),
        ("culturall", {}, "without a judge its accuracy is a range"),
        ("worldwise", {}, "its nulls are made of the model's own answers"),
        ("explication", {}, "its nulls are made of the model's own conversations"),
        ("spectral", {}, "its numbers compare all countries over all items, which are no sample"),
        ("fmlama", {}, "it ranks dishes, which are no sample"),
    ],
)
def test_evaluations_that_are_sent_whole_say_why(
    warehouse: Warehouse, name: str, knobs: dict[str, Any], reason: str
) -> None:
    own = registry.evaluation(name)
    with pytest.raises(ValueError, match=re.escape(reason)):
        prepare(own, own.params(models=["fake-a"], until="beyond-null", **knobs))


@pytest.mark.parametrize("width", ["1", "2", "99"])
def test_width_of_the_whole_range_is_refused(warehouse: Warehouse, width: str) -> None:
    with pytest.raises(ValueError, match=f"width {width} says nothing of accuracy, which lies in 0 to 1"):
        run_config(until=f"width {width}")


def test_width_is_that_of_the_sets_own_mean(warehouse: Warehouse, far: HttpServer) -> None:
    config = run("good", until="width 0.1")
    own = numbers(warehouse, config, "good")["accuracy"]
    assert own["ci_high"] - own["ci_low"] <= 0.1
    assert own["null_value"] is None
    full = numbers(warehouse, run("good"), "good")["accuracy"]
    assert own["ci_low"] <= full["value"] <= own["ci_high"]
    assert own["n_scored"] < full["n_scored"]


def test_lost_answers_do_not_hold_a_run_up(
    warehouse: Warehouse, far: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, usual = list[bytes](), reply

    def odd(request: Request) -> Send:
        if request.method == "POST":
            first[:] = first or [request.body]
            if request.body == first[0]:
                return Answer({"error": {"message": "no"}}, 400)
        return usual(request)

    monkeypatch.setattr(sys.modules[__name__], "reply", odd)
    config = run("strong", until="beyond-null", max_lost=0.3)
    own = numbers(warehouse, config, "strong")
    assert own["accuracy"]["n_unscored"] == 1
    assert own["accuracy"]["ci_low"] > own["accuracy"]["null_value"]


def test_losing_answers_shows_nothing_of_a_model(
    warehouse: Warehouse, far: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that is answered is right, and a third is lost: with the worst score for it the null is as good."""
    usual = reply

    def odd(request: Request) -> Send:
        if request.method == "POST" and hash_of(request) % 3 == 0:
            return Answer({"error": {"message": "no"}}, 400)
        return usual(request)

    monkeypatch.setattr(sys.modules[__name__], "reply", odd)
    own = numbers(warehouse, run("strong", until="beyond-null", max_lost=1), "strong")
    accuracy, lost = own["accuracy"], own["accuracy"]["n_unscored"] / N
    assert own["share_sent"]["value"] == 1
    assert lost > 0.3
    assert accuracy["value"] > 0.9
    assert accuracy["ci_low"] <= accuracy["value"] * (1 - lost)
    assert accuracy["ci_low"] < accuracy["null_value"]


def hash_of(request: Request) -> int:
    return int(hashlib.sha256(request.json["messages"][-1]["content"].encode()).hexdigest(), 16)


def test_plan_says_what_is_expected_and_at_most(warehouse: Warehouse, far: HttpServer) -> None:
    session = prepare(OWN, OWN.params(models=["strong"], until="beyond-null"))
    rules = ({}, {"until": "beyond-null"}, {"until": "beyond-null", "seed": 1}, {"until": "width 0.1"})
    assert len({run_config(**rule) for rule in rules}) == 4, (
        "no rule, order or full run shares a configuration"
    )
    (line,), (later,) = session.plan.lines, session.plan.later
    assert line.left == 20
    assert later.n == N - 20
    assert later.usual is not None
    assert 0 < later.usual[0] <= later.n
    assert "of 120 items if a model scores 0.85 of the range" in OWN.size(session.study)
