"""What goes wrong in a run costs its own rows, and is made up for by the next run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Embedded, EngineError, Generation
from tasks.evaluations.fmlama.evaluation import later
from tests.evaluations.fmlama.finished_run import empty_home, params, run, study_of
from warehouse import CorruptPart, Warehouse, run_checks

EVERYONE = ["fake-a", "fake-b", "null:common", "null:common-of-origin"]
JUDGED = ("mes", "mes_maybe", "judge_gold_accepted")
NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"
REASONS = "SELECT DISTINCT unscored_reason FROM metric_value WHERE metric IN ('mes', 'judge_gold_accepted')"

Generate = Callable[..., list[Generation]]


@pytest.fixture
def warehouse(copied_home: Callable[[], Path]) -> Iterator[Warehouse]:
    with empty_home(copied_home()) as warehouse:
        yield warehouse


@pytest.fixture(scope="module")
def expected(copied_home: Callable[[], Path]) -> pl.DataFrame:
    """The numbers of a run in which nothing fails."""
    with empty_home(copied_home()) as warehouse:
        run(small(warehouse))
        return warehouse.query(NUMBERS)


def small(warehouse: Warehouse, **more: Any) -> Any:
    """Two conditions in one language; a judge that is no candidate."""
    path = warehouse.home / "engines" / "judge.toml"
    path.write_text('kind = "fake"\nmodel = "judge"\n')
    return params(warehouse.home, languages=["en"], code_switching=False, **{"judges": ["judge"]} | more)


def failing(model: str, generate: Generate) -> Generate:
    """The judge is out of order; candidates write as ever."""

    def fails(self: FakeEngine, *arguments: Any) -> list[Generation]:
        if self.spec.model == model:
            raise EngineError("the server is down")
        return generate(self, *arguments)

    return fails


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_a_judge_that_fails_costs_its_own_rows_only(
    warehouse: Warehouse, expected: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(FakeEngine, "generate", failing("judge", FakeEngine.generate))
        with pytest.raises(EngineError, match="fake-a, judge judge: the server is down") as raised:
            run(small(warehouse))
    assert "the null models, judge judge: the server is down" in str(raised.value)
    numbers = warehouse.query(NUMBERS)
    same = pl.col("metric").is_in(JUDGED).not_()
    assert numbers.filter(same).equals(expected.filter(same))
    key = ["model", "metric", "slice_kind", "slice"]
    assert numbers.select(key).equals(expected.select(key))
    assert warehouse.query(REASONS)["unscored_reason"].to_list() == ["a judge has not answered"]
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]
    assert warehouse.query("SELECT count(*) AS n FROM verdict")["n"][0] == 0
    assert run_checks(warehouse)["n_violations"].sum() == 0
    # It comes back: only it is asked, and all rows are as if it had never failed, baselines included.
    scored = warehouse.query("SELECT part FROM candidate_score ORDER BY ALL")
    run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected)
    assert warehouse.query("SELECT part FROM candidate_score ORDER BY ALL").equals(scored)


def test_a_judge_that_cannot_write_is_one_clear_error(warehouse: Warehouse, expected: pl.DataFrame) -> None:
    (warehouse.home / "engines" / "scorer.toml").write_text(f'model = "{warehouse.home}"\n')
    with pytest.raises(EngineError, match="scorer"):
        run(small(warehouse, judges=["scorer"]))
    same = pl.col("metric").is_in(JUDGED).not_()
    assert warehouse.query(NUMBERS).filter(same).equals(expected.filter(same))


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_a_budget_stops_the_judge_and_leaves_the_rest(warehouse: Warehouse, expected: pl.DataFrame) -> None:
    (bound,) = later(study_of(small(warehouse)))
    # Enough for one of the three dishes of each model.
    with pytest.raises(EngineError, match="the budget is reached"):
        run(small(warehouse, batch=1, max_total_tokens=bound.tokens))
    numbers = warehouse.query(NUMBERS)
    same = pl.col("metric").is_in(JUDGED).not_()
    assert numbers.filter(same).equals(expected.filter(same))
    whole = numbers.filter(metric="mes", slice_kind="condition", model="fake-a")
    assert whole.select("n_scored", "n_unscored").rows() == [(1, 2)]
    run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected)


def test_unread_verdicts_are_null_with_a_reason(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rambles(self: FakeEngine, conversations: Sequence[Any], *more: Any) -> list[Generation]:
        return [Generation("I would rather not say.", "stop", 1, 1, 0) for _ in conversations]

    monkeypatch.setattr(FakeEngine, "generate", rambles)
    run(small(warehouse))
    verdicts = warehouse.query("SELECT * FROM verdict")
    assert set(verdicts["model"]) == set(EVERYONE)
    assert verdicts["value"].is_null().all()
    assert verdicts["verdict"].is_null().all()
    assert (verdicts["unscored_reason"].str.len_chars() > 0).all()
    assert warehouse.query("SELECT mes FROM leaderboard_fmlama")["mes"].is_null().all()
    reasons = set(warehouse.query(REASONS)["unscored_reason"])
    assert "the judge gave no verdict that could be read" in reasons
    assert "a judge has not answered" not in reasons
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_word_vectors_that_fail_cost_similarity_alone(
    warehouse: Warehouse, expected: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: object, texts: Sequence[str]) -> Embedded:
        raise EngineError("the file is damaged")

    with monkeypatch.context() as patch:
        patch.setattr("tasks.engines.local.fasttext_vectors.VecVectors.embed", fails)
        with pytest.raises(EngineError, match=r"the null models, embedder .*: the file is damaged"):
            run(small(warehouse))
    numbers = warehouse.query(NUMBERS)
    same = pl.col("metric").str.contains("mws").not_()
    assert numbers.filter(same).equals(expected.filter(same))
    lost = numbers.filter(~same, pl.col("model") == "fake-a")
    assert lost["value"].is_null().all()
    assert set(lost["unscored_reason"]) == {"the word vectors could not be read"}
    run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected)


@pytest.mark.heavy
def test_no_model_waits_for_the_answers_of_another(warehouse: Warehouse, expected: pl.DataFrame) -> None:
    run(small(warehouse, models=["fake-a"]))
    for part in (warehouse.home / "parts" / "candidate_score").glob("[!_]*.parquet"):
        part.write_bytes(part.read_bytes()[:200])
    run(small(warehouse, models=["fake-b"]))
    assert warehouse.query(NUMBERS).equals(expected)


def test_a_model_that_can_spell_nothing_leaves_the_others(
    warehouse: Warehouse, expected: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = FakeEngine.score

    def blind(self: FakeEngine, *arguments: Any) -> Any:
        return score(self, *arguments) * (float("nan") if self.spec.model == "fake-b" else 1.0)

    monkeypatch.setattr(FakeEngine, "score", blind)
    with pytest.raises(EngineError, match="fake-b: it can spell none of the candidates of 'en:en:no'"):
        run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected.filter(pl.col("model") != "fake-b"))


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_a_corrupt_part_costs_its_model_until_the_next_run(
    warehouse: Warehouse, expected: pl.DataFrame
) -> None:
    run(small(warehouse, models=["fake-a"]))
    (victim, *_) = sorted((warehouse.home / "parts" / "candidate_score").glob("[!_]*.parquet"))
    victim.write_bytes(victim.read_bytes()[:200])
    with pytest.raises(CorruptPart, match="Run the same command again"):
        run(small(warehouse))
    kept = warehouse.query(NUMBERS)
    assert kept.filter(model="fake-a").equals(expected.filter(model="fake-a"))
    run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected)


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_on_another_occasion_all_is_asked_again_but_vectors(warehouse: Warehouse) -> None:
    run(small(warehouse))
    counts = "SELECT kind, count(*) AS n FROM part_unit GROUP BY kind"
    first = dict(warehouse.query(counts).rows())
    numbers = warehouse.query(NUMBERS)
    run(small(warehouse, occasion="2026-w48"))
    second = dict(warehouse.query(counts).rows())
    assert second == {kind: n if kind == "embedding" else 2 * n for kind, n in first.items()}
    again = warehouse.query(
        "SELECT v.* EXCLUDE (run_id) FROM metric_value AS v JOIN run USING (run_id) "
        "WHERE occasion = '2026-w48' ORDER BY ALL"
    )
    assert again.equals(numbers)


@pytest.mark.heavy
def test_corrupt_vectors_are_set_aside_and_made_again(warehouse: Warehouse, expected: pl.DataFrame) -> None:
    run(small(warehouse, models=["fake-a"]))
    (victim, *_) = sorted((warehouse.home / "parts" / "embedding").glob("[!_]*.parquet"))
    victim.write_bytes(victim.read_bytes()[:200])
    with pytest.raises(CorruptPart, match="Run the same command again"):
        run(small(warehouse))
    run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected)
