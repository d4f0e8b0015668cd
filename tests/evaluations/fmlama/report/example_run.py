"""Invented runs of FmLAMA in a real warehouse: all that its page reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tests.report.stored import Row, row, store_part, store_run, store_verdicts
from warehouse import Warehouse

HOSTILE = "<script>alert(1)</script>"
HEBREW = "מלח"
CHINESE = "豆腐"
CONDITIONS = ["en:en:no", "en:en:yes", "zh:zh:no", "zh:zh:yes", "en:zh:no", "zh:en:no"]
ORIGINS = ["Japan", HOSTILE]
# mAP without the country; the better baseline scores 0.3 and chance 0.1
MODELS = {"knows": 0.55, HOSTILE: 0.25, "null:common": 0.3, "null:common-of-origin": 0.2}
# With the last pooling the gain of "knows" over the baseline is not significant.
POOLINGS = {"mean_probability": 0.0, "sum_logprob": 0.01, "mean_logprob": 0.25}
PARAMS: dict[str, Any] = {
    "aligned": True, "pooling": "mean_probability", "variants": [1, 2], "dish_set": "hand",
    "baseline_top": 10, "judge": "strict", "judged_dishes_per_origin": 5, "word_vectors": "some vectors",
}  # fmt: skip


def metric(name: str, where: tuple[str, str], value: float | None, **more: object) -> Row:
    """Return one row of metric_value, without run and model."""
    counts = {"n_scored": 0 if value is None else 14, "n_unscored": 0 if value else 14}
    reason = "no word vectors for 'zh'" if value is None else None
    return row(name, where, value, **{"unscored_reason": reason, **counts, **more})


def condition_metrics(model: str, condition: str) -> Iterator[Row]:
    """Yield a model's numbers of one condition; naming the country adds 0.05."""
    value = MODELS[model] + 0.05 * condition.endswith("yes") - 0.01 * (condition[:2] != condition[3:5])
    places = [("condition", condition), *(("condition_origin", f"{condition}:{o}") for o in ORIGINS)]
    for place in places:
        ends = {"ci_low": value - 0.04, "ci_high": value + 0.06, "null_value": 0.1}
        yield metric("map", place, value, **ends)
        yield metric("map_sd", place, 0.012)
        yield metric("mws", place, None if condition.startswith("zh") else 0.45, null_value=0.41)
        yield metric("error_foreign", place, 0.5, null_value=0.63, ci_low=0.4, ci_high=0.6)
        if condition.endswith("yes"):
            p = 0.004 if place[0] == "condition" else 0.04
            yield metric("country_gain", place, 0.05, ci_low=0.02, ci_high=0.08)
            yield metric("country_gain_p", place, p)
        if condition == CONDITIONS[0]:
            yield metric("mes", place, 0.77, null_value=0.66, ci_low=0.6, ci_high=0.9)
            yield metric("mes_maybe", place, 0.11)
    gain = value - 0.3
    ends = {"ci_low": gain - 0.1, "ci_high": gain + 0.1}
    yield metric("map_gain", ("condition", condition), gain, **ends, null_value=0.0)
    for pooling, less in POOLINGS.items() if not model.startswith("null:") else ():
        place = ("condition_pooling", f"{condition}:{pooling}")
        yield metric("map", place, value - less, ci_low=value - less - 0.04, ci_high=value - less + 0.06)
        low, high = gain - less - 0.1, gain - less + 0.1
        yield metric("map_gain", place, gain - less, ci_low=low, ci_high=high)
    yield metric("map_cv", ("condition", condition), 0.42)
    yield metric("unspellable_candidates", ("condition", condition), 3.0, n_scored=118)


def store(warehouse: Warehouse, model: str) -> None:
    """Store a finished run with its predictions and verdicts."""
    rows = [row for condition in CONDITIONS for row in condition_metrics(model, condition)]
    run_id = store_run(warehouse, "fmlama", model, rows, PARAMS)
    ids = {"run_id": run_id, "model": model, "request_hash": f"predictions of {model}"}
    name = f"part{list(MODELS).index(model)}"
    store_part(warehouse, "prediction", name, pl.DataFrame(predictions()).with_columns(**_constant(ids)))
    judged = {
        "judge": "strict",
        "judge_hash": "1" * 16,
        "rubric": "mes 1",
        "item": "d1",
        "item_text": "d1",
        "group_name": "Japan",
    }
    verdicts = [
        judged | {"judged": "salt", "verdict": "Correct", "value": 1.0},
        judged | {"judged": "tofu", "verdict": None, "value": None},
    ]
    store_verdicts(warehouse, name, [ids | verdict for verdict in verdicts])


def predictions() -> list[Row]:
    """Return one dish per origin, with two wrong predictions (one of them twice) and a right one."""
    candidates = [(HEBREW, "local"), (HOSTILE, "foreign"), (HOSTILE, "foreign"), (CHINESE, "correct")]
    return [
        {"condition": c, "template": "t-1", "dish": f"d {o}", "dish_name": o, "origin": o,
         "rank": i + 1, "candidate": candidate, "outcome": outcome}
        for c in CONDITIONS for o in ORIGINS for i, (candidate, outcome) in enumerate(candidates)
    ]  # fmt: skip


def _constant(values: dict[str, str]) -> dict[str, pl.Expr]:
    return {column: pl.lit(value) for column, value in values.items()}
