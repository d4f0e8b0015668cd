"""Builds of data sets: each stage is a study for the one loop; its answers become rows of tables.

CulturALL has three flows, and people review drafts between them: topics, drafts and their difficulty; harder
versions; labels, checks and a release. SpecNorm has one flow, and people review its drafts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl
from prefect import Flow, flow
from prefect.artifacts import create_table_artifact
from prefect.context import FlowRunContext

from flows.evaluation import answer_all, read_models
from flows.session import RunSession
from tasks.builders.culturall import steps as culturall
from tasks.builders.culturall.params import CreateParams, ElevateParams, ReleaseParams
from tasks.builders.specnorm import steps as specnorm
from tasks.builders.specnorm.params import SpecnormParams
from tasks.builders.study import BuildParams, BuildStage
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from warehouse import Warehouse, finish_run

STARTED = "SELECT run_id FROM run WHERE status = 'running' AND run_id IN (SELECT unnest($runs::VARCHAR[]))"


@flow(name="build_specnorm", flow_run_name="build_specnorm {params.model}", validate_parameters=True)
def build_specnorm(params: SpecnormParams) -> pl.DataFrame:
    """Draft SpecNorm items for people to review.

    Only requests without a stored answer are sent, so an interrupted build continues where it stopped.
    Returns the number of drafts by status and fault (status, fault, n_drafts). Drafts without a fault are in
    the queue file, which ``culturemeter specnorm review`` reads back.

    Raises:
        EngineError: the model gave no answers, or the budget was reached; answers so far are stored.
        ReviewError: the queue file exists, or cannot be written. TableError: seeds cannot be read.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    study = run_stages(params, specnorm.DRAFT)
    summary = specnorm.summary(study)
    if FlowRunContext.get():
        create_table_artifact(
            key="specnorm-build", table=summary.to_dicts(), description=f"build_specnorm, {study.engine.name}"
        )
    return summary


@flow(name="build_culturall", validate_parameters=True)
def build_culturall(params: CreateParams) -> pl.DataFrame:
    """Choose topics, draft items from sources, and measure which models solve them.

    Each stage continues where it stopped. All flows of CulturALL return the number of drafts by status and
    reason (status, reason, n_drafts).

    Raises:
        EngineError: a model gave no answers, or the budget was reached; answers so far are stored.
        ReviewError: a queue file exists, or cannot be written. ValueError: a source cannot be read.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    run_stages(params, culturall.TOPICS, culturall.CREATE, culturall.MEASURE)
    return _draft_counts()


@flow(name="elevate_culturall", validate_parameters=True)
def elevate_culturall(params: ElevateParams) -> pl.DataFrame:
    """Make easy drafts harder, queue the proposals for people, and measure the accepted ones."""
    run_stages(params, culturall.ELEVATE, culturall.MEASURE)
    return _draft_counts()


@flow(name="release_culturall", validate_parameters=True)
def release_culturall(params: ReleaseParams) -> pl.DataFrame:
    """Label, translate and check drafts, queue them for people, and publish the accepted ones."""
    run_stages(params, culturall.LABEL, culturall.CHECK)
    steps.step("queue drafts", partial(culturall.queue, params))
    steps.step("publish", partial(culturall.publish, params))
    return _draft_counts()


FLOWS: dict[type[BuildParams], Flow[..., pl.DataFrame]] = {
    SpecnormParams: build_specnorm,
    CreateParams: build_culturall,
    ElevateParams: elevate_culturall,
    ReleaseParams: release_culturall,
}
"""Class of params -> the flow that takes them."""


def planned(stage: BuildStage[Any, Any], params: BuildParams, meter: Meter | None = None) -> RunSession:
    """Return a stage's session with the plan of its first round; nothing is sent.

    Args:
        meter: the budget's meter, which all models of the stage share; default: a new one.

    Raises:
        EngineError: a model is unknown or lacks an ability that the stage needs.
        CorruptPart: stored answers cannot be read; they are set aside. ValueError: see the stage's ``study``.
    """
    candidates = {name: steps.engine_of(name, stage.role) for name in stage.models(params)}
    engines = {name: steps.engine_of(name, role) for name, role in stage.engines(params).items()}
    tables = {name: Warehouse.open().query(sql).to_dicts() for name, sql in stage.tables.items()}
    study = stage.study(params, tables, candidates | engines)
    by_name = {engine.name: engine for engine in candidates.values()}
    session = RunSession(evaluation=stage, study=study, candidates=by_name, engines=engines)
    session.meters |= dict.fromkeys(by_name, meter or _meter(params))
    session.plan_round()
    session.raise_failures()
    return session


def run_stages(params: BuildParams, *stages: BuildStage[Any, Any]) -> Any:
    """Run stages one after another, store their rows, and return the last stage's study.

    The table run has a row for each model of a stage with requests. Requests that a failing model left
    unanswered are sent again by the next build.

    Raises:
        EngineError: a model failed, or the budget was reached. CorruptPart, ValueError: see ``planned``.
    """
    steps.record_process()
    steps.take_over_orphans()
    meter = _meter(params)
    for stage in stages:
        session = planned(stage, params, meter)
        study: Any = session.study
        answers: dict[str, Any] = {}
        with steps.working(session.run_ids().values()):
            if any(each.request.units for each in session.wanted):
                answer_all(session)
                answers = read_models(session, None)
            if session.remaining() or not session.candidates:
                steps.step(f"store {study.stage}", partial(stage.save, study, answers, session.ids))
        _finish(list(session.run_ids().values()))
        session.raise_failures()
    return study


def _finish(runs: Sequence[str]) -> None:
    """Mark started runs as finished, also those of a build that was killed after it stored its rows."""
    warehouse = Warehouse.open()
    if started := warehouse.query(STARTED, {"runs": list(runs)})["run_id"].to_list():
        with warehouse.write() as connection:
            for run in started:
                finish_run(connection, run)


def _meter(params: BuildParams) -> Meter:
    """Return the meter of a build, which all its models share."""
    return Meter(Budget(params.max_total_tokens, params.max_usd))


def _draft_counts() -> pl.DataFrame:
    return Warehouse.open().query("FROM culturall_build")
