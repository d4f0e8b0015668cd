"""Builds of data sets: each stage is a study that the one loop works off, then rows of the build's tables.

People decide between the three flows of CulturALL: topics, drafts and how hard they are; harder versions;
labels, checks and a release. SpecNorm is one flow, and the review of what it drafts.
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

BEGUN = "SELECT run_id FROM run WHERE status = 'running' AND run_id IN (SELECT unnest($runs::VARCHAR[]))"


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
    study = go_through(params, specnorm.DRAFT)
    summary = specnorm.summary(study)
    if FlowRunContext.get():
        create_table_artifact(
            key="specnorm-build", table=summary.to_dicts(), description=f"build_specnorm, {study.engine.name}"
        )
    return summary


@flow(name="build_culturall", validate_parameters=True)
def build_culturall(params: CreateParams) -> pl.DataFrame:
    """Choose topics, draft items on sources, and measure which models solve them, each where it stopped.

    Returns how many drafts stand where, and for what reason (status, reason, n_drafts); so do the others.

    Raises:
        EngineError: a model gave no answers, or the budget was reached; answers so far are stored.
        ReviewError: a queue file exists, or cannot be written. ValueError: a source cannot be read.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    go_through(params, culturall.TOPICS, culturall.CREATE, culturall.MEASURE)
    return _standing()


@flow(name="elevate_culturall", validate_parameters=True)
def elevate_culturall(params: ElevateParams) -> pl.DataFrame:
    """Have easy drafts made harder, queue the proposals for people, and measure what people let through."""
    go_through(params, culturall.ELEVATE, culturall.MEASURE)
    return _standing()


@flow(name="release_culturall", validate_parameters=True)
def release_culturall(params: ReleaseParams) -> pl.DataFrame:
    """Label, translate and check drafts, queue them for people, and publish what people accepted."""
    go_through(params, culturall.LABEL, culturall.CHECK)
    steps.step("queue drafts", partial(culturall.queue, params))
    steps.step("publish", partial(culturall.publish, params))
    return _standing()


FLOWS: dict[type[BuildParams], Flow[..., pl.DataFrame]] = {
    SpecnormParams: build_specnorm,
    CreateParams: build_culturall,
    ElevateParams: elevate_culturall,
    ReleaseParams: release_culturall,
}
"""The flow that takes the params."""


def planned(stage: BuildStage[Any, Any], params: BuildParams, meter: Meter | None = None) -> RunSession:
    """A stage before its first round, with the plan of what has no answer; nothing is asked.

    Args:
        meter: counts what all models of the stage use; default: one of its own.

    Raises:
        EngineError: there is no such model, or it cannot do what is asked of it.
        CorruptPart: stored answers cannot be read; they are set aside. ValueError: see the stage's ``study``.
    """
    candidates = {name: steps.engine_of(name, stage.role) for name in stage.models(params)}
    engines = {name: steps.engine_of(name, role) for name, role in stage.engines(params).items()}
    tables = {name: Warehouse.open().query(sql).to_dicts() for name, sql in stage.tables.items()}
    study = stage.study(params, tables, candidates | engines)
    named = {engine.name: engine for engine in candidates.values()}
    session = RunSession(evaluation=stage, study=study, candidates=named, engines=engines)
    session.meters |= dict.fromkeys(named, meter or _meter(params))
    session.plan_round()
    session.raise_failures()
    return session


def go_through(params: BuildParams, *stages: BuildStage[Any, Any]) -> Any:
    """Have each stage answered and its rows stored, one after the other; returns the study of the last.

    A run stands in the table run for each model that a stage asks anything. What a model that fails did not
    answer is asked again by the next build.

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
            if session.alive() or not session.candidates:
                steps.step(f"store {study.stage}", partial(stage.save, study, answers, session.ids))
        _finish(list(session.run_ids().values()))
        session.raise_failures()
    return study


def _finish(runs: Sequence[str]) -> None:
    """Mark runs as finished that were started, also by a build that was killed after it stored its rows."""
    warehouse = Warehouse.open()
    if begun := warehouse.query(BEGUN, {"runs": list(runs)})["run_id"].to_list():
        with warehouse.write() as connection:
            for run in begun:
                finish_run(connection, run)


def _meter(params: BuildParams) -> Meter:
    """Counts all that a build uses, whichever model it asks."""
    return Meter(Budget(params.max_total_tokens, params.max_usd))


def _standing() -> pl.DataFrame:
    return Warehouse.open().query("FROM culturall_build")
