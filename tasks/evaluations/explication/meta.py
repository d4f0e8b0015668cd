"""Tests over the models of the view meta_explication whether explication correlates with knowledge. The tests
are computed when shown, since every later model changes them and stored rows never change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from tasks.evaluations.explication.params import CONDITIONS
from tasks.metrics.agreement import least_spearman_p, spearman_interval, spearman_test
from tasks.metrics.comparison import holm_or_reason
from tasks.metrics.dependent_correlations import difference, points_for_correlation
from tasks.metrics.intervals import least_flip_p
from tasks.packs.published import Row

HEADLINES = ("apr", "facts_elicited")
"""The number that tests are about; the second is counted, and stands in where no judge graded."""
NOT_ASKED = "not in the tested family: {metric} under {condition}"
_GRADES = ("apr", "interaction")
_STRUCTURE = ("spectral", "macro_f1")
_FACTS = ("spectral", "reference_mass")
_SAME = ("config_hash", "condition", "metric")


def asked(held: Collection[tuple[str, str]]) -> tuple[str, str]:
    """Return the metric and the condition that tests are about, of those that have values: the headline under
    control. The families of all tests are chosen here, before any p-value is known.
    """
    wanted = [(metric, condition) for metric in HEADLINES for condition in CONDITIONS]
    return next((each for each in wanted if each in held), wanted[0])


def correlations(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return every row of meta_explication with an interval, tests, and the number of models that its rho
    needs.

    For Spearman's rho each row gets: ci_low and ci_high (none below five models), p_value (exact up to eight
    models), p_holm, needed: number of models at which a test has 80 % power, and unscored_reason, if there is
    no rho or no interval. p_holm is adjusted over the family that is asked: the headline (``asked``) of one
    configuration against every number of another evaluation or ranking. holm_reason says why a row with a
    p_value has none.
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
    return in_families(lines, least_spearman_p)


def differences(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return how much more a grade correlates with knowledge of structure than with knowledge of facts. rows:
    rows of meta_explication. The difference is computed for APR and INT under each condition: rho with
    spectral's macro-F1 less rho with an external ranking, or with the mass on countries' own items, over the
    models that have all three. Each has: config_hash, condition, metric, other_evaluation, other_metric,
    n_models, first, second (both rhos), difference, ci_low, ci_high, p_value, p_holm and holm_reason (over
    those of the headline, as in ``correlations``), needed, unscored_reason.
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
    return in_families(lines, least_flip_p)


def _number(row: Row) -> tuple[str, str]:
    """Return the other number of a correlation."""
    return row["other_evaluation"], row["other_metric"]


def _by_model(row: Row, side: str) -> dict[str, float]:
    """Return model -> its own or its other number."""
    return dict(zip(row["model_hashes"], row[f"{side}_values"], strict=True))


def in_families(lines: Sequence[dict[str, Any]], floor: Callable[[int], float]) -> list[dict[str, Any]]:
    """Return the lines with p_holm, and with holm_reason if a line with a p-value has none.

    A family holds the lines of a configuration's headline (``asked``), but not its correlation with another
    number of explication. floor: number of models -> smallest p.
    """
    held: dict[str, set[tuple[str, str]]] = {}
    for line in lines:
        held.setdefault(line["config_hash"], set()).add((line["metric"], line["condition"]))
    wanted = {config: asked(own) for config, own in held.items()}
    shown = [{**line, "p_holm": None, "holm_reason": None} for line in lines]
    for config, (metric, condition) in wanted.items():
        family = []
        for line in (each for each in shown if each["config_hash"] == config and each["p_value"] is not None):
            is_asked = (line["metric"], line["condition"]) == (metric, condition)
            if is_asked and line["other_evaluation"] != "explication":
                family.append(line)
            else:
                line["holm_reason"] = NOT_ASKED.format(metric=metric, condition=condition)
        sizes = [line["n_models"] for line in family]
        p_values, floors = [line["p_value"] for line in family], [floor(n) for n in sizes]
        outcomes = holm_or_reason(p_values, floors, [f"{n} models" for n in sizes])
        for line, (p, reason) in zip(family, outcomes, strict=True):
            line["p_holm"], line["holm_reason"] = p, reason
    return shown
