"""People's own answers through the scoring of an evaluation: the same judges, reading and rows as a model's.

Nothing of it becomes a run: people are on no leaderboard and in no cohort. Judges' verdicts are stored like
others, so a second scoring sends nothing twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from flows.evaluation import check_keys
from flows.runs import FinishedRun
from flows.session import SHARED, RunSession
from flows.stored import rebuilt
from tasks.evaluations.contract import Cohort, Completions, Evaluation
from tasks.evaluations.recipe.options import letter
from tasks.identity import digest
from tasks.loop import steps
from tasks.loop.items import OptionScores
from tasks.loop.requests import Engine, Request
from tasks.loop.rows import Slice
from tasks.metrics.intervals import UNBOUNDED
from tasks.metrics.two_way import TwoWayMean, two_way_mean
from tasks.people.asked import AskedItem, askable

Texts = Mapping[str, Mapping[str, str]]
"""Person -> id of a prompt -> what the person wrote."""


@dataclass(frozen=True)
class Ceiling:
    """People's mean of one headline."""

    metric: str
    where: Slice
    mean: TwoWayMean
    n_answers: int


def asked_of(evaluation: Evaluation[Any, Any, Any], run: FinishedRun) -> dict[str, list[AskedItem]]:
    """Return the prompts of a run's configuration that people can answer, by label. Raises as ``rebuilt``."""
    study, completions = rebuilt(evaluation, run)
    return askable(evaluation.ask(study, Completions(_person("", {}), completions.engines, _nothing)))


def ceilings(
    evaluation: Evaluation[Any, Any, Any],
    run: FinishedRun,
    texts: Texts,
    bounds: Mapping[str, tuple[float, float]],
) -> list[Ceiling]:
    """Score people's answers as a model's under a run's configuration, and return the headlines' means.

    Args:
        bounds: metric -> range of a score.

    Raises:
        EngineError: a judge failed; verdicts before the failure are stored.
        WarehouseError: the configuration's requests have changed.
    """
    study, completions = rebuilt(evaluation, run)
    people = {person: _person(person, own) for person, own in texts.items()}
    session = _PeopleSession(evaluation, study, people, dict(completions.engines), texts=texts)
    session.plan_round()
    check_keys(session)
    _judge(session)
    shared = evaluation.shared.read(study, session.completions(SHARED)) if evaluation.shared else None
    answers = {name: evaluation.read(study, session.completions(name), shared) for name in people}
    rows = evaluation.rows(study, Cohort(answers, answers, people), shared).metrics
    found: dict[tuple[str, Slice], list[tuple[str, Any]]] = {}
    for person in people:
        for row in rows[person]:
            if row.points is not None and row.points.design == "item":
                found.setdefault((row.metric, (row.slice_kind, row.slice)), []).append((person, row.points))
    return [_ceiling(metric, where, own, bounds) for (metric, where), own in found.items()]


def _ceiling(
    metric: str, where: Slice, own: Sequence[tuple[str, Any]], bounds: Mapping[str, tuple[float, float]]
) -> Ceiling:
    scores = np.concatenate([points.values for _, points in own])
    people = np.concatenate([[person] * len(points.units) for person, points in own])
    items, clusters = (
        np.concatenate([getattr(points, name) for _, points in own]) for name in ("units", "clusters")
    )
    mean = two_way_mean(scores, people, items, clusters, bounds.get(metric, UNBOUNDED))
    return Ceiling(metric, where, mean, scores.size)


def _judge(session: RunSession) -> None:
    """Have judges work until they have nothing to do. Raises EngineError if one fails."""
    while works := list(session.plan.work):
        for work in works:
            model = work.wanted.model
            run = digest([session.config, "people", model], 32), model or next(iter(session.candidates))
            label = f"{work.wanted.engine.name} judges people's answers"
            answered = steps.complete(work, run, session.meter(model), label, len(work.units))
            session.record_answers(work, steps.store(answered), answered.failure is None, answered.lost)
            if answered.failure:
                raise answered.failure
        session.raise_failures()
        session.plan_round()


@dataclass
class _PeopleSession(RunSession):
    """A session whose candidates are people: their answers are there, so only judges are asked."""

    texts: Texts = field(default_factory=dict)

    def completions(self, model: str) -> Completions:
        """Return the person's answers, and judges' stored verdicts on them."""
        read = partial(_read, self.texts.get(model, {}), self._options)
        return replace(super().completions(model), read=read)

    def _requests(self, models: Collection[str] | None = None) -> dict[str, list[Request[Any]]]:
        return {
            model: [each for each in own if each.role != "candidate"]
            for model, own in super()._requests(models).items()
        }

    @cached_property
    def _options(self) -> Mapping[str, tuple[str, ...]]:
        """Return question -> its options."""
        anybody = Completions(_person("", {}), self.engines, _nothing)
        return {
            unit: question.options
            for request in self.evaluation.ask(self.study, anybody)
            if isinstance(request, OptionScores)
            for unit, question in request.by_id.items()
        }


def _person(name: str, texts: Mapping[str, str]) -> Engine:
    return Engine(name, "people", "people", digest(["people", name, dict(texts)]))


def _nothing(kind: str, request: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
    return steps.stored(kind, "", [], columns)


def _read(
    texts: Mapping[str, str],
    options: Mapping[str, tuple[str, ...]],
    kind: str,
    request: str,
    units: Sequence[str],
    columns: Sequence[str],
) -> pl.DataFrame:
    """Return rows of a person's answers, and stored rows of other units."""
    stored = steps.stored(kind, request, [unit for unit in units if unit not in texts], columns)
    own = [unit for unit in dict.fromkeys(units) if unit in texts]
    rows: list[dict[str, Any]] = []
    for unit in own:
        if kind == "response":
            rows.append({"item": unit, "text": texts[unit], "finish_reason": "stop"})
        elif kind == "option_score" and (place := letter(texts[unit], options[unit])) is not None:
            rows += [
                {"item": unit, "place": n, "logprob": 0.0 if n == place else -1e6, "n_tokens": 1}
                for n in range(len(options[unit]))
            ]
    frame = pl.DataFrame(rows, schema=stored.schema) if rows else stored.clear()
    if kind == "response" and rows:
        frame = frame.with_columns(pl.col("prompt_tokens", "completion_tokens", "seed").fill_null(0))
    return pl.concat([stored, frame])
