"""A run's requests in each round, its lost models and engines, and its occasion, without a warehouse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from flows import runs
from flows.session import SHARED, RunSession, handed_over, occasion, prepared
from flows.session import _candidates as candidates_of
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Params, Shared
from tasks.loop.plan import Wanted
from tasks.loop.requests import Engine, Later
from tests.flows import sessions
from tests.flows.sessions import SPEC, prompts
from warehouse import CorruptPart

LATER = (Later("judge", "judge", 3, 10),)
EMBEDDER = Engine("e", "embedder", "e", "hash")
JUDGED = prompts("Right?", engine="judge", role="judge")
SCORES_ONLY = EngineSpec(name="m", kind="packed_trie", model="x/y", dtype="float32", revision="0" * 40)


def run_of(
    *models: str, asked: Sequence[Any] = (), shared: Sequence[Any] = (), spec: EngineSpec | None = SPEC
) -> RunSession:
    """Return a run of models with one spec and the same requests."""

    def ask(study: Any, completions: Any) -> Sequence[Any]:
        if asked and completions.candidate.name == "rotten":
            raise CorruptPart("unreadable")
        return asked

    of_study = Shared(lambda *_: shared, lambda *_: None) if shared else None
    return sessions.session(*models, ask=ask, shared=of_study, spec=spec, later=lambda _: LATER)


@pytest.fixture(autouse=True)
def _no_warehouse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store nothing: no request has an answer."""
    monkeypatch.setattr("tasks.loop.steps.unstored", sessions.unstored)
    monkeypatch.setattr(
        "tasks.loop.steps.set_corrupt_aside", lambda error: CorruptPart(f"{error}, set aside")
    )


def test_later_rounds_are_planned_until_there_is_an_answer() -> None:
    run = run_of("a", asked=[prompts()])
    run.plan_round()
    assert (run.plan.later, run.plan.left) == (LATER, 1)
    run.answered = {("another", "unit")}
    run.plan_round()
    assert (run.plan.later, run.plan.left) == ((), 1)


def test_deleted_answers_are_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    request, reads = prompts(), list[list[str]]()

    def stored(kind: str, name: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        reads.append(list(units))
        return request.compute(FakeEngine(SPEC), units, lambda n: None).select(columns)

    monkeypatch.setattr("tasks.loop.steps.stored", stored)
    run = run_of("a", asked=[request])
    monkeypatch.setattr("tasks.loop.steps.unstored", lambda answers: set())
    run.plan_round()
    for _ in range(2):
        assert len(run.completions("a")(request)) == 1
    assert len(reads) == 1
    monkeypatch.setattr("tasks.loop.steps.unstored", sessions.unstored)
    run.replan_deleted()
    assert run.plan.left == 1
    run.completions("a")(request)
    assert len(reads) == 2


def test_missing_answer_of_finished_work_is_an_error() -> None:
    run = run_of("a", asked=[prompts()])
    run.plan_round()
    (work,) = run.plan.work
    run.record_answers(work, set(), is_whole=False)  # its engine reported a failure
    with pytest.raises(EngineError, match="a: it left part of 'items' unanswered"):
        run.record_answers(work, set())


def test_equal_requests_of_two_models_are_worked_on_once() -> None:
    """Equal answers of two models are judged once; if judging the first fails, the second is tried."""
    run = run_of("a", "b", asked=[JUDGED])
    run.plan_round()
    assert [(line.model, len(line.work)) for line in run.plan.lines] == [("a", 1), ("b", 0)]
    lines = run.plan.lines[:1]
    run.claim(lines)
    run.plan_round(["b"])
    assert run.plan.left == 0
    run.record_failure(lines[0].work[0].wanted, EngineError("full"))
    assert run.release(lines) == {"a", "b"}
    run.plan_round(["a", "b"])
    ((work,),) = [line.work for line in run.plan.lines]
    assert work.wanted.model == "b"
    run.record_answers(work, set(work.answers))
    run.plan_round()
    assert run.plan.left == 0
    assert run.updated == {"b"}


def test_round_of_one_model_keeps_the_plan_of_the_others() -> None:
    run = run_of("a", "b", asked=[prompts(), JUDGED])
    run.plan_round()
    before = [line for line in run.plan.lines if line.model == "b" and line.work]
    run.claim([line for line in run.plan.lines if line.model == "a"])
    run.plan_round(["a"])
    assert [line for line in run.plan.lines if line.work] == before


def test_only_the_model_with_unreadable_answers_is_dropped() -> None:
    run = run_of("rotten", "a", asked=[prompts()])
    run.plan_round()
    assert [each.model for each in run.wanted] == run.remaining() == ["a"]
    assert run.failures == ["rotten: unreadable, set aside"]
    with pytest.raises(CorruptPart, match="rotten: unreadable, set aside"):
        run.raise_failures()

    def fail(*_: Any) -> Any:
        raise CorruptPart("unreadable")

    run = run_of("a", asked=[prompts()])  # an error of a null model drops them all
    run.evaluation = replace(run.evaluation, shared=Shared(fail, fail))
    run.plan_round()
    assert (run.failures, list(run.dropped)) == (["unreadable, set aside"], [SHARED])
    assert [each.model for each in run.wanted] == ["a"]


def test_requests_about_null_models_belong_to_no_model() -> None:
    run = run_of("a", asked=[prompts()], shared=[JUDGED])
    run.plan_round()
    assert [(each.model, each.engine.name) for each in run.wanted] == [(SHARED, "judge"), ("a", "a")]
    run.drop(SHARED, EngineError("gone"))
    run.plan_round()
    assert [each.model for each in run.wanted] == ["a"]


def test_engine_that_failed_for_a_model_gets_no_more_of_its_requests() -> None:
    run = run_of("a", "b", asked=[prompts(), JUDGED])
    run.plan_round()
    about_a = next(each for each in run.wanted if (each.model, each.engine.name) == ("a", "judge"))
    run.record_failure(about_a, EngineError("full"))
    run.record_failure(about_a, EngineError("full again"))
    assert run.failures == ["a, judge judge: full"]
    assert run.has_failed(about_a)
    assert not run.dropped
    run.plan_round()
    own = [(each.model, each.engine.name) for each in run.wanted]
    assert own == [("a", "a"), ("b", "b"), ("b", "judge")]


def test_failed_model_is_left_out_and_reported_once() -> None:
    run = run_of("a", "b", asked=[prompts()])
    run.plan_round()
    about_a = run.wanted[0]
    for words in ("gone", "gone again"):
        run.record_failure(about_a, EngineError(words))
    assert (run.failures, run.remaining()) == (["a: gone"], ["b"])
    with pytest.raises(EngineError, match=r"^a: gone$"):
        run.raise_failures()
    about_nulls = Wanted(SHARED, JUDGED, run.engines["judge"])
    run.record_failure(about_nulls, EngineError("full"))
    assert run.failures[-1] == "the null models, judge judge: full"


def test_engine_without_an_ability_is_refused_before_it_is_loaded() -> None:
    run = run_of("a", spec=SCORES_ONLY, asked=[prompts()])
    run.plan_round()
    assert not run.wanted
    assert "only scores" in run.failures[0]
    read_only = run_of("a", spec=None, asked=[prompts()])  # of an earlier run: read only
    read_only.plan_round()
    assert not read_only.failures


@pytest.mark.parametrize("spec", [None, SCORES_ONLY])
def test_ability_of_embedders_is_not_checked(spec: EngineSpec | None) -> None:
    run = run_of("a")
    request: Any = SimpleNamespace(ability="embed", role="embedder")
    engine = Engine("e", "embedder", "e", "hash", spec)
    run._check_ability(Wanted("a", request, engine))
    assert not run.failures


def test_run_is_done_when_no_request_is_left_and_all_models_have_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, rows = run_of("a", "b", asked=[prompts()]), set(run_of("a", "b").run_ids().values())
    monkeypatch.setattr(runs, "is_finished", lambda name: name in rows)
    assert run.is_done() is True
    run.plan_round()
    assert run.is_done() is False
    run.evaluation = run_of("a").evaluation
    run.plan_round()
    assert run.is_done() is True
    rows.pop()
    assert run.is_done() is False
    run.drop("a", EngineError("gone"))
    run.drop("b", EngineError("gone"))
    assert run.is_done() is False


def test_prepared_session_is_used_for_its_evaluation_and_parameters_only() -> None:
    run = run_of("a")
    other = Params(models=["b"])
    with handed_over(run):
        assert prepared(run.evaluation, run.params) is run
        assert prepared(run.evaluation, other) is None
        assert prepared(run_of("a").evaluation, run.params) is None
    assert prepared(run.evaluation, run.params) is None


def test_time_is_filled_into_the_name_of_an_occasion() -> None:
    assert occasion("") == ""
    assert occasion("before") == "before"
    assert re.fullmatch(r"on-\d{4}-\d{2}-\d{2}", occasion("on-{date}"))
    assert re.fullmatch(r"\d{4}-w(0[1-9]|[1-5]\d)", occasion("{week}"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", occasion("{time}"))


@pytest.mark.parametrize("name", ["{year}", "{date", "date}", "{date.year}", "{date:>100}"])
def test_unknown_braces_in_an_occasion_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="occasion"):
        occasion(name)


def test_two_models_of_one_name_get_different_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is taken if another engine has it, in this run or in an earlier one."""
    specs = {
        f"{kind}/{name}": EngineSpec(name=name, kind="fake", model=kind)
        for kind in ("one", "two")
        for name in ("m", "old", "same")
    }
    specs["embedder"] = SPEC
    hashes = {given: spec.hash() for given, spec in specs.items()}

    def engine_of(given: str, role: str, dtype: Any, writes: bool) -> Engine:
        return EMBEDDER if given == "embedder" else Engine.of(specs[given])

    monkeypatch.setattr("tasks.loop.steps.engine_of", engine_of)
    known = {"old": {"another hash"}, "same": {hashes["one/same"]}}
    monkeypatch.setattr(runs, "namesakes", lambda config: known)
    given = ["one/m", "two/m", "one/m", "one/old", "one/same", "embedder"]
    made = candidates_of(Params(models=given), sessions.session("m").study, writes=False)
    assert {name: engine.hash for name, engine in made.items()} == {
        "m": hashes["one/m"],
        f"m#{hashes['two/m'][:4]}": hashes["two/m"],
        f"old#{hashes['one/old'][:4]}": hashes["one/old"],
        "same": hashes["one/same"],
        "e": EMBEDDER.hash,
    }
    assert all(name == engine.name for name, engine in made.items())
