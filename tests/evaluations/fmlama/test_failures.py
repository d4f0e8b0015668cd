"""A failure costs its own rows, and the next run fills them; tests/golden has those of every evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Embedded, EngineError, Generation
from tasks.evaluations.fmlama.evaluation import NO_VECTORS
from tasks.evaluations.fmlama.rows import NO_VERDICT
from tasks.judging.verdicts import UNANSWERED
from tests.evaluations.fmlama.finished_run import empty_home, params, run
from warehouse import Warehouse, run_checks

EVERYONE = ["fake-a", "fake-b", "null:common", "null:common-of-origin"]
NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"
REASONS = "SELECT DISTINCT unscored_reason FROM metric_value WHERE metric IN ('mes', 'judge_gold_accepted')"


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
    """Return params: two conditions in one language, and a judge that is not a candidate."""
    path = warehouse.home / "engines" / "judge.toml"
    path.write_text('kind = "fake"\nmodel = "judge"\n')
    return params(warehouse.home, languages=["en"], code_switching=False, **{"judges": ["judge"]} | more)


def test_unreadable_verdicts_have_a_reason(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert NO_VERDICT in reasons
    assert UNANSWERED not in reasons
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_failing_word_vectors_leave_only_similarity_unscored(
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
    assert set(lost["unscored_reason"]) == {NO_VECTORS}
    run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected)


def test_model_that_spells_no_candidate_loses_only_its_own_rows(
    warehouse: Warehouse, expected: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = FakeEngine.score

    def blind(self: FakeEngine, *arguments: Any) -> Any:
        return score(self, *arguments) * (float("nan") if self.spec.model == "fake-b" else 1.0)

    monkeypatch.setattr(FakeEngine, "score", blind)
    with pytest.raises(EngineError, match="fake-b: it can spell none of the candidates of 'en:en:no'"):
        run(small(warehouse))
    assert warehouse.query(NUMBERS).equals(expected.filter(pl.col("model") != "fake-b"))
