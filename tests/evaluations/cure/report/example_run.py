"""Invented runs of cure in a real warehouse: every metric row that views and page read, of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tests.report.stored import CONFIG, Row, around, row, store_run, store_verdicts
from warehouse import Warehouse

METRICS = {
    "normad": "coverage",
    "casa": "connotation",
    "culturebank": "coherence",
    "specnorm": "specificity",
}
MAJORITY = {"normad": 0.45, "casa": 0.5, "culturebank": 0.61, "specnorm": 0.65}
PRIOR = {"normad": 0.38, "casa": 0.5, "culturebank": 0.52, "specnorm": 0.54}
PARAMS: dict[str, Any] = {
    "benchmarks": list(METRICS), "modes": ["thin", "thick"], "judges": ["judge-a"], "judge_samples": 3,
    "temperature": 0.0, "items_per_benchmark": None, "nulls": 60, "files": {},
}  # fmt: skip
JUDGE = "judge-a"
N = 72
"""Items of each benchmark."""


class Made(NamedTuple):
    """Scores of a model. gains: benchmark -> its gain over shuffled explanations, +- 0.1."""

    thin: float
    thick: float
    gains: dict[str, float]
    is_kin: bool = False


def gains(normad: float, casa: float, culturebank: float, specnorm: float) -> dict[str, float]:
    """Return benchmark -> gain."""
    return dict(zip(METRICS, (normad, casa, culturebank, specnorm), strict=True))


def rubric(benchmark: str) -> str:
    """Return the name of the rubric in verdicts and validations."""
    return f"{METRICS[benchmark]} 00112233{len(benchmark):08x}"


def label_rows(benchmark: str, mode: str, value: float, countries: Sequence[str], seed: int) -> Iterator[Row]:
    """Return exact match, F1 and the related metrics in one mode; no two numbers are equal.

    Rows that a view must not take for another come before it.
    """
    is_thick = mode == "thick"
    where, null = ("benchmark_mode", f"{benchmark}:{mode}"), MAJORITY[benchmark] + 0.01 * is_thick
    n = {"n_scored": N - 2 - is_thick, "n_unscored": 2 + is_thick}
    yield row("f1_micro", where, value - 0.01, **around(value - 0.01, 0.09))
    yield row("exact_match", where, value, **around(value, 0.1), null_value=null, **n)
    yield row("f1_macro", where, value - 0.08, **around(value - 0.08, 0.1), null_value=null / 2, **n)
    yield row("exact_match_prior", where, PRIOR[benchmark], n_scored=N)
    yield row("answered", where, (N - 2) / N, n_scored=N)
    yield row("unscored_answers", ("benchmark_reason", f"{benchmark}:{mode}:cut off"), 2.0)
    yield row("exact_match_iqr", where, 0.2 if mode == "thin" else 0.15, n_scored=len(countries))
    yield row("exact_match_variance", where, 0.03 if mode == "thin" else 0.02, n_scored=len(countries))
    if benchmark == "specnorm":
        of_cue = around(value, 0.2 + 0.1 * is_thick)
        yield row(
            "exact_match", ("benchmark_mode_cue", f"specnorm:{mode}:age"), value, **of_cue, null_value=null
        )
        yield row("exact_match", ("benchmark_mode_specificity", f"specnorm:{mode}:low"), value)
    rng = np.random.default_rng([seed, len(benchmark), len(mode)])
    for country in countries:
        found = float(np.clip(rng.normal(value, 0.2), 0, 1))
        place = ("benchmark_mode_country", f"{benchmark}:{mode}:{country}")
        counts = {"n_scored": 4 - is_thick, "n_unscored": 3}
        yield row("exact_match", place, found, **around(found, 0.2), null_value=null, **counts)


def judged_rows(benchmark: str, made: Made, countries: Sequence[str], seed: int) -> Iterator[Row]:
    """Yield the metric, its nulls, the gain and the rest of one benchmark's explanations."""
    metric, where, gain = METRICS[benchmark], ("benchmark", benchmark), made.gains[benchmark]
    nulls = {"generic": 0.35, "shuffled": 0.3, "empty": 0.05}
    value, n = 0.3 + gain, {"n_scored": N - 4, "n_unscored": 4}
    for source, mean in nulls.items():
        yield row(metric, ("null", f"{benchmark}:{source}"), mean, **around(mean, 0.05), n_scored=N)
    yield row(metric, where, value, **around(value, 0.08), null_value=0.35, **n)
    yield row("explanation_gain", where, gain, **around(gain, 0.1), null_value=0.0, **n)
    yield row("tells_real_from_shuffled", where, float(gain > 0.1), **n)
    lone = benchmark != "specnorm"
    reason = {"unscored_reason": "one vote an explanation: nobody could disagree"} if lone else {}
    yield row("judge_disagreement", where, None if lone else 0.18) | reason
    yield row("unscored_answers", ("benchmark_reason", f"{benchmark}:judged:answer off the menu"), 4.0)
    difference = made.thick - made.thin
    yield row("thin_thick_difference", where, difference, **around(difference, 0.06), null_value=0.0, **n)
    yield row("thin_thick_p", where, 0.012 if abs(difference) > 0.06 else 0.4, n_scored=N - 3)
    rng = np.random.default_rng([seed, len(benchmark)])
    for country in countries:
        found = float(np.clip(rng.normal(value, 0.15), 0, 1))
        place = ("benchmark_country", f"{benchmark}:{country}")
        yield row(metric, place, found, **around(found, 0.2), null_value=0.35, n_scored=4)
    if benchmark == "specnorm":
        of_age = around(value + 0.1, 0.05) | {"null_value": 0.34, "n_scored": 30}
        yield row(metric, ("benchmark_cue", "specnorm:age"), value + 0.1, **of_age)


def model_rows(made: Made, countries: Sequence[str], seed: int) -> list[Row]:
    """Return all rows of one model with complete answers."""
    rows: list[Row] = []
    for place, benchmark in enumerate(METRICS):
        for mode, value in (("thin", made.thin), ("thick", made.thick)):
            rows += label_rows(benchmark, mode, value - 0.05 * place, countries, seed)
        rows += judged_rows(benchmark, made, countries, seed)
    for i, (a, b) in enumerate(combinations(METRICS, 2)):
        pair = ("metric_pair", f"{METRICS[a]}:{METRICS[b]}")
        rows.append(
            row("metric_correlation", pair, 0.1 * i, **around(0.1 * i, 0.3), null_value=0.0, n_scored=12)
        )
    rows.append(row("self_preference_warning", ("overall", "all"), float(made.is_kin), n_scored=1))
    return rows


def null_rows(of: dict[str, float], countries: Sequence[str]) -> list[Row]:
    """Return a null model: its expected scores, the same in both modes."""
    rows = []
    for benchmark, value in of.items():
        for mode in ("thin", "thick"):
            where = ("benchmark_mode", f"{benchmark}:{mode}")
            for metric, score in (("exact_match", value), ("f1_micro", value), ("f1_macro", value / 2)):
                rows.append(row(metric, where, score, null_value=MAJORITY[benchmark], n_scored=N))
            rows.append(row("exact_match_prior", where, PRIOR[benchmark], n_scored=N))
            for country in countries:
                place = ("benchmark_mode_country", f"{benchmark}:{mode}:{country}")
                rows.append(row("exact_match", place, value, null_value=MAJORITY[benchmark], n_scored=4))
    return rows


def store(
    warehouse: Warehouse,
    model: str,
    rows: list[Row],
    config: str = CONFIG,
    params: dict[str, Any] | None = None,
) -> str:
    """Store a finished run of these rows; return its run_id."""
    return store_run(warehouse, "cure", model, rows, params or PARAMS, config)


def judge(
    warehouse: Warehouse,
    run_id: str,
    model: str,
    name: str = JUDGE,
    benchmarks: Sequence[str] = tuple(METRICS),
) -> None:
    """Store four verdicts of a judge on each benchmark of a run, one of them unscored."""
    verdicts = [("YES", 1.0, 0.8, None), ("NO", 0.0, 0.4, None), ("NO", 0.0, 0.1, None)]
    lost = (None, None, None, "answer off the menu")
    for benchmark in benchmarks:
        shared = {
            "request_hash": f"{run_id} {benchmark} {name}", "run_id": run_id, "model": model, "judge": name,
            "judge_hash": f"engine of {name}", "rubric": rubric(benchmark), "item_text": "a question",
            "group_name": "IN", "judged": "real:0",
        }  # fmt: skip
        rows = [
            shared | {"item": f"i{i}", "verdict": v, "value": x, "graded": graded, "unscored_reason": reason}
            for i, (v, x, graded, reason) in enumerate([*verdicts, lost])
        ]
        store_verdicts(warehouse, f"{run_id} {benchmark} {name}".encode().hex()[-60:], rows)


def validate(
    warehouse: Warehouse, benchmark: str, name: str = JUDGE, metrics: Sequence[str] = ("cohen_kappa",)
) -> None:
    """Store rows of judge_validation: 0.6 +- 0.1 on 90 items."""
    now = datetime.now(UTC).replace(tzinfo=None)
    with warehouse.write() as connection:
        for metric in metrics:
            connection.execute(
                "INSERT INTO judge_validation (judge, judge_hash, rubric, dimension, metric, value, ci_low, "
                "ci_high, n, created_at, source) "
                "VALUES (?, ?, ?, ?, ?, 0.6, 0.5, 0.7, 90, ?, 'ratings.csv')",
                [name, f"engine of {name}", rubric(benchmark), METRICS[benchmark], metric, now],
            )


def store_study(
    warehouse: Warehouse,
    models: dict[str, Made],
    countries: Sequence[str],
    config: str = CONFIG,
    name: str = JUDGE,
) -> None:
    """Store models with their verdicts by the judge of this name, and the null models."""
    for seed, (model, made) in enumerate(models.items()):
        judge(warehouse, store(warehouse, model, model_rows(made, countries, seed), config), model, name)
    store(warehouse, "null:majority", null_rows(MAJORITY, countries), config)
    store(warehouse, "null:prior", null_rows(PRIOR, countries), config)
