"""Invented runs of worldwise in a real warehouse: every metric row that the page reads, of any size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.report.stored import CONFIG, Row, around, row, store_run, unscored_rows
from warehouse import Warehouse

DIMENSIONS = ["power_distance", "individualism", "masculinity", "uncertainty_avoidance",
              "long_term_orientation", "indulgence"]  # fmt: skip
CATEGORIES = ["work", "family", "health", "law_and_state"]
VALUES = ["family_harmony", "future_planning", "achievement_success", "group_loyalty", "honesty_integrity"]
NULLS = {"zero": 6.9, "global_mean": 6.8, "scenario_text": 5.5, "shuffled": 6.0, "unprompted": 6.2}
PARAMS: dict[str, Any] = {
    "targets": "hofstede_published", "repetitions": 3, "temperature": 0.7, "half_samples": 200,
    "embedder": "embedded:all-minilm-l6-v2", "values_weight": 1, "order": "values-explanation-decision",
}  # fmt: skip


def alignment_rows(gain: float, cultures: list[str], rng: np.random.Generator) -> Iterator[Row]:
    """Yield rows of a model whose alignment is the all-zero profile's plus `gain`, +- 0.15 overall."""
    places = [
        ("overall", "all"),
        *(("culture", c) for c in cultures),
        *(("dimension", d) for d in DIMENSIONS),
        *(("category", c) for c in CATEGORIES),
        *(("scenario", f"ww-pdi-{i + 1:02}") for i in range(10)),
    ]
    for place in places:
        own = gain if place[0] == "overall" else gain + float(rng.normal(0, 0.4))
        null = NULLS["zero"] if place[0] == "overall" else float(rng.normal(6.9, 0.8))
        null = min(max(null, 1.0), 9.0)
        yield row("alignment", place, null + own, **around(null + own, 0.2), null_value=null)
        yield row("alignment_sd", place, 1.6)
        error = (10 - null - own) / 2.5
        if place[0] != "scenario":
            yield row("alignment_gain", place, own, **around(own, 0.15), null_value=0.0)
        if place[0] in ("overall", "culture", "dimension"):
            yield row("hofstede_mae", place, error, **around(error, 0.1), null_value=(10 - null) / 2.5)
            yield row("hofstede_median_error", place, error - 0.05, null_value=1.2)
            yield row("hofstede_error_sd", place, 0.7, null_value=0.7)
            yield row("hofstede_bias", place, -0.3, **around(-0.3, 0.1), null_value=-0.4)
    for null_name, value in NULLS.items():
        over = NULLS["zero"] + gain - value
        yield row("alignment", ("null", null_name), value, **around(value, 0.2))
        yield row("alignment_gain", ("null", null_name), over, **around(over, 0.15), null_value=0.0)


def culture_rows(culture: str, cultures: list[str], rng: np.random.Generator) -> Iterator[Row]:
    """Yield values, decisions, projections, errors and distance of one culture, or of the baseline."""
    is_baseline = culture == "baseline"
    shares = rng.dirichlet([8.0, 6.0, 4.0, 3.0, 2.0])
    for value, share in zip(VALUES, shares, strict=True):
        null = None if is_baseline else 0.2
        where = ("culture_value", f"{culture}:{value}")
        yield row("value_share", where, float(share), null_value=null, n_scored=300)
    a = float(rng.uniform(0.35, 0.6))
    for decision, share in (("A", a), ("B", 0.95 - a), ("Decline", 0.05)):
        null = None if is_baseline else {"A": 0.5, "B": 0.45, "Decline": 0.05}[decision]
        yield row("decision_share", ("culture_decision", f"{culture}:{decision}"), share, null_value=null)
    for dimension in [*DIMENSIONS, "security"]:
        where = ("culture_dimension", f"{culture}:{dimension}")
        yield row("projection", where, float(rng.normal(0, 0.3)), null_value=0.1)
    recognised = float(rng.uniform(0.2, 0.6))
    if is_baseline:
        return
    yield row("persona_recognition", ("culture", culture), recognised, null_value=0.0)
    for dimension in DIMENSIONS:
        where, error = ("culture_dimension", f"{culture}:{dimension}"), float(rng.uniform(0.3, 2.2))
        yield row("hofstede_mae", where, error, null_value=1.2)
        yield row("alignment", where, 10 - 2.5 * error, null_value=7.0)
    distance = 1.0 + 0.1 * cultures.index(culture)
    yield row("baseline_distance", ("culture", culture), distance, **around(distance, 0.05), null_value=1.4)
    shift = float(rng.uniform(0.08, 0.4))
    yield row("value_shift", ("culture", culture), shift, **around(shift, 0.05), null_value=0.1)
    yield row("value_shift_p", ("culture", culture), 0.01 if shift > 0.2 else 0.3)


def overall_rows(others: list[str]) -> Iterator[Row]:
    """Yield overall rows of a model, and rows of pairs of models."""
    overall = ("overall", "all")
    yield row("value_shift", overall, 0.3, **around(0.3, 0.03), null_value=0.1)
    yield row("persona_recognition", overall, 0.4, **around(0.4, 0.1), null_value=0.0)
    yield row("persona_recognition_p", overall, 0.01)
    yield row("answer_variety", overall, 0.91, **around(0.91, 0.01), null_value=0.98)
    yield row("stereotype_score", overall, 8.5, **around(8.5, 0.3), null_value=9.4)
    yield row("answered", overall, 0.98, **around(0.98, 0.01), n_scored=540)
    yield row("unscored_answers", ("reason", "no value of the list"), 11.0)
    yield row("truncated_texts", overall, 4.0)
    yield row("total_tokens", overall, 1_234_567.0)
    bands = {"excellent": (0.18, 0.2), "good": (0.12, 0.2), "acceptable": (0.19, 0.3), "poor": (0.51, 0.3)}
    for band, (share, null) in bands.items():
        yield row(f"accuracy_{band}", overall, share, **around(share, 0.03), null_value=null)
    for what, (f, p, eta) in {"culture": (31.5, 1e-9, 0.17), "model": (0.1, 0.961, 0.0005)}.items():
        yield row(f"{what}_anova_f", overall, f)
        yield row(f"{what}_anova_p", overall, p)
        yield row(f"{what}_eta_squared", overall, eta)
    for part, share in (("scenario", 0.4), ("persona", 0.25), ("model", 0.0), ("residual", 0.35)):
        yield row(f"variance_{part}", overall, share)
    for other in others:
        yield row("model_difference", ("model_pair", other), 0.03, **around(0.03, 0.1), null_value=0.0)
        yield row("model_difference_p", ("model_pair", other), 1.0)
        yield row("model_cohens_d", ("model_pair", other), 0.02, null_value=0.0)


def model_rows(gain: float, cultures: list[str], others: list[str], seed: int) -> list[Row]:
    """Return all rows of one model."""
    rng = np.random.default_rng(seed)
    rows = list(alignment_rows(gain, cultures, rng))
    for culture in ["baseline", *cultures]:
        rows += culture_rows(culture, cultures, rng)
    rows += overall_rows(others)
    for i, first in enumerate(cultures):
        for second in cultures[i + 1 :]:
            pair = ("culture_pair", f"{first}:{second}")
            difference = float(rng.normal(0, 1))
            rows += [
                row("culture_difference", pair, difference, **around(difference, 0.3), null_value=0.0),
                row("culture_difference_p", pair, 0.04),
                row("culture_cohens_d", pair, difference / 1.6, null_value=0.0),
            ]
    return rows


def null_rows(value: float) -> list[Row]:
    """Return the rows of a null model with a separate run."""
    overall = ("overall", "all")
    return [
        row("alignment", overall, value, **around(value, 0.2), null_value=NULLS["zero"]),
        row("alignment_sd", overall, 1.5),
        row("alignment_gain", overall, value - NULLS["zero"], null_value=0.0),
        row("hofstede_mae", overall, 1.2, null_value=1.2),
        *(row("alignment", ("null", name), v) for name, v in NULLS.items()),
    ]


def store(warehouse: Warehouse, model: str, rows: list[Row], config: str = CONFIG) -> None:
    """Store a finished run of these rows."""
    store_run(warehouse, "worldwise", model, rows, PARAMS, config)


def store_study(
    warehouse: Warehouse, gains: dict[str, float | None], cultures: list[str], config: str = CONFIG
) -> None:
    """Store models with their gain (None: nothing scored), and the null models that have separate runs."""
    for seed, (model, gain) in enumerate(gains.items()):
        others = [other for other in gains if other != model]
        rows = model_rows(gain or 0.0, cultures, others, seed)
        store(warehouse, model, unscored_rows(rows) if gain is None else rows, config)
    for model, name in (("null:zero", "zero"), ("null:scenario-text", "scenario_text")):
        store(warehouse, model, null_rows(NULLS[name]), config)
