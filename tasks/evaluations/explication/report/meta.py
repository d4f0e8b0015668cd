"""Tests over the models of the view meta_explication whether explication correlates with knowledge. The tests
are computed when shown, since every later model changes them and stored rows never change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tasks.metrics.agreement import spearman_interval, spearman_test
from tasks.metrics.comparison import holm
from tasks.metrics.dependent_correlations import difference, points_for_correlation
from tasks.report import Row

_GRADES = ("apr", "interaction")
_STRUCTURE = ("spectral", "macro_f1")
_FACTS = ("spectral", "reference_mass")
_SAME = ("config_hash", "condition", "metric")


def correlations(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return every row of meta_explication with an interval, tests, and the number of models that its rho
    needs.

    For Spearman's rho each row gets: ci_low and ci_high (none below five models), p_value (exact up to eight
    models), p_holm (over these rows), needed: number of models at which a test has 80 % power, and
    unscored_reason, if there is no rho or no interval.
    """
    lines = []
    for row in rows:
        test, n = spearman_test(row["own_values"], row["other_values"]), row["n_models"]
        ends = spearman_interval(test[0], n) if test else None
        reason = None
        if test is None:
            reason = "fewer than three models" if n < 3 else "one of them does not vary"
        elif ends is None:
            reason = f"{n} models; an interval needs 5"
        low, high = ends or (None, None)
        needed = points_for_correlation(test[0], n) if test else None
        own = {"ci_low": low, "ci_high": high, "p_value": test and test[1], "needed": needed}
        lines.append({**row, **own, "unscored_reason": reason})
    return with_holm(lines)


def differences(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return how much more a grade correlates with knowledge of structure than with knowledge of facts. rows:
    rows of meta_explication. The difference is computed for APR and INT under each condition: rho with
    spectral's macro-F1 less rho with an external ranking, or with the mass on countries' own items, over the
    models that have all three. Each has: config_hash, condition, metric, other_evaluation, other_metric,
    n_models, first, second (both rhos), difference, ci_low, ci_high, p_value, p_holm (over all of them),
    needed, unscored_reason.
    """
    structure = {tuple(row[c] for c in _SAME): row for row in rows if _number(row) == _STRUCTURE}
    lines = []
    for row in rows:
        first = structure.get(tuple(row[c] for c in _SAME))
        is_of_facts = row["other_evaluation"] == "external" or _number(row) == _FACTS
        if first is None or not is_of_facts or row["metric"] not in _GRADES:
            continue
        own, known, facts = _by_model(row, "own"), _by_model(first, "other"), _by_model(row, "other")
        shared = [model for model in own if model in known]
        test = difference(*([side[model] for model in shared] for side in (own, known, facts)))
        reason = "fewer than three models have all three" if len(shared) < 3 else "one of them does not vary"
        low, high = (test and test.interval) or (None, None)
        numbers = {
            "n_models": len(shared), "first": test and test.first, "second": test and test.second,
            "difference": test and test.value, "ci_low": low, "ci_high": high,
            "p_value": test and test.p_value, "needed": test and test.needed,
            "unscored_reason": test.unscored_reason if test else reason,
        }  # fmt: skip
        lines.append({c: row[c] for c in (*_SAME, "other_evaluation", "other_metric")} | numbers)
    return with_holm(lines)


def _number(row: Row) -> tuple[str, str]:
    """Return the other number of a correlation."""
    return row["other_evaluation"], row["other_metric"]


def _by_model(row: Row, side: str) -> dict[str, float]:
    """Return model -> its own or its other number."""
    return dict(zip(row["model_hashes"], row[f"{side}_values"], strict=True))


def with_holm(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines with p_holm over those that have a p-value."""
    adjusted = iter(holm([line["p_value"] for line in lines if line["p_value"] is not None]).tolist())
    return [line | {"p_holm": None if line["p_value"] is None else next(adjusted)} for line in lines]
