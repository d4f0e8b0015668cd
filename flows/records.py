"""Records a run in the warehouse: runs and requests before the first answer, rows at the end."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from importlib.metadata import version
from typing import Literal

import polars as pl

from flows import runs
from flows.cohort import Selection
from flows.losses import detail as loss_detail
from flows.losses import withheld
from flows.session import SHARED, RunSession
from flows.stored import samples_of
from tasks.engines.specs import model_hash
from tasks.evaluations.contract import Detail, Tables
from tasks.identity import digest
from tasks.loop import steps
from tasks.loop.kept_samples import Kept, frame_of
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine
from tasks.loop.rows import metric_frame, points_frame
from warehouse import (
    Run,
    Warehouse,
    WarehouseError,
    finish_run,
    freeze_cohort,
    register_parts,
    save_items,
    save_metrics,
    save_pack,
    save_recipe,
    save_run,
    save_run_requests,
    write_part,
)

_REQUESTS = "SELECT run_id, request_hash, topic, label FROM run_request WHERE run_id IN (SELECT unnest(?))"
_BEGUN = "SELECT run_id FROM run WHERE status = 'running' AND run_id IN (SELECT unnest(?))"


def start(session: RunSession) -> None:
    """Record all runs with their packs, items and first requests, in one transaction."""
    session.ids = session.run_ids()
    session.content = _store_content(session)
    frames = {model: _request_frame(session, model) for model in session.ids}
    warehouse = Warehouse.open()
    with warehouse.write() as connection:
        if (recipe := session.evaluation.about) is not None:
            name, items = session.evaluation.name, session.study.materials["item"]
            metrics = [*recipe.metrics, *recipe.more(session.study)]
            save_recipe(connection, warehouse.store, name, metrics, recipe.doubts, recipe.published)
            save_items(connection, name, items, recipe.items(session.study))
        for pack in session.packs:
            save_pack(connection, pack.hash, pack.pack, pack.evaluation, pack.about, pack.rows)
        for model, run in session.ids.items():
            save_run(connection, _run_row(session, run, model, session.candidates[model]))
            save_run_requests(connection, run, frames[model])
    session.recorded_requests = {
        (session.ids[model], *row) for model, frame in frames.items() for row in frame.rows()
    }


def add_requests(session: RunSession, models: Collection[str] | None = None) -> None:
    """Record the requests of later rounds; only new ones, since every write copies the warehouse's file.

    Args:
        models: of these models; None: of all.
    """
    ids = {model: run for model, run in session.ids.items() if models is None or model in models}
    frames = {run: _request_frame(session, model) for model, run in ids.items()}
    rows = {(run, *row) for run, frame in frames.items() for row in frame.rows()}
    if session.recorded_requests >= rows:
        return
    session.recorded_requests |= set(Warehouse.current().query(_REQUESTS, [list(frames)]).rows())
    if not session.recorded_requests >= rows:
        with Warehouse.open().write() as connection:
            for run, frame in frames.items():
                if not frame.is_empty():
                    save_run_requests(connection, run, frame)
    session.recorded_requests |= rows


def save(session: RunSession, tables: Tables, selection: Selection) -> None:
    """Store all rows and detail tables, finish their runs and freeze the cohort, in one transaction.

    A model that is not in the selection is a null model and gets a run of its own. Under a frozen cohort,
    stored rows of null models stay unless their answers changed. A session with failures freezes no cohort.
    """
    nulls = {name: session.run_id(name) for name in tables.metrics if name not in selection.rows}
    if selection.is_frozen and SHARED not in session.updated:
        nulls = {name: run for name, run in nulls.items() if not runs.is_finished(run)}
    ids = {**selection.rows, **nulls}
    metrics = {model: withheld(own, session.lost_of.get(model, ())) for model, own in tables.metrics.items()}
    details = {model: list(of_model) for model, of_model in tables.details.items() if model in ids}
    for model in metrics.keys() & selection.rows.keys():
        points = points_frame(metrics[model])
        details.setdefault(model, []).append(Detail("headline_value", points))
    for model in session.lost_of.keys() & session.ids.keys() & selection.rows.keys():
        details.setdefault(model, []).append(loss_detail(session.lost_of[model]))
    for model in session.candidates.keys() & session.ids.keys() & selection.rows.keys():
        details.setdefault(model, []).append(_samples(session, model))
    parts = [
        _write_detail(session, ids[model], model, detail)
        for model, of_model in details.items()
        for detail in of_model
        if not detail.frame.is_empty()
    ]
    with Warehouse.open().write() as connection:
        for name, run in nulls.items():
            save_run(connection, _run_row(session, run, name))
        register_parts(connection, parts, replace=True)
        for model, rows in metrics.items():
            if model in ids:
                save_metrics(connection, ids[model], metric_frame(model, rows))
                finish_run(connection, ids[model])
        if not selection.is_frozen and not session.failures:
            cohort = session.params.cohort
            freeze_cohort(connection, session.config, cohort, list(selection.rows.values()))


def end(session: RunSession, status: Literal["failed", "cancelled"]) -> None:
    """Mark the session's runs that have begun and are not finished as failed or cancelled."""
    with suppress(WarehouseError, OSError):  # the error that ended the session is the one to tell
        begun = set(Warehouse.current().query(_BEGUN, [list(session.ids.values())])["run_id"])
        if begun:
            with Warehouse.open().write() as connection:
                for run in begun:
                    finish_run(connection, run, status)


def _run_row(session: RunSession, run: str, model: str, engine: Engine | None = None) -> Run:
    """Return a row of the table ``run``; without an engine it is a null model's."""
    spec = engine.spec if engine else None
    return Run(
        run_id=run,
        evaluation=session.evaluation.name,
        model=model,
        is_null=engine is None,
        profile=session.params.label,
        config_hash=session.config,
        engine_hash=engine.hash if engine else "null",
        model_hash=model_hash(spec) if spec else "null",
        params=session.params.model_dump(exclude={"models", "occasion"}),
        engine=spec.described() if spec else {},
        item_lists={**session.study.materials, **({"content": session.content} if session.content else {})},
        boundary_rule=session.boundary_rule(model) if engine else "none",
        code_version=version("culturemeter"),
        occasion=session.params.occasion,
    )


def _store_content(session: RunSession) -> str:
    """Store what the study was built from, once by content; return its hash.

    It is "" if the content is in code or packs, or if functions of the user's belong to it.
    """
    if session.evaluation.content is None:
        return ""
    if not (rows := session.evaluation.content(session.study)):
        return ""
    name = digest([session.evaluation.name, rows], 32)
    if steps.stored("content", name, [name], ("place",)).is_empty():
        ids = dict.fromkeys(("content", "request_hash", "run_id"), name) | {"model": session.evaluation.name}
        frame = pl.DataFrame(rows).with_row_index("place")
        steps.store_part("content", name, frame.with_columns(**{k: pl.lit(v) for k, v in ids.items()}))
    return name


def _request_frame(session: RunSession, model: str) -> pl.DataFrame:
    """Return a row per request of a model; requests that differ only in units are one, with all labels."""
    own = [each for each in session.wanted if each.model == model]
    rows = [(each.request_hash, each.request.topic, each.request.label) for each in own]
    frame = pl.DataFrame(rows, dict.fromkeys(("request_hash", "topic", "label"), pl.String), orient="row")
    joined = pl.col("topic", "label").unique(maintain_order=True).str.join(", ")
    return frame.group_by("request_hash", maintain_order=True).agg(joined)


def _samples(session: RunSession, model: str) -> Detail:
    """Return a model's samples as rows, without the texts that its requests' completions hold."""
    completions, kept = session.completions(model), Kept()
    for each in session.wanted_by_model.get(model, ()):
        if isinstance(each.request, Prompts):
            kept.add(each.request, each.request_hash, completions(each.request))
    of_model = samples_of(session.evaluation, session.study, completions)
    return Detail("sample", frame_of(of_model, kept, session.config))


def _write_detail(session: RunSession, run: str, model: str, detail: Detail) -> pl.DataFrame:
    """Write a detail table as a part and return its units; it is visible once registered."""
    part = digest([run, *([detail.key] if detail.key else []), session.config], 32)
    ids = {"request_hash": part if detail.key else run, "run_id": run, "model": model}
    frame = detail.frame.with_columns(**{name: pl.lit(value) for name, value in ids.items()})
    return write_part(Warehouse.open().store, detail.kind, part, frame)
