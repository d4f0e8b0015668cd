"""Drift: headlines that moved between two occasions, its false-alarm rate, and its notifications."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from deployments.serve import server
from flows.comparison import ComparedRuns, chosen_pairs, differences
from flows.drift import VLLM, DriftParams, changed_answers, look
from flows.runs import every_finished
from tasks.metrics import comparison
from tests.conftest import environment
from tests.flows.stored_runs import Stored, store
from tests.golden import served
from tests.golden.harness import SERVED, new_home, run
from tests.http_server import Answer, serving
from tests.waiting import LONGEST_WAIT_S
from warehouse import Warehouse, register_parts, save_run_requests, write_part

RNG = np.random.default_rng(0)
BEFORE = RNG.beta(2, 2, 80)
NOISE = RNG.normal(0, 0.05, 80)


def test_only_moved_headlines_are_marked(warehouse: Warehouse) -> None:
    runs = [
        Stored("steady", "w1", scores={"coverage": BEFORE}),
        Stored("moved", "w1", scores={"coverage": BEFORE, "exact_match": BEFORE}),
        Stored("once", "w1", scores={"coverage": BEFORE}),
        Stored("steady", "w2", scores={"coverage": BEFORE + NOISE}),
        Stored("moved", "w2", scores={"coverage": BEFORE - 0.1 + NOISE, "exact_match": BEFORE}),
    ]
    store(warehouse, runs)
    table, notes = look(warehouse, DriftParams())
    assert table.height == 3
    assert table.filter("moved").select("first_model", "metric").rows() == [("moved", "coverage")]
    assert table.filter("moved")["difference"][0] == pytest.approx(NOISE.mean() - 0.1)
    assert notes == []  # no engine of this machine
    p = table.filter("moved")["p_holm"][0]
    for looks, n_moved in ((52, 1), (10 ** (1 - int(np.log10(p))), 0)):
        assert look(warehouse, DriftParams(looks=looks))[0]["moved"].sum() == n_moved, "p against 5 % / looks"
    assert look(warehouse, DriftParams(evaluations=["fmlama"]))[0].is_empty()
    assert look(warehouse, DriftParams(days=1))[0].height == 3
    with warehouse.write() as connection:
        connection.execute("UPDATE run_base SET finished_at = finished_at - INTERVAL 9 DAY")
    assert look(warehouse, DriftParams(days=8))[0].is_empty()


def test_a_look_is_one_of_a_year_of_weeks_unless_it_says_otherwise(warehouse: Warehouse) -> None:
    after = BEFORE + NOISE - NOISE.mean() - 0.0146  # 2.6 standard errors: p is 0.01
    store(
        warehouse,
        [Stored("m", "w1", scores={"coverage": BEFORE}), Stored("m", "w2", scores={"coverage": after})],
    )
    moved = [look(warehouse, params)[0]["moved"].sum() for params in (DriftParams(), DriftParams(looks=1))]
    assert moved == [0, 1]


def test_changed_answers_of_a_local_model_are_noted_with_their_effect(warehouse: Warehouse) -> None:
    """One of two countries has another log-probability, by 0.25; one of two headlines moves by -0.01."""
    for occasion, first, halves in (("w1", -1.0, 0.62), ("w2", -1.25, 0.61)):
        run = Stored(
            "m", occasion, "spectral", kind="vllm", scores={"reference_mass": BEFORE},
            halves={"macro_f1": (4, np.full(3, halves))},
        )  # fmt: skip
        store(warehouse, [run])
        request = {"request_hash": f"q-{occasion}", "run_id": run.run_id, "model": "m"}
        rows = [
            request | {"domain": "currency", "question": "currency-1", "item": "euro", "n_tokens": 1}
            | {"country": country, "logprob": logprob}
            for country, logprob in (("FR", first), ("IT", -3.0))
        ]  # fmt: skip
        part = write_part(warehouse.home, "item_logprob", f"p-{occasion}", pl.DataFrame(rows))
        asked = {"request_hash": [f"q-{occasion}"], "topic": ["currency"], "label": ["currency-1"]}
        with warehouse.write() as connection:
            register_parts(connection, [part])
            save_run_requests(connection, run.run_id, pl.DataFrame(asked))
    (note,) = look(warehouse, DriftParams())[1]
    assert note.startswith("m, spectral, w1 and w2: 1 of 2 ")
    assert f"at most 0.25: {VLLM}. " in note
    assert note.endswith("Category macro-F1 by -0.01.")


@pytest.mark.heavy
def test_unchanged_models_raise_in_fewer_than_5_percent_of_looks() -> None:
    """Ten models, three headlines each: a look raises if any of the thirty is adjusted below the level."""
    rng, looks, raised = np.random.default_rng(1), 300, 0
    for _ in range(looks):
        p_values = []
        for _ in range(10):
            chance, score = rng.beta(2, 1, 40), rng.beta(0.4, 0.1, 40)
            hits = (rng.random((2, 40)) < chance).astype(np.float64)
            judged = np.clip(score + rng.normal(0, 0.2, (2, 40)), 0, 1)
            groups = np.clip(judged.reshape(2, 10, 4) + rng.normal(0, 0.05, (2, 10, 1)), 0, 1)
            pairs = (
                comparison.mean_difference(*hits),
                comparison.mean_difference(*judged),
                comparison.mean_difference(*groups.reshape(2, -1), np.repeat(np.arange(10), 4)),
            )
            p_values += [pair.p_value for pair in pairs if pair.p_value is not None]
        raised += bool((comparison.holm(p_values) < comparison.LEVEL).any())
    assert raised / looks < 0.05


@pytest.mark.heavy
def test_a_year_of_52_looks_keeps_its_level() -> None:
    """An unchanged model may seem to differ from the week before in 5 % of 200 years."""
    rng, raised = np.random.default_rng(2), 0
    for _ in range(200):
        chance = rng.beta(2, 1, 100)
        weeks = (rng.random((53, 100)) < chance).astype(np.float64)
        tests = (comparison.mean_difference(after, before) for before, after in pairwise(weeks))
        raised += min(test.p_value or 1.0 for test in tests) < comparison.LEVEL / 52
    assert raised / 200 < 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.slow
@pytest.mark.heavy
def test_drift_notifies_a_webhook_and_shows_a_table(
    warehouse: Warehouse, prefect_api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real server, its triggers and actions, and a real webhook."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(warehouse.home))
    store(warehouse, [Stored("m", "w1", scores={"coverage": BEFORE})])
    store(warehouse, [Stored("m", "w2", scores={"coverage": BEFORE - 0.2 + NOISE})])
    with server.pointed_at(prefect_api), serving(lambda _: Answer(status=204)) as webhook:
        from prefect.blocks.notifications import CustomWebhookNotificationBlock
        from prefect.client.orchestration import get_client

        from deployments.serve import automations

        with pytest.raises(ValueError, match="no such notification block"):
            automations.alert("slack-webhook/nobody")
        body = {"title": "{{subject}}", "text": "{{body}}"}
        block = CustomWebhookNotificationBlock(name="lab", url=webhook.address, json_data=body)
        block.save("lab", overwrite=True)
        first = automations.alert("custom-webhook/lab")
        assert automations.alert("custom-webhook/lab").id == first.id  # changed, not doubled
        # In its own process, like a deployment's runs: events go to the server in the environment at start.
        code = "from flows.drift import *; assert drift(DriftParams()) == 1"
        env = environment(warehouse.home, prefect_api)
        subprocess.run([sys.executable, "-c", code], env=env, check=True, timeout=LONGEST_WAIT_S)
        webhook.wait_until(lambda: webhook.received)
        with get_client(sync_client=True) as client:
            tables = [a for a in client.read_artifacts() if a.key == "drift"]
        first.delete()
    posted = webhook.received[0].json
    assert posted["title"] == "Culturemeter: 1 headlines moved"
    assert "m: Coverage (cure)" in posted["text"]
    (row,) = json.loads(str(tables[0].data))
    assert row["moved"] is True


@pytest.mark.slow
@pytest.mark.heavy
def test_two_occasions_of_a_stochastic_model_have_differences_and_changed_answers(
    blank: Path, prefect_api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows per metric, a paired difference, and the answers that changed."""
    occasion = {"w1": 0, "w2": 1000}
    asked = {"seed": 0}

    def reply(_: int, request: dict[str, Any]) -> tuple[int, Any]:
        return 200, served.reply(request | {"seed": request["seed"] + asked["seed"]})

    model = served.Scripted(reply)
    try:
        home = new_home(blank, "drift", "cure", model.url)
        with server.pointed_at(prefect_api):
            for name, seed in occasion.items():
                asked["seed"] = seed
                run("cure", home, models=[SERVED, "fake-a"], occasion=name)
    finally:
        model.close()
    warehouse = Warehouse.open(home)
    rows = warehouse.query("FROM leaderboard_history WHERE NOT is_null")
    counts = rows.group_by("model", "metric").agg(pl.col("occasion").sort())
    assert counts["occasion"].to_list() == [["w1", "w2"]] * counts.height
    assert set(counts["metric"]) == {"exact_match", "coverage", "specificity", "connotation", "coherence"}

    pairs = chosen_pairs(every_finished(warehouse), ComparedRuns(SERVED))
    changed = {row["metric"]: row for row in differences(warehouse, pairs).to_dicts()}
    own = rows.filter(pl.col("model") == SERVED)
    of = {(r["metric"], r["occasion"]): r["value"] for r in own.to_dicts()}
    exact = changed["exact_match"]
    assert (exact["first_value"], exact["second_value"]) == (of["exact_match", "w2"], of["exact_match", "w1"])
    assert exact["ci_low"] <= exact["difference"] <= exact["ci_high"]
    assert 0 < exact["n_common"] <= 48

    common, other, _ = changed_answers(warehouse, pairs[0])
    sql = "FROM answer_change WHERE model = ? AND before_occasion = 'w1' AND after_occasion = 'w2'"
    view = warehouse.query(sql, [SERVED])
    assert view.filter(pl.col("kind") == "response", pl.col("answered_by") == SERVED).height == other > 0
    assert other <= common == 48
    assert view.filter(pl.col("kind") == "verdict").height > 0
    assert warehouse.query(sql, ["fake-a"]).is_empty()

    table, notes = look(warehouse, DriftParams())
    assert [note for note in notes if note.startswith("fake-a, cure, w1 and w2: all 48")] == notes
    assert table.filter(pl.col("first_model") == "fake-a")["p_value"].drop_nulls().eq(1.0).all()
