"""Does explication go with knowledge? Tests over the models of the view meta_explication.

They are made where they are shown: a model that is run later changes them, and stored rows never change.
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
    """Every row of meta_explication with an interval, tests, and how many models its rho would need.

    Adds to each, of Spearman's rho: ci_low and ci_high (none below five models), p_value (exact up to eight
    models), p_holm (over these rows), needed: how many models would tell it from none in 80 of 100 samples,
    and unscored_reason, if there is no rho or no interval.
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
        lines.append(
            {
                **row,
                "ci_low": low,
                "ci_high": high,
                "p_value": test and test[1],
                "needed": points_for_correlation(test[0], n) if test else None,
                "unscored_reason": reason,
            }
        )
    return _corrected(lines)


def differences(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """How much closer a grade goes with knowledge of structure than with knowledge of facts.

    rows: of meta_explication. For APR and INT under each condition: rho with spectral's macro-F1 less rho
    with an external ranking, or with the mass on countries' own items, over the models that have all three.
    Each has: config_hash, condition, metric, other_evaluation, other_metric, n_models, first, second (both
    rhos), difference, ci_low, ci_high, p_value, p_holm (over all of them), needed, unscored_reason.
    """
    structure = {tuple(row[c] for c in _SAME): row for row in rows if _number(row) == _STRUCTURE}
    lines = []
    for row in rows:
        first = structure.get(tuple(row[c] for c in _SAME))
        is_of_facts = row["other_evaluation"] == "external" or _number(row) == _FACTS
        if first is None or not is_of_facts or row["metric"] not in _GRADES:
            continue
        own, known = dict(zip(row["model_hashes"], row["own_values"], strict=True)), _others(first)
        facts = _others(row)
        shared = [model for model in own if model in known]
        found = difference(*([side[model] for model in shared] for side in (own, known, facts)))
        reason = "fewer than three models have all three" if len(shared) < 3 else "one of them does not vary"
        low, high = (found and found.interval) or (None, None)
        lines.append(
            {c: row[c] for c in (*_SAME, "other_evaluation", "other_metric")}
            | {
                "n_models": len(shared),
                "first": found and found.first,
                "second": found and found.second,
                "difference": found and found.value,
                "ci_low": low,
                "ci_high": high,
                "p_value": found and found.p_value,
                "needed": found and found.needed,
                "unscored_reason": found.unscored_reason if found else reason,
            }
        )
    return _corrected(lines)


def _number(row: Row) -> tuple[str, str]:
    """Which number it is held against."""
    return row["other_evaluation"], row["other_metric"]


def _others(row: Row) -> dict[str, float]:
    """Model -> its other number."""
    return dict(zip(row["model_hashes"], row["other_values"], strict=True))


def _corrected(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines, with p_holm over those that have a p-value."""
    tested = [line for line in lines if line["p_value"] is not None]
    adjusted = holm([line["p_value"] for line in tested]).tolist()
    by_line = dict(zip(map(id, tested), adjusted, strict=True))
    return [line | {"p_holm": by_line.get(id(line))} for line in lines]
