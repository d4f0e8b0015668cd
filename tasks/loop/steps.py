"""Steps between the loop and the warehouse: build, register, generate one part, save. Prefect tasks.

Steps read rows of tables and parts, and write Parquet parts and metric rows. No connection is open while a
model works. Outside of a flow run every step is a plain call, so the loop also runs without a Prefect server.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
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
from tasks.engines.protocols import Ability, EngineError, Generation, Lost, Unfinished
from tasks.engines.specs import Dtype, EngineSpec, load_spec, writer
from tasks.loop import progress
from tasks.loop.budget import Meter
from tasks.loop.placement import Copy, Node
from tasks.loop.plan import UNITS, Answer, Wanted, Work, name_of, units_wanted
from tasks.loop.requests import Engine, Role
from warehouse import (
    KINDS,
    CorruptPart,
    Warehouse,
    claimed,
    claims,
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
"""Most retries of a part whose replica died, because the part itself may cause that."""

MOST_COPIES = 64
"""Most calls of an engine at once."""

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
"""Each model's headlines on its newest occasion and on the one before, under one configuration."""


class _Call:
    """A call that hides its arguments, because Prefect would walk through every argument of a task."""

    def __init__(self, title: str, function: Callable[[], Any]) -> None:
        self.title, self.function = title, function


def step(name: str, function: Callable[[], T], title: str | None = None) -> T:
    """Call a function as a task of the current flow run, or plainly outside of one.

    Args:
        name: name of the task. title: name of this task run.
    """
    if FlowRunContext.get() is None:
        return retried_if_lost(function)
    result: T = _task(name)(_Call(title or name, function))
    return result


def retried_if_lost(function: Callable[[], T]) -> T:
    """Call a function, and retry it if a replica that it used has died."""
    for left in range(RETRIES, 0, -1):
        try:
            return function()
        except ReplicaLost as error:
            logger().warning("%s; its part is retried, up to %d times", error, left)
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
    """Call a function with each piece of an engine's work, one call at a time per copy.

    Copies that are placed meanwhile (``place``) take part.
    """
    placed = replicas.placed(engine.spec)
    if (width := len(work) if placed else replicas.width(engine.spec)) <= 1:
        for piece in work:
            function(piece)
        return
    turns = placed.turns if placed else nullcontext()

    def in_turn(piece: T) -> None:
        with turns:
            function(piece)

    pool = ThreadPoolExecutor(min(width, MOST_COPIES))
    try:
        for call in [pool.submit(copy_context().run, in_turn, piece) for piece in work]:
            call.result()
    finally:
        pool.shutdown(cancel_futures=True)


def machine() -> str:
    """Return what identifies this host since it was last started: its name, and the boot of its system."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        import psutil

        boot = f"{psutil.boot_time():.0f}"
    return f"{gethostname()}/{boot}"


def process_of(number: int) -> str:
    """Return what identifies a process of this host; "" if there is none of that number.

    Its start counts too, in the time since the host started: a container that is made anew has the same name,
    and gives the same numbers to other processes.
    """
    try:
        begun = Path(f"/proc/{number}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return ""
        import psutil

        try:
            begun = f"{psutil.Process(number).create_time():.0f}"
        except psutil.NoSuchProcess:
            return ""
    return f"{machine()}/{begun}:{number}"


def record_process() -> None:
    """Record this process in the current flow run, so that the run counts as crashed once it is gone.

    In a retried flow run, task runs of the earlier process are set to crashed: Prefect repeats only task runs
    that have ended.
    """
    context = FlowRunContext.get()
    if not context or not context.flow_run:
        return
    run = context.flow_run
    with get_client(sync_client=True) as client:
        client.update_flow_run(run.id, infrastructure_pid=process_of(os.getpid()))
        if run.run_count > 1:
            this_run = FlowRunFilter.model_validate({"id": {"any_": [run.id]}})
            for task_run in client.read_task_runs(flow_run_filter=this_run, task_run_filter=AT_WORK):
                crashed: Any = Crashed(message="its flow run's process is gone")
                client.set_task_run_state(task_run.id, crashed, force=True)


def logger() -> Any:
    """Return the logger of the current flow run, or Python's own outside of one."""
    return logging.getLogger("culturemeter") if FlowRunContext.get() is None else get_run_logger()


_DTYPES: ContextVar[Mapping[str, Dtype]] = ContextVar("dtypes")


@contextmanager
def in_dtypes(dtypes: Mapping[str, Dtype]) -> Iterator[None]:
    """Use models in the precisions of a plan that another machine made, where "auto" may be another one."""
    token = _DTYPES.set(dtypes)
    try:
        yield
    finally:
        _DTYPES.reset(token)


def spec_of(name: str, dtype: Dtype | None = None) -> EngineSpec:
    """Return a model's engine spec; the user's specs come first. dtype: in place of the spec's own."""
    return load_spec(name, Warehouse.open().home / "engines", dtype or _DTYPES.get({}).get(name))


def engine_of(name: str, role: Role, dtype: Dtype | None = None, *, writes: bool = False) -> Engine:
    """Return the engine of a name in a role. Raises EngineError, before anything is paid for, if unknown.

    writes: whether it must write texts, as judges and simulators always do (``specs.writer``).
    """
    if role == "embedder":
        return Engine(name, "embedder", name, embedder_name(name))
    spec = spec_of(name, dtype)
    return Engine.of(writer(spec) if writes or role in ("judge", "simulator") else spec)


def is_served(model: str) -> bool:
    """Return whether a server has a model. Raises EngineError if the model is unknown."""
    return spec_of(model).is_served


def fits(engine: Engine) -> bool:
    """Return whether an engine is loaded, or can be loaded without unloading another."""
    models = Warehouse.current().store.home / "models"
    try:
        if engine.spec is None:
            return load.embedder_fits(engine.name, models)
        return replicas.fits(engine.spec, models)
    except EngineError:
        return True  # loading it raises the error


def prepare_places(*, is_on: bool) -> None:
    """Forget ended copies. is_on: engines will be placed, so those in this process leave their devices."""
    replicas.forget_displaced()
    if is_on:
        load.unload()


def place(engine: Engine, copy: Copy, node: Node) -> None:
    """Begin a copy of an engine on its devices, in a process of its own; ``load_engine`` then returns it."""
    assert engine.spec is not None
    models = Warehouse.current().store.home / "models"
    replicas.place(engine.spec, models, copy.devices, node.unit, len(node.devices))


def displace(engine: Engine) -> None:
    """End all copies of an engine at once."""
    assert engine.spec is not None
    replicas.displace(engine.spec)


def take_over_orphans() -> None:
    """Register parts that a killed run stored but did not register, and merge small parts."""
    warehouse, corrupt = Warehouse.open(), list[str]()
    for kind in KINDS:
        orphans = register_orphans(warehouse, kind)
        if orphans.registered:
            logger().info("registered %d parts of an interrupted run", len(orphans.registered))
        corrupt += orphans.quarantined
    for part in [*corrupt, *compact_parts(warehouse)]:
        logger().warning("part %s cannot be read: moved to quarantine/; its requests are sent again", part)


def unanswered(wanted: Sequence[Wanted]) -> dict[str, pl.DataFrame]:
    """Return request_hash and unit of all requests without a stored answer, by part kind."""
    with Warehouse.open().read() as connection:
        frames = units_wanted(wanted)
        return {kind: missing_units(connection, kind, frame) for kind, frame in frames.items()}


def stored(kind: str, request_hash: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    """Return the stored rows of some units; raises CorruptPart if they cannot be read."""
    return read_answers(Warehouse.current(), kind, request_hash, units, columns)


def unstored(answers: Mapping[str, Collection[Answer]]) -> set[Answer]:
    """Return the answers that are not stored. answers: by part kind."""
    frames = {kind: pl.DataFrame(list(own), UNITS, orient="row") for kind, own in answers.items() if own}
    if not frames:
        return set()
    with Warehouse.current().read() as connection:
        missing = [missing_units(connection, kind, frame) for kind, frame in frames.items()]
    return {answer for frame in missing for answer in frame.select(*UNITS).rows()}


@dataclass(frozen=True)
class Answered:
    """An engine's answers to a piece of work, as a part to be stored.

    Attributes:
        name, kind, frame: of the part.
        failure: why the engine failed; None if every unit is answered or lost.
        lost: the units that the engine could not answer.
    """

    name: str
    kind: str
    frame: pl.DataFrame
    failure: EngineError | None = None
    lost: Mapping[Answer, Lost] = field(default_factory=dict)


def compute_answers(work: Work, run: Run, meter: Meter, label: str, total: int) -> None:
    """Generate and store the answers of a piece of work (``complete``), except those of other machines."""
    for share in shares(work, meter):
        answered = complete(share, run, meter, label, total)
        store(answered)
        if answered.failure:
            raise answered.failure
        if answered.lost:
            raise EngineError(next(iter(answered.lost.values())).reason)


def shares(work: Work, meter: Meter) -> Iterator[Work]:
    """Yield shares of a piece of work that no other machine has claimed and that the budget admits
    (``Meter.admit``), until all of it is answered.

    A share must be answered before the next one is taken, and stored if machines share the store.
    """
    for share in claimed(Warehouse.current(), work.wanted.request.kind, work.answers):
        rest = work.of_answers(set(share))
        while rest.pieces:
            most, answers = rest.at_most, rest.answers
            n = meter.admit(rest.wanted.engine.spec, most) if most else len(answers)
            try:
                yield rest.of_answers(set(answers[:n]))
            finally:
                meter.release()
            rest = rest.of_answers(set(answers[n:]))


def is_shared() -> bool:
    """Return whether other machines may work on shares of the same work (``shares``)."""
    return Warehouse.current().store.leases is not None


def complete(work: Work, run: Run, meter: Meter, label: str, total: int, engine: Any = None) -> Answered:
    """Return an engine's answers to a piece of work; if it fails, the answers before the failure.

    Args:
        run: stored with the answers, as their origin.
        meter: stops before a budget is exceeded.
        label, total: of the progress bar.
        engine: gives the answers in place of the loaded engine.

    Raises:
        BudgetReached: the units may use more than is left.
        EngineError: the engine cannot be loaded, or failed without any answer.
    """
    wanted, request = work.wanted, work.wanted.request
    spec, failure, lost = wanted.engine.spec, None, dict[Answer, Lost]()
    pieces = [(piece.wanted.request, piece.units) for piece in work.pieces]
    at_most = work.at_most
    with meter.batch(spec, at_most) as count:
        engine = engine or load_engine(wanted.engine, request.ability, wanted.request_hash)
        try:
            answers = request.compute_together(pieces, engine, lambda n: progress.report(label, n, total))
        except Unfinished as error:
            answers = error.done
            lost = _losses(work, error.lost) if error.lost else {}
            if sum(len(units) for units, _ in answers) + len(lost) < len(work.units):
                failure = EngineError(str(error))
        most_of = dict(zip(work.answers, at_most, strict=False))  # empty for scores and vectors
        most, used = list[Generation](), list[Generation]()
        for piece, (units, frame) in zip(work.pieces, answers, strict=True):
            own = piece.wanted
            most += [most_of[own.request_hash, unit] for unit in units if most_of]
            used += own.request.used(frame)
        paid = [most_of[answer] for answer, loss in lost.items() if loss.is_paid and most_of]
        count(most + paid, used + paid)
    name = wanted.engine.name if spec else wanted.engine.hash  # an embedder's name is its path
    hashes = [piece.wanted.request_hash for piece in work.pieces]
    frames = [
        frame.with_columns(request_hash=pl.lit(request_hash), run_id=pl.lit(run[0]), model=pl.lit(name))
        for request_hash, (_, frame) in zip(hashes, answers, strict=True)
    ]
    keys = zip(hashes, answers, strict=True)
    part = name_of((request_hash, unit) for request_hash, (units, _) in keys for unit in units)
    return Answered(part, request.kind, pl.concat(frames), failure, lost)


def _losses(work: Work, lost: Sequence[Mapping[str, Lost]]) -> dict[Answer, Lost]:
    """Return what is lost of a piece of work. lost: unit -> loss, of each of its requests."""
    return {
        (piece.wanted.request_hash, unit): loss
        for piece, own in zip(work.pieces, lost, strict=True)
        for unit, loss in own.items()
    }


def store(answered: Answered) -> set[Answer]:
    """Write a part of answers, register it, and return the keys of its answers; none if all are lost.

    If the run is killed in between, the next run registers the part.
    """
    if answered.frame.is_empty():
        return set()
    return store_part(answered.kind, answered.name, answered.frame)


def store_part(kind: str, part: str, frame: pl.DataFrame) -> set[Answer]:
    """Write a part, register it, and return the keys of its answers."""
    warehouse = Warehouse.current()
    units = write_part(warehouse.store, kind, part, frame)
    warehouse.register(units)
    return set(units.select(*UNITS).rows())


def load_engine(engine: Engine, ability: Ability, request_hash: str = "") -> Any:
    """Return the loaded engine, or a proxy of its replicas; recently used ones stay loaded
    (``engines.load``).

    Args:
        request_hash: of the first request, for engines that keep notes on sent jobs.
    """
    store = Warehouse.current().store
    models = store.home / "models"
    if engine.spec is None or ability == "embed":
        return load.embedder(engine.name, models)
    jobs = store.jobs(request_hash) if request_hash else None
    return replicas.load_engine(engine.spec, models, ability, jobs)


def set_corrupt_aside(error: CorruptPart) -> CorruptPart:
    """Unregister every unreadable part and return an error with advice; the next run replaces the parts."""
    corrupt = verify_parts(Warehouse.open())
    parts = ", ".join(f"{kind}/{part}" for kind, part, *_ in corrupt.rows())
    return CorruptPart(
        f"{error}\nSet aside: {parts or 'nothing more'}. Run the same command again: only their requests are "
        "sent again."
    )


@contextmanager
def locked_cohort(config_hash: str) -> Iterator[None]:
    """Hold the cohort's lock and limit numpy to one thread.

    Without the lock, two flows could each compute comparisons that leave out the other's models.
    """
    with Warehouse.open().locked(f"metrics-{config_hash}"), threadpool_limits(1):
        yield


def working(runs: Collection[str]) -> AbstractContextManager[None]:
    """Protect the answers of these runs from deletion within the block."""
    return claims.working(Warehouse.open().store, runs)


def show_leaderboard(evaluation: str, config_hash: str) -> None:
    """Attach the leaderboard, and its changes since the occasion before, to the flow run for the Prefect UI.

    Outside of a flow run it does nothing.
    """
    if FlowRunContext.get() is None:
        return
    warehouse, board = Warehouse.open(), f"leaderboard_{evaluation}"
    table = warehouse.query(f"SELECT * FROM {board} WHERE config_hash = ? ORDER BY place", [config_hash])
    changes = warehouse.query(CHANGES, [evaluation, config_hash])
    links = ""
    if reports := os.environ.get("CULTUREMETER_REPORTS"):  # a server of ours shows them
        page, ui = f"{reports}/{evaluation}/{config_hash}", reports.removesuffix("/reports")
        since = f"{ui}/artifacts/key/difference-{evaluation}"
        links = f"[Leaderboard]({page}#leaderboard) · "
        links += f"[Difference to the occasion before]({since}) · " if changes.height else ""
        links += f"[Report]({page}) (log in as on this page) · "
    options = f"{evaluation} --config {config_hash}"
    commands = f"`culturemeter report {options}`, `culturemeter browse {options}`"
    text = f"configuration {config_hash}. {links}{commands}"
    _show_table(f"leaderboard-{evaluation}", table, f"{board}, {text}")
    if changes.height:
        note = "The leaderboard has an interval for each number; this table has none for the differences"
        _show_table(f"difference-{evaluation}", changes, f"This occasion and the one before. {note}; {text}")


def _show_table(key: str, table: pl.DataFrame, description: str) -> None:
    """Attach rows to the flow run, rounded and without the columns that describe the run."""
    rows = table.drop("config_hash", "run_id", "profile", "finished_at", strict=False).to_dicts()
    rounded = [{k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    create_table_artifact(key=key, table=rounded, description=description)
