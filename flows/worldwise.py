"""The worldwise evaluation: ask every scenario as every culture, project the answers, compute the metrics."""

from __future__ import annotations

from prefect import flow, get_run_logger

from tasks import steps as shared
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.worldwise import steps
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.requests import Study
from tasks.generation import steps as generation
from warehouse import CorruptPart


@flow(name="worldwise", flow_run_name="worldwise {params.profile}", validate_parameters=True)
def worldwise(params: WorldwiseParams) -> str:
    """Which cultural values show in a model's reasoning, with and without a persona?

    Only what the warehouse has no answer for is asked, so an interrupted run goes on where it stopped.
    Returns the config_hash under which ``leaderboard_worldwise`` shows the result.

    Raises:
        EngineError: one or more models gave no answers, or their budget was reached; the others' results
            are stored.
        CorruptPart: stored answers cannot be read; they are set aside, to be asked again.
    """
    try:
        return evaluate(params)
    except CorruptPart as error:
        shared.set_corrupt_aside(error)


def evaluate(params: WorldwiseParams) -> str:
    """The order of work; see the flow."""
    log = get_run_logger()
    study = steps.build(params)
    shared.adopt(steps.PARTS)
    answered: list[shared.Run] = []
    failures: list[str] = []
    todo = 0
    for spec in map(shared.spec_of, params.models):
        try:
            run, n_asked = ask_model(study, spec)
        except EngineError as error:
            log.error("%s: %s", spec.name, error)
            failures.append(f"{spec.name}: {error}")
        else:
            answered.append(run)
            todo += n_asked
    if todo or not all(shared.is_finished(run) for run in answered):
        steps.score_metrics(study, answered)
        steps.show_leaderboard(study.config_hash())
    if failures:
        raise EngineError("\n".join(failures))
    return study.config_hash()


def ask_model(study: Study, spec: EngineSpec) -> tuple[shared.Run, int]:
    """Ask one model what it has not answered; returns its run and how many answers were missing."""
    run, meter, params = steps.start_run(study, spec), steps.meter(study), study.params
    todo = 0
    for repetition, asks in enumerate(steps.asks(study)):
        sampling = study.sampling(repetition)
        todo += len(asks if params.refresh else generation.missing(asks, spec, sampling))
        label = f"{spec.name} {repetition + 1}/{params.repetitions}"
        generation.answers(asks, spec, sampling, run, label, params.batch, meter, params.refresh)
    return run, todo
