"""The loop on a real warehouse with fake models: nothing is generated, embedded or recorded twice.

Failures common to all evaluations are in ``tests/golden``, runs on a Prefect server in ``tests/flows``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows import session
from flows.evaluation import evaluate
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local.fasttext_vectors import VecVectors
from tasks.engines.protocols import EngineError, Generation, Samplings, each
from tasks.evaluations.worldwise.evaluation import EVALUATION
from tasks.evaluations.worldwise.params import WorldwiseParams
from warehouse import Warehouse, run_checks

TEXTS = """
SELECT text FROM exemplar UNION ALL SELECT concat_ws(' ', text, option_a, option_b) FROM scenario
UNION ALL SELECT label || ', ' || label || '. Neither.' FROM guiding_value
"""
NUMBERS = "SELECT * FROM metric_value ORDER BY ALL"
BY_HAND = """
SELECT model, avg(alignment) AS alignment, avg(abs(score - target)) AS hofstede_mae,
    stddev_samp(alignment) AS alignment_sd
FROM worldwise_answer WHERE target IS NOT NULL AND score IS NOT NULL GROUP BY model ORDER BY model
"""
LEADERS = """
SELECT model, alignment, hofstede_mae, alignment_sd FROM leaderboard_worldwise
WHERE config_hash = ? AND NOT is_null ORDER BY model
"""
PAIRS = "SELECT model, slice, value FROM metric_value WHERE metric = 'model_difference' ORDER BY ALL"
N_TEXTS = "SELECT count(*) AS n, count(DISTINCT text_hash) AS n_different FROM embedding"
N_SAMPLES = 36


class Recorded:
    """Prompts with their seeds and embedded texts since ``clear``."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, int]] = []
        self.embedded: list[str] = []

    def clear(self) -> None:
        self.prompts.clear()
        self.embedded.clear()


@contextmanager
def recording(home: Path, words: Path) -> Iterator[Recorded]:
    """Work in this home with these word vectors, and record prompts and embedded texts."""
    recorded, generate, look_up = Recorded(), FakeEngine.generate, VecVectors.embed

    def generated(self: FakeEngine, talks: Any, samplings: Samplings, *more: Any) -> list[Generation]:
        own = [sampling.seed for sampling in each(samplings, len(talks))]
        texts = (json.dumps([dict(m) for m in talk]) for talk in talks)
        recorded.prompts.extend(zip(texts, own, strict=True))
        return generate(self, talks, samplings, *more)

    def looked_up(self: VecVectors, texts: Sequence[str], *more: Any) -> Any:
        recorded.embedded.extend(texts)
        return look_up(self, texts, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        patch.setenv("WORDS", str(words))
        patch.setattr(FakeEngine, "generate", generated)
        patch.setattr(VecVectors, "embed", looked_up)
        load.unload()
        yield recorded
        load.unload()


Finished = tuple[Path, str, Recorded]


@pytest.fixture(scope="module")
def finished(copied_home: Callable[[], Path]) -> Finished:
    """A home with a run of fake-a, its config_hash and its prompts."""
    home = copied_home()
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    words = sorted({word for text in Warehouse.open(home).query(TEXTS)["text"] for word in text.split()})
    vectors = [f"{word} {1 + n % 7} {n % 5} {n % 3}" for n, word in enumerate(words)]
    (home / "words.vec").write_text("\n".join([f"{len(words)} 3", *vectors]) + "\n")
    with recording(home, home / "words.vec") as recorded:
        config = run("fake-a")
    return home, config, recorded


@pytest.fixture
def recorded(finished: Finished, tmp_path: Path) -> Iterator[Recorded]:
    """Prompts of further work in a copy of the finished home."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    with recording(tmp_path, finished[0] / "words.vec") as recorded:
        yield recorded


def run(*models: str, **more: Any) -> str:
    """Two cultures and none, a scenario per dimension, two repetitions: 36 answers of each model."""
    chosen: dict[str, Any] = {
        "models": list(models), "cultures": ["IN", "JP"], "scenarios_per_dimension": 1, "repetitions": 2,
        "half_samples": 20, "max_tokens": 320, "embedder": os.environ["WORDS"],
    }  # fmt: skip
    return evaluate(EVALUATION, WorldwiseParams(**chosen | more))


def parts(home: Path) -> set[str]:
    return {p.name for p in (home / "parts").glob("*/[!_]*.parquet")}


def test_each_sample_is_generated_once_and_stored_as_a_row(finished: Finished) -> None:
    home, config, done = finished
    assert len(done.prompts) == len(set(done.prompts)) == N_SAMPLES
    assert len(done.embedded) == len(set(done.embedded))
    warehouse = Warehouse.open(home)
    rows = warehouse.query("SELECT DISTINCT culture, scenario, repetition FROM worldwise_answer")
    assert rows.height == warehouse.query("SELECT * FROM worldwise_answer").height == N_SAMPLES
    assert set(rows["culture"]) == {"baseline", "IN", "JP"}
    texts = warehouse.query(
        "SELECT a.explanation, r.text FROM worldwise_answer AS a "
        "JOIN response AS r ON r.item = a.item AND r.model = a.model "
        "WHERE a.config_hash = ?",
        [config],
    )
    assert texts.height == N_SAMPLES
    assert all(json.loads(text)["explanation"] == explanation for explanation, text in texts.rows())
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_leaderboard_equals_sql_over_single_answers(finished: Finished) -> None:
    home, config, _ = finished
    warehouse = Warehouse.open(home)
    by_hand = warehouse.query(BY_HAND).row(0, named=True)
    shown = warehouse.query(LEADERS, [config]).row(0, named=True)
    assert shown == pytest.approx(by_hand)


@pytest.mark.heavy
def test_a_second_run_generates_nothing_and_a_third_repetition_its_own(
    finished: Finished, recorded: Recorded
) -> None:
    warehouse = Warehouse.open()
    numbers, before = warehouse.query(NUMBERS), parts(warehouse.home)
    assert run("fake-a") == finished[1]
    assert not recorded.prompts
    assert not recorded.embedded
    assert warehouse.query(NUMBERS).equals(numbers)
    assert parts(warehouse.home) == before

    # A third repetition and another composition: stored answers stay.
    run("fake-a", values_weight=3, repetitions=3)
    assert len(recorded.prompts) == 18
    assert 0 < len(recorded.embedded) <= 54
    n, n_different = warehouse.query(N_TEXTS).row(0)
    assert n == n_different
    assert warehouse.query("SELECT DISTINCT config_hash FROM leaderboard_worldwise").height == 2


@pytest.mark.heavy
def test_later_model_is_compared_with_the_first_and_changes_no_stored_row(
    finished: Finished, recorded: Recorded
) -> None:
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    run("fake-b")
    assert len(recorded.prompts) == N_SAMPLES
    stored = warehouse.query(NUMBERS).join(numbers.select("run_id").unique(), on="run_id", how="semi")
    assert stored.equals(numbers)
    assert warehouse.query(PAIRS).select("model", "slice").rows() == [("fake-b", "fake-a")]
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a", "fake-b"]
    # A cohort of another name is made of both.
    recorded.clear()
    run("fake-a", "fake-b", cohort="both")
    assert not recorded.prompts
    pairs = warehouse.query(PAIRS).unique().sort("model", "slice")
    assert pairs.select("model", "slice").rows() == [("fake-a", "fake-b"), ("fake-b", "fake-a")]
    assert pairs["value"][0] == pytest.approx(-pairs["value"][1])
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_crash_before_saving_metrics_keeps_answers_and_vectors(
    finished: Finished, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(session, "save_metrics", crash)
        with pytest.raises(KeyboardInterrupt):
            run("fake-b")
    warehouse = Warehouse.open()
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a"]
    recorded.clear()
    run("fake-b")
    assert not recorded.prompts
    assert not recorded.embedded
    assert warehouse.query("SELECT count(*) FROM worldwise_answer").item() == 2 * N_SAMPLES
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a", "fake-b"]


def test_unknown_embedder_is_refused_before_any_prompt(recorded: Recorded) -> None:
    with pytest.raises(EngineError, match="there is no embedder 'MiniLM'"):
        run("fake-b", embedder="MiniLM")
    assert not recorded.prompts


def test_model_that_refuses_every_prompt_is_unscored(
    finished: Finished, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filtered(_: FakeEngine, talks: Any, *more: Any) -> list[Generation]:
        return [Generation("", "content_filter", 0, 0)] * len(talks)

    monkeypatch.setattr(FakeEngine, "generate", filtered)
    run("fake-b")
    assert not recorded.embedded
    warehouse = Warehouse.open()
    rows = warehouse.query(
        "SELECT metric, slice, value, unscored_reason FROM metric_value "
        "WHERE model = 'fake-b' AND slice_kind <> 'null'"
    )
    counts = ("answered", "unscored_answers", "total_tokens")
    of_both = pl.col("metric").str.starts_with("variance_")  # fake-a's answers are enough for some of it
    values = rows.filter(~pl.col("metric").is_in(counts) & ~of_both)
    assert values["value"].null_count() == values.height > 100
    assert values["unscored_reason"].null_count() == 0
    assert "refused" in values["unscored_reason"].to_list()
    assert dict(rows.filter(metric="unscored_answers").select("slice", "value").rows()) == {"refused": 36}
    board = warehouse.query("SELECT * FROM leaderboard_worldwise WHERE model = 'fake-b'").row(0, named=True)
    assert board["answered"] == 0
    assert board["alignment_gain"] is None
    reasons = warehouse.query("SELECT DISTINCT unscored_reason FROM worldwise_answer WHERE model = 'fake-b'")
    assert reasons["unscored_reason"].to_list() == ["refused"]
    assert run_checks(warehouse)["n_violations"].sum() == 0
