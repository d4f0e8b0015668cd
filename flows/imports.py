"""Makes ordinary runs of other programs' logs: parts, rows and views, without any model.

A log is read to its end before anything of it is stored, so a damaged one leaves nothing. Its scores are
stored as a part of answers, and the one loop makes the rows of them (``flows.evaluation``): it finds nothing
left to send. Texts are read from the log a second time, into the run's samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import polars as pl

from flows import runs
from flows.evaluation import evaluate
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
    ImportedItem,
    ImportedParams,
    ImportedStudy,
)
from tasks.exchange import Log, LoggedMetric, LoggedSample, LogHeader, Refused
from tasks.exchange.records import field_of
from tasks.identity import checked_name, digest
from tasks.loop import steps
from tasks.loop.requests import Engine, part_name
from tasks.loop.samples import Sample, Score
from warehouse import Warehouse, WarehouseError, save_recipe

MOST_ITEMS = 2_000_000
"""Most samples of one model and task."""
FEWER = 1e-6
"""Difference between a log's own number and the mean of its samples that is rounding."""

_PUBLISHED = "SELECT * EXCLUDE (evaluation) FROM recipe_published WHERE evaluation = ?"
_KNOWN = """
SELECT DISTINCT model_hash FROM run
WHERE NOT is_null AND status = 'finished' AND model = ? AND evaluation <> ?
"""
_AT_ONCE = 16_384
"""Answers in one part."""
_DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Choices:
    """Options of an import.

    Attributes:
        cluster: field whose values are the clusters; "": the items. by: fields for slices.
        metric: the headline; "": the log's first. models: model of a log -> the name by which the user knows
            it; the key "" stands for any. occasion: of logs without a date. limit: as ``--dry-run``'s.
    """

    cluster: str = ""
    by: tuple[str, ...] = ()
    metric: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    occasion: str = ""


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


@dataclass(frozen=True)
class _Read:
    """A log that was read to its end."""

    log: Log
    metric: LoggedMetric
    items: tuple[ImportedItem, ...]
    answers: Mapping[str, ImportedAnswer]
    scale: str
    metrics: tuple[str, ...]


def imported(found: Iterable[Log | Refused], choices: Choices, is_dry: bool = False) -> Iterator[Taken]:
    """Yield what became of each log; each is stored before the next is read.

    Args:
        is_dry: only say what would be stored.
    """
    for each in found:
        if isinstance(each, Refused):
            yield Taken("refused", each.file, "", "", each.why)
            continue
        header = each.header
        about = header.file, header.model.name, header.task
        try:
            if each.samples is None:
                yield _published(header, choices, is_dry)
            else:
                yield from _run(_read(each, choices), choices, is_dry)
        except (TableError, ValueError, WarehouseError) as error:
            text = " ".join(str(error).removeprefix(header.file).lstrip(":, ").split())
            yield Taken("refused", *about, text)


def _read(log: Log, choices: Choices) -> _Read:
    """Read a log to its end.

    Raises:
        ValueError: it has no sample or no number, or a field is missing.
    """
    assert log.samples is not None
    header, names = log.header, _Names()
    items: dict[str, ImportedItem] = {}
    values: dict[str, dict[str, float]] = {}
    counts: dict[tuple[str, str], int] = {}  # of repeated answers
    why: dict[str, tuple[str, str, str]] = {}
    known: dict[str, set[str]] = {}
    for sample in log.samples():
        name, is_new = names.of(sample)
        if len(items) > MOST_ITEMS:
            raise ValueError(f"it has more than {MOST_ITEMS:,} samples: split it")
        own = values.setdefault(name, {})
        for metric, value in sample.scores.items():
            if metric in own:
                n = counts[name, metric] = counts.get((name, metric), 1) + 1
                value = own[metric] + (value - own[metric]) / n
            own[metric] = value
        if is_new:
            for path in (choices.cluster, *choices.by):
                if path and field_of(sample.fields, path) is None:
                    known.setdefault(path, set()).update(map(str, sample.fields))
                    if len(known[path]) and not items:
                        raise ValueError(_no_field(path, sample))
            items[name] = _item(name, sample, choices)
            why[name] = sample.lost, sample.unscored, sample.answer or ""
    if not items:
        raise ValueError("it has no sample")
    first = _headline(header, values, choices.metric)
    numbers = [own[first.name] for own in values.values() if first.name in own]
    answers = {
        name: ImportedAnswer(
            values[name], lost, unscored if first.name not in values[name] else "", answer[:LONGEST]
        )
        for name, (lost, unscored, answer) in why.items()
    }
    names_of = tuple(rows.metrics_of(answers.values()))
    return _Read(log, first, tuple(sorted(items.values())), answers, _scale(first, numbers), names_of)


LONGEST = 4000
"""Most letters of an answer in the table of answers; the whole output is in the sample."""


class _Names:
    """Names samples' items: by content, and documents that are there twice with a number."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._others: dict[str, list[str]] = {}

    def of(self, sample: LoggedSample) -> tuple[str, bool]:
        """Return the name of a sample's item, and whether it is the item's first sample."""
        if (first := self._first.get(sample.item)) is None:
            self._first[sample.item] = sample.id
            return sample.item, True
        if first == sample.id:
            return sample.item, False
        others = self._others.setdefault(sample.item, [])
        is_new = sample.id not in others
        if is_new:
            others.append(sample.id)
        return f"{sample.item}-{others.index(sample.id) + 2}", is_new


def _no_field(path: str, sample: LoggedSample) -> str:
    there = ", ".join(sorted(map(str, sample.fields))[:20]) or "none"
    return f"its samples have no field {path!r}; they have: {there}"


def _item(name: str, sample: LoggedSample, choices: Choices) -> ImportedItem:
    cluster = field_of(sample.fields, choices.cluster) if choices.cluster else None
    right = -1 if sample.right is None or not sample.choices else sample.right
    return ImportedItem(
        name,
        cluster or name,
        tuple(field_of(sample.fields, path) or "" for path in choices.by),
        (sample.target[0] if len(sample.target) == 1 else "")[:LONGEST],
        right,
        tuple(map(len, sample.choices)),
        tuple(sample.also),
    )


def _headline(header: LogHeader, values: Mapping[str, Mapping[str, float]], wanted: str) -> LoggedMetric:
    """Return the metric that is the headline: the named one, else the log's first that its samples have."""
    there = {metric for own in values.values() for metric in own}
    known = {metric.name: metric for metric in header.metrics} | {
        name: LoggedMetric(name) for name in sorted(there - {metric.name for metric in header.metrics})
    }
    if wanted and wanted not in there:
        raise ValueError(
            f"--metric: its samples have no {wanted!r}; they have: {', '.join(sorted(there)[:20])}"
        )
    name = wanted or next((name for name in known if name in there), "")
    if not name:
        raise ValueError("its samples have no number")
    return known[name]


def _scale(metric: LoggedMetric, numbers: Sequence[float]) -> str:
    """Return the kind of the headline's values: as known of the metric, else as they are."""
    is_share = all(0 <= value <= 1 for value in numbers)
    if metric.bounds == (0.0, 1.0) and is_share:
        is_hit = metric.is_hit if metric.is_hit is not None else all(value in (0, 1) for value in numbers)
        return "hit" if is_hit else "share"
    if metric.bounds is None and is_share:
        return "hit" if all(value in (0, 1) for value in numbers) else "share"
    return "any"


def _run(read: _Read, choices: Choices, is_dry: bool) -> Iterator[Taken]:
    """Store a log as a run, unless it is there; yield what became of it."""
    header = read.log.header
    spec, is_stated = _spec(header, choices)
    params = _params(read, spec.name, is_stated, choices)
    study = ImportedStudy(params, read.items)
    note = _note(read)
    about = header.file, spec.name, header.task
    engine = replace(Engine.of(spec), occasion=params.occasion)
    taken = runs.namesakes(study.config_hash())
    if taken.get(engine.name, {engine.hash}) != {engine.hash}:
        engine = replace(engine, name=f"{engine.name}#{engine.hash[:4]}")
    texts = {engine.name: partial(_texts, read, study)}
    evaluation = evaluation_of(
        read.items, read.metrics, Warehouse.open().query(_PUBLISHED, [NAME]).to_dicts()
    )

    def planned() -> RunSession:
        session = RunSession(evaluation, replace(study, texts=texts), {engine.name: engine}, {})
        session.plan_round()
        return session

    session = planned()
    is_there = not session.plan.left
    if is_there and (stored := session.completions(engine.name)(study.request)) != dict(read.answers):
        n = sum(stored.get(name) != answer for name, answer in read.answers.items())
        why = f"another log of this model, task and date is stored, with other scores of {n:,} samples"
        raise ValueError(f"{why}: keep one, or remove that run first (culturemeter runs --evaluation {NAME})")
    if is_there and all(map(runs.is_finished, session.run_ids().values())):
        yield Taken("same", *about, "it is there already", session.config, len(read.items))
        return
    if is_dry:
        yield Taken("imported", *about, note, session.config, len(read.items))
        return
    if not is_there:
        _store(session, study, engine, read.answers)
        session = planned()
    with handed_over(session):
        evaluate(evaluation, params)
    yield Taken("imported", *about, note, session.config, len(read.items))


def _store(
    session: RunSession, study: ImportedStudy, engine: Engine, answers: Mapping[str, ImportedAnswer]
) -> None:
    """Store a log's answers as a part of their request."""
    request = study.request
    name, (run,) = request.hash(engine), session.run_ids().values()
    ids = {"request_hash": name, "run_id": run, "model": engine.name}
    provenance = {column: pl.lit(value) for column, value in ids.items()}
    waiting = iter(answers.items())
    while own := dict(islice(waiting, _AT_ONCE)):  # registering all at once would take much memory
        frame = ImportedAnswers.frame(own).with_columns(**provenance)
        steps.store_part(request.kind, part_name(name, [*own]), frame)


def _params(read: _Read, model: str, is_stated: bool, choices: Choices) -> ImportedParams:
    header, metric = read.log.header, read.metric
    return ImportedParams.model_validate(
        {
            "models": [model],
            "occasion": header.date or choices.occasion,
            "profile": header.task,
            "harness": header.harness,
            "task": header.task,
            "version": header.version,
            "settings": dict(header.settings),
            "metric": metric.name,
            "direction": "lower" if metric.lower_is_better else "higher",
            "scale": read.scale,
            "cluster": choices.cluster,
            "by": list(choices.by),
            "harness_version": header.harness_version,
            "stated": [model] if is_stated else [],
        }
    )


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


def _note(read: _Read) -> str:
    """Return a line on a log: how much of it there is, its number, and what does not fit."""
    header, metric = read.log.header, read.metric
    values = [a.values[metric.name] for a in read.answers.values() if metric.name in a.values]
    mean, n = sum(values) / len(values), len(read.items)
    parts = [f"{n:,} samples", f"{metric.name} {mean:.4g}"]
    lost: dict[str, int] = {}
    for answer in read.answers.values():
        if answer.lost:
            lost[answer.lost] = lost.get(answer.lost, 0) + 1
    parts += [f"{count:,} {reason}" for reason, count in sorted(lost.items())]
    if header.n is not None and header.n > n:
        parts.append(f"the log counts {header.n:,} samples, and holds only these")
    own = header.aggregates.get(metric.name)
    if own is not None and abs(own.value - mean) > FEWER and (header.n is None or header.n <= n):
        parts.append(f"the log's own number is {own.value:.4g}")
    if why := rows.why_no_null(ImportedStudy(_params(read, "m", False, Choices()), read.items)):
        parts.append(f"no null: {why}")
    return ", ".join(parts)


def _texts(read: _Read, study: ImportedStudy) -> Iterator[Sample]:
    """Yield the samples of a log, opened again."""
    assert read.log.samples is not None
    names, by_name = _Names(), {item.name: item for item in study.items}
    for logged in read.log.samples():
        name, is_new = names.of(logged)
        if not is_new or name not in by_name:
            continue
        item, answer = by_name[name], read.answers[name]
        scores = {
            rows.headline(study): Score.of(
                answer.values.get(read.metric.name),
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
            [{"role": m["role"], "content": m["content"]} for m in logged.prompt],
            logged.output,
            target=list(logged.target) if len(logged.target) > 1 else item.target,
            choices=logged.choices,
            finish_reason=logged.finish_reason,
            tokens=logged.tokens,
            scores=scores,
            metadata={
                "id": logged.id,
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
