"""Runs in the warehouse: started, looked up, frozen into cohorts, finished with all their rows at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Protocol

import polars as pl

from tasks.engines.specs import model_hash
from tasks.evaluations.contract import Detail, Evaluation, Study, Tables, comparable
from tasks.identity import digest
from tasks.loop.plan import Wanted
from tasks.loop.requests import Engine
from tasks.loop.rows import OVERALL, Metric
from tasks.packs.shape import Content
from warehouse import Run as RunRow
from warehouse import (
    Warehouse,
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

_PAST = (
    "SELECT run_id, model, engine_hash, engine->>'kind' AS kind, engine->>'model' AS runs, occasion FROM run "
)
_FINISHED = f"""
{_PAST} WHERE config_hash = ? AND status = 'finished' AND NOT is_null
QUALIFY row_number() OVER (PARTITION BY engine_hash ORDER BY finished_at DESC, run_id) = 1
"""
_FROZEN = (
    f"{_PAST} JOIN cohort USING (config_hash, run_id) WHERE config_hash = ? AND cohort = ? ORDER BY model"
)
_IS_FINISHED = "SELECT 1 FROM run WHERE run_id = ? AND status = 'finished'"
_KNOWN = "SELECT run_id, request_hash, topic, label FROM run_request WHERE run_id IN (SELECT unnest(?))"
_NAMESAKES = "SELECT DISTINCT model, engine_hash FROM run WHERE config_hash = ? AND NOT is_null"


@dataclass(frozen=True)
class Past:
    """A finished run of the same configuration: whose answers are read, and where they are."""

    run_id: str
    engine: Engine
    occasion: str


class Session(Protocol):
    """What of ``flows.session.Session`` is written down."""

    evaluation: Evaluation[Any, Any, Any]
    study: Study
    occasion: str
    candidates: dict[str, Engine]
    packs: tuple[Content, ...]
    wanted: list[Wanted]


def run_id(study: Study, who: Sequence[str], occasion: str) -> str:
    """A run is a value: the same configuration, engine, occasion and code version are the same run.

    Args:
        who: engine hash and boundary rule, or the name of a null model.
    """
    return digest([comparable(study), *who, version("culturescope"), *([occasion] if occasion else [])])


def boundary_rule(wanted: Sequence[Wanted], model: str) -> str:
    """The rule by which a model scores texts.

    The same in every round, so that a run is named alike whether its judges have answered yet or not.
    """
    own = [each for each in wanted if each.model == model and each.request.role == "candidate"]
    return ", ".join(sorted({each.request.rule(each.engine) for each in own} - {"none"})) or "none"


def is_finished(run: str) -> bool:
    """Whether the run's metrics are stored already."""
    return not Warehouse.open().query(_IS_FINISHED, [run]).is_empty()


def namesakes(config_hash: str) -> dict[str, set[str]]:
    """Model -> the engine hashes that stand under this name in a configuration."""
    names: dict[str, set[str]] = {}
    for model, engine_hash in Warehouse.open().query(_NAMESAKES, [config_hash]).rows():
        names.setdefault(model, set()).add(engine_hash)
    return names


def finished(config_hash: str) -> list[Past]:
    """The newest finished run of each model under a configuration."""
    return _past(Warehouse.open().query(_FINISHED, [config_hash]))


def frozen(config_hash: str, cohort: str) -> list[Past]:
    """The models of a frozen cohort; none if there is no such cohort yet."""
    return _past(Warehouse.open().query(_FROZEN, [config_hash, cohort]))


def start(session: Session, runs: Mapping[str, str]) -> None:
    """Write down what is going to be measured, before anything is: all runs in one transaction.

    Args:
        runs: model -> run_id.
    """
    with Warehouse.open().write() as connection:
        _describe(connection, session)
        for pack in session.packs:
            save_pack(connection, pack.hash, pack.pack, pack.evaluation, pack.about, pack.rows)
        for model, run in runs.items():
            rule = boundary_rule(session.wanted, model)
            save_run(connection, _row(session, run, model, session.candidates[model], rule))
            save_run_requests(connection, run, _requests(session.wanted, model))


def _describe(connection: Any, session: Session) -> None:
    """Register what an evaluation from a recipe says of itself."""
    evaluation, study = session.evaluation, session.study
    if (own := evaluation.described) is not None:
        save_recipe(connection, evaluation.name, own.metrics, own.doubts, own.published)
        save_items(connection, evaluation.name, study.materials["item"], own.items(study))


def add_requests(runs: Mapping[str, str], wanted: Sequence[Wanted]) -> None:
    """Write down what later rounds ask, if it is not there yet: every write copies the warehouse's file."""
    warehouse = Warehouse.open()
    asked = {run: _requests(wanted, model) for model, run in runs.items()}
    known = set(warehouse.query(_KNOWN, [list(asked)]).rows())
    if known.issuperset((run, *row) for run, requests in asked.items() for row in requests.rows()):
        return
    with warehouse.write() as connection:
        for run, requests in asked.items():
            if not requests.is_empty():
                save_run_requests(connection, run, requests)


def save(
    session: Session, tables: Tables, runs: Mapping[str, str], freeze: Sequence[str] | None, keep_nulls: bool
) -> None:
    """Store all rows and detail tables of a cohort and finish its runs, in one transaction.

    Args:
        runs: model -> run_id; a model that is not among them is a null model, with a run of its own.
        freeze: run_ids to freeze as the cohort of the params' name; None: freeze nothing.
        keep_nulls: leave null models alone whose rows are stored.
    """
    study = session.study
    nulls = {name: run_id(study, [name], session.occasion) for name in tables.metrics if name not in runs}
    if keep_nulls:
        nulls = {name: run for name, run in nulls.items() if not is_finished(run)}
    ids = {**runs, **nulls}
    details = {model: list(of_model) for model, of_model in tables.details.items() if model in ids}
    for model in tables.metrics.keys() & runs.keys():
        details.setdefault(model, []).append(Detail("headline_value", _points(tables.metrics[model])))
    parts = [
        _write(study, ids[model], model, detail)
        for model, of_model in details.items()
        for detail in of_model
        if not detail.frame.is_empty()
    ]
    with Warehouse.open().write() as connection:
        for name, run in nulls.items():
            save_run(connection, _row(session, run, name, None, "none"))
        register_parts(connection, parts, replace=True)
        for model, metrics in tables.metrics.items():
            if model in ids:
                save_metrics(connection, ids[model], _frame(model, metrics))
                finish_run(connection, ids[model])
        if freeze:
            freeze_cohort(connection, comparable(study), study.params.cohort, freeze)


def _write(study: Study, run: str, model: str, detail: Detail) -> pl.DataFrame:
    """Write a detail table as a part; it shows once it is registered."""
    part = digest([run, *([detail.key] if detail.key else []), comparable(study)], 32)
    ids = {"request_hash": part if detail.key else run, "run_id": run, "model": model}
    frame = detail.frame.with_columns(**{name: pl.lit(value) for name, value in ids.items()})
    return write_part(Warehouse.open().store, detail.kind, part, frame)


def _row(session: Session, run: str, model: str, engine: Engine | None, rule: str) -> RunRow:
    study, spec = session.study, engine.spec if engine else None
    return RunRow(
        run_id=run,
        evaluation=session.evaluation.name,
        model=model,
        is_null=engine is None,
        profile=study.params.label,
        config_hash=comparable(study),
        engine_hash=engine.hash if engine else "null",
        model_hash=model_hash(spec) if spec else "null",
        params=study.params.model_dump(exclude={"models", "occasion"}),
        engine=spec.described() if spec else {},
        item_lists=study.materials,
        boundary_rule=rule,
        code_version=version("culturescope"),
        occasion=session.occasion,
    )


def _requests(wanted: Sequence[Wanted], model: str) -> pl.DataFrame:
    """One row per request of a model; of those that differ in units alone, topics and labels are joined."""
    mine = [each for each in wanted if each.model == model]
    rows = [(each.request_hash, each.request.topic, each.request.label) for each in mine]
    frame = pl.DataFrame(rows, dict.fromkeys(("request_hash", "topic", "label"), pl.String), orient="row")
    joined = pl.col("topic", "label").unique(maintain_order=True).str.join(", ")
    return frame.group_by("request_hash", maintain_order=True).agg(joined)


def _frame(model: str, metrics: Sequence[Metric]) -> pl.DataFrame:
    frame = pl.DataFrame(metrics, schema=Metric._fields, orient="row", infer_schema_length=None)
    return frame.drop("points").with_columns(model=pl.lit(model))


def _points(metrics: Sequence[Metric]) -> pl.DataFrame:
    """What the headlines are taken over, as rows of the kind ``headline_value``.

    Raises:
        ValueError: a row that is not overall has points: metric and unit alone name a value.
    """
    if slices := [row[:3] for row in metrics if row.points and row[1:3] != OVERALL]:
        raise ValueError(f"{slices[0]}: only an overall row may have points")
    frames = [
        pl.DataFrame(
            {"unit": points.units, "value": points.values, "cluster": points.clusters},
            schema_overrides={"value": pl.Float64},
        ).with_columns(
            pl.col("value").fill_nan(None),
            metric=pl.lit(row.metric),
            design=pl.lit(points.design),
            n_clusters=pl.lit(points.n),
        )
        for row in metrics
        if (points := row.points) is not None
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def _past(rows: pl.DataFrame) -> list[Past]:
    return [
        Past(run, Engine(model, kind, runs, engine_hash), occasion)
        for run, model, engine_hash, kind, runs, occasion in rows.rows()
    ]
