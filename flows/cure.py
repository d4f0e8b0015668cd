"""The cure evaluation: ask every item, have explanations judged, compute the metrics."""

from __future__ import annotations

from prefect import flow, get_run_logger

from tasks import steps as shared
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.cure import steps
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.requests import Study
from tasks.generation import steps as generation
from tasks.generation.budget import Meter
from warehouse import CorruptPart


@flow(name="cure", flow_run_name="cure {params.profile}", validate_parameters=True)
def cure(params: CureParams) -> str:
    """Can a model explain norms (thick), not only label them (thin)?

    Only what the warehouse has no answer for is asked, so an interrupted run goes on where it stopped, and
    a judge is asked about an explanation once ever. Returns the config_hash under which
    ``leaderboard_cure`` shows the result.

    Raises:
        EngineError: one or more models or judges gave no answers, or a budget was reached; the others'
            results are stored.
        CorruptPart: stored answers cannot be read; they are set aside, to be asked again.
    """
    try:
        return evaluate(params)
    except CorruptPart as error:
        shared.set_corrupt_aside(error)


def evaluate(params: CureParams) -> str:
    """The order of work; see the flow."""
    log = get_run_logger()
    study = steps.build(params)
    shared.adopt(steps.PARTS)
    meters = {name: steps.meter(study) for name in params.models}
    answered: list[tuple[shared.Run, Meter]] = []
    failures: list[str] = []
    todo = 0
    for name in params.models:
        spec = shared.spec_of(name)
        try:
            run, n_asked = ask_model(study, spec, meters[name])
        except EngineError as error:
            log.error("%s: %s", spec.name, error)
            failures.append(f"{spec.name}: {error}")
        else:
            answered.append((run, meters[name]))
            todo += n_asked
    # After all candidates, so that a model is loaded once. What a judge fails on is not scored.
    for judge in map(shared.spec_of, params.judges):
        for run, meter in list(answered):
            try:
                todo += judge_model(study, run, judge, meter)
            except EngineError as error:
                log.error("%s, judged by %s: %s", run[1], judge.name, error)
                failures.append(f"{run[1]}, judged by {judge.name}: {error}")
                answered.remove((run, meter))
    runs = [run for run, _ in answered]
    if todo or not all(shared.is_finished(run) for run in runs):
        steps.score_metrics(study, runs)
        steps.show_leaderboard(study.config_hash())
    if failures:
        raise EngineError("\n".join(failures))
    return study.config_hash()


def ask_model(study: Study, spec: EngineSpec, meter: Meter) -> tuple[shared.Run, int]:
    """Ask one model what it has not answered; returns its run and how many answers were missing."""
    run, params, sampling = steps.start_run(study, spec), study.params, study.sampling()
    todo = 0
    for benchmark, mode in study.parts():
        asks = steps.asks(study, benchmark, mode)
        todo += len(asks if params.refresh else generation.missing(asks, spec, sampling))
        label = f"{spec.name} {benchmark} {mode}"
        generation.answers(asks, spec, sampling, run, label, params.batch, meter, params.refresh)
    return run, todo


def judge_model(study: Study, run: shared.Run, judge: EngineSpec, meter: Meter) -> int:
    """Have one judge mark one model's explanations; returns how many it had not marked before."""
    todo = 0
    for vote, (sampling, asks) in enumerate(steps.judge_asks(study, run).items(), start=1):
        todo += len(generation.missing(asks, judge, sampling))
        label = f"{judge.name} judges {run[1]}, vote {vote}"
        generation.answers(asks, judge, sampling, run, label, study.params.batch, meter)
    return todo
