"""The loop's rounds on an evaluation of two prompts, without engines or a warehouse."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from types import SimpleNamespace
from typing import Any

import pytest

from flows import evaluation as loop
from flows import records, runs
from flows.rounds import AT_ONCE, Rounds, label_of
from flows.session import SHARED, RunSession, handed_over
from tasks.engines.copies import ReplicaLost
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Shared
from tasks.loop import progress, steps
from tasks.loop.plan import Answer, Wanted, Work
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine, Later
from tests.flows import sessions
from tests.flows.sessions import JUDGE, prompts

SERVED = EngineSpec(name="served", kind="openai", model="m", base_url="http://127.0.0.1:9/v1")


@dataclass
class World:
    """Stored answers, failures, and everything the loop did, in order."""

    patches: pytest.MonkeyPatch
    stored: set[tuple[str, str]] = field(default_factory=set)
    done: list[tuple[Any, ...]] = field(default_factory=list)
    finished: set[str] = field(default_factory=set)
    fails: dict[str, Exception] = field(default_factory=dict)
    room: int = 9
    loaded: list[str] = field(default_factory=list)
    """Loaded local engines, at most ``room``, the least recently used first."""
    loads: list[str] = field(default_factory=list)

    def fits(self, engine: Engine) -> bool:
        return engine.name in self.loaded or len(self.loaded) < self.room

    def load(self, name: str) -> None:
        if name in self.loaded:
            self.loaded.remove(name)
        else:
            self.loads.append(name)
            del self.loaded[: len(self.loaded) - self.room + 1]
        self.loaded.append(name)

    def session(self, *models: str, shared: bool = False) -> RunSession:
        """Return a run in which each model answers first and the judge is asked about its answer."""

        def ask(study: Any, completions: Any) -> Sequence[Prompts]:
            name = completions.candidate.name
            first = prompts(f"Hello, {name}?")
            judged = prompts(f"Is {name} right?", engine="judge", role="judge")
            is_answered = any(unit == first.units[0] for _, unit in self.stored)
            return [first, judged] if is_answered else [first]

        null = [prompts("Is nothing right?", engine="judge", role="judge")]
        return sessions.session(
            *models, ask=ask, shared=Shared(lambda *_: null, lambda *_: None) if shared else None
        )

    def complete(self, work: Work, run: tuple[str, str], meter: Any, label: str, total: int) -> Any:
        if error := self.fails.get(label):
            raise error
        if not work.wanted.engine.spec.is_served:  # type: ignore[union-attr]
            self.load(work.wanted.engine.name)
        self.done.append((label, run[1], total))
        return SimpleNamespace(answers=set(work.answers), failure=None, lost={})

    def store(self, answered: Any) -> set[Answer]:
        self.stored |= answered.answers
        return set(answered.answers)

    def patch(self, step: str, function: Callable[..., Any]) -> None:
        self.patches.setattr(steps, step, function)

    def evaluate(self, run: RunSession) -> str:
        run.plan_round()
        with handed_over(run):
            return loop.evaluate(run.evaluation, run.params)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    known = World(monkeypatch)
    note = known.done.append
    of_steps: dict[str, Callable[..., Any]] = {
        "complete": known.complete,
        "store": known.store,
        "unstored": lambda answers: sessions.unstored(answers, known.stored),
        "fits": known.fits,
        "record_process": lambda: note(("signed in",)),
        "show_leaderboard": lambda *which: note(("shown", *which)),
    }
    monkeypatch.setattr(runs, "is_finished", lambda run: run in known.finished)

    def start(run: RunSession) -> None:
        run.ids = run.run_ids()
        note(("start", *run.ids))

    monkeypatch.setattr(records, "start", start)
    monkeypatch.setattr(records, "add_requests", lambda run, models: note(("asks", *sorted(models))))
    for name, function in of_steps.items():
        monkeypatch.setattr(steps, name, function)

    def score(run: RunSession) -> None:
        note(("score", *run.remaining()))
        known.finished |= {run.ids[name] for name in run.remaining()}

    monkeypatch.setattr(loop, "_score", score)
    return known


def test_answers_deleted_between_plan_and_start_are_requested_again(world: World) -> None:
    world.evaluate(world.session("a"))
    world.finished.clear()
    run = world.session("a")
    run.plan_round()
    assert not run.plan.left
    world.stored.clear()
    world.done.clear()
    with handed_over(run):
        loop.evaluate(run.evaluation, run.params)
    asked = [label for label, *_ in world.done if label in ("a", "judge judges a")]
    assert asked == ["a", "judge judges a"]


def test_judgements_of_nulls_are_stored_with_the_first_model_for_all(world: World) -> None:
    run = world.session("a", "b", shared=True)
    world.evaluate(run)
    assert ("judge judges null models", "a", 1) in world.done
    assert run.updated >= {SHARED, "a", "b"}


def test_failed_model_gets_no_more_prompts_and_is_reported_at_the_end(world: World) -> None:
    world.fails["a"] = EngineError("no memory")
    run = world.session("a", "b")
    with pytest.raises(EngineError, match=r"^a: no memory$"):
        world.evaluate(run)
    assert [label for label, *_ in world.done if label == "a" or label.endswith(" a")] == []
    assert world.done[-2:] == [("score", "b"), ("shown", "cure", "config")]


def test_failed_judge_loses_only_its_own_numbers(world: World) -> None:
    world.fails["judge judges a"] = EngineError("full")
    run = world.session("a", "b")
    with pytest.raises(EngineError, match=r"^a, judge judge: full$"):
        world.evaluate(run)
    assert ("score", "a", "b") in world.done
    assert ("judge judges b", "b", 1) in world.done


@pytest.mark.parametrize("lost", ["model", "judge"])
def test_work_of_a_model_or_judge_lost_meanwhile_is_not_started(world: World, lost: str) -> None:
    """Replicas work in parallel: one may fail while work for the others waits."""
    run = world.session("a")
    run.plan_round()
    (work,) = run.plan.work
    if lost == "model":
        run.drop("a", EngineError("gone"))
    else:
        run.failed_engines.add(("a", work.wanted.engine.name))
    records.start(run)
    world.done.clear()
    Rounds(run)._answer(run.plan.lines[0], "label", 1, deque(), work)
    assert (world.done, run.answered) == ([], set())


@pytest.mark.parametrize(
    ("role", "model", "label"),
    [
        ("candidate", "m", "engine"),
        ("judge", "m", "engine judges m"),
        ("judge", "", "engine judges null models"),
        ("embedder", "m", "embed m"),
        ("embedder", "", "embed items"),
        ("simulator", "m", "engine talks with m"),
        ("simulator", "", "engine talks with null models"),
    ],
)
def test_progress_label_names_engine_role_and_model(role: Any, model: str, label: str) -> None:
    assert label_of(Wanted(model, prompts(role=role), sessions.engine("engine"))) == label


def test_step_outside_a_flow_is_retried_after_a_replica_died() -> None:
    calls: list[int] = []

    def dies_of(n: int) -> str:
        calls.append(n)
        if len(calls) <= n:
            raise ReplicaLost("it died")
        return "done"

    assert steps.step("name", lambda: dies_of(steps.RETRIES)) == "done"
    assert len(calls) == steps.RETRIES + 1
    calls.clear()
    with pytest.raises(ReplicaLost):
        steps.step("name", lambda: dies_of(steps.RETRIES + 1))
    assert len(calls) == steps.RETRIES + 1


@pytest.mark.parametrize("width", [1, 3])
def test_all_work_is_done_and_the_first_error_stops_the_rest(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.engines.replicas.width", lambda spec: width)
    done: list[int] = []
    steps.with_each(done.append, range(9), JUDGE)
    assert sorted(done) == list(range(9))

    def fail(one: int) -> None:
        done.append(one)
        raise EngineError(f"of {one}")

    done.clear()
    with pytest.raises(EngineError, match="of 0"):
        steps.with_each(fail, range(100), JUDGE)
    assert len(done) == 1 if width == 1 else done[0] == 0


def test_listener_gets_only_reports_within_its_block() -> None:
    heard: list[tuple[str, int, int]] = []
    with progress.listen(lambda *report: heard.append(report)):
        progress.report("metrics", 1, 2)
    progress.report("metrics", 2, 2)
    assert heard == [("metrics", 1, 2)]


def test_engines_that_do_not_fit_together_are_loaded_once_per_phase(world: World) -> None:
    """All conversations are held first, then judged, as the judge does not fit beside the others."""
    turns = 7
    run = talking(world, turns, "a", "b", "c")
    world.room = 2
    world.evaluate(run)
    assert len([what for what in world.done if what[0] == "a: conversations"]) == 2 * turns
    order = [what[0] for what in world.done if what[0] != "asks"]
    assert order[-5:] == ["judge judges a", "judge judges b", "judge judges c", "score", "shown"]
    assert world.loads == ["a", "simulator", "b", "c", "judge"]


def test_turns_of_a_conversation_share_one_progress_bar(world: World) -> None:
    run = talking(world, 2, "a")
    most = Later("candidate", "", 9, 1), Later("simulator", "simulator", 9, 1), Later("judge", "judge", 9, 1)
    run.evaluation = replace(run.evaluation, later=lambda study: most)
    heard: list[tuple[str, int, int]] = []
    with progress.listen(lambda *report: heard.append(report)):
        world.evaluate(run)
    assert [what for what in world.done if what[0] == "a: conversations"] == [
        ("a: conversations", "a", 19)
    ] * 4
    of_talk = [report for report in heard if report[0] == "a: conversations"]
    assert of_talk == [("a: conversations", 0, 19), ("a: conversations", 0, 4)]


def test_served_judge_works_while_the_next_local_candidate_generates(world: World) -> None:
    """Judge and candidate each wait until the other has begun, so the test ends only if both run at once."""
    judging, writing = Event(), Event()

    def complete(work: Work, run: tuple[str, str], *more: Any) -> Any:
        if work.wanted.engine.name == "judge":
            judging.set()
            assert writing.wait(60)
        elif work.wanted.model == "b":
            writing.set()
            assert judging.wait(60)
        return known(work, run, *more)

    known = world.complete
    world.patch("complete", complete)
    run = world.session("a", "b")
    run.engines["judge"] = sessions.engine("judge", SERVED)
    world.evaluate(run)
    assert {what[0] for what in world.done} >= {"judge judges a", "judge judges b"}


def test_next_round_of_the_first_half_is_planned_during_the_second(world: World) -> None:
    """The candidate's second part waits until the judge has a prompt about the first."""
    judging = Event()

    def ask(study: Any, completions: Any) -> Sequence[Prompts]:
        first = prompts("one"), prompts("two")
        units = [unit for _, unit in world.stored]
        judged = [
            prompts(f"{n}?", engine="judge", role="judge") for n in (0, 1) if first[n].units[0] in units
        ]
        return [*first, *judged]

    def complete(work: Work, run: tuple[str, str], *more: Any) -> Any:
        if work.wanted.engine.name == "judge":
            judging.set()
        elif world.stored:
            assert judging.wait(60)
        return known(work, run, *more)

    known = world.complete
    world.patch("complete", complete)
    run = sessions.session("a", ask=ask)
    run.engines["judge"] = sessions.engine("judge", SERVED)
    world.evaluate(run)
    assert len(world.stored) == 4


def test_lines_planned_again_before_their_slot_claims_them_are_sent_once(world: World) -> None:
    """The planner may replace the plan while a slot chooses from the earlier one."""
    sent, planned_again = list[Answer](), set[str]()
    choose, known = Rounds._choose, world.complete

    def choose_from_the_earlier_plan(rounds: Rounds, slot: str) -> Any:
        lines = choose(rounds, slot)
        if models := {line.model for line in lines} - planned_again:
            planned_again.update(models)
            rounds.session.plan_round(models)
        return lines

    def complete(work: Work, *more: Any) -> Any:
        sent.extend(work.answers)
        return known(work, *more)

    world.patches.setattr(Rounds, "_choose", choose_from_the_earlier_plan)
    world.patch("complete", complete)
    world.evaluate(world.session("a", "b"))
    assert planned_again == {"a", "b"}
    assert len(sent) == len(set(sent)) == 4


def test_engines_of_one_server_in_parallel_are_limited(world: World) -> None:
    busy, most, lock = 0, 0, Lock()

    def complete(*arguments: Any) -> Any:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        answered = known(*arguments)
        with lock:
            busy -= 1
        return answered

    known = world.complete
    world.patch("complete", complete)
    names = [f"m{n}" for n in range(12)]
    run = world.session(*names)
    run.candidates = {
        name: sessions.engine(name, SERVED.model_copy(update={"model": name})) for name in names
    }
    world.evaluate(run)
    assert most <= AT_ONCE
    assert run.updated == set(names)


def test_error_while_storing_ends_the_run(world: World) -> None:
    def full(answered: Any) -> Any:
        raise OSError("no space left")

    world.patch("store", full)
    with pytest.raises(OSError, match="no space left"):
        world.evaluate(world.session("a", "b"))
    assert not world.stored


def test_error_of_the_evaluation_ends_the_run(world: World) -> None:
    run = world.session("a")
    asked = run.evaluation.ask

    def ask(study: Any, completions: Any) -> Any:
        if world.stored:
            raise ValueError("it is broken")
        return asked(study, completions)

    run.evaluation = replace(run.evaluation, ask=ask)
    with pytest.raises(ValueError, match="it is broken"):
        world.evaluate(run)


def talking(world: World, turns: int, *models: str) -> RunSession:
    """Return a run in which models and a simulator take turns, then a judge reads each conversation."""

    def ask(study: Any, completions: Any) -> Sequence[Prompts]:
        name = completions.candidate.name
        requests: list[Prompts] = []
        for turn in range(2 * turns):
            role: dict[str, Any] = {"engine": "simulator", "role": "simulator"} if turn % 2 else {}
            requests.append(prompts(f"{name}, turn {turn}", **role))
            if not any(unit == requests[-1].units[0] for _, unit in world.stored):
                return requests
        return [*requests, prompts(f"Is {name} right?", engine="judge", role="judge")]

    roles = {"simulator": "simulator", "judge": "judge"}
    run = sessions.session(*models, ask=ask, engines=lambda params: roles)
    run.engines["simulator"] = sessions.engine("simulator")
    return run
