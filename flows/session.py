"""One run of an evaluation: what is asked of whom, what has failed, and what is written down of it.

A session is prepared, planned again before each round, started in the warehouse before anything is asked, and
saved with all its rows at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from threading import RLock
from typing import Any

import polars as pl
from prefect.context import FlowRunContext

from flows import runs
from flows.cohort import Selection
from flows.packs import tables_of, with_packs
from tasks.engines import load
from tasks.engines.protocols import EngineError
from tasks.engines.specs import model_hash
from tasks.evaluations.contract import (
    Completions,
    Detail,
    Evaluation,
    GenerationParams,
    Params,
    Study,
    Tables,
    comparable,
)
from tasks.identity import checked_name, digest
from tasks.loop import room, steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.ledger import Ledger
from tasks.loop.plan import Answer, Plan, PlanLine, Wanted, Work, ordered
from tasks.loop.requests import Engine, Request
from tasks.loop.rows import metric_frame, points_frame
from tasks.packs.shape import PackContent
from warehouse import (
    CorruptPart,
    Run,
    Warehouse,
    finish_run,
    freeze_cohort,
    register_parts,
    save_items,
    save_metrics,
    save_pack,
    save_recipe,
    save_run,
    save_run_requests,
    write_part,
)

SHARED = ""
"""Stands for the study's own requests where a model's name would stand."""

MOST_KNOWN = 100_000
"""Decoded answers that are kept of models that have nothing more to ask."""

_KNOWN = "SELECT run_id, request_hash, topic, label FROM run_request WHERE run_id IN (SELECT unnest(?))"
_prepared: ContextVar[RunSession | None] = ContextVar("prepared", default=None)


@dataclass
class RunSession:
    """One run of an evaluation: what is asked of whom, the plan of the round under way, what has failed."""

    evaluation: Evaluation[Any, Any, Any]
    study: Study
    candidates: dict[str, Engine]
    engines: dict[str, Engine]
    packs: tuple[PackContent, ...] = ()
    plan: Plan = field(default_factory=lambda: Plan(()))
    """Requests that have no answer and that nobody works on."""
    wanted_of: dict[str, list[Wanted]] = field(default_factory=dict)
    """Model, or SHARED, -> all that its evaluation asked when it last did."""
    ids: dict[str, str] = field(default_factory=dict)
    """Model -> its run, once the session is started."""
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
    _ledger: Ledger = field(default_factory=Ledger, init=False, repr=False)
    _known: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, init=False, repr=False)
    """Model -> what was decoded for it (``Completions.known``), until it was read to its end."""
    _noted: set[tuple[str, ...]] = field(default_factory=set, init=False, repr=False)
    """Rows of the table run_request that are there."""
    _lock: RLock = field(default_factory=RLock, init=False, repr=False)

    @property
    def params(self) -> Params:
        return self.study.params

    @cached_property
    def config(self) -> str:
        """The config_hash that the rows stand under."""
        return comparable(self.study)

    @property
    def wanted(self) -> list[Wanted]:
        """All that is asked of engines that have not failed, answered or not."""
        return [
            each
            for model, own in self.wanted_of.items()
            if model not in self.lost
            for each in own
            if not self.is_barred(each)
        ]

    def completions(self, model: str) -> Completions:
        """Return the stored completions of a model's requests; what was decoded is kept between rounds."""
        candidate, known = self.candidates.get(model), self._known.get(model)
        return Completions(candidate, self.engines, steps.stored, known)

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
        return {
            name: self._run_id(self.candidates[name].hash, self._boundary_rule(name)) for name in self.alive()
        }

    def is_done(self) -> bool:
        """Whether nothing is left to do: nothing failed, all is answered, and every run has its rows."""
        if self.plan.left or self.failures:
            return False
        return all(map(runs.is_finished, self.run_ids().values()))

    def lose(self, model: str, error: Exception, words: str | None = None) -> None:
        """Give a model up: it gets no rows."""
        self.lost[model] = error
        if str(error) in self.failures:  # of what all models share, and said already
            return
        self.failures.append(words or (f"{model}: {error}" if model else str(error)))
        steps.logger().error("%s", self.failures[-1])

    def lose_corrupt(self, model: str, error: CorruptPart) -> None:
        """Give up a model, or all where it is SHARED, whose stored answers cannot be read: set them aside."""
        corrupt = steps.set_corrupt_aside(error)
        self.lose(model, corrupt, None if model else str(corrupt))

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
        with self._lock:
            if wanted.model in self.lost or self.is_barred(wanted):
                return
            if wanted.request.role not in self.evaluation.optional:
                return self.lose(wanted.model, error)
            self.barred.add((wanted.model, wanted.engine.name))
            about = wanted.model or "the null models"
            self.failures.append(f"{about}, {wanted.request.role} {wanted.engine.name}: {error}")
            steps.logger().error("%s", self.failures[-1])

    def plan_round(self, models: Collection[str] | None = None) -> None:
        """Ask the evaluation what can be sent now, and lay out what of it has no answer.

        Args:
            models: about which of them, SHARED among them; None: all.
        """
        wanted = {
            model: [Wanted(model, request, self.completions(model).engine(request)) for request in requests]
            for model, requests in self._requests(models).items()
        }
        for each in (each for own in wanted.values() for each in own):
            if each.model not in self.lost and not self.is_barred(each):
                self._check_ability(each)
        new = self._ledger.unknown(each for own in wanted.values() for each in own)
        missing = steps.unstored(new)
        with self._lock:
            self._ledger.learn(new, missing)
            again = wanted.keys() | (self.wanted_of.keys() if models is None else models)
            self.wanted_of |= wanted
            self._ledger.let_go(line for line in self.plan.lines if line.model in again)
            own = [each for each in self.wanted if each.model in again]
            lines, unanswered = self._ledger.planned(own, again)
            open_lines = [line for line in self.plan.lines if line.model not in again]
            later = () if self.answered else self.evaluation.later(self.study)
            self.plan = ordered([*open_lines, *lines], later)
            if sum(len(units) for own in self._known.values() for units in own.values()) > MOST_KNOWN:
                for model in again - unanswered:
                    self.forget(model)

    def plan_anew_what_is_gone(self) -> None:
        """Plan again where answers were deleted after the plan: those of a started run ``prune`` leaves."""
        if gone := steps.unstored(self._ledger.known(self.wanted)):
            self._ledger.lose(gone)
            self._known.clear()
            self.plan_round()

    def forget(self, model: str) -> None:
        """Keep nothing of what was decoded for a model; it can be read again."""
        self._known.pop(model, None)

    def take(self, lines: Collection[PlanLine]) -> None:
        """Take lines out of the plan: somebody works on them."""
        with self._lock:
            own = {id(line) for line in lines}
            left = tuple(line for line in self.plan.lines if id(line) not in own)
            self.plan = replace(self.plan, lines=left)

    def note(self, work: Work, stored: Set[Answer], is_whole: bool = True) -> None:
        """Note what was answered and stored of a piece of work.

        Raises:
            EngineError: an engine left something unanswered, and said nothing of it.
        """
        with self._lock:
            self.answered |= stored
            self._ledger.note(stored)
            self.worked |= {work.wanted.model} if work.wanted.model else {SHARED, *self.candidates}
        for piece in work.pieces:
            if is_whole and not stored >= set(piece.answers):
                request = piece.wanted.request
                raise EngineError(f"{work.wanted.engine.name}: it left part of {request.label!r} unanswered")

    def give_back(self, lines: Collection[PlanLine]) -> set[str]:
        """Say that nobody works on these lines any more; returns the models that may have more to ask now."""
        with self._lock:
            self._ledger.let_go(lines)
            return {line.model for line in lines} | self._ledger.waiting

    def _requests(self, models: Collection[str] | None = None) -> dict[str, list[Request[Any]]]:
        """Model, or SHARED, -> all that can be sent now; a model whose answers cannot be read is given up."""
        evaluation, requests = self.evaluation, dict[str, list[Request[Any]]]()
        if evaluation.shared and SHARED not in self.lost and (models is None or SHARED in models):
            self._known.setdefault(SHARED, {})
            try:
                requests[SHARED] = list(evaluation.shared.ask(self.study, self.completions(SHARED)))
            except CorruptPart as error:
                self.lose_corrupt(SHARED, error)
        for name in self.alive():
            if models is not None and name not in models:
                continue
            self._known.setdefault(name, {})
            try:
                requests[name] = list(evaluation.ask(self.study, self.completions(name)))
            except CorruptPart as error:
                self.lose_corrupt(name, error)
        return requests

    def _check_ability(self, each: Wanted) -> None:
        """Give up what an engine of this kind cannot do, before it is loaded."""
        if each.engine.spec is None or each.request.ability == "embed":
            return
        try:
            load.check_ability(each.engine.spec, each.request.ability)
        except EngineError as error:
            self.fail(each, error)

    def start(self) -> None:
        """Write down what is going to be measured, before anything is: all runs in one transaction."""
        self.ids = self.run_ids()
        frames = {model: self._requests_of(model) for model in self.ids}
        warehouse = Warehouse.open()
        with warehouse.write() as connection:
            if (own := self.evaluation.described) is not None:
                name, items = self.evaluation.name, self.study.materials["item"]
                metrics = [*own.metrics, *own.more(self.study)]
                save_recipe(connection, warehouse.store, name, metrics, own.doubts, own.published)
                save_items(connection, name, items, own.items(self.study))
            for pack in self.packs:
                save_pack(connection, pack.hash, pack.pack, pack.evaluation, pack.about, pack.rows)
            for model, run in self.ids.items():
                save_run(connection, self._row(run, model, self.candidates[model]))
                save_run_requests(connection, run, frames[model])
        self._noted = {(self.ids[model], *row) for model, frame in frames.items() for row in frame.rows()}

    def add_requests(self, models: Collection[str] | None = None) -> None:
        """Write down what later rounds ask, unless it is there: every write copies the warehouse's file.

        Args:
            models: of which of them; None: all.
        """
        own = {model: run for model, run in self.ids.items() if models is None or model in models}
        frames = {run: self._requests_of(model) for model, run in own.items()}
        rows = {(run, *row) for run, frame in frames.items() for row in frame.rows()}
        if self._noted >= rows:
            return
        self._noted |= set(Warehouse.current().query(_KNOWN, [list(frames)]).rows())
        if not self._noted >= rows:
            with Warehouse.open().write() as connection:
                for run, frame in frames.items():
                    if not frame.is_empty():
                        save_run_requests(connection, run, frame)
        self._noted |= rows

    def save(self, tables: Tables, selection: Selection) -> None:
        """Store all rows and detail tables and finish their runs, in one transaction.

        A model without a run is a null model, which gets one. Null models whose rows are stored are left
        alone unless something new was answered about them. No cohort is frozen where something failed.
        """
        nulls = {name: self._run_id(name) for name in tables.metrics if name not in selection.rows}
        if selection.is_frozen and SHARED not in self.worked:
            nulls = {name: run for name, run in nulls.items() if not runs.is_finished(run)}
        ids = {**selection.rows, **nulls}
        details = {model: list(of_model) for model, of_model in tables.details.items() if model in ids}
        for model in tables.metrics.keys() & selection.rows.keys():
            details.setdefault(model, []).append(
                Detail("headline_value", points_frame(tables.metrics[model]))
            )
        parts = [
            self._write(ids[model], model, detail)
            for model, of_model in details.items()
            for detail in of_model
            if not detail.frame.is_empty()
        ]
        with Warehouse.open().write() as connection:
            for name, run in nulls.items():
                save_run(connection, self._row(run, name))
            register_parts(connection, parts, replace=True)
            for model, metrics in tables.metrics.items():
                if model in ids:
                    save_metrics(connection, ids[model], metric_frame(model, metrics))
                    finish_run(connection, ids[model])
            if not selection.is_frozen and not self.failures:
                freeze_cohort(connection, self.config, self.params.cohort, list(selection.rows.values()))

    def _run_id(self, *who: str) -> str:
        """A run is a value: the same configuration, engine, occasion and code version are the same run.

        Args:
            who: engine hash and boundary rule, or the name of a null model.
        """
        on = [self.params.occasion] if self.params.occasion else []
        return digest([self.config, *who, version("culturescope"), *on])

    def _boundary_rule(self, model: str) -> str:
        """The rule by which a model scores texts.

        The same in every round, so that a run is named alike whether its judges have answered yet or not.
        """
        own = [each for each in self.wanted if each.model == model and each.request.role == "candidate"]
        return ", ".join(sorted({each.request.rule(each.engine) for each in own} - {"none"})) or "none"

    def _row(self, run: str, model: str, engine: Engine | None = None) -> Run:
        """A row of the table ``run``; without an engine a null model's."""
        spec = engine.spec if engine else None
        return Run(
            run_id=run,
            evaluation=self.evaluation.name,
            model=model,
            is_null=engine is None,
            profile=self.params.label,
            config_hash=self.config,
            engine_hash=engine.hash if engine else "null",
            model_hash=model_hash(spec) if spec else "null",
            params=self.params.model_dump(exclude={"models", "occasion"}),
            engine=spec.described() if spec else {},
            item_lists=self.study.materials,
            boundary_rule=self._boundary_rule(model) if engine else "none",
            code_version=version("culturescope"),
            occasion=self.params.occasion,
        )

    def _requests_of(self, model: str) -> pl.DataFrame:
        """One row per request of a model; those that differ in units alone are one, with all their labels."""
        own = [each for each in self.wanted if each.model == model]
        rows = [(each.request_hash, each.request.topic, each.request.label) for each in own]
        frame = pl.DataFrame(rows, dict.fromkeys(("request_hash", "topic", "label"), pl.String), orient="row")
        joined = pl.col("topic", "label").unique(maintain_order=True).str.join(", ")
        return frame.group_by("request_hash", maintain_order=True).agg(joined)

    def _write(self, run: str, model: str, detail: Detail) -> pl.DataFrame:
        """Write a detail table as a part; it shows once it is registered."""
        part = digest([run, *([detail.key] if detail.key else []), self.config], 32)
        ids = {"request_hash": part if detail.key else run, "run_id": run, "model": model}
        frame = detail.frame.with_columns(**{name: pl.lit(value) for name, value in ids.items()})
        return write_part(Warehouse.open().store, detail.kind, part, frame)


@contextmanager
def handed_over(session: RunSession) -> Iterator[None]:
    """Within the block, the flow of the same params goes on from this session instead of planning again."""
    token = _prepared.set(session)
    try:
        yield
    finally:
        _prepared.reset(token)


def prepared(evaluation: Evaluation[Any, Any, Any], params: Params) -> RunSession | None:
    """The session that was handed over, if it is of these params."""
    session = _prepared.get()
    if session and session.evaluation is evaluation and session.params == params:
        return session
    return None


def prepare(evaluation: Evaluation[Any, Any, Any], params: Params) -> RunSession:
    """Build the study and plan the first round; nothing is asked.

    Raises:
        EngineError: there is no such model or embedder, or no model can do what is asked of it.
        CorruptPart: no model's stored answers can be read; they are set aside.
        ValueError: see the evaluation's ``study``.
    """
    params = params.model_copy(update={"occasion": occasion(params.occasion)})
    study, engines, packs = build(evaluation, params)
    steps.take_over_orphans()
    models, roles = Warehouse.open().home / "models", evaluation.engines(params)
    candidates, engines = room.divided(_candidates(params, study), engines, roles, models)
    session = RunSession(evaluation, study, candidates, engines, packs)
    session.plan_round()
    if session.plan.left:
        own = [line.n_units for line in session.plan.lines if line.role == "candidate"]
        turns, later = sum(own) // max(1, len(own)), session.plan.later
        times = room.loads(candidates, engines, roles, later, turns, models)
        session.plan = replace(session.plan, loads=times)
    if len(session.lost) == len(session.candidates):
        session.raise_failures()
    return session


def build(
    evaluation: Evaluation[Any, Any, Any], params: Params
) -> tuple[Study, dict[str, Engine], tuple[PackContent, ...]]:
    """The study, the engines beside the candidates by name, and the packs; raises as ``prepare``."""
    engines = {
        name: replace(steps.engine_of(name, role), occasion=params.occasion)
        for name, role in evaluation.engines(params).items()
    }
    params, tables, packs = with_packs(evaluation, params, tables_of(evaluation, params))
    return evaluation.study(params, tables, engines), engines, packs


def _candidates(params: Params, study: Study) -> dict[str, Engine]:
    """Model -> its engine. A name that another engine has already, here or under the configuration, gets a
    suffix: two models of one name stand beside each other."""
    taken = runs.namesakes(comparable(study))
    candidates: dict[str, Engine] = {}
    for wanted_name in dict.fromkeys(params.models):
        engine = steps.engine_of(wanted_name, "candidate", params.dtype)
        name = engine.name
        if name in candidates or taken.get(name, {engine.hash}) != {engine.hash}:
            name = f"{name}#{engine.hash[:4]}"
        candidates[name] = replace(engine, name=name, occasion=params.occasion)
    return candidates


def occasion(occasion_name: str) -> str:
    """The occasion, its {date}, {week} and {time} filled in with when the run is due, also if it started late
    or again. Raises ValueError for other braces, and for what is no name (``checked_name``)."""
    context = FlowRunContext.get()
    due = context.flow_run.expected_start_time if context and context.flow_run else None
    when = due or datetime.now(UTC)
    year, week, _ = when.isocalendar()
    names = {"date": f"{when:%Y-%m-%d}", "week": f"{year}-w{week:02}", "time": f"{when:%Y-%m-%dT%H:%M:%SZ}"}
    # Not str.format, which also reads attributes and pads to any width.
    name = re.sub(
        r"\{(date|week|time)\}", lambda match: names[match[1]], checked_name(occasion_name, "occasion")
    )
    if "{" in name or "}" in name:
        raise ValueError(f"occasion {occasion_name!r}: it may hold {{date}}, {{week}} and {{time}} alone")
    return name
