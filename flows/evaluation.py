"""The one loop: from an evaluation's params to its leaderboard, in rounds.

    build → take over orphans → while something is asked that is not stored: plan, check budgets, answer part
    by part, each stored once complete → read → rows of the cohort in one transaction → leaderboard

A round sends every request that the completions so far make possible. A request is named by all that
determines its answer, so a killed run resumes by itself, and a model or judge that fails costs its own rows
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from flows import runs
from flows.session import SHARED, Session, plan_round, prepare, prepared
from tasks.engines.protocols import EngineError
from tasks.evaluations.contract import Cohort, Completions, Evaluation, Params, comparable
from tasks.loop import progress, steps
from tasks.loop.plan import Wanted, Work
from warehouse import CorruptPart


def evaluate(evaluation: Evaluation[Any, Any, Any], params: Params) -> str:
    """Run an evaluation to its leaderboard; returns the config_hash that its rows stand under.

    Only what the warehouse has no answer for is asked, so an interrupted run goes on where it stopped.

    Raises:
        EngineError: one or more models, judges or budgets failed; everything else is stored.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    steps.sign_in()
    session = prepared(evaluation, params) or steps.step("build", lambda: prepare(evaluation, params))
    ids = answer_all(session)
    if session.worked or not all(runs.is_finished(ids[name]) for name in session.alive()):
        steps.step("score metrics", lambda: _score(session, ids))
    steps.show_leaderboard(evaluation.name, comparable(session.study))
    session.raise_failures()
    return comparable(session.study)


def answer_all(session: Session) -> dict[str, str]:
    """Have everything answered that is asked, round by round; returns model -> its run, now started."""
    ids = session.run_ids()
    runs.start(session, ids)
    while session.plan.left:
        for line in session.plan.lines:
            steps.with_each(partial(_answer, session, ids=ids, total=line.left), line.work, line.engine)
        plan_round(session)
        runs.add_requests(ids, session.wanted)
    return ids


def _answer(session: Session, work: Work, ids: Mapping[str, str], total: int) -> None:
    """Have one part answered, unless its model or judge has failed before."""
    wanted = work.wanted
    if wanted.model in session.lost or session.is_barred(wanted):
        return
    asker = wanted.model or next(iter(ids))
    run, meter = (ids[asker], asker), session.meter(wanted.model)
    label, request = _label(wanted), wanted.request
    title = f"{label}: {request.label or request.topic or request.kind}, part {work.part[:8]}"
    try:
        steps.step(request.ability, lambda: steps.answer(work, run, meter, label, total), title)
    except EngineError as error:
        session.fail(wanted, error)
    else:
        session.answered |= {(wanted.request_hash, unit) for unit in work.units}
        session.worked |= {wanted.model} if wanted.model else {SHARED, *session.candidates}


def _label(wanted: Wanted) -> str:
    """What the progress calls the work of an engine for a model."""
    engine, model = wanted.engine.name, wanted.model
    labels = {
        "judge": f"{engine} judges {model or 'null models'}",
        "embedder": f"embed {model or wanted.request.label}",
        "simulator": f"{engine} talks with {model}",
    }
    return labels.get(wanted.request.role, engine)


def _score(session: Session, ids: Mapping[str, str]) -> None:
    """Make the rows of the models of this run against the frozen cohort, and store them at once.

    Where no cohort is frozen yet, it is made of the models of this run and of those that finished before: the
    rows of all of them are made, and it is frozen unless a model of this run failed.
    """
    evaluation, study = session.evaluation, session.study
    if SHARED in session.lost:
        return
    config = comparable(study)
    with steps.locked_cohort(config):
        shared = _read_shared(session)
        answers = {} if SHARED in session.lost else read_models(session, shared)
        frozen = runs.frozen(config, study.params.cohort)
        needed = frozen if evaluation.compares else []
        if lacking := [past.engine.name for past in needed if past.engine.name in session.lost]:
            session.failures.append(f"nothing is scored: the cohort needs {', '.join(lacking)}")
        if lacking or not answers:
            return
        own = {ids[name]: name for name in answers}
        unfrozen = [past for past in runs.finished(config) if past.engine.name not in session.candidates]
        others = needed if frozen else unfrozen
        past = {p.engine.name: _read_past(session, p, shared) for p in others if p.run_id not in own}
        members = {p.run_id for p in frozen} or set(own)
        against = past | {name: answers[name] for run, name in own.items() if run in members}
        every = {p.engine.name: p.run_id for p in others} | dict(ids)
        models = answers if frozen else past | answers
        if frozen:  # rows that nothing new was answered about stay as they are
            models = {m: a for m, a in models.items() if m in session.worked or not runs.is_finished(ids[m])}
        engines = {p.engine.name: p.engine for p in others} | session.candidates
        cohort = Cohort(dict(sorted(models.items())), dict(sorted(against.items())), engines)
        tables = evaluation.rows(study, cohort, shared)
        own_runs = {name: every[name] for name in models}
        freeze = None if frozen or session.failures else list(own_runs.values())
        runs.save(session, tables, own_runs, freeze, bool(frozen) and SHARED not in session.worked)


def _read_shared(session: Session) -> Any:
    """What the study's own requests came to; if it cannot be read, nothing is scored."""
    evaluation = session.evaluation
    try:
        if evaluation.shared:
            return evaluation.shared.read(session.study, session.completions(SHARED))
    except CorruptPart as error:
        corrupt = steps.set_corrupt_aside(error)
        session.lose(SHARED, corrupt, str(corrupt))
    return None


def read_models(session: Session, shared: Any) -> dict[str, Any]:
    """Model of this run -> its answers; a model whose answers cannot be read is given up."""
    answers: dict[str, Any] = {}
    alive = session.alive()
    for name in alive:
        try:
            answers[name] = session.evaluation.read(session.study, session.completions(name), shared)
        except CorruptPart as error:
            session.lose(name, steps.set_corrupt_aside(error))
        progress.report("metrics", 1, len(alive))
    return answers


def _read_past(session: Session, past: runs.Past, shared: Any) -> Any:
    """What a model of an earlier run answered.

    Raises:
        CorruptPart: it cannot be read any more; it is set aside, to be answered again.
        EngineError: some of it was set aside before, so that rows made against it would be others.
    """
    completions = Completions(past.engine, session.engines, steps.stored, past.occasion)
    try:
        wanted = [
            Wanted(past.engine.name, request, engine, request.hash(engine, past.occasion))
            for request in session.evaluation.ask(session.study, completions)
            for engine in (completions.engine(request),)
            if request.role not in session.evaluation.optional
        ]
        if any(frame.height for frame in steps.unanswered(wanted).values()):
            raise EngineError(
                f"nothing is scored: answers of {past.engine.name}, which the cohort needs, are missing: run "
                "it again, and then this"
            )
        return session.evaluation.read(session.study, completions, shared)
    except CorruptPart as error:
        raise steps.set_corrupt_aside(error) from error
