"""The steps on a real warehouse with fake models: nothing is asked, embedded or counted twice.

Tasks are called by their own functions, so that no Prefect server is needed; ``tests/flows`` has one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.worldwise import ask_model
from tasks import steps as shared
from tasks.embedding.steps import embed
from tasks.engines import load
from tasks.engines.fake import FakeEngine
from tasks.engines.fasttext_vectors import VecVectors
from tasks.engines.protocols import EngineError, Generation, Sampling
from tasks.evaluations.worldwise import steps
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.requests import Study
from tasks.generation import steps as generation
from warehouse import CorruptPart, Warehouse, run_checks

TEXTS = """
SELECT text FROM exemplar UNION ALL SELECT concat_ws(' ', text, option_a, option_b) FROM scenario
UNION ALL SELECT label || ', ' || label || '. Neither.' FROM guiding_value
"""
NUMBERS = "SELECT * EXCLUDE (run_id) FROM metric_value ORDER BY ALL"
OWN = """
SELECT * EXCLUDE (run_id) FROM metric_value
WHERE model = 'fake-a' AND NOT starts_with(metric, 'model_') AND NOT starts_with(metric, 'variance_')
ORDER BY ALL
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
N_TEXTS = "SELECT count(*) AS n, count(DISTINCT text_hash) AS n_different FROM embedding"


class Counted:
    """What the engine was asked and the embedder read, since ``clear``."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.embedded: list[str] = []

    def clear(self) -> None:
        self.asked.clear()
        self.embedded.clear()


@contextmanager
def counting(home: Path) -> Iterator[Counted]:
    """Tasks work on this home, without Prefect, and what they ask is noted."""
    found, generate, look_up = Counted(), FakeEngine.generate, VecVectors.embed

    def noted_generate(self: FakeEngine, talks: Any, sampling: Sampling, *more: Any) -> list[Generation]:
        found.asked.extend((json.dumps([dict(m) for m in talk]), sampling.seed) for talk in talks)
        return generate(self, talks, sampling, *more)

    def noted_embed(self: VecVectors, texts: Sequence[str], *more: Any) -> Any:
        found.embedded.extend(texts)
        return look_up(self, texts, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTURESCOPE_HOME", str(home))
        patch.setattr(steps, "start_run", steps.start_run.fn)
        patch.setattr(steps, "embed", embed.fn)
        patch.setattr(generation, "answers", generation.answers.fn)
        patch.setattr(FakeEngine, "generate", noted_generate)
        patch.setattr(VecVectors, "embed", noted_embed)
        load.unload()
        yield found
        load.unload()


Finished = tuple[Path, Study, Counted]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A home in which fake-a has answered, its study, and what was done for it."""
    home = tmp_path_factory.mktemp("home")
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    words = sorted({word for text in Warehouse.open(home).query(TEXTS)["text"] for word in text.split()})
    vectors = [f"{word} {1 + n % 7} {n % 5} {n % 3}" for n, word in enumerate(words)]
    (home / "words.vec").write_text("\n".join([f"{len(words)} 3", *vectors]) + "\n")
    with counting(home) as counted:
        study = build(home / "words.vec")
        run(study, "fake-a")
    return home, study, counted


@pytest.fixture
def counted(finished: Finished, tmp_path: Path) -> Iterator[Counted]:
    """Work goes on in a copy of the finished home."""
    shutil.copytree(finished[0], tmp_path, dirs_exist_ok=True)
    with counting(tmp_path) as found:
        yield found


def build(embedder: Path, **more: Any) -> Study:
    """Two cultures and none, a scenario a dimension, two repetitions: 36 answers of each model."""
    chosen: dict[str, Any] = {
        "models": ["m"], "cultures": ["IN", "JP"], "scenarios_per_dimension": 1, "repetitions": 2,
        "bootstrap": 20, "embedder": str(embedder),
    }  # fmt: skip
    return steps.build(WorldwiseParams(**chosen | more))


def run(study: Study, *models: str) -> int:
    """What the flow does; returns how many answers were missing."""
    asked = [ask_model(study, shared.spec_of(model)) for model in models]
    steps.score_metrics.fn(study, [run for run, _ in asked])
    return sum(n for _, n in asked)


def parts(home: Path) -> set[str]:
    return {p.name for p in (home / "parts").glob("*/[!_]*.parquet")}


def test_every_cell_is_asked_once_and_is_a_row(finished: Finished) -> None:
    home, study, done = finished
    assert study.n_cells == 36
    assert len(done.asked) == len(set(done.asked)) == 36
    assert len(done.embedded) == len(set(done.embedded))
    warehouse = Warehouse.open(home)
    rows = warehouse.query("SELECT culture, scenario, repetition FROM worldwise_answer").rows()
    assert sorted(rows) == sorted(cell.key for cell in study.cells())
    said = warehouse.query(
        "SELECT a.explanation, r.text FROM worldwise_answer AS a "
        "JOIN response AS r ON r.item = a.item AND r.seed = a.repetition AND r.model = a.model"
    )
    assert said.height == 36
    assert all(json.loads(text)["explanation"] == explanation for explanation, text in said.rows())
    assert warehouse.query("SELECT DISTINCT status FROM run")["status"].to_list() == ["finished"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_the_leaderboard_says_what_the_single_answers_say(finished: Finished) -> None:
    home, study, _ = finished
    warehouse = Warehouse.open(home)
    by_hand = warehouse.query(BY_HAND).row(0, named=True)
    shown = warehouse.query(LEADERS, [study.config_hash()]).row(0, named=True)
    assert shown == pytest.approx(by_hand)


def test_nothing_is_done_twice(finished: Finished, counted: Counted) -> None:
    home, study, _ = finished
    warehouse = Warehouse.open()
    numbers, before = warehouse.query(NUMBERS), parts(warehouse.home)
    assert run(study, "fake-a") == 0
    assert not counted.asked
    assert not counted.embedded
    assert warehouse.query(NUMBERS).equals(numbers)
    assert parts(warehouse.home) == before

    # Another composition of the same answers, and more of them: the old ones are not asked again.
    other = build(home / "words.vec", values_weight=3, repetitions=3)
    assert run(other, "fake-a") == len(counted.asked) == 18
    assert 0 < len(counted.embedded) <= 54
    n, n_different = warehouse.query(N_TEXTS).row(0)
    assert n == n_different
    assert warehouse.query("SELECT DISTINCT config_hash FROM leaderboard_worldwise").height == 2


def test_refresh_asks_again_and_keeps_one_answer_each(finished: Finished, counted: Counted) -> None:
    warehouse = Warehouse.open()
    numbers, last = warehouse.query(NUMBERS), warehouse.query("SELECT max(written_at) FROM part_unit").item()
    assert run(build(finished[0] / "words.vec", refresh=True), "fake-a") == 36
    assert len(counted.asked) == len(set(counted.asked)) == 36
    oldest = "SELECT min(written_at) FROM part_unit WHERE kind = 'response'"
    assert warehouse.query(oldest).item() > last
    assert warehouse.query("SELECT count(*) FROM response").item() == 36
    assert warehouse.query(NUMBERS).equals(numbers)  # the fake model says the same again
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_second_model_changes_only_what_compares_models(finished: Finished, counted: Counted) -> None:
    _, study, _ = finished
    warehouse = Warehouse.open()
    own = warehouse.query(OWN)
    assert run(study, "fake-b") == 36
    assert warehouse.query(OWN).equals(own)
    pairs = warehouse.query(
        "SELECT model, slice, value FROM metric_value WHERE metric = 'model_difference' ORDER BY model"
    )
    assert pairs.select("model", "slice").rows() == [("fake-a", "fake-b"), ("fake-b", "fake-a")]
    assert pairs["value"][0] == pytest.approx(-pairs["value"][1])
    assert warehouse.query(LEADERS, [study.config_hash()])["model"].to_list() == ["fake-a", "fake-b"]


def test_a_crash_before_the_numbers_costs_neither_answers_nor_vectors(
    finished: Finished, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, study, _ = finished

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(steps, "save_metrics", crash)
        with pytest.raises(KeyboardInterrupt):
            run(study, "fake-b")
    warehouse = Warehouse.open()
    assert warehouse.query(LEADERS, [study.config_hash()])["model"].to_list() == ["fake-a"]
    assert not shared.is_finished((steps.run_id(study, shared.spec_of("fake-b")), "fake-b"))
    counted.clear()
    assert run(study, "fake-b") == 0
    assert not counted.asked
    assert not counted.embedded
    assert warehouse.query("SELECT count(*) FROM worldwise_answer").item() == 2 * 36
    assert warehouse.query(LEADERS, [study.config_hash()])["model"].to_list() == ["fake-a", "fake-b"]


@pytest.mark.parametrize(("kind", "asked_again"), [("response", 18), ("embedding", 0)])
def test_an_unreadable_part_is_one_clear_error_and_is_done_again(
    finished: Finished, counted: Counted, kind: str, asked_again: int
) -> None:
    _, study, _ = finished
    warehouse = Warehouse.open()
    numbers = warehouse.query(NUMBERS)
    victim = sorted((warehouse.home / "parts" / kind).glob("[!_]*.parquet"))[0]
    victim.write_bytes(victim.read_bytes()[:100])
    with pytest.raises(CorruptPart, match=victim.stem) as caught:
        run(study, "fake-a")
    with pytest.raises(CorruptPart, match=r"(?s)Set aside: .*Run the same command again"):
        shared.set_corrupt_aside(caught.value)
    assert run(study, "fake-a") == len(counted.asked) == asked_again
    assert bool(counted.embedded) == (kind == "embedding")
    assert warehouse.query(NUMBERS).equals(numbers)
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_a_wrong_embedder_is_found_before_anything_is_asked(counted: Counted) -> None:
    with pytest.raises(EngineError, match="there is no embedder 'MiniLM'"):
        build(Path("MiniLM"))


def test_a_model_that_never_answers_is_unscored_throughout(
    finished: Finished, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def filtered(_: FakeEngine, talks: Any, sampling: Sampling, *more: Any) -> list[Generation]:
        return [Generation("", "content_filter", 0, 0, sampling.seed)] * len(talks)

    monkeypatch.setattr(FakeEngine, "generate", filtered)
    run(finished[1], "fake-b")
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
