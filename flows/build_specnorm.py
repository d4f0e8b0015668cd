"""Build SpecNorm: choose seeds, have a model draft items on them, check the drafts, queue them for people."""

from __future__ import annotations

import polars as pl
from prefect import flow, get_run_logger

from tasks.builders.specnorm import steps
from tasks.builders.specnorm.params import SpecnormParams
from tasks.loop import steps as shared
from warehouse import CorruptPart


@flow(name="build_specnorm", flow_run_name="build_specnorm {params.model}", validate_parameters=True)
def build_specnorm(params: SpecnormParams) -> pl.DataFrame:
    """Draft SpecNorm items for people to review.

    Only what the warehouse has no answer for is asked, so an interrupted build goes on where it stopped.
    Returns how many drafts have which status, and how many have which fault (status, fault, n_drafts). The
    drafts without a fault are in the queue file; ``culturescope specnorm review`` reads it back.

    Raises:
        EngineError: the model gave no answers, or the budget was reached; answers so far are stored.
        ReviewError: the queue file exists, or cannot be written. BenchmarkError: seeds cannot be read.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    shared.record_process()
    build = steps.plan(params)
    shared.take_over_orphans()
    steps.start(build)
    try:
        completions = steps.draft(build)
    except CorruptPart as error:
        raise shared.set_corrupt_aside(error) from error
    steps.check(build, completions)
    n_queued = steps.queue(build)
    get_run_logger().info("%d drafts wait for a review in %s", n_queued, params.queue)
    return steps.finish(build)
