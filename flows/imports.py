"""Makes ordinary runs of other programs' logs: parts, rows and views, without any model.

A log is read to its end before anything of it is stored, so a damaged one leaves nothing. Its scores are
stored as a part of answers, and the one loop makes the rows of them (``flows.evaluation``): it finds nothing
left to send. Texts are read from the log a second time, into the run's samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import polars as pl

from flows import logged, runs
from flows.evaluation import evaluate
from flows.logged import Choices, LoggedRun
from flows.session import RunSession, handed_over
from tasks.data.errors import TableError
from tasks.engines.content import HUB
from tasks.engines.specs import IMPORTED, MODEL_HASH, EngineSpec, model_hash
from tasks.evaluations.imported import rows
from tasks.evaluations.imported.evaluation import evaluation_of
from tasks.evaluations.imported.study import (
    NAME,
    TASK,
    ImportedAnswer,
    ImportedAnswers,
    ImportedStudy,
)
from tasks.exchange import Log, LogHeader, Refused
from tasks.identity import checked_name, digest
from tasks.loop import steps
from tasks.loop.requests import Engine, part_name
from tasks.loop.samples import Sample, Score
from warehouse import Warehouse, WarehouseError, save_recipe

MOST_TOGETHER = 64
"""Most models of one table that are stored together."""

_PUBLISHED = "SELECT * EXCLUDE (evaluation) FROM recipe_published WHERE evaluation = ?"
_KNOWN = """
SELECT DISTINCT model_hash FROM run
WHERE NOT is_null AND status = 'finished' AND model = ? AND evaluation <> ?
"""
_AT_ONCE = 16_384
"""Answers in one part."""
_REFUSING = (TableError, ValueError, WarehouseError)
_DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Taken:
    """The outcome of one log.

    Attributes:
        kind: imported, same (it was there), published (aggregates alone) or refused.
        file, model, task: of the log. text: one line on it.
        config: configuration of its run; "" without one.
    """

    kind: str
    file: str
    model: str
    task: str
    text: str
    config: str = ""
    n: int = 0


def imported(found: Iterable[Log | Refused], choices: Choices, is_dry: bool = False) -> Iterator[Taken]:
    """Yield what became of each log; each is stored before the next is read.

    Args:
        is_dry: only say what would be stored.
    """
    waiting: list[LoggedRun] = []
    for each in found:
        is_read = isinstance(each, Log) and each.samples is not None
        if waiting and not (
            is_read and isinstance(each, Log) and each.header.file == waiting[0].log.header.file
        ):
            yield from _stored(waiting, choices, is_dry)
            waiting = []
        if isinstance(each, Refused):
            yield Taken("refused", each.file, "", "", each.why)
            continue
        try:
            if not is_read:
                yield _published(each.header, choices, is_dry)
                continue
            own = logged.read(each, choices)
        except _REFUSING as error:
            yield _refused(each.header, error)
            continue
        if (each.header.n or 0) > len(own.study.items) and each.header.aggregates:
            yield _published(each.header, choices, is_dry)  # the log's number is of more samples
        if waiting and (_key(own) != _key(waiting[0]) or len(waiting) >= MOST_TOGETHER):
            yield from _stored(waiting, choices, is_dry)
            waiting = []
        waiting.append(own)
    if waiting:
        yield from _stored(waiting, choices, is_dry)


def _key(read: LoggedRun) -> tuple[str, str]:
    """Return what is equal for logs that are stored together."""
    return read.study.config_hash(), read.study.params.occasion


def _refused(header: LogHeader, error: Exception) -> Taken:
    text = " ".join(str(error).removeprefix(header.file).lstrip(":, ").split())
    return Taken("refused", header.file, header.model.name, header.task, text)


def _stored(reads: Sequence[LoggedRun], choices: Choices, is_dry: bool) -> Iterator[Taken]:
    """Store logs of one study as runs, unless they are there; yield what became of each.

    They are one session of the loop, since each session writes the warehouse's file anew.
    """
    study, taken = reads[0].study, runs.namesakes(reads[0].study.config_hash())
    new: dict[str, tuple[LoggedRun, Engine]] = {}
    stated, done = list[str](), list[Taken]()
    for read in reads:
        header = read.log.header
        try:
            spec, is_stated = _spec(header, choices)
            engine = replace(Engine.of(spec), occasion=study.params.occasion)
            if engine.name in new or taken.get(engine.name, {engine.hash}) != {engine.hash}:
                engine = replace(engine, name=f"{engine.name}#{engine.hash[:4]}")
            if engine.name in new:
                raise ValueError("it is there twice: keep one")
            is_there = _is_there(study, engine, read)
        except _REFUSING as error:
            yield _refused(header, error)
            continue
        text = "it is there already" if is_there else logged.note(read)
        one = Taken(
            "same" if is_there else "imported", header.file, engine.name, header.task, text,
            study.config_hash(), len(study.items),
        )  # fmt: skip
        if is_there:
            yield one
            continue
        new[engine.name] = read, engine
        done.append(one)
        stated += [engine.name] if is_stated else []
    if new and not is_dry:
        _evaluate(study, new, stated)
    yield from done


def _session(study: ImportedStudy, engines: Sequence[Engine], metrics: Sequence[str] = ()) -> RunSession:
    """Return a planned session of models."""
    published = Warehouse.open().query(_PUBLISHED, [NAME]).to_dicts()
    evaluation = evaluation_of(study.items, metrics, published)
    session = RunSession(evaluation, study, {engine.name: engine for engine in engines}, {})
    session.plan_round()
    return session


def _is_there(study: ImportedStudy, engine: Engine, read: LoggedRun) -> bool:
    """Return whether a log is stored.

    Raises:
        ValueError: another log with the same model, task, date and items is.
    """
    session = _session(study, [engine])
    stored = session.completions(engine.name)(study.request)
    if n := sum(read.answers[name] != answer for name, answer in stored.items()):
        why = f"another log of this model, task and date is stored, with other scores of {n:,} samples"
        raise ValueError(f"{why}: keep one, or remove that run first (culturemeter runs --evaluation {NAME})")
    return not session.plan.left and all(map(runs.is_finished, session.run_ids().values()))


def _evaluate(
    study: ImportedStudy, new: Mapping[str, tuple[LoggedRun, Engine]], stated: Sequence[str]
) -> None:
    """Store the answers of logs, and let the loop make their rows: nothing is left to send."""
    params = study.params.model_copy(update={"models": list(new), "stated": list(stated)})
    study = replace(study, params=params)
    engines = [engine for _, engine in new.values()]
    metrics = sorted({metric for read, _ in new.values() for metric in read.metrics})
    ids = _session(study, engines).run_ids()
    for name, (read, engine) in new.items():
        _store(study, engine, ids[name], read.answers)
    texts = {name: partial(_texts, read) for name, (read, _) in new.items()}
    session = _session(replace(study, texts=texts), engines, metrics)
    with handed_over(session):
        evaluate(session.evaluation, params)


def _store(study: ImportedStudy, engine: Engine, run: str, answers: Mapping[str, ImportedAnswer]) -> None:
    """Store a log's answers as parts of their request."""
    request = study.request
    name = request.hash(engine)
    ids = {"request_hash": name, "run_id": run, "model": engine.name}
    provenance = {column: pl.lit(value) for column, value in ids.items()}
    waiting = iter(answers.items())
    while own := dict(islice(waiting, _AT_ONCE)):  # registering all at once would take much memory
        frame = ImportedAnswers.frame(own).with_columns(**provenance)
        steps.store_part(request.kind, part_name(name, [*own]), frame)


def _spec(header: LogHeader, choices: Choices) -> tuple[EngineSpec, bool]:
    """Return the spec of a log's model, and whether the user said which model it is.

    Raises:
        ValueError: the name is no valid one, or the user's name is unknown.
    """
    model = header.model
    said = choices.models.get(model.name) or choices.models.get(model.source) or choices.models.get("", "")
    name = said or model.name
    try:
        checked_name(name, "the name of the model")
    except ValueError as error:
        raise ValueError(f"{error}; --model-as NAME gives another") from error
    dtype: Any = model.dtype if model.dtype in _DTYPES else "auto"
    hub = (
        EngineSpec(name="model", model=model.source or "x", content=f"{HUB}{model.commit}")
        if model.commit
        else None
    )
    fields = {"name": name, "kind": IMPORTED, "model": model.source or model.name, "dtype": dtype}
    known = model_hash(hub) if hub and not {"peft", "delta"} & model.settings.keys() else ""
    is_stated = bool(said) and not known
    if is_stated:
        hashes = Warehouse.open().query(_KNOWN, [said, NAME])["model_hash"].to_list()
        known = str(hashes[0]) if len(hashes) == 1 else ""
    own: dict[str, Any] = {"args": dict(model.settings)} if model.settings else {}
    own |= {"dtype": model.dtype} if model.dtype else {}
    options = {MODEL_HASH: known or digest([NAME, name if said else model.source or name, own]), **own}
    return EngineSpec(**fields, revision=model.commit or None, options=options), is_stated


def _texts(read: LoggedRun) -> Iterator[Sample]:
    """Yield the samples of a log, opened again."""
    assert read.log.samples is not None
    study = read.study
    names, by_name = logged.Names(), {item.name: item for item in study.items}
    for sample in read.log.samples():
        name, is_new = names.of(sample)
        if not is_new or name not in by_name:
            continue
        item, answer = by_name[name], read.answers[name]
        scores = {
            rows.headline(study): Score.of(
                answer.values.get(study.params.metric),
                answer.unscored or answer.lost or None,
                answer=answer.answer or None,
            )
        }
        scores |= {
            rows.column(metric): Score.of(answer.values[metric])
            for metric in read.metrics
            if metric in answer.values
        }
        yield Sample(
            name,
            [{"role": m["role"], "content": m["content"]} for m in sample.prompt],
            sample.output,
            target=list(sample.target) if len(sample.target) > 1 else item.target,
            choices=sample.choices,
            finish_reason=sample.finish_reason,
            tokens=sample.tokens,
            scores=scores,
            metadata={
                "id": sample.id,
                "task": study.params.task,
                "cluster": item.cluster,
                **dict(zip(study.params.by, item.slices, strict=True)),
            },
        )


def _published(header: LogHeader, choices: Choices, is_dry: bool) -> Taken:
    """Store a log's aggregate as a published value, which nothing ranks."""
    about = header.file, header.model.name, header.task
    metric = next((m for m in header.metrics if m.name == choices.metric), None) if choices.metric else None
    metric = metric or next((m for m in header.metrics if m.name in header.aggregates), None)
    if metric is None:
        raise ValueError("it has neither samples nor a number")
    own, spec = header.aggregates[metric.name], _spec(header, choices)[0]
    when = header.date.partition("T")[0]
    words = " ".join(
        filter(
            None,
            (header.harness, header.harness_version, header.version and f"version {header.version}", when),
        )
    )
    row = {
        "source": words,
        "model": spec.name,
        "value": own.value,
        "slice_kind": TASK,
        "slice": header.task,
        "difference": f"{metric.name} as the log states it, without its samples",
        "note": "" if own.stderr is None else f"standard error {own.stderr:.3g}",
    }
    text = f"{metric.name} {own.value:.4g}, a published value: it has no samples"
    if metric.lower_is_better:
        raise ValueError(
            f"{metric.name} {own.value:.4g}: a loss without samples cannot be shown beside scores"
        )
    if is_dry:
        return Taken("published", *about, text)
    warehouse, key = Warehouse.open(), ("source", "model", "slice_kind", "slice")
    there = warehouse.query(_PUBLISHED, [NAME]).to_dicts()
    kept = [each for each in there if any(each[k] != row[k] for k in key)]
    if len(kept) < len(there) and row in there:
        return Taken("same", *about, "it is there already")
    with warehouse.write() as connection:
        save_recipe(connection, warehouse.store, NAME, rows.catalogue(), {}, [*kept, row])
    return Taken("published", *about, text)
