"""Makes rows of ``metric_value`` from models' answers. Pure, on arrays in the order of ``study.items``.

Slices: ("language", "zh"), ("region", "CN"), ("topic", "Food"), ("form", "choice"), ("difficulty", "hard")
by the other models of the cohort, ("published_difficulty", "hard") by the 15 published settings,
("model_pair", another model), ("judge", name), ("judge_language", "name:zh"), ("reason", why unanswered).
A metric that carries no condition in its name is under the condition native. Intervals are over regions, and
over items where all are of one region.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tasks.evaluations.culturall.items import CulturallItem
from tasks.evaluations.culturall.matching import plain
from tasks.evaluations.culturall.matching.choices import LETTERS
from tasks.evaluations.culturall.read import CHECKS, NOT_READ, CulturallAnswer
from tasks.evaluations.culturall.study import CulturallStudy
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.judging.controls import check_row, preference_row
from tasks.judging.panel import Key, Opinions
from tasks.loop.rows import (
    OVERALL,
    Metric,
    Slice,
    count_rows,
    known_interval,
    mean_of,
    mean_row,
    unless_lost_alone,
    unscored,
)
from tasks.metrics.intervals import CORRELATION, SHARE
from tasks.metrics.types import BoolArray, FloatArray, IntArray

DIFFERENCES = {
    "english_gain": ("accuracy_english", "accuracy"),
    "scenario_gain": ("accuracy", "accuracy_question"),
    "retrieval_gain": ("accuracy_retrieval", "accuracy"),
}
"""Metric -> the two metrics whose difference it is, item by item."""

LEVELS = ("easy", "medium", "hard")
UNKNOWN = ""
"""Difficulty of an item that too few models answered."""

LEAST_MODELS = 3
"""Least number of other models for difficulty; Lin et al. (2026, section 2.3.1) measure drafts with as many.
"""

TOO_FEW_MODELS = f"fewer than {LEAST_MODELS} other models of the cohort answered"
MOST_UNREAD = 0.5
"""Share of answers that matching does not read above which a number by match has no value."""
NO_NULL = frozenset({"judge_match_agreement", "match_read"})
IN_ENGLISH = "the items are in English"
NO_ITEM = "no item of this answer form"
NO_ENGLISH_VARIANTS = "matched without a judge, and an item has no accepted variants in English"

CONSTANT_LETTER, OTHER_ANSWER = "null:constant-letter", "null:other-answer"

EFFORTS = ("none", "tokens", "minimal", "low", "medium", "high", "xhigh", "max", "auto")
"""Names of reasoning effort from little to much; budgets in tokens are compared by number."""

CulturallScores = Mapping[str, ConditionScores]
"""Metric -> [items] one model's scores"""

_SLICES = ("language", "region", "topic", "form")


class NamedSetting(NamedTuple):
    """The settings in a name such as gpt-5_high_false."""

    model: str
    reasoning: str
    web: bool


def scores_of(study: CulturallStudy, answers: Mapping[Key, CulturallAnswer]) -> dict[str, ConditionScores]:
    """Return [items] scores of every metric that is a mean over items: 1 right, 0 wrong. ``accuracy`` is by
    the judges if there are any, else by match. An answer that the model lost (``read.LOST``) is wrong, as in
    Lin et al. (2026, section 3), whose accuracy is over all items; ``accuracy_answered`` is over existing
    answers only.
    """
    scores: dict[str, ConditionScores] = {}
    for condition in study.conditions:
        suffix = "" if condition == "native" else f"_{condition}"
        of_items = [answers[condition, item.item] for item in study.items]
        lost = np.array([answer.reason or "" for answer in of_items], dtype=object)
        for name, is_judged in (("accuracy", bool(study.judges)), ("accuracy_matched", False)):
            values = np.array([answer.counts(is_judged) for answer in of_items], dtype=np.float64)
            unscored = np.array([answer.unscored(is_judged) or "" for answer in of_items], dtype=object)
            counted = unless_lost_alone(values, np.where(np.isnan(values), unscored, ""), lost)
            scores[f"{name}{suffix}"] = ConditionScores(*counted, lost)
    if "accuracy" in scores:
        own, matched = scores["accuracy"], scores["accuracy_matched"]
        values = np.where(own.lost == "", own.values, np.nan)
        reasons = np.where(own.lost == "", own.reasons, own.lost)
        scores["accuracy_answered"] = ConditionScores(values, reasons, own.lost)
        is_unread = matched.reasons == NOT_READ
        for name, value in (("accuracy_matched_low", 0.0), ("accuracy_matched_high", 1.0)):
            filled = np.where(is_unread, value, matched.values)
            scores[name] = ConditionScores(filled, np.where(is_unread, "", matched.reasons), own.lost)
        read = np.where(own.lost == "", np.where(is_unread, 0.0, matched.values * 0 + 1), np.nan)
        why = np.where(np.isnan(read), np.where(own.lost == "", matched.reasons, own.lost), "")
        scores["match_read"] = ConditionScores(read, why, own.lost)
        if study.judges:
            agree = np.where(np.isnan(values + matched.values), np.nan, values == matched.values)
            why = np.where(reasons == "", matched.reasons, reasons)
            scores["judge_match_agreement"] = ConditionScores(agree, why, own.lost)
    return scores


def model_rows(
    study: CulturallStudy,
    model: str,
    candidate: str,
    answered: Mapping[str, CulturallScores],
    others: Sequence[str],
) -> list[Metric]:
    """Return all rows of one model.

    Args:
        candidate: its name in its engine's spec, for its family.
        answered: scores of this and of other models. others: the cohort's models without this one.
    """
    own, null = answered[model], guessing(study.items)
    slices = [_slice_rows(study, own, null, *each) for each in study.slices(*_SLICES)]
    lost = [own[f"accuracy{'' if name == 'native' else f'_{name}'}"].lost for name in study.conditions]
    return [
        *(row for rows in slices for row in rows),
        *_difficulty_rows(study, own, null, [answered[other] for other in others]),
        *_setting_rows(study, model, answered),
        *count_rows(np.concatenate(lost)),
        *([preference_row(study.judges.values(), candidate)] if study.judges else []),
    ]


def null_rows(study: CulturallStudy) -> dict[str, list[Metric]]:
    """Return the accuracy of always giving the commonest letter, and of giving another item's answer."""
    nulls = {CONSTANT_LETTER: constant_letter(study.items), OTHER_ANSWER: another_answer(study.items)}
    return {
        name: [
            mean_row("accuracy", where, values[chosen], NO_ITEM, study.clusters(chosen), SHARE)
            for where, chosen in study.slices(*_SLICES)
        ]
        for name, values in nulls.items()
    }


def check_rows(study: CulturallStudy, checks: Opinions) -> list[Metric]:
    """Return each judge's check, overall and by language: shares of gold answers accepted and
    others refused.
    """
    rows = []
    for judge, check in checks.items():
        name = study.judges[judge].name
        for (kind, language), chosen in study.slices("language"):
            where = ("judge", name) if kind == OVERALL[0] else ("judge_language", f"{name}:{language}")
            items = study.columns["item"][chosen].tolist()
            for source in CHECKS:
                opinions = [check[source, item] for item in items if (source, item) in check]
                rows.append(check_row(source, where, opinions))
    return rows


def _slice_rows(
    study: CulturallStudy, own: CulturallScores, nulls: FloatArray, where: Slice, chosen: BoolArray
) -> Iterator[Metric]:
    """Yield the rows of a slice: accuracies with the null of guessing on the same items, agreement of judge
    and match, differences of conditions. English and native are compared over items in other languages, since
    both send the same prompt for items in English; by match only if all items accept variants in English.
    """
    items, clusters = study.columns["item"] if where == OVERALL else None, study.clusters(chosen)
    for metric, scores in own.items():
        null = None if metric in NO_NULL else mean_of(nulls[chosen & ~np.isnan(scores.values)])
        names = items if metric == "accuracy" else None  # for paired comparisons
        yield with_unread(
            scores.row(metric, where, chosen, clusters, SHARE, null, names), scores, chosen, clusters
        )
    for metric, (first, second) in DIFFERENCES.items():
        if first in own and second in own:
            among = chosen & (study.columns["language"] != "en") if metric == "english_gain" else chosen
            if not among.any():
                yield unscored(metric, where, IN_ENGLISH, int(chosen.sum()))
                continue
            if metric == "english_gain" and not study.judges and _lack_variants(study, among):
                yield unscored(metric, where, NO_ENGLISH_VARIANTS, int(among.sum()))
                continue
            names, clusters = None if items is None else items[among], study.clusters(among)
            yield own[first].gain(own[second], metric, where, among, clusters, CORRELATION, names)


def with_unread(
    row: Metric, scores: ConditionScores, chosen: BoolArray, clusters: NDArray[np.str_]
) -> Metric:
    """Return a row by match so that answers that matching does not read cannot raise it: its interval holds
    those of all of them wrong and all of them right, and if they are more than half there is no value.
    """
    is_unread = scores.reasons[chosen] == NOT_READ
    n, n_unread = int((scores.lost[chosen] == "").sum()), int(is_unread.sum())
    if not n_unread or row.value is None:
        return row
    if n_unread > MOST_UNREAD * n:
        reason = f"more than half of the answers are {NOT_READ} ({n_unread:,} of {n:,})"
        return unscored(row.metric, row[1:3], reason, row.n_scored + row.n_unscored, row.null_value)
    filled = (np.where(is_unread, value, scores.values[chosen]) for value in (0.0, 1.0))
    low, high = (known_interval(values, clusters, SHARE) for values in filled)
    return (
        row._replace(ci_low=low[0], ci_high=high[1])
        if low and high
        else row._replace(ci_low=None, ci_high=None)
    )


def _lack_variants(study: CulturallStudy, chosen: BoolArray) -> bool:
    """Return whether one of these free items has no variants in English, so that matching favours its own
    language.
    """
    items = (item for item, is_chosen in zip(study.items, chosen, strict=True) if is_chosen)
    return any(item.form == "free" and not item.english_variants for item in items)


def _difficulty_rows(
    study: CulturallStudy, own: CulturallScores, nulls: FloatArray, others: Sequence[CulturallScores]
) -> Iterator[Metric]:
    """Yield accuracy on items that other models find easy, medium and hard."""
    if "accuracy" not in own:
        return
    n = len(study.items)
    solved = np.array([other["accuracy"].values for other in others], dtype=np.float64).reshape(-1, n)
    named = {"difficulty": levels(solved), "published_difficulty": published_levels(study.items)}
    for kind, of_items in named.items():
        if of_items is None:
            continue
        for level in LEVELS:
            chosen, where = of_items == level, (kind, level)
            if chosen.any():
                clusters = study.clusters(chosen)
                null = mean_of(nulls[chosen & ~np.isnan(own["accuracy"].values)])
                row = own["accuracy"].row("accuracy", where, chosen, clusters, SHARE, null)
                yield with_unread(row, own["accuracy"], chosen, clusters)
            elif (of_items == UNKNOWN).all():
                yield unscored("accuracy", where, TOO_FEW_MODELS, n)


def _setting_rows(
    study: CulturallStudy, model: str, answered: Mapping[str, CulturallScores]
) -> Iterator[Metric]:
    """Yield paired differences from the models that differ only in less reasoning or no web search. A
    model's name holds its settings as in table 2 of Lin et al. (2026); see ``setting``.
    """
    own, every = setting(model), np.full(len(study.items), True)
    for other, scores in sorted(answered.items()):
        theirs = setting(other)
        if not own or not theirs or own.model != theirs.model or "accuracy" not in scores:
            continue
        metric = ""
        if own.web == theirs.web and _effort(own.reasoning) > _effort(theirs.reasoning):
            metric = "reasoning_gain"
        elif own.reasoning == theirs.reasoning and own.web > theirs.web:
            metric = "web_gain"
        if metric:
            where, clusters = ("model_pair", other), study.clusters(every)
            first = answered[model]["accuracy"]
            yield first.gain(scores["accuracy"], metric, where, every, clusters, CORRELATION)


def setting(name: str) -> NamedSetting | None:
    """Return the settings in a name model_reasoning_web, such as gpt-5_high_false; None for others."""
    model, *rest = name.rsplit("_", 2)
    if len(rest) != 2 or rest[1] not in ("true", "false") or not (rest[0].isdigit() or rest[0] in EFFORTS):
        return None
    return NamedSetting(model, rest[0], rest[1] == "true")


def _effort(reasoning: str) -> tuple[int, int]:
    """Return the sort key of reasoning effort, from little to much."""
    return (EFFORTS.index("tokens"), int(reasoning)) if reasoning.isdigit() else (EFFORTS.index(reasoning), 0)


def levels(solved: FloatArray) -> NDArray[np.str_]:
    """Return the difficulty of each item, UNKNOWN if fewer than ``LEAST_MODELS`` answered it.

    As in Lin et al. (2026, section 2.5), by the share of models that solve it: easy from 10 of 15 on, medium
    from 5 of 15, else hard. For a model's own accuracy by difficulty, pass only the other models' rows; else
    the model would define its own difficulty.

    Args:
        solved: models x items: 1 right, 0 wrong, NaN not scored.
    """
    answered = (~np.isnan(solved)).sum(axis=0)
    return np.where(answered >= LEAST_MODELS, _level(np.nansum(solved, axis=0), answered), UNKNOWN)


def published_levels(items: Sequence[CulturallItem]) -> NDArray[np.str_] | None:
    """Return difficulty by the number of the 15 published settings that solve each item; None if one is
    unknown.
    """
    if any(item.solved is None for item in items):
        return None
    return _level(np.array([item.solved for item in items]), 15)


def _level(n: IntArray | FloatArray, of: IntArray | int) -> NDArray[np.str_]:
    """Return the level by counts instead of shares, so that rounding cannot move 10 of 15."""
    return np.where(3 * n >= 2 * of, "easy", np.where(3 * n >= of, "medium", "hard"))


def constant_letter(items: Sequence[CulturallItem]) -> FloatArray:
    """Return whether the commonest letter of all choice items is right (ties: the first); NaN for other
    items.
    """
    letters = Counter(item.native.answer for item in items if item.form == "choice")
    best = max(LETTERS, key=lambda letter: letters[letter])
    return np.array([float(i.native.answer == best) if i.form == "choice" else np.nan for i in items])


def another_answer(items: Sequence[CulturallItem]) -> FloatArray:
    """Return the share of other free items' answers that are right, over all items of the language instead of
    a random draw; NaN for other items.
    """
    golds: dict[str, Counter[str]] = {}
    for item in items:
        if item.form == "free":
            golds.setdefault(item.language, Counter())[plain(item.native.answer)] += 1

    def share(item: CulturallItem) -> float:
        """Return the share of the other answers that the item accepts."""
        of_language, accepted = golds[item.language], {plain(text) for text in item.accepted}
        return (sum(of_language[text] for text in accepted) - 1) / max(of_language.total() - 1, 1)

    return np.array([share(item) if item.form == "free" else np.nan for item in items])


def guessing(items: Sequence[CulturallItem]) -> FloatArray:
    """Return [items] the expected accuracy of guessing: the commonest letter, or another item's answer."""
    constant = constant_letter(items)
    return np.where(np.isnan(constant), another_answer(items), constant)
