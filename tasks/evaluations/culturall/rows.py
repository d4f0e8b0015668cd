"""From what models answered to rows of ``metric_value``. Pure.

Slices: ("language", "zh"), ("region", "CN"), ("topic", "Food"), ("form", "choice"), ("difficulty", "hard") by
the other models of the cohort, ("published_difficulty", "hard") by the 15 published settings, ("model_pair",
another model), ("reason", why unscored). What carries no condition in its name is under the condition native.
An accuracy's interval resamples regions; within one region, its items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.evaluations.culturall.answers import Answer
from tasks.evaluations.culturall.difficulty import LEVELS, levels, published_level
from tasks.evaluations.culturall.judged import CHECKS, GOLD
from tasks.evaluations.culturall.matching import LETTERS, plain
from tasks.evaluations.culturall.requests import Key, Study
from tasks.judging.judge_check import acceptances, refusals
from tasks.judging.prompts import Opinion
from tasks.metric_rows import OVERALL, Metric, Reasons, Slice, mean_row, scored, unscored
from tasks.metrics.intervals import SHARE
from tasks.metrics.types import BoolArray, FloatArray

DIFFERENCES = {"english_gain": ("english", "native"), "scenario_gain": ("native", "question"),
               "retrieval_gain": ("retrieval", "native")}  # fmt: skip
"""Metric -> the two conditions that it holds against each other, item by item."""

TOO_FEW_MODELS = "fewer than three other models of the cohort answered"
NO_JUDGE = "no judge was asked"

CONSTANT_LETTER, OTHER_ANSWER = "null:constant-letter", "null:other-answer"


@dataclass(frozen=True)
class Scores:
    """One model's answers under one condition as numbers, items in the study's order: 1 right, 0 wrong, NaN
    unscored.

    Attributes:
        right: by the judges where any are asked, else by matching.
    """

    right: FloatArray
    matched: FloatArray
    reasons: Reasons


def score(study: Study, condition: str, answers: Mapping[Key, Answer]) -> Scores:
    """The answers of one condition."""
    read = [answers[condition, item.item] for item in study.items]
    matched = _numbers([answer.matched for answer in read])
    judged = _numbers([answer.judged for answer in read])
    reasons = np.array([answer.reason or (study.judges and answer.unjudged) or "" for answer in read], dtype=object)
    return Scores(judged if study.judges else matched, matched, reasons)


def model_rows(
    study: Study, model: str, by_model: Mapping[str, Mapping[str, Scores]], others: Sequence[str]
) -> list[Metric]:
    """All rows of one model.

    Args:
        by_model: model -> condition -> its scores. others: the cohort's models without this one.
    """
    own = by_model[model]
    null = _null_values(study)
    return [row for where in _slices(study) for row in _slice_rows(study, own, null, *where)] + [
        *_difficulty_rows(study, own, null, [by_model[other] for other in others]),
        *_setting_rows(study, model, by_model, others),
        *_count_rows(study, own),
    ]


def null_rows(study: Study) -> dict[str, list[Metric]]:
    """Accuracy of always giving one letter, and of giving another item's answer."""
    constant, other = _null_answers(study)
    return {
        name: [
            mean_row("accuracy", where, values[chosen], "no item of this answer form", _clusters(study, where)[chosen], SHARE)
            for where, chosen in _slices(study)
        ]
        for name, values in ((CONSTANT_LETTER, constant), (OTHER_ANSWER, other))
    }


def check_rows(study: Study, checks: Mapping[str, Mapping[Key, Opinion]]) -> list[Metric]:
    """The judges' own check, overall and by language: shares of gold answers accepted, of others refused."""
    rows = []
    for where in [OVERALL, *(("language", name) for name in _values(study, "language"))]:
        items = [item for item in study.items if where == OVERALL or item.language == where[1]]
        for source in CHECKS:
            said = [by_key[source, i.item] for by_key in checks.values() for i in items if (source, i.item) in by_key]
            scores = [opinion.score for opinion in said]
            reason = next((o.verdict.unscored_reason or "" for o in said if o.score is None), NO_JUDGE)
            rows.append(acceptances(where, scores, reason) if source == GOLD else refusals(source, where, scores, reason))
    return rows


def _slice_rows(
    study: Study, own: Mapping[str, Scores], nulls: FloatArray, where: Slice, chosen: BoolArray
) -> Iterator[Metric]:
    """What every slice has: accuracies, differences of conditions, agreement of judge and match."""
    clusters = _clusters(study, where)[chosen]
    null = float(nulls[chosen].mean())
    for condition, scores in own.items():
        suffix = "" if condition == "native" else f"_{condition}"
        reasons = scores.reasons[chosen]
        for metric, values in (("accuracy", scores.right), ("accuracy_matched", scores.matched)):
            yield mean_row(f"{metric}{suffix}", where, values[chosen], reasons, clusters, SHARE, null)
    for metric, (first, second) in DIFFERENCES.items():
        if first in own and second in own:
            difference = (own[first].right - own[second].right)[chosen]
            yield mean_row(metric, where, difference, own[first].reasons[chosen], clusters, null=0.0)
    if study.judges and "native" in own:
        both = own["native"]
        agree = np.where(np.isnan(both.right), np.nan, both.right == both.matched)[chosen]
        yield mean_row("judge_match_agreement", where, agree, both.reasons[chosen], clusters, SHARE)


def _difficulty_rows(
    study: Study, own: Mapping[str, Scores], nulls: FloatArray, others: Sequence[Mapping[str, Scores]]
) -> Iterator[Metric]:
    """Accuracy on what others find easy, medium and hard."""
    if "native" not in own:
        return
    scores = own["native"]
    solved = np.array([other["native"].right for other in others], dtype=np.float64).reshape(-1, len(study.items))
    by_kind = {"difficulty": levels(solved)}
    if all(item.solved is not None for item in study.items):
        by_kind["published_difficulty"] = np.array([published_level(item.solved or 0) for item in study.items])
    for kind, named in by_kind.items():
        for level in LEVELS:
            chosen, where = named == level, (kind, level)
            if kind == "difficulty" and not (named != "").any():
                yield unscored("accuracy", where, TOO_FEW_MODELS, len(study.items))
            elif chosen.any():
                clusters = _clusters(study, where)[chosen]
                null = float(nulls[chosen].mean())
                yield mean_row("accuracy", where, scores.right[chosen], scores.reasons[chosen], clusters, SHARE, null)


def _setting_rows(
    study: Study, model: str, by_model: Mapping[str, Mapping[str, Scores]], others: Sequence[str]
) -> Iterator[Metric]:
    """Paired differences to the cohort's models that differ in reasoning or web search alone.

    A model's name says its settings as in table 2 of Lin et al. (2026): model_reasoning_web, web being true or
    false.
    """
    own, name = by_model[model].get("native"), _settings(model)
    for other in others:
        theirs, another = by_model[other].get("native"), _settings(other)
        if own is None or theirs is None or name is None or another is None or name[0] != another[0]:
            continue
        differs = [metric for metric, a, b in zip(("reasoning_gain", "web_gain"), name[1:], another[1:], strict=True) if a != b]
        if len(differs) == 1:
            where = ("model_pair", other)
            yield mean_row(differs[0], where, own.right - theirs.right, own.reasons, _clusters(study, where), null=0.0)


def _count_rows(study: Study, own: Mapping[str, Scores]) -> Iterator[Metric]:
    """Share of all prompts that was answered, and why the rest was not."""
    unread = Counter(r for scores in own.values() for r in scores.reasons[np.isnan(scores.matched)])
    n = len(own) * len(study.items)
    yield scored("coverage", OVERALL, 1 - unread.total() / n, (n, 0))
    for reason, count in sorted(unread.items()):
        yield scored("unanswered", ("reason", reason), count / n, (n, 0))


def _slices(study: Study) -> list[tuple[Slice, BoolArray]]:
    """Every slice but difficulty, with the items that are in it."""
    everything = [(OVERALL, np.full(len(study.items), True))]
    for kind in ("language", "region", "topic", "form"):
        values = np.array([getattr(item, kind) for item in study.items])
        everything += [((kind, name), values == name) for name in _values(study, kind)]
    return everything


def _values(study: Study, kind: str) -> list[str]:
    return sorted({getattr(item, kind) for item in study.items})


def _clusters(study: Study, where: Slice) -> np.ndarray:
    """What varies together: the items of a region; within one region each item on its own."""
    return np.array([item.item if where[0] == "region" else item.region for item in study.items])


def _null_values(study: Study) -> FloatArray:
    """Per item, how often one is right who knows nothing: the commonest letter, else another item's answer."""
    constant, other = _null_answers(study)
    return np.where(np.isnan(constant), other, constant)


def _null_answers(study: Study) -> tuple[FloatArray, FloatArray]:
    """How often each null answer is right, per item; NaN where the item is of another form.

    Constant letter: that of most choice items. Other answer: the mean over all other free items of the
    language, so that no draw is in it.
    """
    letters = Counter(item.answer for item in study.items if item.form == "choice")
    best = max(LETTERS, key=lambda letter: letters[letter])  # ties: the first
    golds: dict[str, Counter[str]] = {}
    for item in study.items:
        if item.form == "free":
            golds.setdefault(item.language, Counter())[plain(item.answer)] += 1
    constant = [float(item.answer == best) if item.form == "choice" else np.nan for item in study.items]
    other = [
        (golds[i.language][plain(i.answer)] - 1) / max(golds[i.language].total() - 1, 1) if i.form == "free" else np.nan
        for i in study.items
    ]
    return np.array(constant), np.array(other)


def _settings(name: str) -> tuple[str, str, str] | None:
    """(model, reasoning, web) of a name such as gpt-5_high_false; None if it is not of that form."""
    parts = name.rsplit("_", 2)
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 and parts[2] in ("true", "false") else None


def _numbers(known: Sequence[bool | None]) -> FloatArray:
    return np.array([np.nan if value is None else float(value) for value in known], dtype=np.float64)
