"""A printed plan: work left, precision, time on this machine, and cost at most."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from deployments.show import plan
from deployments.show.plan import Estimate, probed, show
from tasks.engines.protocols import Generation, Sampling
from tasks.engines.specs import EngineSpec
from tasks.loop.items import ItemScores
from tasks.loop.plan import Plan, PlanLine, Wanted, lay_out
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine, Later
from tasks.loop.steps import store_part
from tasks.loop.usage import Used, expected, expected_later
from warehouse import Warehouse

LOCAL = Engine.of(EngineSpec(name="local", kind="packed_trie", model="a", content="a", dtype="float32"))
SERVED = EngineSpec(name="served", kind="openai", model="b", base_url="http://host/v1")
PRICED = SERVED.model_copy(
    update={"name": "priced", "usd_per_million_input_tokens": 1.0, "usd_per_million_output_tokens": 10.0}
)
SCORES = ItemScores(topic="t", label="q", questions={"A": "?", "B": "?"}, items=("x", "y", "z"), about=["e"])
# 30 bytes: 10 tokens, plus 16 for the template; at most 100 tokens are generated.
PROMPTS = Prompts(
    prompts=[Prompt([{"role": "user", "content": f"{n:030}"}]) for n in range(4)],
    sampling=Sampling(max_tokens=100),
    role="judge",
    engine="priced",
)


def planned(requests: Sequence[tuple[Any, Engine]], n_left: int = 9, later: Sequence[Later] = ()) -> Plan:
    """Return a plan of model m with at most ``n_left`` open units of each request."""
    wanted = [Wanted("m", request, engine) for request, engine in requests]
    schema = {"request_hash": pl.String, "unit": pl.String}
    missing: dict[str, pl.DataFrame] = {}
    for each in wanted:
        rows = [(each.request_hash, unit) for unit in each.request.units[:n_left]]
        frame = pl.DataFrame(rows, schema, orient="row")
        missing[each.request.kind] = pl.concat([missing.get(each.request.kind, frame.clear()), frame])
    return lay_out(wanted, missing, later)


def printed(capsys: pytest.CaptureFixture[str], *arguments: Any, width: int = 200) -> str:
    """Return what ``show`` prints, in one line."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        show(*arguments)
    text = capsys.readouterr().err
    assert max(map(len, text.splitlines())) <= width
    return " ".join(text.replace("│", " ").split())


def test_plan_line_has_engine_work_time_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    todo = planned([(SCORES, LOCAL), (PROMPTS, Engine.of(PRICED))], n_left=1)
    text = printed(capsys, "title\n3 countries", Estimate(todo, {("item_logprob", LOCAL.hash): 0.25}))
    assert text.startswith("title 3 countries")
    assert "local packed_trie float32 3 of 6 log-probabilities about 12 s – none" in text
    # At most 26 tokens in at $1, and 100 and 8,192 of thinking out at $10 per million, rounded up; expected
    # are 20 in, and 200 and 1,000 of thinking out.
    priced = "priced on m judge openai 1 of 4 completions unknown about 1,200 tokens, $0.02 "
    priced += "≤ 8,318 tokens, ≤ $0.09"
    assert priced in text


def test_plan_without_work_has_no_cost(capsys: pytest.CaptureFixture[str]) -> None:
    todo = planned([(PROMPTS, Engine.of(PRICED))], n_left=0, later=[Later("judge", "priced", 5, 100)])
    text = printed(capsys, "title", Estimate(todo, {}))
    assert "0 of 4 completions – –" in text
    assert "later" not in text


@pytest.mark.parametrize(
    ("spec", "price"),
    [
        # At most with 8,192 of thinking, all at the higher price; expected a quarter, and 1,000 of thinking.
        (PRICED, "about 1,500,000 tokens, $10.50 ≤ 10,192,000 tokens, ≤ $101.92"),
        (SERVED, "about 1,500,000 tokens ≤ 10,192,000 tokens"),
        (LOCAL.spec, "none"),
    ],
)
def test_later_rounds_have_an_upper_bound(
    capsys: pytest.CaptureFixture[str], spec: EngineSpec, price: str
) -> None:
    todo = planned([(SCORES, LOCAL)], later=[Later("judge", "who", 500, 2000)])
    text = printed(capsys, "title", Estimate(todo, {}, {"a": LOCAL, "b": LOCAL}, {"who": Engine.of(spec)}))
    assert f"who judge {spec.kind} " in text
    assert f"later ≤ 1,000 completions {price}" in text


def test_bounds_of_a_model_whose_context_is_known_stay_within_it(capsys: pytest.CaptureFixture[str]) -> None:
    """A later prompt and its completion have 1,000 tokens at most, not 10,192."""
    short = PRICED.model_copy(update={"options": {"max_model_len": 1000}})
    todo = planned([(PROMPTS, Engine.of(short))], n_left=1, later=[Later("judge", "who", 500, 2000)])
    text = printed(capsys, "title", Estimate(todo, {}, {"a": LOCAL}, {"who": Engine.of(short)}))
    assert "≤ 1,000 tokens, ≤ $0.01" in text
    assert "later ≤ 500 completions about 500,000 tokens, $3.51 ≤ 500,000 tokens, ≤ $5.00" in text


def test_what_is_expected_comes_from_stored_completions_of_the_evaluation(warehouse: Warehouse) -> None:
    rows = [
        dict(zip(("run_id", "evaluation", "model", "engine", "completion"), row, strict=True))
        for row in (
            ("r1", "e", "cand", "cand", 10), ("r1", "e", "cand", "judge", 2),
            ("r2", "e", "other", "other", 30), ("r3", "f", "cand", "cand", 1),
        )
    ]  # fmt: skip
    for row in rows:
        store(warehouse, row, n=6)
    by_name = {name: Engine.of(PRICED.model_copy(update={"name": name})) for name in ("cand", "judge", "new")}
    own = plan._usage(warehouse, "e")
    assert own.of(by_name["cand"], "candidate") == Used(1000, 10)
    assert own.of(by_name["judge"], "judge") == Used(200, 2)
    assert own.of(by_name["new"], "candidate") == Used(2000, 20), "the mean over all candidates"
    assert plan._usage(warehouse, "none").of(by_name["cand"], "candidate") is None
    most = [Generation("", "length", 400, 4000, 0)]
    (usual,) = expected(most, by_name["cand"], "candidate", own)
    assert (usual.prompt_tokens, usual.completion_tokens) == (300, 10)
    n, used = expected_later(Later("judge", "judge", 7, 150), 150, by_name["judge"], own)
    assert (n, used.prompt + used.completion) == (7, pytest.approx(150)), "never more than the bound"


def store(warehouse: Warehouse, row: dict[str, Any], n: int) -> None:
    """Store n completions of an engine in a run."""
    with warehouse.write() as connection:
        connection.execute(
            "INSERT OR IGNORE INTO run_base BY NAME SELECT ? AS run_id, ? AS evaluation, ? AS model, "
            "false AS is_null, 'p' AS profile, 'c' AS config_hash, 'h' AS engine_hash, '{}' AS params, "
            "'{}' AS engine, '{}' AS item_lists, '' AS boundary_rule, '' AS code_version, "
            "now() AS started_at, 'running' AS status",
            [row["run_id"], row["evaluation"], row["model"]],
        )
    frame = pl.DataFrame(
        [
            {
                "item": f"i{k}", "conversation": "[]", "text": "x", "finish_reason": "stop",
                "prompt_tokens": 100 * row["completion"], "completion_tokens": row["completion"], "seed": 0,
                "option_logprobs": None, "request_hash": f"{row['run_id']}{row['engine']}",
                "run_id": row["run_id"], "model": row["engine"],
            }
            for k in range(n)
        ],
        schema_overrides=dict.fromkeys(("prompt_tokens", "completion_tokens"), pl.Int32)
        | {"option_logprobs": pl.String},
    )  # fmt: skip
    store_part("response", f"part{row['run_id']}{row['engine']}", frame)


def test_speed_is_the_median_over_past_parts(warehouse: Warehouse) -> None:
    begun = datetime(2026, 1, 1)
    # 20 rows per part, every 2 s; then a pause of a minute, and one of a night, which is left out.
    gaps = [0, 2, 2, 2, 60, 40_000]
    times = [begun + timedelta(seconds=sum(gaps[: n + 1])) for n in range(len(gaps))]
    with warehouse.write() as connection:
        connection.execute(
            "INSERT INTO run_base BY NAME SELECT 'r' AS run_id, 'e' AS evaluation, 'm' AS model, "
            "false AS is_null, 'p' AS profile, 'c' AS config_hash, ? AS engine_hash, '{}' AS params, "
            "'{}' AS engine, '{}' AS item_lists, '' AS boundary_rule, '' AS code_version, "
            "now() AS started_at, 'running' AS status",
            [LOCAL.hash],
        )
        for n, time in enumerate(times):
            for unit in ("A", "B"):
                connection.execute(
                    "INSERT INTO part_unit_base VALUES ('item_logprob', ?, ?, ?, 'r', 10, ?)",
                    [f"request{n // 4}", f"{unit}{n}", f"part{n}", time],
                )
    estimate = Estimate.of(planned([(SCORES, LOCAL)]))
    (line,) = estimate.plan.lines
    assert estimate.rate(line) == 10
    assert estimate.speeds["item_logprob", "request1"] == pytest.approx(20 / 60)
    assert Estimate(estimate.plan, {("response", LOCAL.hash): 3.0}).rate(line) is None


def test_only_local_scoring_engines_without_a_speed_are_probed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tried: list[PlanLine] = []

    def speed(line: PlanLine) -> float:
        tried.append(line)
        return 2.0

    todo = planned([(SCORES, LOCAL), (PROMPTS, Engine.of(PRICED))])
    estimate = probed(Estimate(todo, {}), speed)
    assert [line.engine.name for line in tried] == ["local"]
    assert "probe: local 2 log-probabilities/s, about 3 s" in capsys.readouterr().err
    assert estimate.rate(todo.lines[0]) == 2.0
    assert probed(estimate, speed) == estimate
    probed(Estimate(planned([(SCORES, LOCAL)], n_left=0), {}), speed)
    assert len(tried) == 1


def test_every_request_kind_has_a_unit_name() -> None:
    from tasks.loop.candidates import CandidateRanking
    from tasks.loop.items import OptionScores
    from tasks.loop.texts import Texts

    kinds = (ItemScores, CandidateRanking, OptionScores, Prompts, Texts)
    assert plan.UNITS.keys() == {kind.kind for kind in kinds}
