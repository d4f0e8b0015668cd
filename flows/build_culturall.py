"""Build CulturALL items: topics, drafts and how hard they are; harder versions; labels, checks and a
release."""

from __future__ import annotations

import polars as pl
from prefect import flow

from tasks import steps as shared
from tasks.evaluations.culturall.build import steps
from tasks.evaluations.culturall.build.params import CreateParams, ElevateParams, ReleaseParams
from tasks.evaluations.culturall.build.release import steps as release
from warehouse import CorruptPart, Warehouse


@flow(name="build_culturall", validate_parameters=True)
def build_culturall(params: CreateParams | ElevateParams | ReleaseParams) -> pl.DataFrame:
    """Go through the stages that the params are of, each where it stopped.

    ``CreateParams``: topics, drafts, which models solve them. ``ElevateParams``: harder versions of easy
    drafts,
    queued for people, and the measure of those they let through. ``ReleaseParams``: labels, translations,
    checks, a queue of what people have to decide, and what they accepted as a version.

    Returns how many drafts stand where, and for what reason (status, reason, n_drafts).

    Raises:
        EngineError: a model gave no answers, or the budget was reached; answers so far are stored.
        ReviewError: a queue file exists, or cannot be written. ValueError: a source cannot be read.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    shared.sign_in()
    shared.take_over_orphans()
    try:
        _go_through(params)
    except CorruptPart as error:
        raise shared.set_corrupt_aside(error) from error
    return Warehouse.open().query("FROM culturall_build")


def _go_through(params: CreateParams | ElevateParams | ReleaseParams) -> None:
    log, meter = shared.logger(), steps.meter_of(params)
    match params:
        case CreateParams():
            shared.step("topics", lambda: steps.propose_topics(params, meter))
            shared.step("create drafts", lambda: steps.create(params, meter))
            shared.step("measure drafts", lambda: steps.measure_drafts(params, meter))
        case ElevateParams():
            n = shared.step("elevate drafts", lambda: steps.elevate(params, meter))
            log.info("%d harder versions wait for people in %s", n, params.queue)
            shared.step("measure drafts", lambda: steps.measure_drafts(params, meter))
        case ReleaseParams():
            shared.step("label and translate", lambda: release.label(params, meter))
            shared.step("check drafts", lambda: release.check(params))
            n = shared.step("queue drafts", lambda: release.queue(params))
            log.info("%d drafts wait for people in %s", n, params.queue)
            if version := shared.step("publish", lambda: release.publish(params)):
                log.info("version %d (%s) has %d items", *version)
