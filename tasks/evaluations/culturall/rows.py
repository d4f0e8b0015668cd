"""From what models answered to rows of ``metric_value``. Pure.

Slices: ("language", "zh"), ("region", "CN"), ("topic", "Food"), ("form", "choice"), ("difficulty", "hard")
by the other models of the cohort, ("published_difficulty", "hard") by the 15 published settings,
("model_pair", another model), ("judge", name), ("judge_language", "name:zh"), ("reason", why unanswered).
What carries no condition in its name is under the condition native. Intervals are over regions, and over
items where all are of one region.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.culturall import scores
from tasks.evaluations.culturall.answers import CHECKS
from tasks.evaluations.culturall.requests import Study
from tasks.evaluations.culturall.scores import LEVELS, UNKNOWN, Scores
from tasks.judging.controls import check_row, preference_row
from tasks.judging.panel import Opinions
from tasks.loop.rows import OVERALL, Metric, Slice, count_rows, difference_row, mean_row, slices, unscored
from tasks.metrics.intervals import CORRELATION, SHARE
from tasks.metrics.types import BoolArray, FloatArray

DIFFERENCES = {
    "english_gain": ("english", "native"),
    "scenario_gain": ("native", "question"),
    "retrieval_gain": ("retrieval", "native"),
}
"""Metric -> the two conditions that it holds against each other, item by item."""

TOO_FEW_MODELS = f"fewer than {scores.LEAST_MODELS} other models of the cohort answered"
IN_ENGLISH = "the items are in English"
NO_ITEM = "no item of this answer form"

CONSTANT_LETTER, OTHER_ANSWER = "null:constant-letter", "null:other-answer"

EFFORTS = ("none", "tokens", "minimal", "low", "medium", "high", "xhigh", "max", "auto")
"""Reasoning from little to much; budgets in tokens are compared by their number."""

Answered = Mapping[str, Scores]
"""Condition -> one model's scores"""


class Setting(NamedTuple):
    """What a name such as gpt-5_high_false says."""

    model: str
    reasoning: str
    web: bool


def model_rows(
    study: Study, model: str, candidate: str, answered: Mapping[str, Answered], others: Sequence[str]
) -> list[Metric]:
    """All rows of one model.

    Args:
        candidate: its name in its engine's spec, for its family.
        answered: of this and of other models. others: the cohort's models without this one.
    """
    own, null = answered[model], scores.guessing(study.items)
    return [
        *(row for where, chosen in _slices(study) for row in _slice_rows(study, own, null, where, chosen)),
        *_difficulty_rows(study, own, null, [answered[other] for other in others]),
        *_setting_rows(study, model, answered),
        *count_rows(np.concatenate([of.unanswered for of in own.values()])),
        *([preference_row(study.judges.values(), candidate)] if study.judges else []),
    ]


def null_rows(study: Study) -> dict[str, list[Metric]]:
    """Accuracy of always giving the commonest letter, and of giving another item's answer."""
    nulls = {
        CONSTANT_LETTER: scores.constant_letter(study.items),
        OTHER_ANSWER: scores.another_answer(study.items),
    }
    return {
        name: [
            mean_row("accuracy", where, values[chosen], NO_ITEM, _clusters(study, chosen), SHARE)
            for where, chosen in _slices(study)
        ]
        for name, values in nulls.items()
    }


def check_rows(study: Study, checks: Opinions) -> list[Metric]:
    """Each judge's own check, overall and by language: shares of gold answers accepted, of others refused."""
    rows = []
    for judge, said in checks.items():
        name = study.judges[judge].name
        for (kind, language), chosen in slices({"language": study.columns["language"]}, len(study.items)):
            where = ("judge", name) if kind == OVERALL[0] else ("judge_language", f"{name}:{language}")
            items = study.columns["item"][chosen].tolist()
            for source in CHECKS:
                of = [said[source, item] for item in items if (source, item) in said]
                rows.append(check_row(source, where, of))
    return rows


def _slice_rows(
    study: Study, own: Answered, nulls: FloatArray, where: Slice, chosen: BoolArray
) -> Iterator[Metric]:
    """What every slice has: accuracies, differences of conditions, agreement of judge and match."""
    clusters, null = _clusters(study, chosen), float(nulls[chosen].mean())
    names = [item.item for item in study.items] if where == OVERALL else None  # for paired comparisons
    for condition, of in own.items():
        suffix = "" if condition == "native" else f"_{condition}"
        values, reasons = of.right[chosen], of.reasons[chosen]
        items = names if condition == "native" else None
        yield mean_row(f"accuracy{suffix}", where, values, reasons, clusters, SHARE, null, items)
        matched, reasons = of.matched[chosen], of.unmatched[chosen]
        yield mean_row(f"accuracy_matched{suffix}", where, matched, reasons, clusters, SHARE, null)
        if condition == "native":
            yield _answered(where, of, chosen, clusters, nulls)
    for metric, (first, second) in DIFFERENCES.items():
        if first in own and second in own:
            pair = own[first], own[second]
            if metric == "english_gain":
                yield _english_gain(study, where, pair, chosen)
            else:
                yield _difference(metric, where, pair, chosen, clusters, names)
    if study.judges and "native" in own:
        of = own["native"]
        known = ~np.isnan(of.right) & of.is_answered
        agree = np.where(known, of.right == of.matched, np.nan)[chosen]
        reasons = np.where(of.is_answered, of.reasons, of.unanswered)[chosen]
        yield mean_row("judge_match_agreement", where, agree, reasons, clusters, SHARE)


def _answered(
    where: Slice, of: Scores, chosen: BoolArray, clusters: NDArray[np.str_], nulls: FloatArray
) -> Metric:
    """Accuracy over the answers that there are, with the null of the same items."""
    values = np.where(of.is_answered, of.right, np.nan)[chosen]
    reasons = np.where(of.is_answered, of.reasons, of.unanswered)[chosen]
    known = ~np.isnan(values)
    null = float(nulls[chosen][known].mean()) if known.any() else None
    return mean_row("accuracy_answered", where, values, reasons, clusters, SHARE, null)


def _english_gain(study: Study, where: Slice, pair: tuple[Scores, Scores], chosen: BoolArray) -> Metric:
    """English less native, over items that are not in English: in these the two are the same prompt."""
    foreign = chosen & (study.columns["language"] != "en")
    if not foreign.any():
        return unscored("english_gain", where, IN_ENGLISH, int(chosen.sum()))
    names = study.columns["item"][foreign].tolist() if where == OVERALL else None
    return _difference("english_gain", where, pair, foreign, _clusters(study, foreign), names)


def _difference(
    metric: str,
    where: Slice,
    pair: tuple[Scores, Scores],
    chosen: BoolArray,
    clusters: NDArray[np.str_],
    items: Sequence[str] | None = None,
) -> Metric:
    """Of what is right, item by item; the null is no difference."""
    first, second = ((of.right[chosen], of.reasons[chosen]) for of in pair)
    return difference_row(metric, where, first, second, clusters, CORRELATION, items)


def _difficulty_rows(
    study: Study, own: Answered, nulls: FloatArray, others: Sequence[Answered]
) -> Iterator[Metric]:
    """Accuracy on what others find easy, medium and hard."""
    if "native" not in own:
        return
    of, n = own["native"], len(study.items)
    solved = np.array([other["native"].right for other in others], dtype=np.float64).reshape(-1, n)
    named = {
        "difficulty": scores.levels(solved),
        "published_difficulty": scores.published_levels(study.items),
    }
    for kind, of_items in named.items():
        if of_items is None:
            continue
        for level in LEVELS:
            chosen, where = of_items == level, (kind, level)
            if chosen.any():
                clusters, null = _clusters(study, chosen), float(nulls[chosen].mean())
                values, reasons = of.right[chosen], of.reasons[chosen]
                yield mean_row("accuracy", where, values, reasons, clusters, SHARE, null)
            elif (of_items == UNKNOWN).all():
                yield unscored("accuracy", where, TOO_FEW_MODELS, n)


def _setting_rows(study: Study, model: str, answered: Mapping[str, Answered]) -> Iterator[Metric]:
    """Paired differences to the models that have less reasoning, or no web search, and are the same else.

    A model's name says its settings as in table 2 of Lin et al. (2026); see ``setting``.
    """
    own, all_items = setting(model), np.full(len(study.items), True)
    for other, answers in sorted(answered.items()):
        theirs = setting(other)
        if not own or not theirs or own.model != theirs.model or "native" not in answers:
            continue
        metric = ""
        if own.web == theirs.web and _effort(own.reasoning) > _effort(theirs.reasoning):
            metric = "reasoning_gain"
        elif own.reasoning == theirs.reasoning and own.web > theirs.web:
            metric = "web_gain"
        if metric:
            pair = answered[model]["native"], answers["native"]
            yield _difference(metric, ("model_pair", other), pair, all_items, _clusters(study, all_items))


def setting(name: str) -> Setting | None:
    """The setting of a name such as gpt-5_high_false, model_reasoning_web; None if it is not of that form."""
    model, *rest = name.rsplit("_", 2)
    if len(rest) != 2 or rest[1] not in ("true", "false") or not (rest[0].isdigit() or rest[0] in EFFORTS):
        return None
    return Setting(model, rest[0], rest[1] == "true")


def _effort(reasoning: str) -> tuple[int, int]:
    """Sorts from little to much."""
    return (EFFORTS.index("tokens"), int(reasoning)) if reasoning.isdigit() else (EFFORTS.index(reasoning), 0)


def _slices(study: Study) -> list[tuple[Slice, BoolArray]]:
    """Every slice but difficulty, with the items that are in it."""
    kinds = ("language", "region", "topic", "form")
    return list(slices({kind: study.columns[kind] for kind in kinds}, len(study.items)))


def _clusters(study: Study, chosen: BoolArray) -> NDArray[np.str_]:
    """What varies together among the chosen: the items of a region; of one region alone, each item."""
    regions = study.columns["region"][chosen]
    return regions if (regions != regions[:1]).any() else study.columns["item"][chosen]
