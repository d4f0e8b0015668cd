"""Steps at the warehouse's border: build, register, answer one part, save. Prefect tasks.

What crosses the border: rows of tables and of parts in, Parquet parts and metric rows out. No connection is
held while a model works. Outside of a flow run every step is a plain call, so that the same loop runs without
a Prefect server.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import cache
from socket import gethostname
from typing import Any, TypeVar

import polars as pl
from prefect import get_run_logger, task
from prefect.artifacts import create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, TaskRunFilter
from prefect.context import FlowRunContext
from prefect.states import Crashed
from threadpoolctl import threadpool_limits

from tasks.engines import load, replicas
from tasks.engines.copies import ReplicaLost
from tasks.engines.embedders import embedder_name
from tasks.engines.protocols import EngineError, Generation, Unfinished
from tasks.engines.specs import Dtype, EngineSpec, load_spec
from tasks.loop import progress
from tasks.loop.budget import Meter
from tasks.loop.plan import UNITS, Answer, Wanted, Work, name_of, units_wanted
from tasks.loop.requests import Ability, Engine, Role
from warehouse import (
    KINDS,
    CorruptPart,
    Warehouse,
    at_work,
    claimed,
    compact_parts,
    missing_units,
    read_answers,
    register_orphans,
    verify_parts,
    write_part,
)

T = TypeVar("T")

Run = tuple[str, str]
"""(run_id, model)"""

RETRIES = 3
"""Most repetitions of a part whose replica has died: the part may cause the death."""

AT_WORK = TaskRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING"]}, "name": None}})

CHANGES = """
SELECT model, label, value, before, value - before AS difference, occasion, before_occasion
FROM (
    SELECT *, lag(value) OVER earlier AS before, lag(occasion) OVER earlier AS before_occasion,
        lead(run_id) OVER earlier IS NULL AS is_newest
    FROM leaderboard_history WHERE evaluation = ? AND config_hash = ? AND NOT is_null
    WINDOW earlier AS (PARTITION BY engine_hash, metric, label ORDER BY finished_at, run_id)
)
WHERE is_newest AND before_occasion IS NOT NULL ORDER BY ALL
"""
"""Each model's headlines on its newest occasion of a configuration, beside those of the occasion before."""


class _Call:
    """A call that Prefect does not look into: it would walk through every argument of a task."""

    def __init__(self, title: str, function: Callable[[], Any]) -> None:
        self.title, self.function = title, function


def step(name: str, function: Callable[[], T], title: str | None = None) -> T:
    """Call a function as a task of the flow run under way, or plainly where there is none.

    Args:
        name: of the task. title: of this run of it.
    """
    if FlowRunContext.get() is None:
        return again_if_lost(function)
    result: T = _task(name)(_Call(title or name, function))
    return result


def again_if_lost(function: Callable[[], T]) -> T:
    """Call a function, and again where a replica that worked for it has died."""
    for left in range(RETRIES, 0, -1):
        try:
            return function()
        except ReplicaLost as error:
            logger().warning("%s; what it worked on is asked again, up to %d times", error, left)
    return function()


@cache
def _task(name: str) -> Any:
    @task(
        cache_policy=NO_CACHE,
        persist_result=False,
        name=name,
        task_run_name="{call.title}",
        retries=RETRIES,
        retry_condition_fn=lambda task, run, state: isinstance(state.data, ReplicaLost),
    )
    def run(call: _Call) -> Any:
        return call.function()

    return run


def with_each(function: Callable[[T], None], work: Sequence[T], engine: Engine) -> None:
    """Call a function with each piece of work for an engine: as many at once as that has replicas."""
    if (width := replicas.width(engine.spec)) == 1:
        for one in work:
            function(one)
        return
    pool = ThreadPoolExecutor(width)
    try:
        for call in [pool.submit(copy_context().run, function, one) for one in work]:
            call.result()
    finally:
        pool.shutdown(cancel_futures=True)


def record_process() -> None:
    """Record which process works on the flow run under way: once that is gone, the run has crashed.

    In a run that goes on, what an earlier process left at work has crashed with it: a flow that runs again
    makes only that anew which has ended.
    """
    context = FlowRunContext.get()
    if not context or not context.flow_run:
        return
    run = context.flow_run
    with get_client(sync_client=True) as client:
        client.update_flow_run(run.id, infrastructure_pid=f"{gethostname()}:{os.getpid()}")
        if run.run_count > 1:
            of_run = FlowRunFilter.model_validate({"id": {"any_": [run.id]}})
            for task_run in client.read_task_runs(flow_run_filter=of_run, task_run_filter=AT_WORK):
                gone: Any = Crashed(message="its flow run's process is gone")
                client.set_task_run_state(task_run.id, gone, force=True)


def logger() -> Any:
    """Return the logger of the flow run under way, or Python's own."""
    return logging.getLogger("culturescope") if FlowRunContext.get() is None else get_run_logger()


def spec_of(name: str, dtype: Dtype | None = None) -> EngineSpec:
    """The engine spec of a model by name, the user's own specs first; dtype: in place of the spec's."""
    return load_spec(name, Warehouse.open().home / "engines", dtype)


def engine_of(name: str, role: Role, dtype: Dtype | None = None) -> Engine:
    """The engine of that name in a role; raises EngineError if there is none, before anything is paid for."""
    if role == "embedder":
        return Engine(name, "embedder", name, embedder_name(name))
    return Engine.of(spec_of(name, dtype))


def has_room(engine: Engine) -> bool:
    """Whether an engine is loaded, or can be without another's leaving."""
    models = Warehouse.current().store.home / "models"
    try:
        if engine.spec is None:
            return load.has_room_for_embedder(engine.name, models)
        return replicas.has_room(engine.spec, models)
    except EngineError:
        return True  # whoever loads it says what is wrong


def take_over_orphans() -> None:
    """Register what a killed run stored but did not come to register; make many small parts few."""
    warehouse, corrupt = Warehouse.open(), list[str]()
    for kind in KINDS:
        orphans = register_orphans(warehouse, kind)
        if orphans.registered:
            logger().info("took over %d parts of an interrupted run", len(orphans.registered))
        corrupt += orphans.quarantined
    for part in [*corrupt, *compact_parts(warehouse)]:
        logger().warning("part %s cannot be read: moved to quarantine/, and answered again", part)


def unanswered(wanted: Sequence[Wanted]) -> dict[str, pl.DataFrame]:
    """Part kind -> request_hash and unit of what has no stored answer."""
    with Warehouse.open().read() as connection:
        frames = units_wanted(wanted)
        return {kind: missing_units(connection, kind, frame) for kind, frame in frames.items()}


def stored(kind: str, request_hash: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """The stored rows of some units; raises CorruptPart if they cannot be read."""
    return read_answers(Warehouse.current(), kind, request_hash, units, columns)


def unstored(answers: Mapping[str, Collection[Answer]]) -> set[Answer]:
    """Those of some answers, by part kind, that are not stored."""
    frames = {kind: pl.DataFrame(list(own), UNITS, orient="row") for kind, own in answers.items() if own}
    if not frames:
        return set()
    with Warehouse.current().read() as connection:
        missing = [missing_units(connection, kind, frame) for kind, frame in frames.items()]
    return {answer for frame in missing for answer in frame.select(*UNITS).rows()}


@dataclass(frozen=True)
class Answered:
    """A part that an engine made of a piece of work, to be stored.

    Attributes:
        name, kind, frame: of the part.
        failure: why it is not all of the work; None: it is.
    """

    name: str
    kind: str
    frame: pl.DataFrame
    failure: EngineError | None = None


def compute_answers(work: Work, run: Run, meter: Meter, label: str, total: int) -> None:
    """Have a piece of work answered and stored, without what another machine has answered (``complete``)."""
    for share in shares(work):
        answered = complete(share, run, meter, label, total)
        store(answered)
        if answered.failure:
            raise answered.failure


def shares(work: Work) -> Iterator[Work]:
    """Yield what of a piece of work no other machine has, until somebody has answered all of it.

    A share is stored before the next one is asked for, where machines share the store.
    """
    for share in claimed(Warehouse.current(), work.wanted.request.kind, work.answers):
        yield work.of_answers(set(share))


def is_shared() -> bool:
    """Whether other machines may have part of some work (``shares``)."""
    return Warehouse.current().store.leases is not None


def complete(work: Work, run: Run, meter: Meter, label: str, total: int) -> Answered:
    """Have a piece of work answered; what is answered before an engine fails is there, beside the failure.

    Args:
        run: who asks; a stored answer names whose it was.
        meter: stops before a budget is used up.
        label, total: of the progress.

    Raises:
        BudgetReached: the units may use more than is left.
        EngineError: the engine cannot be loaded, or failed and answered nothing.
    """
    wanted, request = work.wanted, work.wanted.request
    spec, failure = wanted.engine.spec, None
    pieces = [(piece.wanted.request, piece.units) for piece in work.pieces]
    at_most = work.at_most
    with meter.batch(spec, at_most) as count:
        engine = load_engine(wanted.engine, request.ability, wanted.request_hash)
        try:
            done = request.compute_together(pieces, engine, lambda n: progress.report(label, n, total))
        except Unfinished as error:
            done, failure = error.done, EngineError(str(error))
        most_of = dict(zip(work.answers, at_most, strict=False))  # none of scores and vectors
        most, used = list[Generation](), list[Generation]()
        for piece, (units, frame) in zip(work.pieces, done, strict=True):
            own = piece.wanted
            most += [most_of[own.request_hash, unit] for unit in units if most_of]
            used += own.request.used(frame)
        count(most, used)
    name = wanted.engine.name if spec else wanted.engine.hash  # an embedder's name is where it lies
    hashes = [piece.wanted.request_hash for piece in work.pieces]
    frames = [
        frame.with_columns(request_hash=pl.lit(one), run_id=pl.lit(run[0]), model=pl.lit(name))
        for one, (_, frame) in zip(hashes, done, strict=True)
    ]
    part = name_of((one, unit) for one, (units, _) in zip(hashes, done, strict=True) for unit in units)
    return Answered(part, request.kind, pl.concat(frames), failure)


def store(answered: Answered) -> set[Answer]:
    """Store what an engine gave: write the part, then register it; returns what it answers.

    Killed in between, the next run takes it over.
    """
    return store_part(answered.kind, answered.name, answered.frame)


def store_part(kind: str, part: str, frame: pl.DataFrame) -> set[Answer]:
    """Write a part, then register it; returns what it answers."""
    warehouse = Warehouse.current()
    units = write_part(warehouse.store, kind, part, frame)
    warehouse.register(units)
    return set(units.select(*UNITS).rows())


def load_engine(engine: Engine, ability: Ability, request_hash: str = "") -> Any:
    """The loaded engine, or a proxy of its replicas; the last ones used are kept (``engines.load``).

    Args:
        request_hash: what it is going to be asked, for engines that write down what they have sent.
    """
    store = Warehouse.current().store
    models = store.home / "models"
    if engine.spec is None or ability == "embed":
        return load.embedder(engine.name, models)
    jobs = store.jobs(request_hash) if request_hash else None
    return replicas.load_engine(engine.spec, models, ability, jobs)


def set_corrupt_aside(error: CorruptPart) -> CorruptPart:
    """Unregister every unreadable part, so that the next run has it answered again; says what to do."""
    lost = verify_parts(Warehouse.open())
    parts = ", ".join(f"{kind}/{part}" for kind, part, *_ in lost.rows())
    return CorruptPart(
        f"{error}\nSet aside: {parts or 'nothing more'}. Run the same command again: only these are answered "
        "anew."
    )


@contextmanager
def locked_cohort(config_hash: str) -> Iterator[None]:
    """Hold a lock, because numbers that compare models must not be made by two flows that leave each other
    out, and keep numpy to one thread."""
    with Warehouse.open().locked(f"metrics-{config_hash}"), threadpool_limits(1):
        yield


def working(runs: Collection[str]) -> AbstractContextManager[None]:
    """Have nobody delete what these runs have, within the block."""
    return at_work.working(Warehouse.open().store, runs)


def show_leaderboard(evaluation: str, config_hash: str) -> None:
    """Attach the leaderboard to the flow run, and what has changed since the occasion before, for the Prefect
    UI; nothing outside of a flow run."""
    if FlowRunContext.get() is None:
        return
    warehouse, board = Warehouse.open(), f"leaderboard_{evaluation}"
    table = warehouse.query(f"SELECT * FROM {board} WHERE config_hash = ? ORDER BY place", [config_hash])
    changes = warehouse.query(CHANGES, [evaluation, config_hash])
    links = ""
    if reports := os.environ.get("CULTURESCOPE_REPORTS"):  # a server of ours shows them
        page, ui = f"{reports}/{evaluation}/{config_hash}", reports.removesuffix("/reports")
        since = f"{ui}/artifacts/key/difference-{evaluation}"
        links = f"[Leaderboard]({page}#leaderboard) · "
        links += f"[Difference to the occasion before]({since}) · " if changes.height else ""
        links += f"[Report]({page}) (the login is that of this page) · "
    of = f"{evaluation} --config {config_hash}"
    text = f"configuration {config_hash}. {links}`culturescope report {of}`, `culturescope browse {of}`"
    _show_table(f"leaderboard-{evaluation}", table, f"{board}, {text}")
    if changes.height:
        how = "Each number has its interval on the leaderboard, the difference has none here"
        _show_table(f"difference-{evaluation}", changes, f"This occasion and the one before. {how}; {text}")


def _show_table(key: str, table: pl.DataFrame, description: str) -> None:
    """Attach rows to the flow run, without what is the same in all."""
    rows = table.drop("config_hash", "run_id", "profile", "finished_at", strict=False).to_dicts()
    short = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    create_table_artifact(key=key, table=short, description=description)
