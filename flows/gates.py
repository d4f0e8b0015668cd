"""Release gates: the requirements of a policy file, looked up in the warehouse and judged. No model runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tasks.metrics.gates import (
    Finding,
    Tails,
    Verdict,
    difference_of_intervals,
    judged,
    of_all,
    tails,
)
from tasks.metrics.intervals import CORRELATION, MIN_CLUSTERS, UNBOUNDED, degrees_of_freedom
from tasks.metrics.types import Interval
from tasks.parsing import parse_toml, text_of
from warehouse import Warehouse, WarehouseError, read_points

Configuration = Callable[[str, "Rule"], str]
"""Evaluation and rule -> config_hash to judge."""

OVERALL = ("overall", "all")
_LEAST_DF = MIN_CLUSTERS - 1
_NUMBERS = """
SELECT r.run_id, r.model, r.config_hash, r.engine_hash, v.slice_kind, v.slice, v.value, v.ci_low,
    v.ci_high, v.null_value, v.n_scored, v.unscored_reason, m.label, m.direction, m.unit, m.range_low,
    m.range_high, a.doubt
FROM latest_run AS r
JOIN metric_value AS v USING (run_id)
JOIN metric AS m ON m.evaluation = r.evaluation AND m.metric = v.metric
LEFT JOIN against_null AS a ON a.run_id = r.run_id AND a.metric = v.metric AND v.slice_kind = 'overall'
WHERE r.evaluation = $evaluation AND r.config_hash = $config AND NOT r.is_null AND v.metric = $metric
ORDER BY r.model, v.slice_kind, v.slice
"""

Name = Annotated[str, Field(min_length=1, max_length=400)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Rule(_Table):
    """A requirement on one metric of one model: exactly one of a limit, ``beyond_null``, or a margin."""

    evaluation: Name
    metric: Name
    model: Name | None = None
    at_least: float | None = Field(None, allow_inf_nan=False)
    at_most: float | None = Field(None, allow_inf_nan=False)
    beyond_null: Literal[True] | None = None
    margin: float | None = Field(None, ge=0, allow_inf_nan=False)
    baseline: Name | None = None
    baseline_occasion: str | None = None
    slice: Name | None = None
    by: Name | None = None
    profile: Name | None = None
    config: Name | None = None
    occasion: str | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        kinds = [
            name
            for name in ("at_least", "at_most", "beyond_null", "margin")
            if getattr(self, name) is not None
        ]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise ValueError(f"a rule has one of at_least, at_most, beyond_null and margin; this has {found}")
        if kinds != ["margin"] and (self.baseline or self.baseline_occasion is not None):
            raise ValueError("a baseline needs a margin: by how much may the model be worse?")
        if self.slice and self.by:
            raise ValueError("slice names one slice and by every slice of a kind: give one of them")
        if self.slice and "=" not in self.slice:
            raise ValueError(f"slice {self.slice!r}: write kind=name, such as country=JP")
        return self


class Policy(_Table):
    """Requirements that all have to be met.

    level: chance of a wrong verdict over all looks, half of it in either direction; looks: how often the
    policy is asked at most.
    """

    model: Name | None = None
    baseline: Name | None = None
    level: float = Field(0.05, gt=0, le=0.5)
    looks: int = Field(1, ge=1, le=100_000)
    rule: list[Rule] = Field(min_length=1)


@dataclass(frozen=True)
class Judged:
    """A requirement with its verdict. words: what is required of which number; reason: why this verdict."""

    words: str
    value: float | None
    finding: Finding
    reason: str


def read_policy(file: Path) -> Policy:
    """Return the policy in a TOML file.

    Raises:
        ValueError: it cannot be read, is no TOML, or has a fault; one line that names the place.
    """
    try:
        return Policy(**parse_toml(text_of(file.read_bytes())))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ValueError(f"{file}: {_place(fault['loc'])}{_words(fault)}") from error
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _place(location: Sequence[int | str]) -> str:
    """Return where in the file a fault is: "rule 2, at_least: "."""
    parts: list[str] = []
    for part in location:
        if isinstance(part, int):
            parts[-1] = f"{parts[-1]} {part + 1}"
        else:
            parts.append(part)
    return f"{', '.join(parts)}: " if parts else ""


def _words(fault: Any) -> str:
    if fault["type"] == "extra_forbidden":
        return "there is no such key; the keys are in docs/gate.md"
    message = str(fault["msg"]).removeprefix("Value error, ")
    return message if fault["type"] == "missing" else f"{message}, not {fault['input']!r:.60}"


def judge(warehouse: Warehouse, policy: Policy, configuration: Configuration) -> tuple[Verdict, list[Judged]]:
    """Return the policy's verdict, and that of each requirement, in the file's order; slices by name.

    Raises:
        WarehouseError: a run, metric or slice is not there; says which rule and what there is.
    """
    found: list[tuple[Rule, _Number]] = []
    for place, rule in enumerate(policy.rule, start=1):
        try:
            found += [(rule, number) for number in _numbers(warehouse, policy, rule, configuration)]
        except WarehouseError as error:
            raise WarehouseError(f"rule {place}: {error}") from error
    chances = tails(policy.level, policy.looks, len(found))
    rows = [_judged(rule, number, chances) for rule, number in found]
    return of_all([row.finding.verdict for row in rows]), rows


@dataclass(frozen=True)
class _Number:
    """A number to judge; value and interval are of a difference if there is a baseline."""

    row: dict[str, Any]
    value: float | None
    interval: Interval
    n: int
    df: float
    baseline: str = ""
    reason: str = ""


def _numbers(
    warehouse: Warehouse, policy: Policy, rule: Rule, configuration: Configuration
) -> Iterator[_Number]:
    """Yield the numbers that a rule is about."""
    model = rule.model or policy.model
    if model is None:
        raise WarehouseError("it names no model: add model to the rule or to the policy, or give --model")
    config = configuration(rule.evaluation, rule)
    rows = _rows(warehouse, rule, config, model, rule.occasion)
    if rule.margin is None:
        for row in rows:
            yield _Number(row, row["value"], _ends(row), row["n_scored"], _df(warehouse, rule, row))
        return
    baseline = rule.baseline or policy.baseline or (model if rule.baseline_occasion is not None else None)
    if baseline is None or (baseline == model and rule.baseline_occasion is None):
        raise WarehouseError("a margin needs a baseline: name another model, or a baseline_occasion")
    occasion = rule.occasion if rule.baseline_occasion is None else rule.baseline_occasion
    others = {
        (row["slice_kind"], row["slice"]): row for row in _rows(warehouse, rule, config, baseline, occasion)
    }
    for row in rows:
        other = others.get((row["slice_kind"], row["slice"]))
        if other is None:
            raise WarehouseError(f"{baseline} has no {row['slice_kind']} {row['slice']}")
        if other["run_id"] == row["run_id"]:
            raise WarehouseError(f"the baseline is the same run of {model}: name another model or occasion")
        yield _compared(warehouse, rule, row, other, baseline)


def _rows(
    warehouse: Warehouse, rule: Rule, config: str, model: str, occasion: str | None
) -> list[dict[str, Any]]:
    """Return a model's rows of the rule's metric and slices. Raises WarehouseError that says what there
    is.
    """
    values = {"evaluation": rule.evaluation, "config": config, "metric": rule.metric}
    every = warehouse.rows(_NUMBERS, values, {} if occasion is None else {"occasion": occasion}).dicts()
    where = f"{rule.evaluation}, configuration {config}" + (
        "" if occasion is None else f", occasion {occasion!r}"
    )
    if not every:
        raise WarehouseError(
            f"{where} has no number {rule.metric}: culturemeter leaderboard {rule.evaluation}"
        )
    own = [row for row in every if row["model"] == model]
    if not own:
        known = ", ".join(dict.fromkeys(row["model"] for row in every))
        raise WarehouseError(f"{where} has no model {model!r}; known: {known}")
    kind, _, name = rule.slice.partition("=") if rule.slice else (rule.by or OVERALL[0], "", "")
    chosen = [row for row in own if row["slice_kind"] == kind and (not rule.slice or row["slice"] == name)]
    if not chosen:
        kinds = ", ".join(dict.fromkeys(row["slice_kind"] for row in own))
        raise WarehouseError(f"{rule.metric} has no slice {rule.slice or kind}; kinds of slices: {kinds}")
    return chosen


def _ends(row: dict[str, Any]) -> Interval:
    return None if row["ci_low"] is None else (row["ci_low"], row["ci_high"])


def _points(warehouse: Warehouse, rule: Rule, row: dict[str, Any]) -> Any:
    """Return the points behind a headline; None for slices and other metrics, which store none."""
    if row["slice_kind"] != OVERALL[0]:
        return None
    points = read_points(warehouse, {row["run_id"]: [rule.metric]})[row["run_id"]]
    return None if points.is_empty() else points


def _df(warehouse: Warehouse, rule: Rule, row: dict[str, Any]) -> float:
    """Return the degrees of freedom of a number's interval; the least if its clusters are not stored."""
    points = _points(warehouse, rule, row)
    if points is None or (points := points.drop_nulls("value")).is_empty():
        return _LEAST_DF
    if points["design"][0] != "item":
        return max(float(points["n_clusters"][0]) - 1, _LEAST_DF)
    return _df_of(points["cluster"].to_numpy())


def _df_of(clusters: np.ndarray[Any, Any]) -> float:
    counts = np.unique(clusters, return_counts=True)[1]
    return degrees_of_freedom(counts / counts.sum()) if counts.size > 1 else _LEAST_DF


def _compared(
    warehouse: Warehouse, rule: Rule, row: dict[str, Any], other: dict[str, Any], baseline: str
) -> _Number:
    """Return the difference of a number to the baseline's: paired for headlines, of intervals for slices."""
    from flows.comparison import ALONE, difference_of

    if row["value"] is None or other["value"] is None:
        return _Number(row, None, None, 0, _LEAST_DF, baseline, other["unscored_reason"] or "")
    first, second = _points(warehouse, rule, row), _points(warehouse, rule, other)
    if first is None or second is None:
        ends, others = _ends(row), _ends(other)
        if ends is None or others is None:
            return _Number(row, row["value"] - other["value"], None, row["n_scored"], _LEAST_DF, baseline)
        value, apart = difference_of_intervals((row["value"], ends), (other["value"], others))
        return _Number(row, value, apart, row["n_scored"], _LEAST_DF, baseline)
    engines = {row["engine_hash"], other["engine_hash"]}
    alone = dict(warehouse.rows(ALONE).rows).get(row["config_hash"])
    values, is_correlation = (row["value"], other["value"]), row["unit"] == "correlation"
    n, found, reason = difference_of(
        values, first, second, is_correlation, is_alone=len(engines) == 2 and alone in engines
    )
    if found is None:
        return _Number(row, None, None, 0, _LEAST_DF, baseline, reason or "")
    both = first.drop_nulls("value").join(second.drop_nulls("value").select("unit"), on="unit", how="semi")
    is_item = first["design"][0] == "item"
    df = _df_of(both["cluster"].to_numpy()) if is_item else max(float(n) - 1, _LEAST_DF)
    same = found.value == 0 and found.p_value == 1
    interval = (0.0, 0.0) if same and n >= MIN_CLUSTERS else found.interval
    return _Number(row, found.value, interval, n, df, baseline, reason or "")


def _judged(rule: Rule, number: _Number, chances: Tails) -> Judged:
    """Return a requirement's verdict and its reason in one line."""
    row, value = number.row, number.value
    limit, is_least, required = _limit(rule, number)
    where = "" if row["slice_kind"] == OVERALL[0] else f" ({row['slice_kind']} {row['slice']})"
    words = f"{rule.evaluation} {rule.metric}{where} of {row['model']} {required}"
    undecided = Finding("INCONCLUSIVE", None, None)
    if value is None:
        return Judged(words, None, undecided, row["unscored_reason"] or number.reason or "it has no value")
    if limit is None:
        return Judged(words, value, undecided, "it has no null")
    finding = judged(
        value, number.interval, limit, is_least, chances, number.n, number.df, _bounds(row, rule)
    )
    if finding.interval is None:
        return Judged(words, value, undecided, number.reason or "it has no interval: too few units")
    if rule.beyond_null and finding.verdict == "GO" and row["doubt"]:
        return Judged(words, value, undecided._replace(interval=finding.interval), f"doubted: {row['doubt']}")
    return Judged(words, value, finding, _reason(finding))


def _limit(rule: Rule, number: _Number) -> tuple[float | None, bool, str]:
    """Return the limit, whether the number has to be at least it, and the requirement in words."""
    if rule.at_least is not None:
        return rule.at_least, True, f"is at least {rule.at_least:g}"
    if rule.at_most is not None:
        return rule.at_most, False, f"is at most {rule.at_most:g}"
    is_least = number.row["direction"] != "lower"
    if rule.margin is not None:
        limit = -rule.margin if is_least else rule.margin
        since = (
            "" if rule.baseline_occasion is None else f" on {rule.baseline_occasion or 'its first occasion'}"
        )
        return limit, is_least, f"is at most {rule.margin:g} worse than {number.baseline}{since}"
    return number.row["null_value"], is_least, "is beyond its null"


def _bounds(row: dict[str, Any], rule: Rule) -> tuple[float, float]:
    """Return the range of a number; that of a difference does not skew its interval."""
    low, high = row["range_low"], row["range_high"]
    if rule.margin is not None or row["unit"] == "correlation":
        return CORRELATION if (low, high) in ((0, 1), (-1, 1)) else UNBOUNDED
    return (UNBOUNDED[0] if low is None else low), (UNBOUNDED[1] if high is None else high)


def _reason(finding: Finding) -> str:
    match finding:
        case Finding(verdict="GO"):
            return "shown"
        case Finding(verdict="NO-GO"):
            return "shown to be missed"
        case Finding(more=None):
            return "it is on the limit: no number of items would decide"
        case Finding(more=more):
            return f"about {more:,} more items would decide"
