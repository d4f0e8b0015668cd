"""The one loop: from an evaluation's params to its leaderboard, in rounds; and its flow.

    build → register what a killed run left → while something is wanted that is not stored: plan, check
    budgets, answer part by part, each stored once complete → read → rows of the cohort in one transaction
    → leaderboard

A round sends every request that the completions so far make possible. A request is named by all that
determines its answer, so a killed run resumes by itself, and a model or judge that fails costs its own rows
only.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from prefect import Flow

from flows import runs
from flows.away import crashed_if_away
from flows.cohort import cohort_of
from flows.keys import check_keys
from flows.rounds import Rounds
from flows.runs import FinishedRun
from flows.session import SHARED, RunSession, prepare, prepared
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Completions, Evaluation, Params
from tasks.loop import progress, steps
from tasks.loop.plan import Wanted
from warehouse import CorruptPart


@cache
def flow_of(evaluation: Evaluation[Any, Any, Any]) -> Flow[..., str]:
    """The flow of an evaluation, see ``evaluate``; its form is made of the fields of the params."""

    def run(params: Params) -> str:
        with crashed_if_away():
            return evaluate(evaluation, params)

    run.__name__ = run.__qualname__ = evaluation.name
    run.__doc__ = evaluation.params.__doc__
    run.__annotations__ = {"params": evaluation.params, "return": str}
    return Flow(
        run,
        name=evaluation.name,
        flow_run_name=f"{evaluation.name} {{params.profile}}",
        validate_parameters=True,
    )


def evaluate(evaluation: Evaluation[Any, Any, Any], params: Params) -> str:
    """Run an evaluation to its leaderboard; returns the config_hash that its rows stand under.

    Only what the warehouse has no answer for is sent, so an interrupted run goes on where it stopped.

    Raises:
        EngineError: one or more models, judges or budgets failed; everything else is stored.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    steps.record_process()
    session = prepared(evaluation, params) or steps.step("build", lambda: prepare(evaluation, params))
    with steps.working(session.run_ids().values()):
        answer_all(session)
        if session.worked or not all(runs.is_finished(session.ids[name]) for name in session.alive()):
            steps.step("score metrics", lambda: _score(session))
    steps.show_leaderboard(evaluation.name, session.config)
    session.raise_failures()
    return session.config


def answer_all(session: RunSession) -> None:
    """Start the runs, and have everything answered that is asked, round by round (``flows.rounds``)."""
    check_keys(session)
    session.start()
    session.plan_anew_what_is_gone()
    if session.plan.left:
        Rounds(session).work_off()


def _score(session: RunSession) -> None:
    """Make the rows that ``cohort_of`` selects, and store them at once."""
    evaluation, study = session.evaluation, session.study
    if SHARED in session.lost:
        return
    with steps.locked_cohort(session.config):
        shared = _read_shared(session)
        answers = {} if SHARED in session.lost else read_models(session, shared)
        own = {name: session.ids[name] for name in answers}
        selection = cohort_of(
            own,
            frozen=runs.frozen(session.config, study.params.cohort),
            others=[run for run in runs.newest(session.config) if run.model not in session.candidates],
            new={name for name, run in own.items() if name in session.worked or not runs.is_finished(run)},
            compares=evaluation.compares,
        )
        if lacking := [run.model for run in selection.earlier if run.model in session.lost]:
            session.failures.append(f"nothing is scored: the cohort needs {', '.join(lacking)}")
        if lacking or not answers:
            return
        earlier = {run.model: _read_earlier(session, run, shared) for run in selection.earlier}
        cohort = selection.cohort(answers, earlier, session.candidates)
        session.save(evaluation.rows(study, cohort, shared), selection)


def _read_shared(session: RunSession) -> Any:
    """Read the answers to the study's own requests; if they cannot be read, nothing is scored."""
    evaluation = session.evaluation
    try:
        if evaluation.shared:
            return evaluation.shared.read(session.study, session.completions(SHARED))
    except CorruptPart as error:
        session.lose_corrupt(SHARED, error)
    return None


def read_models(session: RunSession, shared: Any) -> dict[str, Any]:
    """Model of this run -> its answers; a model whose answers cannot be read is given up."""
    answers: dict[str, Any] = {}
    alive = session.alive()
    for name in alive:
        try:
            answers[name] = session.evaluation.read(session.study, session.completions(name), shared)
        except CorruptPart as error:
            session.lose_corrupt(name, error)
        session.forget(name)
        progress.report("metrics", 1, len(alive))
    return answers


def _read_earlier(session: RunSession, run: FinishedRun, shared: Any) -> Any:
    """Read the answers of a model in an earlier run.

    Raises:
        CorruptPart: it cannot be read any more; it is set aside, to be answered again.
        EngineError: some of it was set aside before, so that rows made against it would be others.
    """
    evaluation, study = session.evaluation, session.study
    completions = Completions(run.candidate, session.engines, steps.stored)
    try:
        wanted = [
            Wanted(run.model, request, completions.engine(request))
            for request in evaluation.ask(study, completions)
            if request.role not in evaluation.optional
        ]
        if any(frame.height for frame in steps.unanswered(wanted).values()):
            raise EngineError(
                f"nothing is scored: the cohort needs answers of {run.model} that are missing: run that "
                "model again, then this one"
            )
        return evaluation.read(study, completions, shared)
    except CorruptPart as error:
        raise steps.set_corrupt_aside(error) from error
