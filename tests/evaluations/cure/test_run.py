"""The loop on a real warehouse with fake models: nothing is asked, judged or counted twice.

No Prefect server is needed: outside of a flow run every step is a plain call. ``tests/flows`` has one.
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
from tasks.engines.protocols import EngineError, Generation, Samplings, each
from tasks.evaluations.cure.evaluation import EVALUATION
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.study import CureStudy
from tasks.judging.verdicts import UNANSWERED
from warehouse import CorruptPart, Warehouse, run_checks

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
# F1 of a gold label: twice its hits over how often it is right and how often it is said.
MACRO = """
WITH said AS (
    SELECT model, benchmark, mode, label, 0 AS hit, false AS is_gold FROM cure_answer
    UNION ALL SELECT model, benchmark, mode, gold_label, 2 * correct::INT, true FROM cure_answer
), f1 AS (
    SELECT model, benchmark, mode, label, sum(hit) / count(*) AS f1 FROM said GROUP BY ALL
    HAVING bool_or(is_gold)
)
SELECT model, benchmark, mode, avg(f1) AS f1_macro FROM f1 GROUP BY ALL
"""
# Every judge has the same votes on an item, so one mean over all is the mean of the judges.
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
REFUSED = f"""
WITH item AS ({ITEMS})
SELECT 'judge_' || source || '_refused' AS metric, metric AS of, avg((score < 0.5)::INT) AS share
FROM item WHERE source <> 'real' GROUP BY ALL
"""
MEANS = "SELECT model, benchmark, avg(score) AS value FROM cure_answer WHERE mode = 'thick' GROUP BY ALL"
COHERENCE = """
SELECT metric, value FROM metric_value JOIN run USING (run_id)
WHERE metric_value.model = ? AND config_hash = ? AND slice = 'culturebank'
    AND starts_with(metric, 'coherence')
"""

Asked = list[tuple[str, str, int]]
"""Model, conversation and seed of every request."""


@contextmanager
def counting(home: Path) -> Iterator[Asked]:
    """Work is done in this home, and what engines are asked is noted."""
    asked: Asked = []
    generate = FakeEngine.generate

    def noted(self: FakeEngine, talks: Any, samplings: Samplings, *more: Any) -> list[Generation]:
        own = zip(talks, each(samplings, len(talks)), strict=True)
        asked.extend((self.spec.name, json.dumps([dict(m) for m in t]), s.seed) for t, s in own)
        return [longer(written) for written in generate(self, talks, samplings, *more)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        patch.setattr(FakeEngine, "generate", noted)
        load.unload()
        yield asked
        load.unload()


def longer(written: Generation) -> Generation:
    """Explanations of different lengths: "text 123" and up to six words more."""
    answer = json.loads(written.text)
    if isinstance(text := answer.get("explanation"), str):
        answer["explanation"] = text + " more" * (int(text.split()[1]) % 7)
        return replace(written, text=json.dumps(answer))
    return written


def params(*models: str, **more: Any) -> CureParams:
    """The two benchmarks whose metrics are more than one vote's mean; of each three items."""
    chosen: dict[str, Any] = {
        "models": list(models), "benchmarks": ["culturebank", "specnorm"], "judges": list(JUDGES),
        "items_per_benchmark": 3, "judge_samples": 2,
    }  # fmt: skip
    return CureParams(**chosen | more)


def run(*models: str, **more: Any) -> str:
    """What the flow does; returns the config_hash."""
    return evaluate(EVALUATION, params(*models, **more))


Finished = tuple[Path, CureStudy, Asked]


@pytest.fixture(scope="module")
def finished(copied_home: Callable[[], Path]) -> Finished:
    """A home in which fake-a has answered and two judges have marked it, and what was asked for that."""
    home = copied_home()
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b", *JUDGES):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    with counting(home) as asked:
        run("fake-a")
        study = prepare(EVALUATION, params("fake-a")).study
    assert isinstance(study, CureStudy)
    return home, study, asked


@pytest.fixture
def asked(finished: Finished, tmp_path: Path) -> Iterator[Asked]:
    """Work goes on in a copy of the finished home."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    with counting(tmp_path) as noted:
        yield noted


def parts(home: Path) -> set[str]:
    return {p.name for p in (home / "parts").glob("*/[!_]*.parquet")}


def by_model(asked: Asked) -> Counter[str]:
    return Counter(name for name, _, _ in asked)


def test_every_sample_and_every_judge_call_is_asked_once_and_is_a_row(finished: Finished) -> None:
    home, study, asked = finished
    assert by_model(asked) == {"fake-a": N_SAMPLES} | dict.fromkeys(JUDGES, N_CALLS)
    assert len(set(asked)) == len(asked)
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
        assert row["tells_real_from_shuffled"] is None  # three items are too few to tell
        assert row["judge"] == ", ".join(JUDGES)
        assert (row["validated"], row["self_preference"], row["n_judged"]) == (False, False, 3)


def test_how_many_nulls_are_refused_is_what_the_verdicts_say(finished: Finished) -> None:
    warehouse = Warehouse.open(finished[0])
    of = {"coherence": "culturebank", "specificity": "specnorm"}
    by_hand = {(of[r["of"]], r["metric"]): r["share"] for r in warehouse.query(REFUSED).to_dicts()}
    stored = warehouse.query(
        "SELECT slice, metric, value FROM metric_value "
        "WHERE metric LIKE 'judge!_%!_refused' ESCAPE '!' AND slice_kind = 'benchmark'"
    )
    assert len(by_hand) == 6
    assert {(r["slice"], r["metric"]): r["value"] for r in stored.to_dicts()} == pytest.approx(by_hand)


@pytest.mark.heavy
def test_nothing_is_done_twice(finished: Finished, asked: Asked) -> None:
    warehouse = Warehouse.open()
    numbers, before = warehouse.query(NUMBERS), parts(warehouse.home)
    run("fake-a")
    assert not asked
    assert warehouse.query(NUMBERS).equals(numbers)
    assert parts(warehouse.home) == before

    # A third vote on SpecNorm: the other two are not asked again.
    run("fake-a", judge_samples=3, benchmarks=["specnorm"])
    assert len(asked) == 2 * 3 * 4
    assert len({(judge, seed) for judge, _, seed in asked}) == len(asked)  # each is drawn for itself
    assert warehouse.query("SELECT DISTINCT config_hash FROM leaderboard_cure").height == 2
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_on_another_occasion_all_is_asked_again_and_what_was_there_stays(asked: Asked) -> None:
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    n_answers = warehouse.query("SELECT count(*) FROM response").item()
    run("fake-a", occasion="w48")
    assert by_model(asked) == {"fake-a": N_SAMPLES} | dict.fromkeys(JUDGES, N_CALLS)
    assert warehouse.query("SELECT count(*) FROM response").item() == 2 * n_answers
    own = "SELECT m.* EXCLUDE (run_id) FROM metric_value AS m JOIN run USING (run_id) " \
        "WHERE occasion = ? ORDER BY ALL"  # fmt: skip
    assert warehouse.query(own, [""]).equals(numbers)
    # The fake model says the same again.
    mine = warehouse.query(own, ["w48"])
    assert mine.filter(model="fake-a").equals(numbers.filter(model="fake-a"))
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_a_second_model_shares_the_constant_nulls_and_moves_nothing(finished: Finished, asked: Asked) -> None:
    """Generic and empty explanations are judged once for all models. Coherence is compared at the length of
    the cohort, which is the first run's: the second model is adjusted to it."""
    warehouse = Warehouse.open()
    first = warehouse.query(OWN, ["fake-a"])
    config = run("fake-b")
    assert len(asked) == len(set(asked))
    assert by_model(asked) == {"fake-b": N_SAMPLES} | dict.fromkeys(JUDGES, N_CALLS // 2)
    assert not set(asked) & set(finished[2])
    assert warehouse.query(OWN, ["fake-a"]).equals(first)
    a, b = (dict(warehouse.query(COHERENCE, [model, config]).rows()) for model in ("fake-a", "fake-b"))
    assert a["coherence"] == pytest.approx(a["coherence_raw"])
    assert a["coherence_length_slope"] == b["coherence_length_slope"]
    assert b["coherence"] != pytest.approx(b["coherence_raw"])
    assert set(warehouse.query(LEADERS, [config])["model"]) == {"fake-a", "fake-b"}
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy  # test_evaluation.py has cohorts without a warehouse
def test_a_new_cohort_of_both_compares_at_the_length_of_both(finished: Finished, asked: Asked) -> None:
    warehouse = Warehouse.open()
    alone = dict(warehouse.query(COHERENCE, ["fake-a", finished[1].config_hash()]).rows())
    config = run("fake-a", "fake-b", cohort="both")
    assert config != finished[1].config_hash()
    a, b = (dict(warehouse.query(COHERENCE, [model, config]).rows()) for model in ("fake-a", "fake-b"))
    assert a["coherence_raw"] == alone["coherence_raw"]
    assert a["coherence_length_slope"] == b["coherence_length_slope"] != alone["coherence_length_slope"]
    assert a["coherence"] != pytest.approx(alone["coherence"])
    # Each model's mean moves, the mean of both (three explanations each) does not.
    assert a["coherence"] + b["coherence"] == pytest.approx(a["coherence_raw"] + b["coherence_raw"])
    before = dict(warehouse.query(COHERENCE, ["fake-a", finished[1].config_hash()]).rows())
    assert before == alone
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_unreadable_parts_are_one_clear_error_and_are_asked_again(asked: Asked) -> None:
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    one_part = "SELECT part, count(*) AS n FROM response WHERE model = ? GROUP BY ALL ORDER BY ALL LIMIT 1"
    lost = {whose: warehouse.query(one_part, [whose]).row(0) for whose in ("fake-a", "judge-k")}
    for part, _ in lost.values():
        victim = warehouse.home / "parts" / "response" / f"{part}.parquet"
        victim.write_bytes(victim.read_bytes()[:100])
    with pytest.raises(
        (CorruptPart, EngineError), match=r"(?s)Set aside: .*Run the same command again"
    ) as told:
        run("fake-a")
    assert all(f"response/{part}" in str(told.value) for part, _ in lost.values())
    assert not asked
    run("fake-a")
    assert by_model(asked) == {whose: n for whose, (_, n) in lost.items()}
    assert warehouse.query(NUMBERS).equals(numbers)
    assert run_checks(warehouse)["n_violations"].sum() == 0


def failing(judge: str) -> Callable[..., list[Generation]]:
    generate = FakeEngine.generate

    def fail(self: FakeEngine, *more: Any) -> list[Generation]:
        if self.spec.name == judge:
            raise EngineError("no more of this")
        return generate(self, *more)

    return fail


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_a_judge_that_fails_leaves_its_numbers_unscored_and_all_others_made(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fake-a was judged before; of fake-b's explanations judge-j marks none, and judge-k all."""
    warehouse = Warehouse.open()
    first = warehouse.query(OWN, ["fake-a"])
    with monkeypatch.context() as patch:
        patch.setattr(FakeEngine, "generate", failing(JUDGES[0]))
        with pytest.raises(EngineError, match=r"^fake-b, judge judge-j: no more of this$"):
            run("fake-b", "fake-a")
    assert by_model(asked) == {"fake-b": N_SAMPLES, JUDGES[1]: N_CALLS // 2}
    assert warehouse.query(OWN, ["fake-a"]).equals(first)
    mine = warehouse.query(OWN, ["fake-b"])
    labels = mine.filter(metric="exact_match", slice_kind="benchmark_mode")
    assert (labels.height, labels["value"].null_count()) == (4, 0)
    judged = mine.filter(slice_kind="benchmark").filter(metric="specificity")
    assert judged.select("value", "unscored_reason", "n_unscored").rows() == [(None, UNANSWERED, 3)]
    # What both judges said before, of the constant nulls, they said of all models.
    refused = dict(mine.filter(slice="specnorm").select("metric", "unscored_reason").rows())
    assert refused["judge_generic_refused"] is refused["judge_empty_refused"] is None
    assert refused["judge_shuffled_refused"] == UNANSWERED
    assert run_checks(warehouse)["n_violations"].sum() == 0
    asked.clear()
    run("fake-b", "fake-a")
    assert by_model(asked) == {JUDGES[0]: N_CALLS // 2}
    again = warehouse.query(OWN, ["fake-b"]).filter(metric="specificity", slice_kind="benchmark")
    assert again["value"].null_count() == 0
    assert warehouse.query(OWN, ["fake-a"]).equals(first)


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_judges_are_paid_from_the_models_budget(asked: Asked) -> None:
    """fake-b's answers fit into it, a batch of a judge's does not any more: labels alone are scored."""
    with pytest.raises(EngineError, match=r"fake-b, judge judge-j: .*the budget is reached"):
        run("fake-b", max_total_tokens=10_000, max_tokens=256, judge_max_tokens=256)
    assert by_model(asked) == {"fake-b": N_SAMPLES}
    mine = Warehouse.open().query(OWN, ["fake-b"])
    assert mine.filter(metric="exact_match", slice_kind="benchmark_mode")["value"].null_count() == 0
    assert mine.filter(metric="specificity", slice_kind="benchmark")["value"].null_count() == 1


def test_without_a_judge_labels_count_and_explanations_are_unscored_with_the_reason(
    finished: Finished, asked: Asked
) -> None:
    config = run("fake-a", judges=[])
    assert not asked
    warehouse = Warehouse.open()
    board = warehouse.query(LEADERS, [config])
    with_judges = warehouse.query(LEADERS, [finished[1].config_hash()])
    same = ["benchmark", "thin_em", "thick_em", "thin_f1_macro", "thick_f1_macro", "metric"]
    assert board.select(same).equals(with_judges.select(same))
    unknown = ["value", "null_value", "explanation_gain", "tells_real_from_shuffled", "judge", "validated"]
    assert board.select(unknown).null_count().sum_horizontal().item() == len(unknown) * 2
    # Every row that judges together would have made is there.
    rows = "SELECT metric, slice_kind, slice, unscored_reason FROM metric_value JOIN run USING (run_id) " \
        "WHERE config_hash = ? AND metric <> 'unscored_answers' AND slice_kind <> 'benchmark_judge' " \
        "ORDER BY ALL"  # fmt: skip
    bare, full = (warehouse.query(rows, [hash_]) for hash_ in (config, finished[1].config_hash()))
    names = ["metric", "slice_kind", "slice"]
    assert bare.select(names).equals(full.select(names))
    reasons = dict(bare.filter(slice_kind="benchmark").select("metric", "unscored_reason").rows())
    for metric in ("coherence", "coherence_raw", "specificity", "explanation_gain", "judge_empty_refused"):
        assert reasons[metric] == "no judge was named"
    answers = warehouse.query(
        "SELECT DISTINCT mode, unscored_reason FROM cure_answer WHERE config_hash = ? ORDER BY mode",
        [config],
    )
    assert answers.rows() == [("thick", "no judge was named"), ("thin", None)]
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy  # test_scores.py and the page have it without a run
def test_thin_alone_asks_for_no_explanation_and_no_judge(asked: Asked) -> None:
    config = run("fake-b", modes=["thin"])
    assert by_model(asked) == {"fake-b": N_SAMPLES // 2}
    warehouse = Warehouse.open()
    board = warehouse.query(LEADERS, [config])
    assert (board.height, board["thin_em"].null_count()) == (2, 0)
    for name in ("thick_em", "metric", "value", "judge", "validated", "explanation_gain"):
        assert board[name].null_count() == 2
    kinds = warehouse.query("SELECT DISTINCT slice_kind FROM metric_value WHERE model = 'fake-b'")
    judged = {"benchmark", "null", "metric_pair", "benchmark_country", "benchmark_judge"}
    assert not set(kinds["slice_kind"]) & judged
    assert run_checks(warehouse)["n_violations"].sum() == 0
