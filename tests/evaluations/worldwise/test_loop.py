"""The loop on a real warehouse with fake models: nothing is asked, embedded or counted twice.

Without a flow run every step is a plain call, so that no Prefect server is needed; ``tests/flows`` has one.
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

from flows import records
from flows.evaluation import evaluate
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.local.fasttext_vectors import VecVectors
from tasks.engines.protocols import EngineError, Generation, Samplings, each
from tasks.evaluations.worldwise.evaluation import EVALUATION
from tasks.evaluations.worldwise.params import WorldwiseParams
from warehouse import CorruptPart, Warehouse, run_checks

TEXTS = """
SELECT text FROM exemplar UNION ALL SELECT concat_ws(' ', text, option_a, option_b) FROM scenario
UNION ALL SELECT label || ', ' || label || '. Neither.' FROM guiding_value
"""
NUMBERS = "SELECT * FROM metric_value ORDER BY ALL"
OWN = """
SELECT * EXCLUDE (run_id) FROM metric_value
WHERE model = 'fake-a' AND run_id {} ? AND NOT starts_with(metric, 'model_') ORDER BY ALL
"""
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


class Counted:
    """What the engine was asked and the embedder read, since ``clear``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.embedded: list[str] = []

    def clear(self) -> None:
        self.asked.clear()
        self.embedded.clear()


@contextmanager
def counting(home: Path, words: Path) -> Iterator[Counted]:
    """Work goes on in this home with these word vectors, and what is asked is noted."""
    counted, generate, look_up = Counted(), FakeEngine.generate, VecVectors.embed

    def noted_generate(self: FakeEngine, talks: Any, samplings: Samplings, *more: Any) -> list[Generation]:
        own = [sampling.seed for sampling in each(samplings, len(talks))]
        texts = (json.dumps([dict(m) for m in talk]) for talk in talks)
        counted.asked.extend(zip(texts, own, strict=True))
        return generate(self, talks, samplings, *more)

    def noted_embed(self: VecVectors, texts: Sequence[str], *more: Any) -> Any:
        counted.embedded.extend(texts)
        return look_up(self, texts, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        patch.setenv("WORDS", str(words))
        patch.setattr(FakeEngine, "generate", noted_generate)
        patch.setattr(VecVectors, "embed", noted_embed)
        load.unload()
        yield counted
        load.unload()


Finished = tuple[Path, str, Counted]


@pytest.fixture(scope="module")
def finished(copied_home: Callable[[], Path]) -> Finished:
    """A home in which fake-a is evaluated, the configuration, and what was done for it."""
    home = copied_home()
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    words = sorted({word for text in Warehouse.open(home).query(TEXTS)["text"] for word in text.split()})
    vectors = [f"{word} {1 + n % 7} {n % 5} {n % 3}" for n, word in enumerate(words)]
    (home / "words.vec").write_text("\n".join([f"{len(words)} 3", *vectors]) + "\n")
    with counting(home, home / "words.vec") as counted:
        config = run("fake-a")
    return home, config, counted


@pytest.fixture
def counted(finished: Finished, tmp_path: Path) -> Iterator[Counted]:
    """Work goes on in a copy of the finished home."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    with counting(tmp_path, finished[0] / "words.vec") as counted:
        yield counted


def run(*models: str, **more: Any) -> str:
    """Two cultures and none, a scenario per dimension, two repetitions: 36 answers of each model."""
    chosen: dict[str, Any] = {
        "models": list(models), "cultures": ["IN", "JP"], "scenarios_per_dimension": 1, "repetitions": 2,
        "half_samples": 20, "max_tokens": 320, "embedder": os.environ["WORDS"],
    }  # fmt: skip
    return evaluate(EVALUATION, WorldwiseParams(**chosen | more))


def parts(home: Path) -> set[str]:
    return {p.name for p in (home / "parts").glob("*/[!_]*.parquet")}


def test_every_sample_is_asked_once_and_is_a_row(finished: Finished) -> None:
    home, config, done = finished
    assert len(done.asked) == len(set(done.asked)) == N_SAMPLES
    assert len(done.embedded) == len(set(done.embedded))
    warehouse = Warehouse.open(home)
    rows = warehouse.query("SELECT DISTINCT culture, scenario, repetition FROM worldwise_answer")
    assert rows.height == warehouse.query("SELECT * FROM worldwise_answer").height == N_SAMPLES
    assert set(rows["culture"]) == {"baseline", "IN", "JP"}
    said = warehouse.query(
        "SELECT a.explanation, r.text FROM worldwise_answer AS a "
        "JOIN response AS r ON r.item = a.item AND r.model = a.model "
        "WHERE a.config_hash = ?",
        [config],
    )
    assert said.height == N_SAMPLES
    assert all(json.loads(text)["explanation"] == explanation for explanation, text in said.rows())
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_the_leaderboard_says_what_the_single_answers_say(finished: Finished) -> None:
    home, config, _ = finished
    warehouse = Warehouse.open(home)
    by_hand = warehouse.query(BY_HAND).row(0, named=True)
    shown = warehouse.query(LEADERS, [config]).row(0, named=True)
    assert shown == pytest.approx(by_hand)


@pytest.mark.heavy
def test_nothing_is_done_twice(finished: Finished, counted: Counted) -> None:
    warehouse = Warehouse.open()
    numbers, before = warehouse.query(NUMBERS), parts(warehouse.home)
    assert run("fake-a") == finished[1]
    assert not counted.asked
    assert not counted.embedded
    assert warehouse.query(NUMBERS).equals(numbers)
    assert parts(warehouse.home) == before

    # Another composition of the same answers, and more of them: the old ones are not asked again.
    run("fake-a", values_weight=3, repetitions=3)
    assert len(counted.asked) == 18
    assert 0 < len(counted.embedded) <= 54
    n, n_different = warehouse.query(N_TEXTS).row(0)
    assert n == n_different
    assert warehouse.query("SELECT DISTINCT config_hash FROM leaderboard_worldwise").height == 2


@pytest.mark.heavy  # the contract tests have it of every evaluation
def test_another_occasion_asks_anew_and_what_was_there_stays(finished: Finished, counted: Counted) -> None:
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    (first,) = warehouse.query("SELECT run_id FROM run WHERE NOT is_null")["run_id"]
    run("fake-a", occasion="2026-w48")
    assert len(counted.asked) == len(set(counted.asked)) == N_SAMPLES
    assert not counted.embedded  # the fake model says the same again, and texts have one vector
    assert warehouse.query("SELECT count(*) FROM response").item() == 2 * N_SAMPLES
    assert warehouse.query("SELECT count(*) FROM worldwise_answer").item() == 2 * N_SAMPLES
    assert (
        warehouse.query(NUMBERS)
        .join(numbers.select("run_id").unique(), on="run_id", how="semi")
        .equals(numbers)
    )
    again = warehouse.query(OWN.format("<>"), [first])
    assert again.height > 100
    assert again.equals(warehouse.query(OWN.format("="), [first]))
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_a_later_model_is_compared_with_the_first_and_changes_no_row(
    finished: Finished, counted: Counted
) -> None:
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    run("fake-b")
    assert len(counted.asked) == N_SAMPLES
    assert (
        warehouse.query(NUMBERS)
        .join(numbers.select("run_id").unique(), on="run_id", how="semi")
        .equals(numbers)
    )
    assert warehouse.query(PAIRS).select("model", "slice").rows() == [("fake-b", "fake-a")]
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a", "fake-b"]
    # A cohort of another name is made of both.
    counted.clear()
    run("fake-a", "fake-b", cohort="both")
    assert not counted.asked
    pairs = warehouse.query(PAIRS).unique().sort("model", "slice")
    assert pairs.select("model", "slice").rows() == [("fake-a", "fake-b"), ("fake-b", "fake-a")]
    assert pairs["value"][0] == pytest.approx(-pairs["value"][1])
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_a_crash_before_the_numbers_costs_neither_answers_nor_vectors(
    finished: Finished, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(records, "save_metrics", crash)
        with pytest.raises(KeyboardInterrupt):
            run("fake-b")
    warehouse = Warehouse.open()
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a"]
    counted.clear()
    run("fake-b")
    assert not counted.asked
    assert not counted.embedded
    assert warehouse.query("SELECT count(*) FROM worldwise_answer").item() == 2 * N_SAMPLES
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a", "fake-b"]


@pytest.mark.heavy  # the contract tests have it of every evaluation
@pytest.mark.parametrize("kind", ["response", "embedding"])
def test_an_unreadable_part_is_one_clear_error_and_is_done_again(
    finished: Finished, counted: Counted, kind: str
) -> None:
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    victim = sorted((warehouse.home / "parts" / kind).glob("[!_]*.parquet"))[0]
    n_asked = pl.read_parquet(victim).height if kind == "response" else 0
    victim.write_bytes(victim.read_bytes()[:100])
    with pytest.raises(CorruptPart, match=r"(?s)Set aside: .*Run the same command again") as caught:
        run("fake-a", half_samples=21)  # another configuration of the same answers: all are read
    assert victim.stem in str(caught.value)
    run("fake-a", half_samples=21)
    assert len(counted.asked) == n_asked
    assert bool(counted.embedded) == (kind == "embedding")
    assert run("fake-a") == finished[1]  # nothing is missing any more
    assert len(counted.asked) == n_asked
    kept = warehouse.query(NUMBERS).join(numbers.select("run_id").unique(), on="run_id", how="semi")
    assert kept.equals(numbers)
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_wrong_embedder_is_refused_before_anything_is_asked(counted: Counted) -> None:
    with pytest.raises(EngineError, match="unknown embedder 'MiniLM'"):
        run("fake-b", embedder="MiniLM")
    assert not counted.asked


@pytest.mark.heavy
def test_a_budget_that_ends_leaves_whole_repetitions_and_raising_it_asks_the_rest(
    finished: Finished, counted: Counted
) -> None:
    # A batch of 18 may take 23,611 tokens, and takes far less.
    with pytest.raises(EngineError, match="model 'fake-b': the budget is reached"):
        run("fake-b", batch=18, max_total_tokens=25_000)
    whole = {text for text, _ in counted.asked}
    assert len(whole) == len(counted.asked) == N_SAMPLES // 2
    warehouse = Warehouse.open()
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a"]
    counted.clear()
    run("fake-b", batch=18)
    assert {text for text, _ in counted.asked} == whole
    assert len(counted.asked) == N_SAMPLES // 2
    assert warehouse.query(LEADERS, [finished[1]])["model"].to_list() == ["fake-a", "fake-b"]


def test_a_model_that_never_answers_is_unscored_throughout(
    finished: Finished, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filtered(_: FakeEngine, talks: Any, *more: Any) -> list[Generation]:
        return [Generation("", "content_filter", 0, 0)] * len(talks)

    monkeypatch.setattr(FakeEngine, "generate", filtered)
    run("fake-b")
    assert not counted.embedded
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
