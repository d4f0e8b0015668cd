"""Makes rows of ``metric_value`` from a log's scores, null models' scores, and the catalogue. Pure.

Slices: overall, the task, the fields of ``by``, and (reason) for missing answers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tasks.evaluations.imported.study import ImportedAnswer, ImportedStudy
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.identity import NULL, digest
from tasks.loop import positions
from tasks.loop.rows import OVERALL, Metric, count_rows, mean_of, mean_row, scored
from tasks.metrics.intervals import SHARE, UNBOUNDED
from tasks.metrics.nulls import best_way, option_nulls, share_right
from tasks.metrics.types import FloatArray

SCORE, LOSS, STDERR = "score", "loss", "stderr"
OWN = {SCORE, LOSS, STDERR, "coverage", "unanswered", positions.UNMIXED}
"""Names of our metrics; a log's metric with one of them gets the prefix ``log_``."""
NO_NUMBER = "the log has no number for it"
MOST_METRICS = 20
"""Most further metrics of a log."""

Nulls = Mapping[str, FloatArray]
"""Null model, without ``null:`` -> its scores, [items] or [items, ways] (``best_way``)"""


def headline(study: ImportedStudy) -> str:
    """Return the headline: ``loss`` if lower values of the log's metric are better, else ``score``."""
    return LOSS if study.params.direction == "lower" else SCORE


def column(metric: str) -> str:
    """Return the name of a log's metric in SQL: acc_norm stays, exact_match,strict is exact_match_strict."""
    plain = re.sub(r"[^a-z0-9]+", "_", metric.lower()).strip("_")[:60]
    name = plain if plain[:1].isalpha() else f"m_{plain}" if plain else f"m_{digest([metric])[:8]}"
    return f"log_{name}" if name in OWN else name


def scores_of(study: ImportedStudy, answers: Mapping[str, ImportedAnswer]) -> ConditionScores:
    """Return the headline's value of each item, NaN with its reason where the log has none."""
    own = [answers.get(item.name) for item in study.items]
    values = np.array([np.nan if a is None else a.values.get(study.params.metric, np.nan) for a in own])
    reasons = [
        "" if not np.isnan(v) else (a and (a.unscored or a.lost)) or NO_NUMBER
        for v, a in zip(values, own, strict=True)
    ]
    return ConditionScores(
        values.astype(np.float64),
        np.array(reasons, dtype=object),
        np.array([NO_NUMBER if a is None else a.lost for a in own], dtype=object),
        ["" if a is None else a.answer for a in own],
    )


def model_rows(
    study: ImportedStudy, scores: ConditionScores, answers: Mapping[str, ImportedAnswer], nulls: Nulls
) -> list[Metric]:
    """Return all rows of one model."""
    rows: list[Metric] = []
    for where, chosen in study.slices():
        names = study.names[chosen] if where == OVERALL else None
        null = _best(study, nulls, chosen)
        rows.append(
            scores.row(headline(study), where, chosen, study.clusters[chosen], study.bounds, null, names)
        )
    known = scores.values[~np.isnan(scores.values)]
    if known.size > 1:
        error = float(known.std(ddof=1) / np.sqrt(known.size))
        rows.append(scored(STDERR, OVERALL, error, (known.size, scores.values.size - known.size)))
    rows += positions.unmixed_rows(study.slices(), study.orders)
    rows += _further(study, answers)
    return [*rows, *count_rows(scores.lost)]


def null_rows(study: ImportedStudy, nulls: Nulls) -> dict[str, list[Metric]]:
    """Return the headline of every null model in every slice."""
    return {
        f"{NULL}{name}": [
            mean_row(
                headline(study),
                where,
                _best_way(values[chosen]),
                NO_NUMBER,
                study.clusters[chosen],
                study.bounds,
            )
            for where, chosen in study.slices()
        ]
        for name, values in nulls.items()
    }


def nulls_of(study: ImportedStudy) -> dict[str, FloatArray]:
    """Return the scores of models that read no question; none if they cannot be computed (``why_no_null``).

    With options and the right one: ``option_nulls``. With right outputs: always the commonest.
    """
    if why_no_null(study):
        return {}
    items = study.items
    if all(item.right >= 0 for item in items):
        right = [{item.right} for item in items]
        texts = [item.options for item in items] if all(item.options for item in items) else []
        nulls = option_nulls([item.lengths for item in items], right, texts, study.clusters.tolist())
        return {name: share_right(null, right) for name, null in nulls.items()}
    targets = [item.target.strip().casefold() for item in items]
    counts = Counter(targets)
    usual = min(counts, key=lambda text: (-counts[text], text))
    return {"commonest": np.array([float(text == usual) for text in targets])}


def why_no_null(study: ImportedStudy) -> str:
    """Return why no null model can be computed; "" if it can."""
    if study.params.scale != "hit" or study.params.direction == "lower":
        return "the log's metric is not 1 for a right answer and 0 for a wrong one"
    has_right = all(item.right >= 0 for item in study.items)
    if not has_right and not all(item.target.strip() for item in study.items):
        return "the log does not say which answer is right to each item"
    return ""


def _best(study: ImportedStudy, nulls: Nulls, chosen: Any) -> float | None:
    """Return the mean of the best null model on the chosen items."""
    means = [mean for own in nulls.values() if (mean := mean_of(_best_way(own[chosen]))) is not None]
    return max(means, default=None)


def _best_way(values: FloatArray) -> FloatArray:
    return best_way(values, mean_of)


def _further(study: ImportedStudy, answers: Mapping[str, ImportedAnswer]) -> Iterator[Metric]:
    """Yield the means of the log's metrics, the headline's too, each with its interval over clusters."""
    for metric in metrics_of(answers.values()):
        values = np.array(
            [
                a.values.get(metric, np.nan) if (a := answers.get(item.name)) else np.nan
                for item in study.items
            ]
        )
        known = values[~np.isnan(values)]
        bounds = SHARE if known.size and known.min() >= 0 and known.max() <= 1 else UNBOUNDED
        yield mean_row(column(metric), OVERALL, values, NO_NUMBER, study.clusters, bounds)


def metrics_of(answers: Iterable[ImportedAnswer]) -> list[str]:
    """Return the metrics of answers, at most ``MOST_METRICS``, one for each column."""
    names = dict.fromkeys(sorted({metric for answer in answers for metric in answer.values}))
    by_column = {column(name): name for name in reversed(names)}
    return sorted(by_column.values())[:MOST_METRICS]


def catalogue() -> list[dict[str, Any]]:
    """Return the rows of the table metric that every run has, the headlines first."""
    of = "Mean over items of the log's own scores, by the metric that the run names"
    null = "the best option by chance, position, length or popularity in each slice, or the commonest answer"
    return [
        _row(SCORE, "Score", f"{of}; higher is better.", "higher", null, is_headline=True),
        _row(LOSS, "Loss", f"{of}; lower is better.", "lower", is_headline=True),
        _row(
            positions.UNMIXED,
            positions.LABEL,
            f"{positions.ABOUT} A log does not say whether the prompt showed the options.",
            null="chance",
            bounds=SHARE,
        ),
        _row(
            STDERR,
            "Standard error",
            "Of the mean over items as if they were independent, as other programs print it.",
        ),
        _row("coverage", "Answered", "Share of items that have an answer.", "higher", bounds=SHARE),
        _row(
            "unanswered",
            "Not answered",
            "Share of items without an answer, by reason.",
            "lower",
            bounds=SHARE,
        ),
    ]


def catalogue_of(metrics: Iterable[str]) -> list[dict[str, Any]]:
    """Return rows of the table metric for a log's metrics; which values are better is not said."""
    return [
        _row(column(name), name[:60], "As the log has it; mean over items.", source="the log")
        for name in metrics
    ]


def _row(
    metric: str,
    label: str,
    about: str,
    direction: str = "none",
    null: str = "none",
    bounds: tuple[float | None, float | None] = (None, None),
    source: str = "Culturemeter",
    is_headline: bool = False,
) -> dict[str, Any]:
    return {
        "metric": metric,
        "label": label,
        "is_headline": is_headline,
        "unit": "score",
        "range_low": bounds[0],
        "range_high": bounds[1],
        "direction": direction,
        "description": about,
        "null_baseline": null,
        "unscored_when": NO_NUMBER,
        "source": source,
    }
