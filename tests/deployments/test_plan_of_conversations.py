"""The planned upper bounds of three roles, and their cost on a scripted server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from tasks.evaluations.explication.texts import LEAVE
from tasks.identity import digest
from tests.engines.served import Scripted, completion
from warehouse import Warehouse

ROLES = ("cand", "sim", "judge")
USD_IN, USD_OUT = 100e-6, 300e-6
PRICES = f"usd_per_million_input_tokens = {USD_IN * 1e6}\nusd_per_million_output_tokens = {USD_OUT * 1e6}\n"
RUN = (
    "run", "explication", "-m", "cand", "--simulator", "sim", "--judges", "judge", "--repetitions", "2",
    "--personas", "aisha-kano,rogelio-oaxaca", "--max-tokens", "64", "--simulator-max-tokens", "32",
    "--no-server",
)  # fmt: skip


def reply(number: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return as many tokens as allowed; users leave in their second turn; no history repeats."""
    most = request["max_tokens"]
    text = f"{digest([request['messages'], request['seed']])} {'word ' * most}"[: 4 * most]
    if request["model"] == "sim" and len(request["messages"]) > 3:
        text += LEAVE
    if schema := request.get("response_format"):
        menu = schema["json_schema"]["schema"]["$defs"]["judged"]["anyOf"][0]["properties"]
        judged = {name: menu[name]["enum"][0] for name in ("verdict", "reason")}
        text = json.dumps(dict.fromkeys(schema["json_schema"]["schema"]["properties"], judged))
    sent = sum(8 + len(message["content"].encode()) // 4 for message in request["messages"])
    usage = {"prompt_tokens": sent, "completion_tokens": most, "total_tokens": sent + most}
    return 200, completion(text) | {"usage": usage}


@pytest.fixture(name="server")
def _server(warehouse: Warehouse) -> Iterator[Scripted]:
    server = Scripted(reply)
    for name in ROLES:
        (warehouse.home / "engines" / f"{name}.toml").write_text(
            f'kind = "openai"\nmodel = "{name}"\nbase_url = "{server.url}"\n{PRICES}'
        )
    yield server
    server.close()


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    return result.exit_code, result.output


def bounds(plan: str) -> dict[str, tuple[int, int, float]]:
    """Return role -> completions, tokens and dollars, summed over the lines of a plan."""
    summed = dict.fromkeys(ROLES, (0, 0, 0.0))
    for line in plan.splitlines():
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        if len(cells) == 6 and cells[0] and (who := cells[0].split()[0].partition("_")[0]) in summed:
            n, tokens = (
                int(re.findall(r"[\d,]+", cell)[0].replace(",", "")) for cell in (cells[2], cells[5])
            )
            usd = float(cells[5].rsplit("$", 1)[1].replace(",", ""))
            before = summed[who]
            summed[who] = before[0] + n, before[1] + tokens, before[2] + usd
    return summed


@pytest.mark.parametrize("turns", ["4", pytest.param("5", marks=pytest.mark.heavy)])
def test_no_role_exceeds_its_planned_completions_tokens_and_cost(
    server: Scripted, warehouse: Warehouse, turns: str
) -> None:
    for name in ROLES:  # the server writes all that it may; thinking would be sent on as text
        spec = warehouse.home / "engines" / f"{name}.toml"
        spec.write_text(f'reasoning = "none"\n{spec.read_text()}')
    code, plan = run(*RUN, "--max-turns", turns, "--dry-run")
    assert (code, server.requests) == (0, [])
    assert run(*RUN, "--max-turns", turns)[0] == 0
    used = warehouse.query(
        "SELECT string_split(model, '_')[1] AS model, count(*) AS n, "
        "sum(prompt_tokens)::INTEGER, sum(completion_tokens)::INTEGER "
        "FROM response GROUP BY ALL"
    )
    planned = bounds(plan)
    assert {model for model, *_ in used.rows()} == set(ROLES)
    for model, n, sent, written in used.rows():
        most, tokens, usd = planned[model]
        assert most / 2 < n <= most, model
        assert tokens / 4 < sent + written <= tokens, model
        assert sent * USD_IN + written * USD_OUT <= usd + 0.01, model
    assert used["n"].sum() == len(server.requests)


@pytest.mark.heavy
def test_dollar_limit_stops_a_run_that_then_resumes_without_repeats(
    server: Scripted, warehouse: Warehouse
) -> None:
    for name in ROLES:
        spec = warehouse.home / "engines" / f"{name}.toml"
        spec.write_text(f'reasoning = "none"\n{spec.read_text()}')
    limited = (*RUN, "--max-turns", "5", "--batch", "4")
    code, text = run(*limited, "--max-usd", "1")
    assert code == 1
    assert "the budget is reached" in " ".join(text.split())
    used = warehouse.query("SELECT sum(prompt_tokens), sum(completion_tokens) FROM response").row(0)
    assert 0 < float(used[0]) * USD_IN + float(used[1]) * USD_OUT <= 2  # $1 each for study and candidate
    assert run(*limited)[0] == 0
    sent = [json.dumps([r["model"], r["messages"], r["seed"]], sort_keys=True) for r in server.requests]
    assert len(set(sent)) == len(sent)


def test_dollar_limit_needs_a_price_for_every_role(server: Scripted, warehouse: Warehouse) -> None:
    spec: Path = warehouse.home / "engines" / "sim.toml"
    spec.write_text(spec.read_text().removesuffix(PRICES))
    code, text = run(*RUN, "--max-usd", "1")
    assert code == 1
    assert "'sim': dollars are limited, but its spec names no price" in " ".join(text.split())
