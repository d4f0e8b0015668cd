"""Invented runs of spectral in a real warehouse, with the parts that the page reads."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import polars as pl

from tests.report.stored import Row, row, store_part, store_run
from warehouse import Warehouse, save_run_requests

CODES = ["DE", "FR", "IT", "JP"]
QUESTIONS = [("currency", "currency-1"), ("religions", "religions-1"), ("holidays", "holidays-1")]
PARAMS: dict[str, Any] = {"normalisation": "sum", "half_samples": 20, "max_items": 2}
LOST = "1 of 8 log-probabilities are stored"


def metric(name: str, kind: str, part: str, value: float | None, **more: object) -> Row:
    """Return one row of metric_value, without run and model."""
    counts = {"n_scored": 0 if value is None else 4, "n_unscored": 4 if value is None else 0}
    reason = LOST if value is None else None
    return row(name, (kind, part), value, **{"unscored_reason": reason, **counts, **more})


LANGUAGES = "languages"
"""Configuration of a run in English and Spanish."""


def language_rows() -> list[Row]:
    """Return what a run in English and Spanish has beside the rows of one language."""
    everywhere, pair, country = ("overall", "all"), ("language_pair", "en/es"), ("country", "FR")
    agreeing = (everywhere, pair, ("domain", "currency"), ("language_pair_domain", "en/es/currency"))
    ends = {"ci_low": 0.3, "ci_high": 0.5, "null_value": 0.0}
    rows = [metric("language_agreement", *where, 0.4, **ends) for where in agreeing]
    for where in (everywhere, pair):
        rows += [metric(name, *where, 0.6, null_value=0.5) for name in ("er_agreement", "order_agreement")]
        rows.append(metric("language_agreement_p", *where, 0.001))
    rows += [
        metric("macro_f1", "language", "es", 0.3, ci_low=0.1, ci_high=0.5, null_value=0.2),
        metric("reference_mass", "language", "es", 0.2, null_value=0.1),
        metric("reference_mass", "language_domain", "es/currency", 0.2, null_value=0.1),
        metric("own_language_advantage", *everywhere, 0.05, null_value=0.01),
        metric("own_language_advantage", *country, 0.05, ci_low=0.01, ci_high=0.09, null_value=0.01),
        metric("own_language_p", *country, 0.03),
        metric("own_language_advantage", "country", "IT", None),
        metric("own_language_p", "country", "IT", None),
    ]
    return rows


def store(warehouse: Warehouse, model: str, config: str, **params: Any) -> None:
    """Store a finished run with one unscored question and, for a model, its parts; of the configuration
    ``LANGUAGES`` in two languages.
    """
    rows = [
        metric("macro_f1", "overall", "all", 0.5, ci_low=0.4, ci_high=0.6, null_value=0.2),
        metric("rank_spearman", "overall", "all", 0.5),
        metric("reference_mass", "overall", "all", 0.3, null_value=0.1),
        metric("reference_mass", "domain", "currency", 0.3, null_value=0.1),
    ]
    for i, (_, question) in enumerate(QUESTIONS):
        value = None if i == 2 else 2.0 + i
        rows += [
            metric(m, "question", question, value if m[2:] != "_high" else value and i % 2)
            for m in ("effective_rank", "spectral_gap_ratio", "er_high", "sr_high")
        ]
    rows += [metric("competence", "domain_country", f"currency/{c}", 0.9) for c in CODES]
    params = PARAMS | params
    if config == LANGUAGES:
        rows, params = [*rows, *language_rows()], PARAMS | {"languages": ["es", "en"]}
    run_id = store_run(warehouse, "spectral", model, rows, params, config)
    requests = pl.DataFrame(
        [(f"{run_id}/{q}", d, q) for d, q in QUESTIONS],
        schema=["request_hash", "topic", "label"],
        orient="row",
    )
    with warehouse.write() as connection:
        save_run_requests(connection, run_id, requests)
    if not model.startswith("null:"):
        _store_parts(warehouse, run_id, model)


def _store_parts(warehouse: Warehouse, run_id: str, model: str) -> None:
    """Store log-probabilities of two items for the first question, and the countries' similarities."""
    shared = {"run_id": pl.lit(run_id), "model": pl.lit(model), "domain": pl.lit("currency")}
    answers = pl.DataFrame(
        [(c, i, -1.0, 1) for c in CODES for i in ("euro", "yen")],
        schema=["country", "item", "logprob", "n_tokens"],
        orient="row",
    )
    question = {"question": pl.lit("currency-1"), "request_hash": pl.lit(f"{run_id}/currency-1")}
    pairs = pl.DataFrame(
        [(a, b, 0.5) for a, b in combinations(CODES, 2)],
        schema=["country_a", "country_b", "similarity"],
        orient="row",
    )
    name = run_id.replace(" ", "-")
    store_part(warehouse, "item_logprob", f"item-{name}", answers.with_columns(**question, **shared))
    similar = pairs.with_columns(request_hash=pl.lit(run_id), **shared)
    store_part(warehouse, "country_similarity", f"pairs-{name}", similar)
