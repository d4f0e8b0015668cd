"""The rule by which cohorts freeze: which rows a run makes and which models they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from flows import evaluation as loop
from flows import records, runs
from flows.cohort import Selection, cohort_of
from flows.session import SHARED, RunSession
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Cohort, Shared
from tasks.loop import progress
from tasks.loop.plan import UNITS
from tests.flows.sessions import prompts, session
from warehouse import CorruptPart


def run_of(model: str, occasion: str = "") -> runs.FinishedRun:
    """Return an earlier run of a model, whose id is model and occasion."""
    now = datetime(2026, 11, 23)
    return runs.FinishedRun(
        f"{model}{occasion}", "cure", "config", model, f"hash of {model}", occasion, "demo", {}, {}, None,
        "none", "0", now, now,
    )  # fmt: skip


CASES = {
    # own, frozen, others, new, compares -> rows, against, earlier
    "first run is the cohort": ("ab", "", "", "ab", True, "ab", "ab", ""),
    "earlier finished model joins the cohort": ("ab", "", "z", "ab", True, "abz", "abz", "z"),
    "all get new rows though this run has no new answers": ("a", "", "z", "", True, "az", "az", "z"),
    "same in an evaluation that does not compare": ("a", "", "z", "a", False, "az", "az", "z"),
    "later model is compared with the cohort": ("c", "ab", "", "c", True, "c", "ab", "ab"),
    "member again, with new answers": ("ac", "ab", "", "ac", True, "ac", "ab", "b"),
    "member again, without new answers": ("ac", "ab", "", "c", True, "c", "ab", "b"),
    "no new answers": ("ac", "ab", "", "", True, "", "ab", "b"),
    "models that finished after freezing do not matter": ("c", "a", "z", "c", True, "c", "a", "a"),
    "no other model is read without comparison": ("c", "ab", "", "c", False, "c", "", ""),
    "own member is used without comparison": ("ac", "ab", "", "ac", False, "ac", "a", ""),
}


@pytest.mark.parametrize(("own", "frozen", "others", "new", "compares", "rows", "against", "earlier"),
                         CASES.values(), ids=CASES)  # fmt: skip
def test_cohort_rule_selects_rows_cohort_and_earlier_runs(
    own: str, frozen: str, others: str, new: str, compares: bool, rows: str, against: str, earlier: str
) -> None:
    made = cohort_of(
        {name: name for name in own}, [*map(run_of, frozen)], [*map(run_of, others)], new, compares
    )
    assert dict(made.rows) == {name: name for name in rows}
    assert set(made.against) == set(against)
    assert [run.model for run in made.earlier] == list(earlier)
    assert made.is_frozen == bool(frozen)


def test_model_on_another_occasion_is_compared_with_its_first_answers() -> None:
    made = cohort_of({"a": "a on w2"}, [run_of("a"), run_of("b")], [], {"a"})
    assert [run.run_id for run in made.earlier] == ["a", "b"]
    cohort = made.cohort({"a": "new"}, {"a": "old", "b": "of b"}, {"a": run_of("a", "w2").candidate})
    assert (cohort.models, cohort.against) == ({"a": "new"}, {"a": "old", "b": "of b"})
    assert {name: engine.occasion for name, engine in cohort.engines.items()} == {"a": "w2", "b": ""}


@dataclass
class World:
    """A stand-in warehouse with other runs, which records the rows that the run saves."""

    frozen: str = ""
    finished: str = ""
    asks: list[Any] = field(default_factory=list)
    unanswered: str = ""
    """Engines with a missing answer."""
    corrupt: str = ""
    saved: list[tuple[Cohort[Any], Selection]] = field(default_factory=list)

    def session(self, *models: str, shared: bool = False, **fields: Any) -> RunSession:
        """Return a run of models, each of which answers with its name."""

        def read(study: Any, completions: Any, shared: Any) -> str:
            if completions.candidate.name == self.corrupt:
                raise CorruptPart("unreadable")
            return f"{completions.candidate.name}, {shared}"

        made = session(
            *models, ask=lambda *_: self.asks, read=read, rows=lambda study, cohort, shared: cohort,
            shared=Shared(lambda *_: [], lambda *_: "null models") if shared else None, **fields,
        )  # fmt: skip
        made.ids = {name: name for name in models}
        return made


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A world without finished runs and frozen cohorts; tests add them."""
    known = World()

    def save(session: RunSession, cohort: Cohort[Any], selection: Selection) -> None:
        known.saved.append((cohort, selection))

    monkeypatch.setattr(records, "save", save)

    def unanswered(wanted: Any) -> dict[str, pl.DataFrame]:
        missing = [(each.request_hash, "unit") for each in wanted if each.engine.name in known.unanswered]
        return {"response": pl.DataFrame(missing, UNITS, orient="row")}

    patches: dict[str, Callable[..., Any]] = {
        "flows.runs.frozen": lambda *_: [*map(run_of, known.frozen)],
        "flows.runs.newest": lambda *_: [*map(run_of, known.finished)],
        "flows.runs.is_finished": lambda run: run in known.finished,
        "tasks.loop.steps.locked_cohort": nullcontext,
        "tasks.loop.steps.unanswered": unanswered,
        "tasks.loop.steps.set_corrupt_aside": lambda error: CorruptPart(f"{error}, set aside"),
    }
    for name, function in patches.items():
        monkeypatch.setattr(name, function)
    return known


def test_earlier_and_new_runs_are_scored_without_lost_models(world: World) -> None:
    """Earlier answers of a model that this run repeats or lost are not used."""
    world.finished = "abz"
    made = world.session("a", "b", shared=True)
    made.drop("b", EngineError("it is gone"))
    loop._score(made)
    ((cohort, selection),) = world.saved
    assert cohort.models == cohort.against == {"a": "a, null models", "z": "z, null models"}
    assert selection.rows == {"a": "a", "z": "z"}
    assert {name: engine.hash for name, engine in cohort.engines.items() if name == "z"} == {"z": "hash of z"}


@pytest.mark.parametrize(
    ("worked", "finished", "scored"), [("ac", "ab", "ac"), ("", "ab", "c"), ("", "", "ac")]
)
def test_model_is_scored_if_it_has_new_answers_or_no_rows(
    world: World, worked: str, finished: str, scored: str
) -> None:
    world.frozen, world.finished = "ab", finished
    made = world.session("a", "c")
    made.updated = set(worked)
    loop._score(made)
    assert set(world.saved[0][1].rows) == set(scored)


@pytest.mark.parametrize("compares", [True, False])
def test_lost_cohort_member_stops_only_comparing_evaluations(world: World, compares: bool) -> None:
    world.frozen = "a"
    made = world.session("a", "b", compares=compares)
    made.drop("a", EngineError("it is gone"))
    loop._score(made)
    assert len(world.saved) == (not compares)
    assert any("the cohort needs a" in failure for failure in made.failures) == compares


def test_cohort_member_without_answers_must_be_run_again(world: World) -> None:
    world.frozen, world.asks, world.unanswered = "a", [prompts()], "a"
    missing = r"the cohort needs answers of a that are missing: run that model again"
    with pytest.raises(EngineError, match=missing):
        loop._score(world.session("b"))
    world.unanswered, world.corrupt = "", "a"
    with pytest.raises(CorruptPart, match="set aside"):
        loop._score(world.session("b"))
    assert not world.saved
    # Missing answers of a judge do not matter.
    world.corrupt, world.unanswered = "", "judge"
    world.asks = [prompts(), replace(prompts(), role="judge", engine="judge")]
    loop._score(world.session("b"))
    assert set(world.saved[0][0].against) == {"a"}


def test_progress_counts_the_models_that_are_read(world: World) -> None:
    heard: list[tuple[str, int, int]] = []
    made = world.session("a", "b", "c")
    made.drop("c", EngineError("it is gone"))
    with progress.listen(lambda *report: heard.append(report)):
        loop._score(made)
    assert heard == [("metrics", 1, 2)] * 2


@pytest.mark.parametrize("lost", [[SHARED], ["a", "b"]])
def test_nothing_is_stored_if_nothing_can_be_scored(world: World, lost: list[str]) -> None:
    made = world.session("a", "b", shared=True)
    for name in lost:
        made.drop(name, EngineError("it is gone"))
    loop._score(made)
    assert not world.saved


def test_unreadable_answers_drop_their_model_and_those_of_nulls_drop_all(world: World) -> None:
    world.corrupt = "b"
    made = world.session("a", "b")
    loop._score(made)
    assert set(world.saved.pop()[0].models) == {"a"}
    assert (list(made.dropped), made.failures) == (["b"], ["b: unreadable, set aside"])

    def fail(*_: Any) -> Any:
        raise CorruptPart("unreadable")

    made = world.session("a", shared=True)
    made.evaluation = replace(made.evaluation, shared=Shared(lambda *_: [], fail))
    loop._score(made)
    assert not world.saved
    assert made.failures == ["unreadable, set aside"]
