"""Whose rows a run makes, and against whom: the rule by which cohorts freeze, on a fake run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import polars as pl
import pytest

from flows import evaluation as loop
from flows import runs
from flows.session import SHARED, Session
from tasks.engines.protocols import EngineError, Sampling
from tasks.evaluations.contract import Cohort, Evaluation, Params, Shared, Tables
from tasks.loop import progress
from tasks.loop.plan import UNITS
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine
from warehouse import CorruptPart


class Saved(NamedTuple):
    """What one run stores."""

    models: dict[str, Any]
    against: dict[str, Any]
    runs: dict[str, str]
    freeze: list[str] | None
    keep_nulls: bool


@dataclass
class World:
    """What the warehouse knows of other runs, and what was stored."""

    frozen: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)
    asks: list[Prompts] = field(default_factory=list)
    unanswered: set[str] = field(default_factory=set)
    """Engines of which an answer is missing."""
    corrupt: str = ""
    cohorts: list[Cohort[Any]] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)

    def session(self, *models: str, compares: bool = True, shared: bool = False, **fields: Any) -> Session:
        """A run of some models, each of which answers with its name."""

        def read(study: Any, completions: Any, shared: Any) -> str:
            if completions.candidate.name == self.corrupt:
                raise CorruptPart("unreadable")
            return f"{completions.candidate.name}, {shared}"

        def rows(study: Any, cohort: Cohort[Any], shared: Any) -> Tables:
            self.cohorts.append(cohort)
            return Tables({name: [] for name in cohort.models})

        evaluation = Evaluation[Any, Any, Any](
            name="fake", params=Params, tables={}, study=lambda *_: None, ask=lambda *_: self.asks, read=read,
            rows=rows, compares=compares,
            shared=Shared(lambda *_: [], lambda *_: "null models") if shared else None,
        )  # fmt: skip
        study = SimpleNamespace(
            params=Params.model_validate({"models": list(models)}), config_hash=lambda: "config"
        )
        engines = {name: engine(name) for name in models}
        return Session(evaluation, study, engines, {"judge": engine("judge")}, **fields)


ASKED = Prompts(sampling=Sampling(), prompts=(Prompt([{"role": "user", "content": "?"}]),))


def engine(name: str) -> Engine:
    return Engine(name, "fake", name, f"hash of {name}")


def past(name: str) -> runs.Past:
    return runs.Past(f"run of {name}", engine(name))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """No run has finished and no cohort is frozen, unless a test says so."""
    known = World()

    def save(
        session: Session, tables: Tables, ids: Mapping[str, str], freeze: list[str] | None, keep_nulls: bool
    ) -> None:
        cohort = known.cohorts[-1]
        assert set(tables.metrics) == set(ids)
        known.saved.append(Saved(dict(cohort.models), dict(cohort.against), dict(ids), freeze, keep_nulls))

    def unanswered(wanted: Any) -> dict[str, pl.DataFrame]:
        missing = [(each.request_hash, "unit") for each in wanted if each.engine.name in known.unanswered]
        return {"completion": pl.DataFrame(missing, UNITS, orient="row")}

    patches: dict[str, Callable[..., Any]] = {
        "frozen": lambda *_: [past(name) for name in known.frozen],
        "finished": lambda *_: [past(name) for name in known.finished],
        "is_finished": lambda run: run.removeprefix("run of ") in known.finished,
        "save": save,
    }
    for name, function in patches.items():
        monkeypatch.setattr(runs, name, function)
    monkeypatch.setattr("tasks.loop.steps.locked_cohort", nullcontext)
    monkeypatch.setattr("tasks.loop.steps.unanswered", unanswered)
    monkeypatch.setattr(
        "tasks.loop.steps.set_corrupt_aside", lambda error: CorruptPart(f"{error}, set aside")
    )
    return known


def score(session: Session) -> None:
    loop._score(session, {name: f"run of {name}" for name in session.candidates})


def test_the_first_run_is_the_cohort(world: World) -> None:
    score(world.session("a", "b"))
    (saved,) = world.saved
    assert saved.models == saved.against == {"a": "a, None", "b": "b, None"}
    assert saved.freeze == ["run of a", "run of b"]
    assert not saved.keep_nulls
    assert set(world.cohorts[0].engines) == {"a", "b"}


def test_what_finished_before_a_cohort_is_frozen_is_of_it(world: World) -> None:
    """Rows of the model that failed before are made anew, but not of one that this run has again."""
    world.finished = ["a", "z"]
    score(world.session("a", "b"))
    (saved,) = world.saved
    assert set(saved.models) == set(saved.against) == {"a", "b", "z"}
    assert saved.runs == {name: f"run of {name}" for name in "abz"}
    assert sorted(saved.freeze or []) == ["run of a", "run of b", "run of z"]
    assert world.cohorts[0].engines["z"] == engine("z")


def test_a_run_in_which_a_model_failed_freezes_nothing(world: World) -> None:
    session = world.session("a", "b")
    session.lose("b", EngineError("it is gone"))
    score(session)
    (saved,) = world.saved
    assert (set(saved.models), saved.freeze) == ({"a"}, None)


@pytest.mark.parametrize(
    ("worked", "finished", "scored"),
    [
        ({"a", "c"}, ["a", "b"], {"a", "c"}),  # a answered something new, c has no rows yet
        ({"c"}, ["a", "b"], {"c"}),
        (set(), ["a", "b"], {"c"}),
        (set(), ["a", "b", "c"], set()),
        (set(), [], {"a", "c"}),
    ],
)
def test_against_a_frozen_cohort_only_what_is_new_gets_rows(
    world: World, worked: set[str], finished: list[str], scored: set[str]
) -> None:
    world.frozen, world.finished = ["a", "b"], finished
    score(world.session("a", "c", worked=set(worked)))
    (saved,) = world.saved
    assert set(saved.models) == set(saved.runs) == scored
    assert saved.against == {"a": "a, None", "b": "b, None"}  # never c, which came later
    assert saved.freeze is None
    assert saved.keep_nulls


def test_null_models_are_scored_anew_where_something_new_was_said_of_them(world: World) -> None:
    world.frozen = ["a"]
    score(world.session("b", shared=True, worked={SHARED}))
    (saved,) = world.saved
    assert not saved.keep_nulls
    assert saved.models == {"b": "b, null models"}
    assert saved.against == {"a": "a, null models"}


@pytest.mark.parametrize("compares", [True, False])
def test_a_lost_member_of_the_cohort_stops_only_what_compares(world: World, compares: bool) -> None:
    world.frozen = ["a"]
    session = world.session("a", "b", compares=compares)
    session.lose("a", EngineError("it is gone"))
    score(session)
    assert len(world.saved) == (not compares)
    assert any("the cohort needs a" in failure for failure in session.failures) == compares


def test_nothing_is_read_of_a_cohort_that_nothing_is_compared_with(world: World) -> None:
    world.frozen, world.asks, world.unanswered = ["a"], [ASKED], {"a"}
    score(world.session("b", compares=False))
    (saved,) = world.saved
    assert (set(saved.models), saved.against, saved.freeze) == ({"b"}, {}, None)


def test_a_member_whose_answers_are_gone_is_to_be_run_again(world: World) -> None:
    world.frozen, world.asks, world.unanswered = ["a"], [ASKED], {"a"}
    with pytest.raises(EngineError, match=r"answers of a, .* are missing: run it again"):
        score(world.session("b"))
    world.unanswered, world.corrupt = set(), "a"
    with pytest.raises(CorruptPart, match="set aside"):
        score(world.session("b"))
    assert not world.saved


def test_a_member_whose_judge_never_answered_is_still_compared_with(world: World) -> None:
    world.frozen, world.asks = ["a"], [ASKED, replace(ASKED, role="judge", engine="judge")]
    world.unanswered = {"judge"}
    score(world.session("b"))
    assert set(world.saved[0].against) == {"a"}


def test_the_progress_counts_the_models_that_are_read(world: World) -> None:
    heard: list[tuple[str, int, int]] = []
    session = world.session("a", "b", "c")
    session.lose("c", EngineError("it is gone"))
    with progress.listen(lambda *report: heard.append(report)):
        score(session)
    assert heard == [("metrics", 1, 2)] * 2


@pytest.mark.parametrize("lost", [{SHARED}, {"a", "b"}])
def test_where_nothing_can_be_scored_nothing_is_stored(world: World, lost: set[str]) -> None:
    session = world.session("a", "b", shared=True)
    for name in lost:
        session.lose(name, EngineError("it is gone"))
    score(session)
    assert not world.saved


def test_answers_that_cannot_be_read_cost_their_model(world: World) -> None:
    world.corrupt = "b"
    session = world.session("a", "b")
    score(session)
    assert set(world.saved[0].models) == {"a"}
    assert (list(session.lost), session.failures) == (["b"], ["b: unreadable, set aside"])


def test_null_models_that_cannot_be_read_cost_all(world: World) -> None:
    session = world.session("a", shared=True)

    def fail(*_: Any) -> Any:
        raise CorruptPart("unreadable")

    session.evaluation = Evaluation(**(vars(session.evaluation) | {"shared": Shared(lambda *_: [], fail)}))
    score(session)
    assert not world.saved
    assert session.failures == ["unreadable, set aside"]
