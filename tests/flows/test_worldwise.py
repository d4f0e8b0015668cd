"""The worldwise flow through the command line, a Prefect server, a warehouse and scripted models."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import prefect_post
from tests.deployments.commands import call, one_line, refused
from tests.engines.test_openai import Scripted, completion
from tests.flows.conftest import Serve
from tests.flows.worldwise_material import (
    AXES,
    SCENARIOS,
    TARGETS,
    json_answer,
    knows,
    mine,
    persona,
    text_answer,
)
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
KEY = "sk-never-to-be-seen-5d1f"


NAMES = ("knower", "neutral", "moody")
PRICED = (
    'api_key_env = "TEST_API_KEY"\nusd_per_million_input_tokens = 1e6\nusd_per_million_output_tokens = 1e6\n'
    'reasoning = "none"\n'  # no tokens for thinking are reserved
)


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands without a flow in this process, on this home, which is faster."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    monkeypatch.setenv("TEST_API_KEY", KEY)


def asked(server: Scripted) -> Counter[tuple[str, int]]:
    return Counter((json.dumps(r["messages"]), r["seed"]) for r in server.requests)


def test_alignment_of_scripted_models_on_the_users_files_equals_hand_sums(
    culturemeter: Cli, serve: Serve, home: Path
) -> None:
    bad = {
        "AE": completion(None, "content_filter"),
        "IN": completion(None, refusal="I cannot speak for others."),
        "JP": completion("I would let the chief speak."),
        "MX": completion(text_answer("middle"), "length"),
    }

    def reply(_: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if request["model"] == "moody" and (code := persona(request)) in bad:
            return 200, bad[code]
        word = knows(request) if request["model"] == "knower" else "middle"
        return 200, completion(text_answer(f"I lean to {word} here."))

    server = serve(reply, *NAMES, more=PRICED)
    models = ("-m", "knower", "-m", "neutral", "-m", "moody")
    culturemeter(*mine(home, *models, "--answer-format", "text"))
    assert len(server.requests) == 3 * 6 * 2
    assert all("response_format" not in r for r in server.requests)
    warehouse = Warehouse.open(home)
    board = {r["model"]: r for r in warehouse.query("SELECT * FROM leaderboard_worldwise").to_dicts()}
    # |target| is 2 1.5 0 2 1, 1.5 0 0 1.5 2 in the order of TARGETS: 11.5 / 10, and 10 - 2.5 * 1.15.
    assert board["null:zero"]["alignment"] == pytest.approx(7.125)
    # The means are 4.5 / 5 and -1 / 5, from which targets are 1.1 0.6 0.9 1.1 1.9, 1.3 0.2 0.2 1.3 2.2 away.
    assert board["null:global-mean"]["alignment"] == pytest.approx(10 - 2.5 * 1.08)
    # 0.5 off three times, where the target is 2.
    knower, neutral = board["knower"], board["neutral"]
    assert knower["hofstede_mae"] == pytest.approx(0.15, abs=1e-6)
    assert knower["alignment"] == pytest.approx(10 - 2.5 * 0.15, abs=1e-6)
    assert knower["alignment_gain"] == pytest.approx(9.625 - 7.3, abs=1e-6)
    assert knower["gain_low"] is None  # two scenarios are too few for an interval
    # The neutral model equals the zero profile, and is worse than the mean of the targets.
    assert neutral["alignment"] == pytest.approx(7.125, abs=1e-6)
    assert neutral["alignment_gain"] == pytest.approx(7.125 - 7.3, abs=1e-6)
    assert {knower["best_null"], neutral["best_null"]} == {"global_mean"}
    assert (neutral["closest_culture"], neutral["closest_distance"]) == ("JP", pytest.approx(0, abs=1e-6))
    reasons = "SELECT slice, value FROM metric_value WHERE metric = 'unscored_answers' AND model = 'moody'"
    wanted = {"refused": 4, "unparsable answer": 2, "cut off at max_tokens": 2}
    assert dict(warehouse.query(reasons).rows()) == wanted
    assert board["moody"]["answered"] == pytest.approx(4 / 12)
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_hosted_model_stops_at_its_budget_resumes_and_hides_its_key(
    culturemeter: Cli, serve: Serve, home: Path, prefect_api: str
) -> None:
    """The first run ends at the budget; the second resumes and also names a missing model."""
    bad = [
        completion(None, "content_filter"), completion(""), completion('{"decision": "A", "value_'),
        completion('{"decision": "B", "val', "length"), completion(json_answer("so").replace('"B"', '"C"')),
        completion(json_answer("so").replace("Family Harmony", "Fun").replace("Group Loyalty", "Luck")
                   .replace("Honesty & Integrity", "Sun")),
    ]  # fmt: skip

    def reply(n: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if n == 3:
            return 503, {"error": {"message": "busy"}}  # retried
        # The 12 prompts of the first repetition come first, then those of the second.
        answer = bad.pop() if bad and len(request["messages"]) > 1 else completion(json_answer("middle"))
        return 200, answer | {"usage": {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}}

    server = serve(reply, *NAMES, more=PRICED)
    (home / "engines" / "gone.toml").write_text(f'model = "{home / "nowhere"}"\n')
    profiles = home / "profiles.csv"
    rows = [f"mine,{c},{a},{t},hofstede" for c, of in TARGETS.items() for a, t in zip(AXES, of, strict=True)]
    profiles.write_text("\n".join(["profile,country,dimension,score,framework", *rows]) + "\n")
    own = ("--profiles-file", str(profiles), "--targets", "mine", "--persona-language", "own")
    arguments = mine(home, "-m", "moody", *own, "--repetitions", "2", "--batch", "12")
    stopped = culturemeter(*arguments, "--max-total-tokens", "20000", check=False)
    assert stopped.returncode == 1
    error = one_line(stopped.stderr)
    assert "model 'moody': the budget is reached: 19,000 of 20,000 tokens are used" in error
    assert "raise the limit" in error
    assert "Traceback" not in error
    warehouse = Warehouse.open(home)
    assert warehouse.query("SELECT count(*) FROM response").item() == 19
    planned = call(*arguments, "--dry-run")
    left = re.search(r"5 of 24 completions .*≤ ([\d,]+) tokens, ≤ \$([\d.,]+)", one_line(planned.stdout))
    assert left, planned.stdout
    tokens, usd = int(left[1].replace(",", "")), float(left[2].replace(",", ""))
    assert usd == tokens > 5 * 320  # a dollar per token

    refused = culturemeter(*arguments, "-m", "gone", check=False)  # before anything is sent
    assert refused.returncode == 1
    assert "error: model 'gone': there is no config.json" in refused.stderr
    done = culturemeter(*arguments)
    assert asked(server).total() == 24 + 1  # one retry of the busy server
    assert len(asked(server)) == 24
    board = warehouse.query("SELECT model, answered FROM leaderboard_worldwise WHERE NOT is_null")
    assert board.rows() == [("moody", pytest.approx(18 / 24))]
    reasons = "SELECT slice, value FROM metric_value WHERE metric = 'unscored_answers'"
    wanted = dict.fromkeys(("refused", "empty answer", "cut off at max_tokens", "no decision of the menu"), 1)
    wanted |= {"no value of the list": 2}  # of the object that is not closed, the decision can be read
    assert dict(warehouse.query(reasons).rows()) == wanted
    assert run_checks(warehouse)["n_violations"].sum() == 0

    sent = server.requests[0]["response_format"]["json_schema"]
    assert sent["strict"]
    assert sent["schema"]["additionalProperties"] is False
    assert any("日本で育ち" in r["messages"][0]["content"] for r in server.requests)
    assert {r.headers["Authorization"] for r in server.received} == {f"Bearer {KEY}"}
    flow_runs = json.dumps(prefect_post(prefect_api, "/flow_runs/filter", {"sort": "START_TIME_DESC"}))
    for where in (stopped.stderr, done.stderr, done.stdout, planned.output, flow_runs):
        assert KEY not in where
    assert "moody" in flow_runs
    assert not [p for p in home.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


def test_wrong_inputs_are_one_error_and_change_nothing(home: Path) -> None:
    arguments = mine(home, "-m", "fake-a")
    profiles = home / "profiles.csv"
    profiles.write_text("profile,country,dimension,score,framework\nmine,JP,power_distance,high,hofstede\n")
    scenarios = home / "bad.csv"
    scenarios.write_text(SCENARIOS.replace("At home,Away", "At home"))
    tables = "SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY ALL"
    before = Warehouse.open(home).query(tables)
    for wrong, message in (
        (("-m", "no-such-model"), "unknown model 'no-such-model'"),
        (("--profile", "huge"), "smoke, demo, full"),
        (("--cultures", "Jpan"), "near: Japan"),
        (("--targets", "seed_bucketd"), "seed_bucketed"),
        (("--persona-language", "ja"), "--persona-language: expected 'en' or 'own'"),
        (("--embedder", "MiniLM"), "unknown embedder 'MiniLM'"),
        (("--scenarios-file", str(scenarios)), f"{scenarios}, line 3: 6 cells under 7 columns"),
        (("--profiles-file", str(profiles)), f"{profiles}, line 2, column score: 'high' is not a number"),
        (("--exemplars-file", str(home / "none.csv")), f"{home / 'none.csv'} cannot be read (No such file"),
        (("--exemplars-file", str(home / "scenarios.csv")), "scenarios.csv, line 1: columns are scenario"),
    ):
        assert message in refused(*arguments, *wrong), wrong
    assert Warehouse.open(home).query(tables).equals(before)
    assert not list(home.glob("parts/*/[!_]*"))
