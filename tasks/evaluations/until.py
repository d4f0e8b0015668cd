"""Runs that end once enough is sent (``--until``): one wrapper for every evaluation whose headline is a mean.

The wrapped evaluation asks for the items of the first look, then of the next, in the order of
``tasks.loop.until``, and stops when the rule is met. Every look is a round of the loop, so a killed run
goes on by itself. Prompts are those of a full run, which finds their answers stored. Rows are the
headline's alone, with the sequence's interval: intervals for a fixed number of items do not hold for a
number that the answers chose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.contract import (
    Cohort,
    Completions,
    Detail,
    Evaluation,
    Params,
    Rows,
    Tables,
    comparable,
)
from tasks.identity import digest
from tasks.loop.requests import Engine, Later, Request
from tasks.loop.rows import OVERALL, Metric, Reasons, count_rows, main_reason, scored, unscored
from tasks.loop.samples import Sample
from tasks.loop.until import VERSION, Filled, Order, Rule, expected, is_decided, look
from tasks.metrics.types import FloatArray

OTHER_TABLE = "until_other"
"""Name of the table of finished runs, oldest first: model and config_hash, and the other model's points with
metric, unit and value."""
SHARE_SENT, DIFFERENCE = "share_sent", "difference_from_other"


@dataclass(frozen=True)
class ItemMean:
    """A headline that is a mean over items, of scores within bounds.

    Attributes:
        metric: study -> its name and bounds.
        items: study -> name and cluster of each item, in the order of ``scores``.
        only: study, positions of items -> the study of these items and of nothing but the headline.
        ask: that study -> its requests, as ``Evaluation.ask``.
        scores: that study, answers -> [items] scores, NaN where unscored; why unscored; why lost ("": not).
        null: study, result of ``shared.read`` -> the null of all items; None if it is not known.
        refused: study -> why its headline is no such mean, in one line; "": it is.
        is_lower: study -> whether less is better.
    """

    metric: Callable[[Any], tuple[str, tuple[float, float]]]
    items: Callable[[Any], Sequence[tuple[str, str]]]
    only: Callable[[Any, Sequence[int]], Any]
    ask: Callable[[Any, Completions], Sequence[Request[Any]]]
    scores: Callable[[Any, Any], tuple[FloatArray, Reasons, Reasons]]
    null: Callable[[Any, Any], float | None]
    refused: Callable[[Any], str] = lambda study: ""
    is_lower: Callable[[Any], bool] = lambda study: False


@dataclass(frozen=True)
class Sent:
    """Items that a model was sent: their study, how many there are, its answers, and all scores."""

    study: Any
    n: int
    answers: Any
    scores: FloatArray
    reasons: Reasons
    lost: Reasons


@dataclass(frozen=True)
class UntilStudy:
    """A study with a rule; everything else of it is the whole study's.

    Attributes:
        other: item -> score of the model to separate from, from its full run.
        undecided: model and place of each look that is known not to decide.
    """

    whole: Any
    evaluation: Evaluation[Any, Any, Any]
    mean: ItemMean
    other: Mapping[str, float]
    undecided: set[tuple[str, str, int]] = field(default_factory=set, compare=False, repr=False)
    _parts: dict[int, Any] = field(default_factory=dict, compare=False, repr=False)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the whole study."""
        if name.startswith("__") or name == "whole":
            raise AttributeError(name)
        return getattr(self.whole, name)

    @property
    def params(self) -> Params:
        """Implement ``contract.Study``."""
        own: Params = self.whole.params
        return own

    @property
    def materials(self) -> Mapping[str, str]:
        """Implement ``contract.Study``."""
        own: Mapping[str, str] = self.whole.materials
        return own

    def config_hash(self) -> str:
        """Implement ``contract.Study``; no full run shares it, nor another rule, order or other model, which
        its scores stand for: it may have several names.
        """
        own = [
            self.whole.config_hash(),
            "until",
            VERSION,
            str(self.rule._replace(other="")),
            self.params.seed,
        ]
        return digest([*own, sorted(self.other.items())] if self.other else own)

    @cached_property
    def rule(self) -> Rule:
        """Return the rule that ends a run."""
        return Rule.parsed(self.params.until)

    @cached_property
    def order(self) -> Order:
        """Return the order of all items."""
        names, clusters = zip(*self.mean.items(self.whole), strict=True)
        return Order(names, clusters, self.params.seed, by_cluster=not self.rule.of_set)

    @property
    def metric(self) -> str:
        """Return the headline's name."""
        return self.mean.metric(self.whole)[0]

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """Return the bounds of what the rule looks at: the headline, or its difference from the other's."""
        low, high = self.mean.metric(self.whole)[1]
        return (low - high, high - low) if self.other else (low, high)

    def scaled(self, value: float) -> float:
        """Return a number within ``bounds`` as a number in [0, 1]."""
        return (value - self.bounds[0]) / (self.bounds[1] - self.bounds[0])

    @cached_property
    def sized(self) -> Rule:
        """Return the rule with its width as a share of the bounds."""
        return self.rule._replace(width=self.rule.width / (self.bounds[1] - self.bounds[0]))

    @cached_property
    def forecast(self) -> tuple[float, str]:
        """Return the expected number of items, and the forecast in words."""
        target = 0.0
        if self.rule.kind != "width":
            null = self.own_null if self.rule.kind == "beyond-null" else 0.0
            target = 0.0 if null is None else self.scaled(null)
        best = float(not self.mean.is_lower(self.whole))
        n, (mean, imagined) = len(self.order.names), expected(self.order, self.sized, target, best)
        words = f"until {self.rule}: expected {mean:,.0f} of {n:,} items if a model {imagined}; at most all"
        return mean, words

    def part(self, place: int) -> Any:
        """Return the study of the items that are sent by a look."""
        if place not in self._parts:
            positions = np.sort(self.order.sequence[: self.order.looks[place]]).tolist()
            self._parts[place] = self.mean.only(self.whole, positions)
        return self._parts[place]

    @cached_property
    def own_null(self) -> float | None:
        """Return the null of all items; None if it needs verdicts of judges."""
        return self.mean.null(self.whole, {})

    @property
    def needs_shared(self) -> bool:
        """Return whether the decision needs a null that judges have to judge."""
        return self.rule.kind == "beyond-null" and self.own_null is None

    def null(self, completions: Completions) -> float | None:
        """Return the null of all items, from the study's own answers so far; None if it is not known yet."""
        shared = self.evaluation.shared
        if shared is None or not self.needs_shared:
            return self.own_null
        alone = Completions(None, completions.engines, completions.read)
        return self.mean.null(self.whole, shared.read(self.whole, alone))

    def target(self, completions: Completions) -> float | None:
        """Return the mean that the interval has to exclude, in [0, 1]; None: there is none, or not yet."""
        if self.rule.kind == "separates":
            return self.scaled(0.0)
        null = self.null(completions) if self.rule.kind == "beyond-null" else None
        return None if null is None else self.scaled(null)

    def asked(self, place: int, completions: Completions) -> list[Request[Any]]:
        """Return the requests of the items that are sent by a look, and those that its decision needs."""
        return [*self.mean.ask(self.part(place), completions), *self.asked_shared(completions)]

    def asked_shared(self, completions: Completions) -> Sequence[Request[Any]]:
        """Return the requests of the study itself, if the decision needs them."""
        shared = self.evaluation.shared
        return shared.ask(self.whole, completions) if shared and self.needs_shared else ()

    def sent(self, place: int, completions: Completions, shared: Any = None) -> Sent:
        """Return what a model was sent by a look, with its answers."""
        part, n = self.part(place), self.order.looks[place]
        answers = self.evaluation.read(part, completions, shared)
        own, reasons, lost = self.mean.scores(part, answers)
        scores = np.full(len(self.order.names), np.nan)
        scores[np.sort(self.order.sequence[:n])] = own
        return Sent(part, n, answers, scores, reasons, lost)

    def looked_at(self, sent: Sent) -> tuple[FloatArray, Filled]:
        """Return [items] in [0, 1] what the rule looks at, NaN where it is not known, and the same with the
        least and with the greatest score of each that was sent and has none; None if all have one.
        """
        is_lost = np.isnan(sent.scores)
        is_lost[self.order.sequence[sent.n :]] = False
        others = np.array([self.other.get(name, np.nan) if self.other else 0.0 for name in self.order.names])
        low, high = self.bounds

        def shares(scores: FloatArray) -> FloatArray:
            return np.asarray((scores - others - low) / (high - low))

        if not is_lost.any():
            return shares(sent.scores), None
        least, greatest = (np.where(is_lost, end, sent.scores) for end in self.mean.metric(self.whole)[1])
        return shares(sent.scores), (shares(least), shares(greatest))

    def decides(self, place: int, completions: Completions) -> bool:
        """Return whether a look ends the run; the last one does."""
        key = self._key(place, completions)
        if key in self.undecided:
            return False
        if place == len(self.order.looks) - 1:
            return True
        sent = self.sent(place, completions)
        scores, filled = self.looked_at(sent)
        if not is_decided(self.order, self.sized, scores, sent.n, self.target(completions), filled):
            self.undecided.add(key)
            return False
        return True

    def now(self, completions: Completions) -> int:
        """Return the place of the look that is due: the first that lacks answers which are not lost, or that
        ends the run.
        """
        for place in range(len(self.order.looks)):
            if self._key(place, completions) in self.undecided:
                continue
            is_settled = not any(map(completions.missing, self.asked(place, completions)))
            if not is_settled or self.decides(place, completions):
                return place
        raise AssertionError("the last look decides")

    def _key(self, place: int, completions: Completions) -> tuple[str, str, int]:
        candidate = completions.candidate
        return (candidate.hash, candidate.occasion, place) if candidate else ("", "", place)

    def last(self, completions: Completions) -> int:
        """Return the place of the last look that began; the run may have lost answers that no one counts."""
        place = 0
        while not self.decides(place, completions) and self._has_begun(place + 1, completions):
            place += 1
        return place

    def _has_begun(self, place: int, completions: Completions) -> bool:
        """Return whether there are answers to items that a look is the first to have."""

        def asked(at: int) -> Iterator[tuple[str, Request[Any]]]:
            for request in self.mean.ask(self.part(at), completions):
                yield request.hash(completions.engine(request)), request

        before = {(name, unit) for name, request in asked(place - 1) for unit in request.units}
        own = ((name, unit) for name, request in asked(place) for unit in completions.answered(request))
        return any(each not in before for each in own)


def stoppable(evaluation: Evaluation[Any, Any, Any], mean: ItemMean) -> Evaluation[Any, Any, Any]:
    """Return the evaluation with runs that may end early; without a rule it is the same."""

    shared = evaluation.shared

    def study(params: Params, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Any:
        own = {name: rows for name, rows in tables.items() if name != OTHER_TABLE}
        whole = evaluation.study(params, own, engines)
        if not params.until:
            return whole
        if refused := mean.refused(whole):
            raise ValueError(f"--until: {evaluation.name}: {refused}: run it whole")
        rule, (metric, bounds) = Rule.parsed(params.until), mean.metric(whole)
        if rule.width >= bounds[1] - bounds[0]:
            raise ValueError(
                f"--until: {rule} says nothing of {metric}, which lies in {bounds[0]:g} to {bounds[1]:g}"
            )
        other = _other(evaluation.name, rule, mean, whole, tables) if rule.kind == "separates" else {}
        return UntilStudy(whole, evaluation, mean, other)

    def ask(study: Any, completions: Completions) -> Sequence[Request[Any]]:
        if not isinstance(study, UntilStudy):
            return evaluation.ask(study, completions)
        return study.asked(study.now(completions), completions)

    def read(study: Any, completions: Completions, shared: Any) -> Any:
        if not isinstance(study, UntilStudy):
            return evaluation.read(study, completions, shared)
        return study.sent(study.last(completions), completions, shared), study.null(completions)

    def rows(study: Any, cohort: Cohort[Any], shared: Any) -> Tables:
        if not isinstance(study, UntilStudy):
            return evaluation.rows(study, cohort, shared)
        return _rows(study, cohort, shared)

    def later(study: Any) -> Iterable[Later]:
        return _later(study) if isinstance(study, UntilStudy) else evaluation.later(study)

    def size(study: Any) -> str:
        own = evaluation.size(_whole(study))
        return f"{own}\n{study.forecast[1]}" if isinstance(study, UntilStudy) else own

    def samples(study: Any, completions: Completions) -> Iterable[Sample]:
        assert evaluation.samples is not None
        if isinstance(study, UntilStudy):
            study = study.part(study.last(completions))
        return evaluation.samples(study, completions)

    def whole_of(make: Callable[[Any], Any] | None) -> Any:
        return None if make is None else lambda study: make(_whole(study))

    return replace(
        evaluation,
        study=study, ask=ask, read=read, rows=rows, later=later, size=size, whole="",
        refused=whole_of(evaluation.refused), content=whole_of(evaluation.content),
        shared=shared and replace(
            shared,
            ask=lambda study, completions: (
                study.asked_shared(completions)
                if isinstance(study, UntilStudy)
                else shared.ask(study, completions)
            ),
            read=lambda study, completions: shared.read(_whole(study), completions),
        ),
        samples=samples if evaluation.samples else None,
        about=evaluation.about and replace(evaluation.about, more=_catalogue(evaluation.about.more)),
    )  # fmt: skip


def _whole(study: Any) -> Any:
    return study.whole if isinstance(study, UntilStudy) else study


def _other(name: str, rule: Rule, mean: ItemMean, whole: Any, tables: Mapping[str, Rows]) -> dict[str, float]:
    """Return the scores of the model to separate from.

    Raises:
        ValueError: it has no full run under this configuration.
    """
    config, metric = comparable(whole), mean.metric(whole)[0]
    runs = [row for row in tables.get(OTHER_TABLE, ()) if row["config_hash"] == config]
    found = {
        str(row["unit"]): float(row["value"])
        for row in runs
        if row["value"] is not None and row["metric"] == metric
    }
    if not found.keys() & {item for item, _ in mean.items(whole)}:
        known = ", ".join(dict.fromkeys(row["model"] for row in runs)) or "none"
        raise ValueError(
            f"--until: {rule.other} has no finished full run under configuration {config} (models that have "
            f"one: {known}): culturemeter run {name} -m {rule.other}, with the same options, gives it one"
        )
    return found


def _rows(study: UntilStudy, cohort: Cohort[Any], shared: Any) -> Tables:
    """Return the headline of the models and null models, what was sent, and the tables of every answer."""
    config = comparable(study)
    alone = study.evaluation.rows(study.whole, Cohort({}, {}, {}), shared)
    metrics: dict[str, Sequence[Metric]] = {
        name: [row for row in own if row[:3] == (study.metric, *OVERALL) and row.value is not None]
        for name, own in alone.metrics.items()
        if study.needs_shared or study.own_null is not None  # others may have been judged for another run
    }
    details: dict[str, Sequence[Detail]] = {}
    for model, (sent, null) in cohort.models.items():
        metrics[model] = list(_model_rows(study, sent, null))
        of_part = Cohort({model: sent.answers}, {}, cohort.engines)
        tables = study.evaluation.rows(sent.study, of_part, None)  # no check of a judge, which has all items
        details[model] = [
            replace(detail, frame=_of_headline(detail.frame, config)) for detail in tables.details[model]
        ]
    return Tables(metrics, details)


def _model_rows(study: UntilStudy, sent: Sent, null: float | None) -> Iterator[Metric]:
    n_all, known = len(study.order.names), int((~np.isnan(sent.scores)).sum())
    counts = known, sent.n - known
    scores, filled = study.looked_at(sent)
    seen = look(study.order, study.sized, scores, sent.n, filled=filled)
    headline, own = study, seen
    if study.other:  # the difference decides; the headline has an interval of its own
        headline = replace(study, other={})
        scores, filled = headline.looked_at(sent)
        own = look(study.order, Rule("beyond-null"), scores, sent.n, filled=filled)
    if own.value is None:
        yield unscored(study.metric, OVERALL, main_reason(sent.reasons), sent.n, null)
    else:
        # The interval of a set's own mean says nothing of the model beyond it, so no null stands beside it.
        beside = None if study.rule.of_set else null
        ends = own.interval and _within(own.interval, headline.bounds)
        value = _within((own.value, own.value), headline.bounds)[0]
        yield scored(study.metric, OVERALL, value, counts, ends, beside)
    if study.other and seen.value is not None:
        ends, value = seen.interval and _within(seen.interval, study.bounds), seen.value
        yield scored(DIFFERENCE, OVERALL, _within((value, value), study.bounds)[0], counts, ends, 0.0)
    yield scored(SHARE_SENT, OVERALL, sent.n / n_all, (n_all, 0))
    yield from count_rows(sent.lost)


def _within(ends: tuple[float, float], bounds: tuple[float, float]) -> tuple[float, float]:
    """Return numbers in [0, 1] within bounds."""
    low, width = bounds[0], bounds[1] - bounds[0]
    return low + width * ends[0], low + width * ends[1]


def _of_headline(frame: pl.DataFrame, config: str) -> pl.DataFrame:
    """Return a table of answers under the run's configuration, without conditions that were not sent."""
    if frame.is_empty():
        return frame
    if "condition" in frame.columns:
        frame = frame.filter(pl.col("condition") == frame["condition"][0])
    return frame.with_columns(config_hash=pl.lit(config)) if "config_hash" in frame.columns else frame


def _catalogue(more: Callable[[Any], Rows]) -> Callable[[Any], Rows]:
    """Return the function that makes further rows of the table metric, with those of an until-run, which are
    the same for every rule.
    """

    def row(metric: str, label: str, unit: str, low: float, high: float, about: str) -> dict[str, Any]:
        return {
            "metric": metric, "label": label, "is_headline": False, "unit": unit, "range_low": low,
            "range_high": high, "direction": "none", "description": about, "null_baseline": "none",
            "unscored_when": "nothing was answered", "source": "Waudby-Smith and Ramdas (2024)",
        }  # fmt: skip

    def rows(study: Any) -> Rows:
        if not isinstance(study, UntilStudy):
            return more(study)
        low, high = study.mean.metric(study.whole)[1]
        sent = "Share of the items that a run with --until sent; the headline's interval holds at every look."
        other = "Mean score minus that of the model after separates, item by item, over the items sent."
        return [
            *more(study.whole),
            row(SHARE_SENT, "Share sent", "fraction", 0.0, 1.0, sent),
            row(DIFFERENCE, "Difference", "difference", low - high, high - low, other),
        ]

    return rows


def _later(study: UntilStudy) -> Iterator[Later]:
    """Yield the most that later looks may send, and what is expected."""
    n, first = len(study.order.names), study.order.looks[0]
    mean, _ = study.forecast
    writing = [
        r for r in study.mean.ask(study.mean.only(study.whole, range(n)), _NOTHING) if r.at_most(r.units)
    ]
    most = [each for request in writing for each in request.at_most(request.units)]
    often = max(1.0, len(most) / n)  # texts about an item
    if most and n > first:
        tokens = [each.prompt_tokens + each.completion_tokens for each in most]
        prompt, completion = (
            float(np.mean([getattr(each, f"{of}_tokens") for each in most]))
            for of in ("prompt", "completion")
        )
        usual = (max(0.0, mean - first) * often, prompt, completion / 2)
        yield Later("candidate", "", round((n - first) * often), round(float(np.mean(tokens))), usual=usual)
    for each in study.evaluation.later(study.whole):
        if each.is_shared or not each.usual:
            yield each
        else:  # no text of another condition, and none of a control, is sent
            usual = (min(each.usual[0], mean * often), *each.usual[1:])
            yield replace(each, n=min(each.n, round(n * often)), usual=usual)


_NOTHING = Completions(
    Engine("anybody", "", "", "anybody"),
    {},
    lambda kind, request, units, columns: pl.DataFrame(schema=dict.fromkeys(columns, pl.String)),
)
