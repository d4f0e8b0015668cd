"""The fmlama evaluation: plan, score what is missing, compute the metrics (a judge may take part)."""

from __future__ import annotations

from prefect import flow, get_run_logger

from tasks import steps as shared
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.fmlama import steps
from tasks.evaluations.fmlama.judge.steps import VERDICTS
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.requests import Study
from tasks.generation.steps import RESPONSES
from warehouse import CorruptPart


@flow(name="fmlama", flow_run_name="fmlama {params.profile}", validate_parameters=True)
def fmlama(params: FmlamaParams) -> str:
    """Probe what models know of the world's dishes: which ingredients, across origins and languages.

    Only what the warehouse has no answer for is scored, so an interrupted run goes on where it stopped.
    Returns the config_hash under which ``leaderboard_fmlama`` shows the result.

    Raises:
        EngineError: one or more models could not be scored; the others' results are stored.
    """
    log = get_run_logger()
    study = steps.build(params)
    shared.adopt((steps.SCORES, steps.PREDICTIONS, RESPONSES, VERDICTS))
    scored: list[tuple[shared.Run, EngineSpec]] = []
    failures: list[str] = []
    todo = 0
    for spec in map(shared.spec_of, params.models):
        try:
            run, n_units = score_model(study, spec)
        except EngineError as error:
            log.error("%s: %s", spec.name, error)
            failures.append(f"{spec.name}: {error}")
        else:
            scored.append((run, spec))
            todo += n_units
    if todo or not all(shared.is_finished(run) for run, _ in scored):
        try:
            steps.score_metrics(study, scored)
        except CorruptPart as error:
            shared.set_corrupt_aside(error)
        steps.show_leaderboard(study.config_hash())
    if failures:
        raise EngineError("\n".join(failures))
    return study.config_hash()


def score_model(study: Study, spec: EngineSpec) -> tuple[shared.Run, int]:
    """Score one model's missing units; returns its run and how many units there were."""
    units = steps.plan(study, spec)
    run = steps.start_run(study, spec)
    if units:
        steps.load_model(spec)
    total = sum(unit.n_pairs for unit in units)
    for unit in units:
        steps.score_unit(spec, run, unit, spec.name, total, study.params.refresh)
    return run, len(units)
