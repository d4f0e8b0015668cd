"""One run of an evaluation before and between its rounds: what is asked of whom, and what has failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from prefect.context import FlowRunContext

from flows import runs
from flows.packs import tables_of, with_packs
from tasks.engines import load
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import (
    Completions,
    Evaluation,
    GenerationParams,
    Params,
    Study,
    comparable,
)
from tasks.identity import checked_name
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan, Wanted, lay_out
from tasks.loop.requests import Engine, Request
from tasks.packs.shape import Content
from warehouse import CorruptPart

SHARED = ""
"""Stands for the study's own requests where a model's name would stand."""

_prepared: ContextVar[Session | None] = ContextVar("prepared", default=None)


@dataclass
class Session:
    """One run of an evaluation: what is asked of whom, the plan of the round under way, what has failed."""

    evaluation: Evaluation[Any, Any, Any]
    study: Study
    candidates: dict[str, Engine]
    engines: dict[str, Engine]
    packs: tuple[Content, ...] = ()
    plan: Plan = field(default_factory=lambda: Plan(()))
    wanted: list[Wanted] = field(default_factory=list)
    lost: dict[str, Exception] = field(default_factory=dict)
    """Models without rows, and why."""
    barred: set[tuple[str, str]] = field(default_factory=set)
    """(model, engine) pairs that failed; the engine is not asked about that model again."""
    failures: list[str] = field(default_factory=list)
    answered: set[tuple[str, str]] = field(default_factory=set)
    """(request_hash, unit) that this run had answered."""
    worked: set[str] = field(default_factory=set)
    """Models, and SHARED, about which something new was answered."""
    meters: dict[str, Meter] = field(default_factory=dict)
    """Model -> what its candidate and judges have used of its budget."""
    _failing: Lock = field(default_factory=Lock, init=False, repr=False)

    @property
    def params(self) -> Params:
        return self.study.params

    def completions(self, model: str) -> Completions:
        """What is stored of what a model's evaluation asks."""
        return Completions(self.candidates.get(model), self.engines, steps.stored)

    def meter(self, model: str) -> Meter:
        """Counts what one model's evaluation uses, of candidate and judges together."""
        params, budget = self.params, Budget()
        if isinstance(params, GenerationParams):
            budget = Budget(params.max_total_tokens, params.max_usd)
        return self.meters.setdefault(model, Meter(budget))

    def alive(self) -> list[str]:
        """Models that have not failed, in the order given."""
        return [name for name in self.candidates if name not in self.lost]

    def run_ids(self) -> dict[str, str]:
        """Model that has not failed -> its run, in the order given."""
        rules = {name: runs.boundary_rule(self.wanted, name) for name in self.alive()}
        return {
            name: runs.run_id(self.study, [self.candidates[name].hash, rule]) for name, rule in rules.items()
        }

    def is_done(self) -> bool:
        """Whether nothing is left to do: nothing failed, all is answered, and every run has its rows."""
        if self.plan.left or self.failures:
            return False
        return all(map(runs.is_finished, self.run_ids().values()))

    def lose(self, model: str, error: Exception, said: str | None = None) -> None:
        """Give a model up: it gets no rows."""
        self.lost[model] = error
        self.failures.append(said or f"{model}: {error}")
        steps.logger().error("%s", self.failures[-1])

    def raise_failures(self) -> None:
        """Say all that has failed, if anything has.

        Raises:
            CorruptPart: stored answers cannot be read. EngineError: anything else.
        """
        for error in self.lost.values():
            if isinstance(error, CorruptPart):
                raise CorruptPart("\n".join(self.failures)) from error
        if self.failures:
            raise EngineError("\n".join(self.failures))

    def is_barred(self, wanted: Wanted) -> bool:
        """Whether the engine has failed on this model before."""
        return (wanted.model, wanted.engine.name) in self.barred

    def fail(self, wanted: Wanted, error: Exception) -> None:
        """An engine in an optional role that fails leaves its own numbers unscored; any other the model.

        The first failure counts, of several units that are under way.
        """
        with self._failing:
            if wanted.model in self.lost or self.is_barred(wanted):
                return
            if wanted.request.role not in self.evaluation.optional:
                return self.lose(wanted.model, error)
            self.barred.add((wanted.model, wanted.engine.name))
            about = wanted.model or "the null models"
            self.failures.append(f"{about}, {wanted.request.role} {wanted.engine.name}: {error}")
            steps.logger().error("%s", self.failures[-1])


@contextmanager
def handed_over(session: Session) -> Iterator[None]:
    """Within the block, the flow of the same params goes on from this session instead of planning again."""
    token = _prepared.set(session)
    try:
        yield
    finally:
        _prepared.reset(token)


def prepared(evaluation: Evaluation[Any, Any, Any], params: Params) -> Session | None:
    """The session that was handed over, if it is of these params."""
    session = _prepared.get()
    if session and session.evaluation is evaluation and session.params == params:
        return session
    return None


def prepare(evaluation: Evaluation[Any, Any, Any], params: Params) -> Session:
    """Build the study and plan the first round; nothing is asked.

    Raises:
        EngineError: there is no such model or embedder, or no model can do what is asked of it.
        CorruptPart: no model's stored answers can be read; they are set aside.
        ValueError: see the evaluation's ``study``.
    """
    params = params.model_copy(update={"occasion": occasion(params.occasion)})
    study, engines, packs = build(evaluation, params)
    steps.take_over_orphans()
    session = Session(evaluation, study, _candidates(params, study), engines, packs)
    plan_round(session)
    if len(session.lost) == len(session.candidates):
        session.raise_failures()
    return session


def build(
    evaluation: Evaluation[Any, Any, Any], params: Params
) -> tuple[Study, dict[str, Engine], tuple[Content, ...]]:
    """The study, the engines beside the candidates by name, and the packs; raises as ``prepare``."""
    engines = {
        name: replace(steps.engine_of(name, role), occasion=params.occasion)
        for name, role in evaluation.engines(params).items()
    }
    params, tables, packs = with_packs(evaluation, params, tables_of(evaluation, params))
    return evaluation.study(params, tables, engines), engines, packs


def plan_round(session: Session) -> None:
    """Ask the evaluation what can be sent now, and lay out what of it has no answer."""
    evaluation, study = session.evaluation, session.study
    asked: dict[str, list[Request[Any]]] = {}
    if evaluation.shared and SHARED not in session.lost:
        try:
            asked[SHARED] = list(evaluation.shared.ask(study, session.completions(SHARED)))
        except CorruptPart as error:
            corrupt = steps.set_corrupt_aside(error)
            session.lose(SHARED, corrupt, str(corrupt))
    for name in session.alive():
        try:
            asked[name] = list(evaluation.ask(study, session.completions(name)))
        except CorruptPart as error:
            session.lose(name, steps.set_corrupt_aside(error))
    wanted = [
        Wanted(model, request, engine)
        for model, requests in asked.items()
        for request in requests
        for engine in (session.completions(model).engine(request),)
        if (model, engine.name) not in session.barred
    ]
    for each in wanted:
        if each.model not in session.lost:
            _check_ability(session, each)
    session.wanted = [
        each for each in wanted if each.model not in session.lost and not session.is_barred(each)
    ]
    later = () if session.answered else evaluation.later(study)
    session.plan = lay_out(session.wanted, steps.unanswered(session.wanted), later)
    for work in session.plan.work:
        if session.answered & {(work.wanted.request_hash, unit) for unit in work.units}:
            raise EngineError(
                f"{work.wanted.engine.name}: it left part of {work.wanted.request.label!r} unanswered"
            )


def _check_ability(session: Session, each: Wanted) -> None:
    """Give up what an engine of this kind cannot do, before it is loaded."""
    if each.engine.spec is None or each.request.ability == "embed":
        return
    try:
        load.check_ability(each.engine.spec, each.request.ability)
    except EngineError as error:
        session.fail(each, error)


def _candidates(params: Params, study: Study) -> dict[str, Engine]:
    """Model -> its engine. A name that another engine has already, here or under the configuration, gets a
    suffix: two models of one name stand beside each other."""
    taken = runs.namesakes(comparable(study))
    candidates: dict[str, Engine] = {}
    for given in dict.fromkeys(params.models):
        engine = steps.engine_of(given, "candidate", params.dtype)
        name = engine.name
        if name in candidates or taken.get(name, {engine.hash}) != {engine.hash}:
            name = f"{name}#{engine.hash[:4]}"
        candidates[name] = replace(engine, name=name, occasion=params.occasion)
    return candidates


def occasion(given: str) -> str:
    """The occasion, its {date}, {week} and {time} filled in with when the run is due, also if it started late
    or again. Raises ValueError for other braces, and for what is no name (``checked_name``)."""
    context = FlowRunContext.get()
    due = context.flow_run.expected_start_time if context and context.flow_run else None
    when = due or datetime.now(UTC)
    year, week, _ = when.isocalendar()
    names = {"date": f"{when:%Y-%m-%d}", "week": f"{year}-w{week:02}", "time": f"{when:%Y-%m-%dT%H:%M:%SZ}"}
    # Not str.format, which also reads attributes and pads to any width.
    name = re.sub(r"\{(date|week|time)\}", lambda match: names[match[1]], checked_name(given, "occasion"))
    if "{" in name or "}" in name:
        raise ValueError(f"occasion {given!r}: it may hold {{date}}, {{week}} and {{time}} alone")
    return name
