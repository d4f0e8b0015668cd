"""The one loop: from an evaluation's params to its leaderboard, in rounds; and its flow.

    build → register parts of a killed run → while requests have no stored answer: plan, check budgets,
    generate and store part by part → read → rows of the cohort in one transaction → leaderboard

A round sends every request that the completions so far make possible. A request's hash covers everything
that determines its answer, so a killed run resumes by itself. A model or judge that fails costs only its own
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx
from prefect import Flow
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException, TerminationSignal
from prefect.runtime import flow_run

from flows import records, runs
from flows.cohort import cohort_of
from flows.losses import losses
from flows.rounds import Rounds
from flows.runs import FinishedRun
from flows.session import SHARED, RunSession, prepare, prepared
from tasks.engines import load
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Completions, Evaluation, Params
from tasks.loop import progress, steps
from tasks.loop.plan import Wanted
from tasks.loop.requests import Engine
from tasks.report.sentences import cohort_sentence
from warehouse import CorruptPart, StoreAway


@cache
def flow_of(evaluation: Evaluation[Any, Any, Any]) -> Flow[..., str]:
    """Return the flow that runs ``evaluate`` on an evaluation; Prefect's form shows the params' fields."""

    def run(params: Params) -> str:
        with crashed_if_away():
            return evaluate(evaluation, params)

    run.__name__ = run.__qualname__ = evaluation.name
    run.__doc__ = evaluation.params.__doc__
    run.__annotations__ = {"params": evaluation.params, "return": str}
    return Flow(run, name=evaluation.name, flow_run_name=f"{evaluation.name} {{params.profile}}")


def evaluate(evaluation: Evaluation[Any, Any, Any], params: Params) -> str:
    """Run an evaluation to its leaderboard and return the config_hash of its rows.

    Only requests without a stored answer are sent, so an interrupted run continues where it stopped.

    Raises:
        EngineError: one or more models, judges or budgets failed; everything else is stored.
        CorruptPart: stored answers cannot be read; they are set aside, and the next run sends them again.
    """
    steps.record_process()
    session = prepared(evaluation, params) or steps.step("build", lambda: prepare(evaluation, params))
    with steps.working(session.run_ids().values()):
        try:
            answer_all(session)
            if session.updated or not all(
                runs.is_finished(session.ids[name]) for name in session.remaining()
            ):
                steps.step("score metrics", lambda: _score(session))
            steps.show_leaderboard(evaluation.name, session.config)
            session.raise_failures()
        except Exception:  # after Ctrl-C or a kill, a run is interrupted, not failed
            records.end(session, "failed")
            raise
        except TerminationSignal:
            if is_cancelled():
                records.end(session, "cancelled")
            raise
    return session.config


def answer_all(session: RunSession) -> None:
    """Record the runs, then send all requests round by round (``flows.rounds``)."""
    if refused := session.evaluation.refused(session.study):
        raise EngineError(refused)
    check_keys(session)
    records.start(session)
    session.replan_deleted()
    if session.plan.left:
        Rounds(session).work_off()


def _score(session: RunSession) -> None:
    """Make the rows that ``cohort_of`` selects and store them in one transaction."""
    evaluation, study = session.evaluation, session.study
    if SHARED in session.dropped:
        return
    with steps.locked_cohort(session.config):
        shared = _read_shared(session)
        answers = {} if SHARED in session.dropped else read_models(session, shared)
        own = {name: session.ids[name] for name in answers}
        selection = cohort_of(
            own,
            frozen=runs.frozen(session.config, study.params.cohort),
            others=[run for run in runs.newest(session.config) if run.model not in session.candidates],
            new={name for name, run in own.items() if name in session.updated or not runs.is_finished(run)},
            compares=evaluation.compares,
        )
        if missing := [run.model for run in selection.earlier if run.model in session.dropped]:
            session.failures.append(f"nothing is scored: the cohort needs {', '.join(missing)}")
        if missing or not answers:
            return
        earlier = {run.model: _read_earlier(session, run, shared) for run in selection.earlier}
        cohort = selection.cohort(answers, earlier, session.candidates)
        if evaluation.compares and not selection.is_frozen and len(selection.rows) == 1:
            alone = cohort_sentence(study.params.cohort, list(selection.rows), is_frozen=False)
            steps.logger().warning("%s", alone)
        records.save(session, evaluation.rows(study, cohort, shared), selection)


def _read_shared(session: RunSession) -> Any:
    """Return the answers to the study's own requests; if they are unreadable, drop these requests."""
    evaluation = session.evaluation
    try:
        if evaluation.shared:
            return evaluation.shared.read(session.study, session.completions(SHARED))
    except CorruptPart as error:
        session.drop_corrupt(SHARED, error)
    return None


def read_models(session: RunSession, shared: Any) -> dict[str, Any]:
    """Return the answers of each model of this run; unreadable answers drop a model."""
    answers: dict[str, Any] = {}
    models = session.remaining()
    for name in models:
        try:
            answers[name] = session.evaluation.read(session.study, session.completions(name), shared)
            session.record_losses(name)
        except CorruptPart as error:
            session.drop_corrupt(name, error)
        session.drop_decoded(name)
        progress.report("metrics", 1, len(models))
    return answers


def _read_earlier(session: RunSession, run: FinishedRun, shared: Any) -> Any:
    """Return the answers of a model in an earlier run.

    Raises:
        CorruptPart: some cannot be read; they are set aside, and the next run sends them again.
        EngineError: more are missing than that run had lost, so comparisons with the model would come out
            differently.
    """
    evaluation, study = session.evaluation, session.study
    completions = Completions(run.candidate, session.engines, steps.stored)
    try:
        wanted = [
            Wanted(run.model, request, completions.engine(request))
            for request in evaluation.ask(study, completions)
            if request.role not in evaluation.optional
        ]
        n_missing = sum(frame.height for frame in steps.unanswered(wanted).values())
        if n_missing > runs.n_lost(run.run_id):
            raise EngineError(
                f"nothing is scored: the cohort needs answers of {run.model} that are missing: run that "
                "model again, then repeat this run"
            )
        if session.ids.get(run.model, run.run_id) == run.run_id:  # or this run's model has the same name
            session.lost_of[run.model] = losses([each.request for each in wanted], completions, {})
        return evaluation.read(study, completions, shared)
    except CorruptPart as error:
        raise steps.set_corrupt_aside(error) from error


def check_keys(session: RunSession) -> None:
    """Drop models and judges whose server refuses the key.

    Raises:
        EngineError: no model is left.
    """
    if not session.plan.left:
        return
    needed = {line.engine.hash for line in session.plan.lines if line.work}
    for name in session.remaining():
        if session.candidates[name].hash in needed and (error := _key_error(session.candidates[name])):
            session.drop(name, error)
    for engine, role in session.evaluation.engines(session.params).items():
        if not session.remaining() or (error := _key_error(session.engines[engine])) is None:
            continue
        if role not in session.evaluation.optional:
            for name in session.remaining():
                session.drop(name, error)
            continue
        engine_name = session.engines[engine].name
        session.failed_engines |= {(name, engine_name) for name in (*session.remaining(), SHARED)}
        session.report_failure(f"{role} {error}")
    if not session.remaining():
        session.raise_failures()


def _key_error(engine: Engine) -> EngineError | None:
    """Return the error if an engine's server refuses its key, else None."""
    try:
        if engine.spec is not None:
            load.check_key(engine.spec)
    except EngineError as error:
        return error
    return None


class StoreUnreachable(BaseException):
    """The store did not respond within the time limit; the answers so far are kept on this machine."""


@contextmanager
def crashed_if_away() -> Iterator[None]:
    """Raise ``StoreUnreachable`` in place of ``StoreAway`` if a deployment started the current flow run."""
    try:
        yield
    except StoreAway as error:
        context = FlowRunContext.get()
        if context and context.flow_run and context.flow_run.deployment_id:
            raise StoreUnreachable(str(error)) from error
        raise


def is_cancelled() -> bool:
    """Return whether a user has cancelled the current flow run, or the one that it is part of.

    False outside of a flow run, and if Prefect's server does not say.
    """
    if FlowRunContext.get() is None:
        return False
    try:
        with get_client(sync_client=True) as client:
            own = [client.read_flow_run(each) for each in {flow_run.id, flow_run.root_flow_run_id} if each]
    except (httpx.HTTPError, PrefectException):
        return False
    states = [run.state for run in own if run.state is not None]
    return any(state.is_cancelling() or state.is_cancelled() for state in states)
