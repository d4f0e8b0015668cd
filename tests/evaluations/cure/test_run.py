"""The loop on a real warehouse with fake models: no prompt is answered, judged or counted twice.

Failures common to all evaluations are in ``tests/golden``, runs on a Prefect server in ``tests/flows``.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.evaluation import evaluate
from flows.session import prepare
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Generation, Samplings, each
from tasks.evaluations.cure.evaluation import EVALUATION
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.study import CureStudy
from warehouse import Warehouse, run_checks

JUDGES = ("judge-j", "judge-k")
# Of two benchmarks three items in two modes. A judge marks every explanation and its three nulls once, those
# of SpecNorm twice.
N_SAMPLES, N_CALLS = 2 * 3 * 2, 3 * 4 * (1 + 2)
NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"
OWN = "SELECT * EXCLUDE (run_id) FROM metric_value WHERE model = ? ORDER BY ALL"
LEADERS = "SELECT * FROM leaderboard_cure WHERE config_hash = ? AND NOT is_null ORDER BY model, benchmark"
LABELS = """
SELECT model, benchmark, mode, avg(correct::INT) AS em, count(label) AS n FROM cure_answer GROUP BY ALL
"""
# F1 of a gold label: twice its hits, divided by how often it is gold plus how often it is answered.
MACRO = """
WITH labels AS (
    SELECT model, benchmark, mode, label, 0 AS hit, false AS is_gold FROM cure_answer
    UNION ALL SELECT model, benchmark, mode, gold_label, 2 * correct::INT, true FROM cure_answer
), f1 AS (
    SELECT model, benchmark, mode, label, sum(hit) / count(*) AS f1 FROM labels GROUP BY ALL
    HAVING bool_or(is_gold)
)
SELECT model, benchmark, mode, avg(f1) AS f1_macro FROM f1 GROUP BY ALL
"""
# Each judge votes equally often on an item, so the mean of votes is the mean of judges.
ITEMS = """
SELECT model, split_part(rubric, ' ', 1) AS metric, item, split_part(judged, ':', 1) AS source,
    avg(graded) AS score
FROM verdict GROUP BY ALL
"""
JUDGED = f"""
WITH item AS ({ITEMS})
SELECT model, metric, avg(score) FILTER (source = 'real') AS value,
    avg(score) FILTER (source = 'shuffled') AS null_shuffled,
    avg(score) FILTER (source = 'generic') AS null_generic,
    avg(score) FILTER (source = 'empty') AS null_empty
FROM item GROUP BY ALL
"""
MEANS = "SELECT model, benchmark, avg(score) AS value FROM cure_answer WHERE mode = 'thick' GROUP BY ALL"
COHERENCE = """
SELECT metric, value FROM metric_value JOIN run USING (run_id)
WHERE metric_value.model = ? AND config_hash = ? AND slice = 'culturebank'
    AND starts_with(metric, 'coherence')
"""

Sent = list[tuple[str, str, int]]
"""Model, conversation and seed of every request."""


@contextmanager
def counting(home: Path) -> Iterator[Sent]:
    """Work in this home, and record the prompts of all engines."""
    sent: Sent = []
    generate = FakeEngine.generate

    def noted(self: FakeEngine, talks: Any, samplings: Samplings, *more: Any) -> list[Generation]:
        own = zip(talks, each(samplings, len(talks)), strict=True)
        sent.extend((self.spec.name, json.dumps([dict(m) for m in t]), s.seed) for t, s in own)
        return [longer(written) for written in generate(self, talks, samplings, *more)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        patch.setattr(FakeEngine, "generate", noted)
        load.unload()
        yield sent
        load.unload()


def longer(written: Generation) -> Generation:
    """Return explanations of different lengths: "text 123" and up to six further words."""
    answer = json.loads(written.text)
    if isinstance(text := answer.get("explanation"), str):
        answer["explanation"] = text + " more" * (int(text.split()[1]) % 7)
        return replace(written, text=json.dumps(answer))
    return written


def params(*models: str, **more: Any) -> CureParams:
    """Return params for three items of each benchmark whose metric is more than the mean of one vote."""
    chosen: dict[str, Any] = {
        "models": list(models), "benchmarks": ["culturebank", "specnorm"], "judges": list(JUDGES),
        "items_per_benchmark": 3, "judge_samples": 2,
    }  # fmt: skip
    return CureParams(**chosen | more)


def run(*models: str, **more: Any) -> str:
    """Run the evaluation and return its config_hash."""
    return evaluate(EVALUATION, params(*models, **more))


Finished = tuple[Path, CureStudy, Sent]


@pytest.fixture(scope="module")
def finished(copied_home: Callable[[], Path]) -> Finished:
    """A home with a run of fake-a and two judges, its study and its prompts."""
    home = copied_home()
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b", *JUDGES):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    with counting(home) as sent:
        run("fake-a")
        study = prepare(EVALUATION, params("fake-a")).study
    assert isinstance(study, CureStudy)
    return home, study, sent


@pytest.fixture
def sent(finished: Finished, tmp_path: Path) -> Iterator[Sent]:
    """The prompts of further work in a copy of the finished home."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    with counting(tmp_path) as noted:
        yield noted


def parts(home: Path) -> set[str]:
    return {p.name for p in (home / "parts").glob("*/[!_]*.parquet")}


def by_model(sent: Sent) -> Counter[str]:
    return Counter(name for name, _, _ in sent)


def test_each_sample_and_judge_call_is_generated_once_and_stored(finished: Finished) -> None:
    home, study, sent = finished
    assert by_model(sent) == {"fake-a": N_SAMPLES} | dict.fromkeys(JUDGES, N_CALLS)
    assert len(set(sent)) == len(sent)
    warehouse = Warehouse.open(home)
    rows = warehouse.query("SELECT benchmark, mode, item FROM cure_answer").rows()
    assert sorted(rows) == sorted(study.prompts)
    # Both judges' single verdicts, each under its own engine.
    votes = warehouse.query(
        "SELECT judge, judge_hash, split_part(judged, ':', 1) AS source, count(*) AS n FROM verdict "
        "GROUP BY ALL"
    )
    assert Counter(votes["source"]) == dict.fromkeys(("real", "shuffled", "generic", "empty"), 2)
    assert set(votes["n"]) == {N_CALLS // 4}
    hashes = {engine.name: engine.hash for engine in study.judges.values()}
    assert dict(votes.select("judge", "judge_hash").rows()) == hashes
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_leaderboard_equals_sql_over_single_answers_and_verdicts(finished: Finished) -> None:
    home, study, _ = finished
    warehouse = Warehouse.open(home)
    board = warehouse.query(LEADERS, [study.config_hash()]).to_dicts()
    assert [row["benchmark"] for row in board] == ["culturebank", "specnorm"]
    labels = {(r["benchmark"], r["mode"]): r for r in warehouse.query(LABELS).to_dicts()}
    macro = {(r["benchmark"], r["mode"]): r["f1_macro"] for r in warehouse.query(MACRO).to_dicts()}
    judged = {r["metric"]: r for r in warehouse.query(JUDGED).to_dicts()}
    means = {r["benchmark"]: r["value"] for r in warehouse.query(MEANS).to_dicts()}
    for row in board:
        benchmark = row["benchmark"]
        for mode in ("thin", "thick"):
            by_hand = labels[benchmark, mode]
            assert (row[f"{mode}_em"], row[f"{mode}_scored"]) == pytest.approx((by_hand["em"], by_hand["n"]))
            assert row[f"{mode}_f1_macro"] == pytest.approx(macro[benchmark, mode])
        votes = judged[row["metric"]]
        assert row["value"] == pytest.approx(votes["value"]) == pytest.approx(means[benchmark])
        nulls = [f"null_{name}" for name in ("shuffled", "generic", "empty")]
        assert {n: row[n] for n in nulls} == pytest.approx({n: votes[n] for n in nulls})
        assert row["null_value"] == pytest.approx(max(votes[name] for name in nulls))
        assert row["explanation_gain"] == pytest.approx(votes["value"] - votes["null_shuffled"])
        assert row["tells_real_from_shuffled"] is None  # three items are too few to tell
        assert row["judge"] == ", ".join(JUDGES)
        assert (row["validated"], row["self_preference"], row["n_judged"]) == (False, False, 3)


@pytest.mark.heavy
def test_a_second_run_generates_nothing_and_a_further_vote_adds_one_request_each(
    finished: Finished, sent: Sent
) -> None:
    warehouse = Warehouse.open()
    numbers, before = warehouse.query(NUMBERS), parts(warehouse.home)
    run("fake-a")
    assert not sent
    assert warehouse.query(NUMBERS).equals(numbers)
    assert parts(warehouse.home) == before

    # A third vote on SpecNorm: the other two are stored.
    run("fake-a", judge_samples=3, benchmarks=["specnorm"])
    assert len(sent) == 2 * 3 * 4
    assert len({(judge, seed) for judge, _, seed in sent}) == len(sent)
    assert warehouse.query("SELECT DISTINCT config_hash FROM leaderboard_cure").height == 2
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_second_model_shares_constant_nulls_and_changes_no_stored_row(finished: Finished, sent: Sent) -> None:
    """Generic and empty explanations are judged once for all models. The second model changes no stored
    row."""
    warehouse = Warehouse.open()
    first = warehouse.query(OWN, ["fake-a"])
    config = run("fake-b")
    assert len(sent) == len(set(sent))
    assert by_model(sent) == {"fake-b": N_SAMPLES} | dict.fromkeys(JUDGES, N_CALLS // 2)
    assert not set(sent) & set(finished[2])
    assert warehouse.query(OWN, ["fake-a"]).equals(first)
    assert set(warehouse.query(LEADERS, [config])["model"]) == {"fake-a", "fake-b"}
    assert run_checks(warehouse)["n_violations"].sum() == 0
