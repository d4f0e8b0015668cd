"""The steps on a real warehouse with fake models: nothing is asked, judged or counted twice.

Tasks are called by their own functions, so that no Prefect server is needed; ``tests/flows`` has one.
"""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import flows.cure
from flows.cure import ask_model, judge_model
from tasks import steps as shared
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import EngineError, Generation, Sampling
from tasks.evaluations.cure import steps
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.requests import Study
from tasks.generation import steps as generation
from warehouse import CorruptPart, Warehouse, run_checks

JUDGES = ("judge-j", "judge-k")
# Of two benchmarks three items in two modes. A judge marks every explanation and its three nulls once, those
# of SpecNorm twice.
N_CELLS, N_CALLS = 2 * 3 * 2, 3 * 4 * (1 + 2)
NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"
LEADERS = "SELECT * FROM leaderboard_cure WHERE config_hash = ? AND NOT is_null ORDER BY model, benchmark"
LABELS = """
SELECT model, benchmark, mode, avg(correct::INT) AS em, count(label) AS n FROM cure_answer GROUP BY ALL
"""
# F1 of a label: twice its hits over how often it is right and how often it is said.
MACRO = """
WITH said AS (
    SELECT model, benchmark, mode, label, 0 AS hit FROM cure_answer
    UNION ALL SELECT model, benchmark, mode, gold_label, 2 * correct::INT FROM cure_answer
), f1 AS (SELECT model, benchmark, mode, label, sum(hit) / count(*) AS f1 FROM said GROUP BY ALL)
SELECT model, benchmark, mode, avg(f1) AS f1_macro FROM f1 GROUP BY ALL
"""
# Every judge has the same votes on an item, so one mean over all is the mean of the judges.
JUDGED = """
WITH item AS (
    SELECT model, split_part(rubric, ' ', 1) AS metric, item, split_part(judged, ':', 1) AS source,
        avg(graded) AS score
    FROM verdict GROUP BY ALL
)
SELECT model, metric, avg(score) FILTER (source = 'real') AS value,
    avg(score) FILTER (source = 'shuffled') AS null_shuffled,
    avg(score) FILTER (source = 'generic') AS null_generic,
    avg(score) FILTER (source = 'empty') AS null_empty
FROM item GROUP BY ALL
"""
MEANS = "SELECT model, benchmark, avg(score) AS value FROM cure_answer WHERE mode = 'thick' GROUP BY ALL"
COHERENCE = """
SELECT metric, value FROM metric_value
WHERE model = ? AND slice = 'culturebank' AND starts_with(metric, 'coherence')
"""

Asked = list[tuple[str, str, int]]
"""Model, conversation and seed of every request."""


@contextmanager
def counting(home: Path) -> Iterator[Asked]:
    """Tasks work on this home, without Prefect, and what they ask is noted."""
    asked: Asked = []
    generate = FakeEngine.generate

    def noted(self: FakeEngine, talks: Any, sampling: Sampling, *more: Any) -> list[Generation]:
        asked.extend((self.spec.name, json.dumps([dict(m) for m in t]), sampling.seed) for t in talks)
        return [longer(made) for made in generate(self, talks, sampling, *more)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        patch.setattr(steps, "start_run", steps.start_run.fn)
        patch.setattr(generation, "answers", generation.answers.fn)
        patch.setattr(FakeEngine, "generate", noted)
        load.unload()
        yield asked
        load.unload()


def longer(made: Generation) -> Generation:
    """Explanations of different lengths: "text 123" and up to six words more."""
    answer = json.loads(made.text)
    if isinstance(text := answer.get("explanation"), str):
        answer["explanation"] = text + " more" * (int(text.split()[1]) % 7)
        return replace(made, text=json.dumps(answer))
    return made


Finished = tuple[Path, Study, Asked]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A home in which fake-a has answered and two judges have marked it, and what was asked for that."""
    home = tmp_path_factory.mktemp("home")
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b", *JUDGES):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    with counting(home) as asked:
        study = build()
        run(study, "fake-a")
    return home, study, asked


@pytest.fixture
def asked(finished: Finished, tmp_path: Path) -> Iterator[Asked]:
    """Work goes on in a copy of the finished home."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    with counting(tmp_path) as found:
        yield found


def build(**more: Any) -> Study:
    """The two benchmarks whose metrics are more than one vote's mean; of each three items."""
    chosen: dict[str, Any] = {
        "models": ["m"], "benchmarks": ["culturebank", "specnorm"], "judges": list(JUDGES),
        "items_per_benchmark": 3, "judge_samples": 2, "bootstrap": 20,
    }  # fmt: skip
    return steps.build(CureParams(**chosen | more))


def run(study: Study, *models: str) -> int:
    """What the flow does; returns how many answers were missing, of candidates and judges."""
    asked = [(*ask_model(study, shared.spec_of(model), meter), meter) for model in models
             for meter in (steps.meter(study),)]  # fmt: skip
    todo = sum(n for _, n, _ in asked)
    for judge in map(shared.spec_of, study.params.judges):
        todo += sum(judge_model(study, run, judge, meter) for run, _, meter in asked)
    steps.score_metrics.fn(study, [run for run, _, _ in asked])
    return todo


def parts(home: Path) -> set[str]:
    return {p.name for p in (home / "parts").glob("*/[!_]*.parquet")}


def by_model(asked: Asked) -> Counter[str]:
    return Counter(name for name, _, _ in asked)


def test_every_cell_and_every_judge_call_is_asked_once_and_is_a_row(finished: Finished) -> None:
    home, study, asked = finished
    assert by_model(asked) == {"fake-a": N_CELLS} | dict.fromkeys(JUDGES, N_CALLS)
    assert len(set(asked)) == len(asked)
    warehouse = Warehouse.open(home)
    rows = warehouse.query("SELECT benchmark, mode, item FROM cure_answer").rows()
    assert sorted(rows) == sorted(cell.key for cell in study.all_cells())
    # Both judges' single verdicts, each under its own engine.
    votes = warehouse.query(
        "SELECT judge, judge_hash, split_part(judged, ':', 1) AS source, count(*) AS n FROM verdict "
        "GROUP BY ALL"
    )
    assert Counter(votes["source"]) == dict.fromkeys(("real", "shuffled", "generic", "empty"), 2)
    assert set(votes["n"]) == {N_CALLS // 4}
    assert dict(votes.select("judge", "judge_hash").rows()) == {j.name: j.engine for j in study.judges}
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_the_leaderboard_says_what_the_single_answers_say(finished: Finished) -> None:
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
        # Of one model alone, equal length moves no mean; that of shuffled explanations it does.
        assert row["value"] == pytest.approx(votes["value"]) == pytest.approx(means[benchmark])
        nulls = [f"null_{name}" for name in ("shuffled", "generic", "empty")]
        if benchmark != "culturebank":
            assert {n: row[n] for n in nulls} == pytest.approx({n: votes[n] for n in nulls})
            assert row["null_value"] == pytest.approx(max(votes[name] for name in nulls))
            assert row["explanation_gain"] == pytest.approx(votes["value"] - votes["null_shuffled"])
        assert row["tells_real_from_shuffled"] == (row["gain_low"] > 0)
        assert row["judge"] == ", ".join(JUDGES)
        assert (row["validated"], row["self_preference"], row["n_judged"]) == (False, False, 3)


def test_nothing_is_done_twice(finished: Finished, asked: Asked) -> None:
    study = finished[1]
    warehouse = Warehouse.open()
    numbers, before = warehouse.query(NUMBERS), parts(warehouse.home)
    assert run(study, "fake-a") == 0
    assert not asked
    assert warehouse.query(NUMBERS).equals(numbers)
    assert parts(warehouse.home) == before

    # A third vote on SpecNorm: the other two are not asked again.
    assert run(build(judge_samples=3, benchmarks=["specnorm"]), "fake-a") == len(asked) == 2 * 3 * 4
    assert {seed for _, _, seed in asked} == {2}
    assert warehouse.query("SELECT DISTINCT config_hash FROM leaderboard_cure").height == 2
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_refresh_asks_candidates_again_and_judges_only_about_what_is_new(
    finished: Finished, asked: Asked
) -> None:
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    n_answers = warehouse.query("SELECT count(*) FROM response").item()
    assert run(build(refresh=True), "fake-a") == N_CELLS
    assert by_model(asked) == {"fake-a": N_CELLS}
    assert len(set(asked)) == N_CELLS
    assert warehouse.query("SELECT count(*) FROM response").item() == n_answers
    assert warehouse.query(NUMBERS).equals(numbers)  # the fake model says the same again
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_second_model_shares_the_constant_nulls_and_moves_coherence_alone(
    finished: Finished, asked: Asked
) -> None:
    """Generic and empty explanations are judged once for all models. Coherence is compared at the length
    that all models share, so another model moves it (documented in ``scores.equal_lengths``)."""
    study = finished[1]
    warehouse = Warehouse.open()
    own = "SELECT * EXCLUDE (run_id) FROM metric_value WHERE model = 'fake-a' AND slice <> 'culturebank' " \
        "AND slice NOT LIKE 'culturebank:%' AND slice NOT LIKE '%coherence%' ORDER BY ALL"  # fmt: skip
    others, alone = warehouse.query(own), dict(warehouse.query(COHERENCE, ["fake-a"]).rows())
    assert alone["coherence"] == pytest.approx(alone["coherence_raw"])
    assert run(study, "fake-b") == len(asked) == len(set(asked))
    assert by_model(asked) == {"fake-b": N_CELLS} | dict.fromkeys(JUDGES, N_CALLS // 2)
    assert not set(asked) & set(finished[2])
    assert warehouse.query(own).equals(others)
    a, b = (dict(warehouse.query(COHERENCE, [model]).rows()) for model in ("fake-a", "fake-b"))
    assert a["coherence_raw"] == alone["coherence_raw"]
    assert a["coherence_length_slope"] == b["coherence_length_slope"] != alone["coherence_length_slope"]
    assert a["coherence"] != pytest.approx(alone["coherence"])
    # Each model's mean moves, the mean of both (three explanations each) does not.
    assert a["coherence"] + b["coherence"] == pytest.approx(a["coherence_raw"] + b["coherence_raw"])
    assert set(warehouse.query(LEADERS, [study.config_hash()])["model"]) == {"fake-a", "fake-b"}
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_unreadable_parts_are_one_clear_error_and_are_asked_again(finished: Finished, asked: Asked) -> None:
    study = finished[1]
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    found = "SELECT part, count(*) AS n FROM response WHERE model = ? GROUP BY ALL ORDER BY ALL LIMIT 1"
    lost = {whose: warehouse.query(found, [whose]).row(0) for whose in ("fake-a", "judge-k")}
    for part, _ in lost.values():
        victim = warehouse.home / "parts" / "response" / f"{part}.parquet"
        victim.write_bytes(victim.read_bytes()[:100])
    with pytest.raises(CorruptPart, match="|".join(part for part, _ in lost.values())) as caught:
        run(study, "fake-a")
    with pytest.raises(CorruptPart, match=r"(?s)Set aside: .*Run the same command again") as told:
        shared.set_corrupt_aside(caught.value)
    assert all(f"response/{part}" in str(told.value) for part, _ in lost.values())
    assert run(study, "fake-a") == len(asked)
    assert by_model(asked) == {whose: n for whose, (_, n) in lost.items()}
    assert warehouse.query(NUMBERS).equals(numbers)
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_judge_that_fails_on_one_model_leaves_the_others_scored(
    finished: Finished, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flow's own function; fake-b's explanations are refused, fake-a's are judged already."""

    def judging(study: Study, run: shared.Run, judge: Any, meter: Any) -> int:
        if (run[1], judge.name) == ("fake-b", JUDGES[0]):
            raise EngineError("no more of this")
        return judge_model(study, run, judge, meter)

    monkeypatch.setattr(flows.cure, "judge_model", judging)
    monkeypatch.setattr(flows.cure, "get_run_logger", logging.getLogger)
    monkeypatch.setattr(shared, "adopt", lambda kinds: None)
    monkeypatch.setattr(steps, "score_metrics", steps.score_metrics.fn)
    monkeypatch.setattr(steps, "show_leaderboard", lambda config_hash: None)
    study = build(benchmarks=["culturebank"])
    with pytest.raises(EngineError, match=r"^fake-b, judged by judge-j: no more of this$"):
        flows.cure.cure.fn(study.params.model_copy(update={"models": ["fake-b", "fake-a"]}))
    assert by_model(asked) == {"fake-b": N_CELLS // 2}
    board = Warehouse.open().query(LEADERS, [study.config_hash()])
    assert set(board["model"]) == {"fake-a"}
    assert board["value"].null_count() == 0


def test_without_a_judge_labels_count_and_explanations_are_unscored_with_the_reason(
    finished: Finished, asked: Asked
) -> None:
    study = build(judges=[])
    assert run(study, "fake-a") == 0
    assert not asked
    warehouse = Warehouse.open()
    board = warehouse.query(LEADERS, [study.config_hash()])
    with_judges = warehouse.query(LEADERS, [finished[1].config_hash()])
    same = ["benchmark", "thin_em", "thick_em", "thin_f1_macro", "thick_f1_macro", "metric"]
    assert board.select(same).equals(with_judges.select(same))
    unknown = ["value", "null_value", "explanation_gain", "tells_real_from_shuffled", "judge", "validated"]
    assert board.select(unknown).null_count().sum_horizontal().item() == len(unknown) * 2
    # Every row that judges would have made is there.
    rows = "SELECT metric, slice_kind, slice, unscored_reason FROM metric_value JOIN run USING (run_id) " \
        "WHERE config_hash = ? AND metric <> 'unscored_answers' ORDER BY ALL"  # fmt: skip
    bare, full = (warehouse.query(rows, [s.config_hash()]) for s in (study, finished[1]))
    names = ["metric", "slice_kind", "slice"]
    assert bare.select(names).equals(full.select(names))
    reasons = dict(bare.filter(slice_kind="benchmark").select("metric", "unscored_reason").rows())
    for metric in ("coherence", "coherence_raw", "specificity", "explanation_gain"):
        assert reasons[metric] == "no judge was named"
    answers = warehouse.query(
        "SELECT DISTINCT mode, unscored_reason FROM cure_answer WHERE config_hash = ? ORDER BY mode",
        [study.config_hash()],
    )
    assert answers.rows() == [("thick", "no judge was named"), ("thin", None)]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_thin_alone_asks_for_no_explanation_and_no_judge(finished: Finished, asked: Asked) -> None:
    study = build(modes=["thin"])
    assert run(study, "fake-b") == N_CELLS // 2
    assert by_model(asked) == {"fake-b": N_CELLS // 2}
    warehouse = Warehouse.open()
    board = warehouse.query(LEADERS, [study.config_hash()])
    assert (board.height, board["thin_em"].null_count()) == (2, 0)
    for name in ("thick_em", "metric", "value", "judge", "validated", "explanation_gain"):
        assert board[name].null_count() == 2
    kinds = warehouse.query("SELECT DISTINCT slice_kind FROM metric_value WHERE model = 'fake-b'")
    assert not set(kinds["slice_kind"]) & {"benchmark", "null", "metric_pair", "benchmark_country"}
    assert run_checks(warehouse)["n_violations"].sum() == 0
