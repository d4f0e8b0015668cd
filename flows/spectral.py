"""The spectral evaluation: plan, score what is missing, compute the metrics of the whole configuration."""

from __future__ import annotations

from prefect import flow, get_run_logger

from tasks import steps as shared
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.spectral import steps
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.requests import Study
from warehouse import CorruptPart


@flow(name="spectral", flow_run_name="spectral {params.profile}", validate_parameters=True)
def spectral(params: SpectralParams) -> str:
    """Measure how well models know the macrostructure of culture: 9 domains, up to 170 countries.

    Only what the warehouse has no answer for is scored, so an interrupted run goes on where it stopped.
    Returns the config_hash under which ``leaderboard_spectral`` shows the result.

    Raises:
        EngineError: one or more models could not be scored; the others' results are stored.
    """
    log = get_run_logger()
    study = steps.build(params)
    shared.adopt((steps.LOGPROBS, steps.SIMILARITY))
    runs: list[shared.Run] = []
    failures: list[str] = []
    todo = 0
    for spec in map(shared.spec_of, params.models):
        try:
            run, n_units = score_model(study, spec)
        except EngineError as error:
            log.error("%s: %s", spec.name, error)
            failures.append(f"{spec.name}: {error}")
        else:
            runs.append(run)
            todo += n_units
    if todo or not all(shared.is_finished(run) for run in runs):
        try:
            steps.score_metrics(study, runs)
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
    total = sum(len(u.countries) * len(study.lists[u.question.item_list].items) for u in units)
    for unit in units:
        steps.score_unit(study, spec, run, unit, spec.name, total)
    return run, len(units)
