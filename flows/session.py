"""One run of an evaluation: its requests, the plan of the current round, its failures.

A session is prepared once and planned again before each round. ``records`` writes it to the warehouse.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from itertools import chain
from threading import RLock
from types import MappingProxyType
from typing import Any

import polars as pl
from prefect.context import FlowRunContext

from flows import runs
from flows.losses import losses
from flows.packs import tables_of, with_packs
from tasks.engines import load
from tasks.engines.protocols import EngineError, Lost
from tasks.evaluations.contract import Completions, Evaluation, GenerationParams, Params, Study, comparable
from tasks.identity import checked_name, digest
from tasks.loop import device_memory, steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.ledger import Ledger
from tasks.loop.placement import Placement
from tasks.loop.plan import Answer, Plan, PlanLine, Wanted, Work, ordered
from tasks.loop.requests import Engine, Request
from tasks.packs.shape import PackContent
from tasks.report.sentences import Loss
from warehouse import KINDS, CorruptPart, Warehouse

SHARED = ""
"""Key of the study's own requests, in place of a model's name."""

MAX_LOST = 0.1
"""Largest share of lost answers of runs whose params have no ``max_lost``."""
MANY = 5
"""Fewest units of a piece of work that are all lost because nothing works."""

MAX_DECODED = 100_000
"""Decoded answers in memory above which those of models without open requests are dropped."""

_prepared: ContextVar[RunSession | None] = ContextVar("prepared", default=None)


@dataclass
class RunSession:
    """One run of an evaluation: its requests, the plan of the current round, its failures."""

    evaluation: Evaluation[Any, Any, Any]
    study: Study
    candidates: dict[str, Engine]
    engines: dict[str, Engine]
    packs: tuple[PackContent, ...] = ()
    placement: Placement | None = None
    """The devices that its engines are placed on; None: engines of this machine take turns."""
    plan: Plan = field(default_factory=lambda: Plan(()))
    """Requests that have no answer and that no slot works on."""
    wanted_by_model: dict[str, list[Wanted]] = field(default_factory=dict)
    """Model, or SHARED -> all its requests when it was last planned."""
    ids: dict[str, str] = field(default_factory=dict)
    """Model -> its run, once the session is started."""
    content: str = ""
    """Hash of the evaluation's stored content, once the session is started; "" if it has none."""
    dropped: dict[str, Exception] = field(default_factory=dict)
    """Model, or SHARED, that gets no rows -> why."""
    failed_engines: set[tuple[str, str]] = field(default_factory=set)
    """(model, engine) pairs that failed; the engine gets no more requests for that model."""
    failures: list[str] = field(default_factory=list)
    """Messages for the user, in the order of the failures."""
    answered: set[tuple[str, str]] = field(default_factory=set)
    """(request_hash, unit) that were answered in this run."""
    updated: set[str] = field(default_factory=set)
    """Models, and SHARED, whose rows a new answer of this run may change."""
    meters: dict[str, Meter] = field(default_factory=dict)
    """Model -> meter of its budget, shared by its candidate and judges."""
    recorded_requests: set[tuple[str, ...]] = field(default_factory=set, init=False, repr=False)
    """Known rows of the table run_request (``records``)."""
    lost_of: dict[str, list[Loss]] = field(default_factory=dict, init=False, repr=False)
    """Model -> its losses, once its answers are read."""
    _ledger: Ledger = field(default_factory=Ledger, init=False, repr=False)
    _decoded: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict, init=False, repr=False)
    """Model -> its decoded answers (``Completions.known``), until its rows are made."""
    _lock: RLock = field(default_factory=RLock, init=False, repr=False)

    @property
    def params(self) -> Params:
        return self.study.params

    @cached_property
    def config(self) -> str:
        """The config_hash of the rows."""
        return comparable(self.study)

    @property
    def wanted(self) -> list[Wanted]:
        """All requests, answered or not, of models and engines that have not failed."""
        return [
            each
            for model, requests in self.wanted_by_model.items()
            if model not in self.dropped
            for each in requests
            if not self.has_failed(each)
        ]

    def completions(self, model: str) -> Completions:
        """Return the stored completions of a model's requests; decoded ones are cached between rounds."""
        candidate, decoded = self.candidates.get(model), self._decoded.get(model)
        return Completions(candidate, self.engines, steps.stored, decoded, self._ledger.lost)

    def meter(self, model: str) -> Meter:
        """Return the meter of one model's budget, which its candidate and judges share."""
        params, budget = self.params, Budget()
        if isinstance(params, GenerationParams):
            budget = Budget(params.max_total_tokens, params.max_usd)
        return self.meters.setdefault(model, Meter(budget))

    def local_engines(self) -> list[Engine]:
        """Return its engines, models and others, that no server runs."""
        engines = [*self.candidates.values(), *self.engines.values()]
        return [engine for engine in engines if not (engine.spec and engine.spec.is_served)]

    def remaining(self) -> list[str]:
        """Return the models that were not dropped, in the order of the candidates."""
        return [name for name in self.candidates if name not in self.dropped]

    def run_ids(self) -> dict[str, str]:
        """Return the run of each remaining model."""
        return {
            name: self.run_id(self.candidates[name].hash, self.boundary_rule(name))
            for name in self.remaining()
        }

    def run_id(self, *identity: str) -> str:
        """Return the hash that names a run: same configuration, engine, occasion and version, same run.

        Args:
            identity: engine hash and boundary rule, or the name of a null model.
        """
        occasion = [self.params.occasion] if self.params.occasion else []
        return digest([self.config, *identity, version("culturemeter"), *occasion])

    def boundary_rule(self, model: str) -> str:
        """Return the rule by which a model scores texts.

        It depends on the candidate's requests alone, so a run has the same name before and after its judges
        answer.
        """
        own = [each for each in self.wanted if each.model == model and each.request.role == "candidate"]
        return ", ".join(sorted({each.request.rule(each.engine) for each in own} - {"none"})) or "none"

    def is_done(self) -> bool:
        """Return whether nothing failed, every request is answered, and every run has its rows."""
        if self.plan.left or self.failures:
            return False
        return all(map(runs.is_finished, self.run_ids().values()))

    def report_failure(self, message: str) -> None:
        """Add a message to the failures and log it."""
        self.failures.append(message)
        steps.logger().error("%s", message)

    def drop(self, model: str, error: Exception, message: str | None = None) -> None:
        """Drop a model, or the study's own requests (SHARED): it gets no rows."""
        self.dropped[model] = error
        if str(error) not in self.failures:  # one error may drop several models
            self.report_failure(message or (f"{model}: {error}" if model else str(error)))

    def drop_corrupt(self, model: str, error: CorruptPart) -> None:
        """Set unreadable answers aside and drop the model, or SHARED, that they belong to."""
        corrupt = steps.set_corrupt_aside(error)
        self.drop(model, corrupt, None if model else str(corrupt))

    def raise_failures(self) -> None:
        """Raise one error with the messages of all failures, if there are any.

        Raises:
            CorruptPart: stored answers cannot be read. EngineError: anything else.
        """
        for error in self.dropped.values():
            if isinstance(error, CorruptPart):
                raise CorruptPart("\n".join(self.failures)) from error
        if self.failures:
            raise EngineError("\n".join(self.failures))

    def has_failed(self, wanted: Wanted) -> bool:
        """Return whether the request's engine has failed on its model before."""
        return (wanted.model, wanted.engine.name) in self.failed_engines

    def record_failure(self, wanted: Wanted, error: Exception) -> None:
        """Drop the request's model, or only its engine for that model if the engine's role is optional.

        Units of one engine run at once: only its first failure on a model is reported.
        """
        with self._lock:
            if wanted.model in self.dropped or self.has_failed(wanted):
                return
            if wanted.request.role not in self.evaluation.optional:
                return self.drop(wanted.model, error)
            self.failed_engines.add((wanted.model, wanted.engine.name))
            model = wanted.model or "the null models"
            self.report_failure(f"{model}, {wanted.request.role} {wanted.engine.name}: {error}")

    def plan_round(self, models: Collection[str] | None = None) -> None:
        """Plan all requests that can be sent now and have no answer.

        Args:
            models: plan these, SHARED among them; the lines of all others stay. None: all.
        """
        wanted = {
            model: [Wanted(model, request, self.completions(model).engine(request)) for request in requests]
            for model, requests in self._requests(models).items()
        }
        for each in chain.from_iterable(wanted.values()):
            self._check_ability(each)
        new = self._ledger.unknown(chain.from_iterable(wanted.values()))
        missing = steps.unstored(new)
        with self._lock:
            self._ledger.learn(new, missing)
            replanned = wanted.keys() | (self.wanted_by_model.keys() if models is None else models)
            self.wanted_by_model |= wanted
            self._ledger.release(line for line in self.plan.lines if line.model in replanned)
            own = [each for each in self.wanted if each.model in replanned]
            lines, unanswered = self._ledger.planned(own, replanned)
            others = [line for line in self.plan.lines if line.model not in replanned]
            later = () if self.answered else self.evaluation.later(self.study)
            self.plan = ordered([*others, *lines], later)
            if sum(len(units) for own in self._decoded.values() for units in own.values()) > MAX_DECODED:
                for model in replanned - unanswered:
                    self.drop_decoded(model)

    def replan_deleted(self) -> None:
        """Plan again if answers were deleted since the plan. ``prune`` spares those of started runs."""
        if deleted := steps.unstored(self._ledger.known(self.wanted)):
            self._ledger.mark_deleted(deleted)
            self._decoded.clear()
            self.plan_round()

    def drop_decoded(self, model: str) -> None:
        """Drop a model's decoded answers from memory; they can be read again."""
        self._decoded.pop(model, None)

    def claim(self, lines: Collection[PlanLine]) -> bool:
        """Take lines out of the plan for a slot; False if some are no longer planned, as after a new plan."""
        with self._lock:
            claimed = {id(line) for line in lines}
            left = tuple(line for line in self.plan.lines if id(line) not in claimed)
            if len(self.plan.lines) - len(left) != len(claimed):
                return False
            self.plan = replace(self.plan, lines=left)
            return True

    def release(self, lines: Collection[PlanLine]) -> set[str]:
        """End the work on claimed lines. Returns the models that may have more to send now."""
        with self._lock:
            self._ledger.release(lines)
            return {line.model for line in lines} | self._ledger.waiting

    def record_answers(
        self,
        work: Work,
        stored: Set[Answer],
        is_whole: bool = True,
        lost: Mapping[Answer, Lost] = MappingProxyType({}),
    ) -> None:
        """Record which answers of a piece of work are stored, and which are lost.

        The engine gives up on the model if more is lost than ``GenerationParams.max_lost`` allows, or if
        nothing is left of a larger piece of work (``MANY``): then nothing works.

        Raises:
            EngineError: the work is whole by ``is_whole``, but some answers are missing.
        """
        wanted = work.wanted
        with self._lock:
            self.answered |= stored
            self._ledger.record(stored)
            self._ledger.lose(lost)
            if stored:
                self.updated |= {wanted.model} if wanted.model else {SHARED, *self.candidates}
        for piece in work.pieces:
            if is_whole and not stored | lost.keys() >= set(piece.answers):
                request = piece.wanted.request
                raise EngineError(f"{wanted.engine.name}: it left part of {request.label!r} unanswered")
        if lost and (error := self._too_much_lost(wanted, is_all=not stored and len(lost) >= MANY)):
            self.record_failure(wanted, error)

    def _too_much_lost(self, wanted: Wanted, is_all: bool) -> EngineError | None:
        """Return the error if an engine has lost too much on a model; None if its losses are bearable."""
        own = [
            each
            for each in self.wanted_by_model.get(wanted.model, [])
            if each.engine.name == wanted.engine.name and each.request.role == wanted.request.role
        ]
        n, n_stored, reasons = self._ledger.count(own)
        limit, n_lost = getattr(self.params, "max_lost", MAX_LOST), reasons.total()
        nothing_works = is_all or (not n_stored and n_lost == n)
        if limit == 1 or not (n_lost > (max(1, limit * n) if limit else 0) or nothing_works):
            return None
        (reason, n_same), *_ = reasons.most_common(1)
        same = f", {n_same:,} of them so" if n_same < n_lost else ""
        return EngineError(
            f"{reason} ({n_lost:,} of {n:,} answers lost{same}; max_lost allows {limit:.0%}; a later run "
            "sends only what is missing)"
        )

    def record_losses(self, model: str) -> list[Loss]:
        """Return what is lost of a model's answers, and keep it (``lost_of``)."""
        requests = [each.request for each in self.wanted_by_model.get(model, [])]
        own = losses(requests, self.completions(model), self._ledger.lost)
        self.lost_of[model] = own
        return own

    def is_lost(self, answer: Answer) -> bool:
        """Return whether this run has lost an answer."""
        return answer in self._ledger.lost

    def _requests(self, models: Collection[str] | None = None) -> dict[str, list[Request[Any]]]:
        """Return all requests that can be sent now, by model or SHARED; unreadable answers drop a model."""
        evaluation, requests = self.evaluation, dict[str, list[Request[Any]]]()
        if evaluation.shared and SHARED not in self.dropped and (models is None or SHARED in models):
            self._decoded.setdefault(SHARED, {})
            try:
                requests[SHARED] = list(evaluation.shared.ask(self.study, self.completions(SHARED)))
            except CorruptPart as error:
                self.drop_corrupt(SHARED, error)
        for name in self.remaining():
            if models is not None and name not in models:
                continue
            self._decoded.setdefault(name, {})
            try:
                requests[name] = list(evaluation.ask(self.study, self.completions(name)))
            except CorruptPart as error:
                self.drop_corrupt(name, error)
        return requests

    def _check_ability(self, wanted: Wanted) -> None:
        """Record a failure, before anything is loaded, if the engine lacks the request's ability."""
        if wanted.engine.spec is None or wanted.request.ability == "embed":
            return
        try:
            load.check_ability(wanted.engine.spec, wanted.request.ability)
        except EngineError as error:
            self.record_failure(wanted, error)


@contextmanager
def handed_over(session: RunSession) -> Iterator[None]:
    """Let the flow of the same params, started within the block, use this session and not plan again."""
    token = _prepared.set(session)
    try:
        yield
    finally:
        _prepared.reset(token)


def prepared(evaluation: Evaluation[Any, Any, Any], params: Params) -> RunSession | None:
    """Return the session that was handed over for these params, else None."""
    session = _prepared.get()
    if session and session.evaluation is evaluation and session.params == params:
        return session
    return None


def prepare(evaluation: Evaluation[Any, Any, Any], params: Params) -> RunSession:
    """Build the study and plan the first round; nothing is sent.

    Raises:
        EngineError: a model or embedder is unknown, or no model has the abilities that the study needs.
        CorruptPart: no model's stored answers can be read; they are set aside.
        ValueError: see the evaluation's ``study``.
    """
    params = params.model_copy(update={"occasion": occasion(params.occasion)})
    params = evaluation.settled(params, steps.is_served)
    study, engines, packs = build(evaluation, params)
    steps.take_over_orphans()
    folder, roles = Warehouse.open().home / "models", evaluation.engines(params)
    candidates = _candidates(params, study, writes=_writes(evaluation, study, engines))
    placement = device_memory.placement([*candidates.values(), *engines.values()], folder)
    if placement is None or len(placement.node.devices) == 1:
        candidates, engines = device_memory.divided(candidates, engines, roles, folder)
        placement = device_memory.placement([*candidates.values(), *engines.values()], folder)
    session = RunSession(evaluation, study, candidates, engines, packs, placement)
    session.plan_round()
    if session.plan.left and placement is None:
        sizes = [line.n_units for line in session.plan.lines if line.role == "candidate"]
        mean = sum(sizes) // max(1, len(sizes))
        loads = device_memory.loads(candidates, engines, roles, session.plan.later, mean, folder)
        session.plan = replace(session.plan, loads=loads)
    if len(session.dropped) == len(session.candidates):
        session.raise_failures()
    return session


def build(
    evaluation: Evaluation[Any, Any, Any], params: Params
) -> tuple[Study, dict[str, Engine], tuple[PackContent, ...]]:
    """Return the study, its other engines by name, and its packs. Raises as ``prepare`` does."""
    if params.until and evaluation.whole:
        raise ValueError(f"--until: {evaluation.name} is sent whole: {evaluation.whole}")
    engines = {
        name: replace(steps.engine_of(name, role), occasion=params.occasion)
        for name, role in evaluation.engines(params).items()
    }
    params, tables, packs = with_packs(evaluation, params, tables_of(evaluation, params))
    return evaluation.study(params, tables, engines), engines, packs


def _candidates(params: Params, study: Study, *, writes: bool) -> dict[str, Engine]:
    """Return the engine of each model. writes: whether models must write texts.

    A name that another engine has, in this run or under the same configuration, gets a suffix of its hash.
    """
    taken = runs.namesakes(comparable(study))
    candidates: dict[str, Engine] = {}
    for model in dict.fromkeys(params.models):
        engine = steps.engine_of(model, "candidate", params.dtype, writes=writes)
        name = engine.name
        if name in candidates or taken.get(name, {engine.hash}) != {engine.hash}:
            name = f"{name}#{engine.hash[:4]}"
        candidates[name] = replace(engine, name=name, occasion=params.occasion)
    return candidates


def _writes(evaluation: Evaluation[Any, Any, Any], study: Study, engines: Mapping[str, Engine]) -> bool:
    """Return whether the study's first requests ask candidates for texts."""

    def nothing(kind: str, request: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        return pl.DataFrame(schema={column: KINDS[kind].columns[column] for column in columns})

    anybody = Engine("anybody", "", "", "anybody")  # studies keep what they read by name or hash
    requests = evaluation.ask(study, Completions(anybody, engines, nothing))
    return any(each.role == "candidate" and each.ability == "generate" for each in requests)


def occasion(template: str) -> str:
    """Return the occasion with {date}, {week} and {time} filled in.

    They are those of the scheduled start, so a late start or a retry does not change them.

    Raises:
        ValueError: the template holds other braces, or is not a valid name (``checked_name``).
    """
    context = FlowRunContext.get()
    scheduled = context.flow_run.expected_start_time if context and context.flow_run else None
    start = scheduled or datetime.now(UTC)
    year, week, _ = start.isocalendar()
    values = {
        "date": f"{start:%Y-%m-%d}", "week": f"{year}-w{week:02}", "time": f"{start:%Y-%m-%dT%H:%M:%SZ}",
    }  # fmt: skip
    # str.format would also read attributes and pad to any width.
    name = re.sub(r"\{(date|week|time)\}", lambda match: values[match[1]], checked_name(template, "occasion"))
    if "{" in name or "}" in name:
        raise ValueError(f"occasion {template!r}: only {{date}}, {{week}} and {{time}} may stand in braces")
    return name
