"""Whole runs of the loop with fake models and a fake judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.session import prepare
from tasks.evaluations.contract import Completions
from tasks.evaluations.fmlama.evaluation import EVALUATION, later, read_shared
from tasks.evaluations.fmlama.study import ranking
from tasks.loop import steps
from tasks.loop.candidates import StoredScores
from tasks.loop.requests import Engine
from tests.evaluations.fmlama.finished_run import (
    WORDS,
    Finished,
    finished_run,
    params,
    run,
    study_of,
)
from warehouse import Warehouse


@pytest.fixture(scope="module")
def finished(copied_home: Callable[[], Path]) -> Iterator[Finished]:
    with finished_run(copied_home()) as run:
        yield run


def completions_of(home: Path, engine: Engine, **more: object) -> Completions:
    session = prepare(EVALUATION, params(home, **more))
    return Completions(engine, session.engines, steps.stored)


def test_dishes_with_one_sentence_share_its_scores(finished: Finished) -> None:
    warehouse, chosen, _ = finished
    study = study_of(chosen)
    probe = study.probes[0]
    stored = completions_of(warehouse.home, steps.engine_of("fake-a", "candidate"))(
        ranking(study, probe, probe.templates[0])
    )
    assert isinstance(stored, StoredScores)
    table = stored.probability
    assert [probe.names[i] for i in (0, 5)] == ["pizza", "pizza"]
    assert table[0].tolist() == table[5].tolist() != table[1].tolist()
    row = warehouse.query(
        "SELECT candidate, probability FROM candidate_score WHERE model = 'fake-a' AND prompt = ? "
        "AND template = ? ORDER BY candidate",
        [probe.prompts(probe.templates[0])[1], probe.templates[0].template],
    )
    assert row["candidate"].to_list() == list(probe.candidates)
    assert row["probability"].to_list() == pytest.approx(table[1].tolist())


def test_model_without_answers_is_unscored_and_not_judged(finished: Finished) -> None:
    warehouse, chosen, _ = finished
    study = study_of(chosen)
    completions = completions_of(warehouse.home, Engine("c", "fake", "c", "nobody"))
    shared = read_shared(study, completions)
    answers = EVALUATION.read(study, completions, shared)
    reasons = {reason for score in answers.scores for reason in score.unscored.values()}
    assert reasons == {"5 of 5 sentences have no answer"}
    assert answers.marks == "3 of 3 sentences have no answer"  # those of the judged dishes
    requests = EVALUATION.ask(study, completions)
    assert {request.role for request in requests} == {"candidate"}


def test_planned_judge_calls_and_tokens_bound_the_real_ones(finished: Finished) -> None:
    warehouse, chosen, _ = finished
    (bound,) = later(study_of(chosen))
    judged = warehouse.query("SELECT model, count(DISTINCT item) AS n FROM verdict GROUP BY model")
    assert (bound.role, bound.engine) == ("judge", "fake-b")
    assert set(judged["n"]) == {bound.n}
    used = warehouse.query("SELECT max(prompt_tokens + completion_tokens) AS n FROM response")["n"][0]
    assert bound.tokens >= used
    assert not list(later(study_of(chosen.model_copy(update={"judges": []}))))


@pytest.mark.heavy
def test_word_vectors_are_by_language(finished: Finished, own_copy: Callable[[Warehouse], Warehouse]) -> None:
    warehouse = own_copy(finished[0])
    (warehouse.home / "words-en{.vec").write_text(WORDS)
    vectors = f"{warehouse.home}/words-{{language}}{{.vec"
    english = params(warehouse.home, word_vectors=vectors, languages=["en"], code_switching=False)
    assert "embedder" in EVALUATION.engines(english).values()
    run(english)
    session = prepare(EVALUATION, english)
    cosines = read_shared(study_of(english), session.completions("")).cosines["en:en:no"]
    assert not isinstance(cosines, str)
    assert cosines[2, :2].tolist() == pytest.approx([0.6, 0.8])  # rice to cheese and flour


def test_english_vectors_leave_other_languages_unscored(
    finished: Finished, own_copy: Callable[[Warehouse], Warehouse]
) -> None:
    warehouse = own_copy(finished[0])
    chinese = params(
        warehouse.home, word_vectors="embedded:x", languages=["zh"], code_switching=False, judges=[]
    )
    assert EVALUATION.engines(chinese) == {}  # nothing is loaded
    config = run(chinese)
    rows = warehouse.query(
        "SELECT DISTINCT unscored_reason FROM metric_value JOIN run USING (run_id) "
        "WHERE metric = 'mws' AND config_hash = ?",
        [config],
    )
    assert rows["unscored_reason"].to_list() == [
        "no word vectors for 'zh': set word_vectors to fastText files"
    ]
    assert warehouse.query("SELECT * FROM leaderboard_fmlama WHERE config_hash = ?", [config]).height == 4 * 2
