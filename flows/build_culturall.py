"""Build CulturALL items in three flows, between which people decide: topics, drafts and how hard they are;
harder versions; labels, checks and a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
from prefect import Flow, flow

from tasks.builders.culturall import steps
from tasks.builders.culturall.params import CreateParams, ElevateParams, ReleaseParams, Stage
from tasks.builders.culturall.release import steps as release
from tasks.loop import steps as shared
from warehouse import CorruptPart, Warehouse


@flow(name="build_culturall", validate_parameters=True)
def build_culturall(params: CreateParams) -> pl.DataFrame:
    """Choose topics, draft items on sources, and measure which models solve them, each where it stopped.

    Returns how many drafts stand where, and for what reason (status, reason, n_drafts); so do the others.

    Raises:
        EngineError: a model gave no answers, or the budget was reached; answers so far are stored.
        ReviewError: a queue file exists, or cannot be written. ValueError: a source cannot be read.
        CorruptPart: stored answers cannot be read; they are set aside, to be answered again.
    """
    meter = steps.meter_of(params)
    return _go_through(
        ("topics", lambda: steps.propose_topics(params, meter)),
        ("create drafts", lambda: steps.create(params, meter)),
        ("measure drafts", lambda: steps.measure_drafts(params, meter)),
    )


@flow(name="elevate_culturall", validate_parameters=True)
def elevate_culturall(params: ElevateParams) -> pl.DataFrame:
    """Have easy drafts made harder, queue the proposals for people, and measure what people let through."""
    meter = steps.meter_of(params)
    return _go_through(
        ("elevate drafts", lambda: _waiting(steps.elevate(params, meter), params)),
        ("measure drafts", lambda: steps.measure_drafts(params, meter)),
    )


@flow(name="release_culturall", validate_parameters=True)
def release_culturall(params: ReleaseParams) -> pl.DataFrame:
    """Label, translate and check drafts, queue them for people, and publish what people accepted."""
    meter = steps.meter_of(params)
    return _go_through(
        ("label and translate", lambda: release.label(params, meter)),
        ("check drafts", lambda: release.check(params)),
        ("queue drafts", lambda: _waiting(release.queue(params), params)),
        ("publish", lambda: _publish(params)),
    )


FLOWS: dict[type[Stage], Flow[..., pl.DataFrame]] = {
    CreateParams: build_culturall,
    ElevateParams: elevate_culturall,
    ReleaseParams: release_culturall,
}
"""The flow that takes the params."""


def _go_through(*stages: tuple[str, Callable[[], Any]]) -> pl.DataFrame:
    """Each stage after the other, and where the drafts stand then."""
    shared.record_process()
    shared.take_over_orphans()
    try:
        for name, work in stages:
            shared.step(name, work)
    except CorruptPart as error:
        raise shared.set_corrupt_aside(error) from error
    return Warehouse.open().query("FROM culturall_build")


def _waiting(n: int, params: ElevateParams | ReleaseParams) -> None:
    shared.logger().info("%d drafts wait for people in %s", n, params.queue)


def _publish(params: ReleaseParams) -> None:
    if version := release.publish(params):
        shared.logger().info("version %d (%s) has %d items", *version)
