"""Tables of rectified means: differences of two models, rows for people, and plans of more ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from deployments.show import judged
from deployments.show.display import interval, number
from deployments.show.rectified import RATED, SUFFIX, Estimate, of_config, rectified
from tasks.metrics.ppi import (
    MIN_LABELS,
    MIN_PILOT,
    NO_LABELS,
    NOT_DRAWN,
    among,
    expected_width,
    labels_needed,
    rectified_difference,
    rectified_mean,
)
from warehouse import Warehouse


def difference(one: Estimate, two: Estimate) -> tuple[float | None, tuple[float, float] | None, str]:
    """Return the rectified difference over the units of both, its interval, and the reason for none."""
    if one.sample is None or two.sample is None:
        return None, None, one.row.unscored_reason or two.row.unscored_reason or ""
    common = sorted(set(one.units) & set(two.units))
    if not common:
        return None, None, "the runs have no item in common"
    of_one, of_two = (among(each.sample, np.isin(each.units, common)) for each in (one, two) if each.sample)
    means = rectified_mean(of_one), rectified_mean(of_two)
    if None in (means[0].value, means[1].value):
        return None, None, means[0].reason or means[1].reason
    value, interval = rectified_difference(*means, of_one.clusters)
    reason = means[0].reason or means[1].reason
    return value, interval, "" if interval else reason or "the differences do not vary"


def compared(warehouse: Warehouse, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Return rectified differences as rows of ``compare``, and where they change the order of models.

    A judge may prefer one model's style, so what it says of two models is rectified by ratings of both. The
    tests of ``compare`` and their Holm correction are of the judges' numbers; these rows have intervals.

    Args:
        rows: the differences of judges' numbers (``flows.comparison.differences``).
    """
    more, changes = [], []
    known = {
        (each.row.run_id, each.row.metric): each
        for each in rectified(warehouse, set(rows["first_config"]))
        if not each.row.source
    }
    for row in rows.to_dicts():
        one, two = (known.get((row[f"{side}_run"], row["metric"] + SUFFIX)) for side in ("first", "second"))
        if one is None or two is None:
            continue
        value, ends, reason = difference(one, two)
        low, high = ends or (None, None)
        more.append(
            dict.fromkeys(row, None)
            | {name: cell for name, cell in row.items() if name.split("_")[0] in ("first", "second")}
            | {"evaluation": row["evaluation"], "metric": row["metric"] + SUFFIX}
            | {"label": f"{row['label']}, rectified", "difference": value, "ci_low": low, "ci_high": high}
            | {"first_value": one.row.value, "second_value": two.row.value, "unscored_reason": reason or None}
            | {"n_common": len(set(one.units) & set(two.units))}
        )
        if value and row["difference"] and value * row["difference"] < 0:
            sure = "" if low is not None and high is not None and low * high > 0 else ", which may be chance"
            models = f"{row['first_model']} and {row['second_model']}"
            changes.append(f"{row['label']}: people's ratings change the order of {models}{sure}")
    return pl.DataFrame(more, schema=rows.schema), changes


_IF_ANY = ("null, rectified", "beyond it", "note")
"""Columns that are left out if no row has anything in them."""


def lines(estimates: Sequence[Estimate]) -> list[dict[str, Any]]:
    """Return the models' rows for people: the judge's mean, the rectified one, gap, null and labels.

    Where nobody rated anything: for each headline, what a sample would give.
    """
    if not any(estimate.row.n_labels for estimate in estimates):
        return _expected(estimates)
    rows = [
        {
            "model": row.model,
            "headline": row.label,
            "judge": number(row.raw_value),
            "rectified": interval(row.value, row.ci_low, row.ci_high) if row.value is not None else "–",
            "gap": number(row.gap),
            "null, rectified": number(row.null_value),
            "beyond it": {True: "yes", False: "no", None: "–"}[row.is_beyond_null],
            "labels": f"{row.n_labels} of {row.n_judged}",
            "note": "; ".join(filter(None, (row.unscored_reason, row.pooled))) or "–",
        }
        for row in (estimate.row for estimate in estimates)
        if not row.source
    ]
    unused = {name for name in _IF_ANY if all(row[name] == "–" for row in rows)}
    return [{name: cell for name, cell in row.items() if name not in unused} for row in rows]


def _expected(estimates: Sequence[Estimate], n: int = 100) -> list[dict[str, Any]]:
    widths: dict[str, list[tuple[float, float, int]]] = {}
    for row, _, _, sample, spread in estimates:
        if sample is not None and not row.source and sample.scores.size >= MIN_LABELS:
            of = min(n, sample.scores.size)
            wide, narrow = (expected_width(sample, of, guess, spread) for guess in (GUESSES[0], GUESSES[-1]))
            if np.isfinite(wide):
                widths.setdefault(row.label, []).append((wide, narrow, of))
    return [
        {
            "headline": label,
            "rectified": "–",
            "note": f"{NO_LABELS}: {of} ratings of a model would give an interval {number(narrow, 2)} to "
            f"{number(wide, 2)} wide, the narrower the more people agree with the judge (people plan)",
        }
        for label, (wide, narrow, of) in ((label, max(own)) for label, own in widths.items())
    ]


GUESSES = (0.0, 0.5, 0.7, 0.9)
"""Correlations of judge and people to plan with, as long as nobody has rated a pilot."""


def plan(warehouse: Warehouse, width: float, config: str | None = None, n: int = 100) -> list[dict[str, Any]]:
    """Return how many labels a model's headline needs in each language, for an interval of this width.

    From the correlation of people's ratings with the judge's scores in a pilot, or from several guesses. The
    rows have the model that needs most; ``with n`` is the width that n labels would give.

    Raises:
        WarehouseError: nothing is judged.
    """
    chosen = judged.choose(warehouse, None, config)
    rows: dict[tuple[str, float, str], dict[str, Any]] = {}
    for each in of_config(warehouse, chosen, warehouse.query(RATED), with_unrated=True):
        if each.sample is None or each.row.source or not each.sample.scores.size:
            continue
        is_pilot = each.row.n_labels >= MIN_PILOT and each.row.unscored_reason != NOT_DRAWN
        pilot = each.row.correlation if is_pilot else None
        for correlation in GUESSES if pilot is None else (pilot,):
            needed = labels_needed(each.sample, width, correlation, each.spread)
            languages, counts = np.unique(each.sample.strata, return_counts=True)
            shares = counts / counts.sum()
            for language, answers, share in zip(languages.tolist(), counts.tolist(), shares, strict=True):
                row = {
                    "headline": each.row.label, "language": language or "all", "answers": answers,
                    "correlation": round(correlation, 2), "from": "guess" if pilot is None else "pilot",
                    "labels": None if needed is None else int(np.ceil(needed * share)),
                    f"width with {n}": round(expected_width(each.sample, n, correlation, each.spread), 3),
                    "width with all": round(
                        expected_width(each.sample, each.sample.scores.size, 1.0, each.spread), 3
                    ),
                }  # fmt: skip
                key = (each.row.label, 0.0 if pilot is not None else correlation, language)
                if key not in rows or (row["labels"] or 10**9) > (rows[key]["labels"] or 10**9):
                    rows[key] = row
    return [rows[key] for key in sorted(rows)]
