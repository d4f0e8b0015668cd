"""Invented frames of the spectral page in the shape of the warehouse's views, of any size."""

from __future__ import annotations

import json
from datetime import date, datetime
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.spectral.report.data import SpectralData
from tests.report.stored import around, row

Domain = tuple[str, str, float, str]
"""(domain, label, mean rank by people, category)"""

DOMAINS: list[Domain] = [
    ("convenient_foods", "Convenient foods", 2.90, "HH"),
    ("house_numbers", "House numbers", 3.18, "LH"),
    ("common_foods", "Common foods", 3.92, "HH"),
    ("healthy_foods", "Healthy foods", 3.98, "HH"),
    ("religions", "Religions", 4.70, "LL"),
    ("holidays", "Holidays", 5.64, "LL"),
    ("languages", "Languages", 5.89, "LL"),
    ("national_dish", "National dish", 6.59, "HL"),
    ("currency", "Currency", 8.20, "HL"),
]
CLASSES = ("LH", "HL", "HH", "LL")
REGIONS = ("Africa", "Americas", "Asia", "Europe", "Oceania")
NULLS = ("null:list-frequency", "null:uniform-by-domain", "null:always-LH")
FINISHED = datetime(2026, 11, 20, 9, 30)
OVERALL = ("overall", "all")


def country_codes(n: int) -> list[str]:
    """Return n different pairs of letters."""
    return [f"{chr(65 + i // 26)}{chr(65 + i % 26)}" for i in range(n)]


def similarity_of(n: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return cosines of n countries in five loose groups."""
    centres = rng.gamma(0.4, size=(5, 60))
    rows = centres[np.arange(n) % 5] + 0.5 * rng.gamma(0.4, size=(n, 60)) + 0.15
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.clip(unit @ unit.T, 0.0, 1.0)


def example(
    models: list[str] | None = None, n_countries: int = 10, variants: int = 3, n_domains: int = 2
) -> SpectralData:
    """Return one configuration: models of differing quality, an unscored question, an infinite SR."""
    models = ["model-a", "model-b"] if models is None else models
    rng = np.random.default_rng(0)
    domains = DOMAINS[-n_domains:]
    everyone = [*models, *NULLS, *[f"null:shuffled({m})" for m in models]]
    quality = {m: 0.62 - 0.09 * i for i, m in enumerate(models)}
    quality |= {f"null:shuffled({m})": quality[m] for m in models}
    quality |= {"null:list-frequency": 0.31, "null:uniform-by-domain": 0.22, "null:always-LH": 0.05}
    codes = country_codes(n_countries)
    asked = [m for m in everyone if m not in NULLS[1:]]
    countries = [(c, f"Land of {c}", REGIONS[i % 5]) for i, c in enumerate([*codes, "ZZ"])]
    lost = (
        models[0],
        "effective_rank",
        "question",
        "currency-1",
        "719 of 720 log-probabilities are stored",
        10,
    )
    source = (
        "dishes.csv",
        "written for this project",
        "1",
        "CC0-1.0",
        date(2026, 11, 21),
        "by hand",
        "a note",
    )
    configurations = [
        ("3f2a9c0d1b7e4455", "demo", len(models), FINISHED),
        ("00ff00ff00ff00ff", "smoke", 1, FINISHED),
    ]
    return SpectralData(
        config_hash="3f2a9c0d1b7e4455",
        leaderboard=_leaderboard(everyone, quality),
        values=_values(models, everyone, quality, domains, codes, rng),
        by_question=_by_question(asked, domains, n_countries, variants, rng),
        similarity=_similarity(models, domains, codes, rng),
        countries=frame(countries, "country name region"),
        domains=_domains(domains),
        cohort=frame([("first", models[0])], "cohort model"),
        doubts=doubts(),
        metrics=_metrics(),
        runs=_runs(everyone),
        unscored=frame([lost], "model metric slice_kind slice unscored_reason n_unscored"),
        sources=frame([source], "file source version licence retrieved build notes"),
        configurations=frame(configurations, "configuration profile n_models finished_at"),
    )


def doubts(*rows: tuple[str, str, str]) -> pl.DataFrame:
    """Return rows of the view report_doubt: model, metric, reason."""
    return pl.DataFrame(rows, dict.fromkeys(("model", "metric", "reason"), pl.String), orient="row")


def frame(rows: list[tuple[Any, ...]], columns: str) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=columns.split(), orient="row")


def _leaderboard(everyone: list[str], quality: dict[str, float]) -> pl.DataFrame:
    rows = []
    for m in everyone:
        null = m.startswith("null:")
        rows.append(
            {
                "config_hash": "3f2a9c0d1b7e4455", "profile": "demo", "model": m, "is_null": null,
                "macro_f1": quality[m], "ci_low": quality[m] - 0.14, "ci_high": quality[m] + 0.12,
                "with_people_low": None if null else quality[m] - 0.16,
                "with_people_high": None if null else quality[m] + 0.14,
                "null_macro_f1": 0.22, "rank_spearman": None if null else 0.55,
                "rank_kendall": None if null else 0.4, "coverage": 1.0,
                "f1_lh": 0.9, "f1_hl": 0.4, "f1_hh": None if "uniform" in m else 0.0, "f1_ll": 0.3,
            }
        )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def _values(
    models: list[str],
    everyone: list[str],
    quality: dict[str, float],
    domains: list[Domain],
    codes: list[str],
    rng: np.random.Generator,
) -> pl.DataFrame:
    rows = []
    for m in everyone:
        f1 = {"macro_f1": quality[m], "f1_LH": 0.9, "f1_HL": 0.4, "f1_HH": 0.0, "f1_LL": 0.3}
        for metric, value in list(f1.items())[: 1 if "uniform" in m else None]:
            ends = around(value, 0.13, null_value=None if m.startswith("null:") else 0.22)
            rows.append((m, row(metric, OVERALL, value, **ends, n_scored=27)))
        rows.append((m, row("er_sr_correlation", OVERALL, -0.61)))
        rows.append((m, row("reference_mass", OVERALL, 0.2, null_value=0.07)))
    for place, m in enumerate(models):
        for choice in ("sum", "per_byte", *(f"without {name}" for name in models[:1])):
            under = quality[m] if choice == "sum" else 0.4 + 0.01 * place * (choice == "per_byte")
            rows.append((m, row("macro_f1_under", ("choice", choice), under, null_value=0.22)))
        for domain, *_ in domains:
            for metric in ("reference_mass", "paraphrase_agreement"):
                if (domain, metric) != ("house_numbers", "reference_mass"):
                    value = float(rng.uniform(0.05, 0.6))
                    rows.append((m, row(metric, ("domain", domain), value, null_value=0.06)))
            rows += [
                (m, row("competence", ("domain_country", f"{domain}/{c}"), float(rng.uniform(0.3, 1))))
                for c in codes
            ]
    floats = dict.fromkeys(("value", "ci_low", "ci_high", "null_value"), pl.Float64)
    cells = [{"model": m, "is_null": m.startswith("null:"), **values} for m, values in rows]
    return pl.DataFrame(cells, schema_overrides=floats, infer_schema_length=None)


def _by_question(
    asked: list[str], domains: list[Domain], n: int, variants: int, rng: np.random.Generator
) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for m in asked:
        for place, (domain, label, score, category) in enumerate(domains):
            for variant in range(1, variants + 1):
                er = float(min(n, 1 + rng.gamma(2.0) * (place + 1) * n / 25))
                sr = float(1 + 10 ** rng.normal(2 - place / 5, 0.6))
                if "list" in m and place == 1:
                    sr = float("inf")
                guess = str(rng.choice(CLASSES))
                lost = m == asked[0] and domain == "currency" and variant == 1
                numbers = {
                    "effective_rank": er, "er_ci_low": er * 0.8, "er_ci_high": er * 1.25,
                    "spectral_gap_ratio": sr, "sr_ci_low": sr * 0.7, "sr_ci_high": sr * 1.5,
                    "top_item_share": 0.3,
                    "er_sr_category": guess, "correct": guess == category,
                }  # fmt: skip
                rows.append(
                    {
                        "model": m, "is_null": m.startswith("null:"), "domain": domain, "label": label,
                        "question": f"{domain}-{variant}", "variant": variant,
                        "template": f"The {label.lower()} of {{country}} is",
                        "human_category": category, "human_score": score,
                        **(dict.fromkeys(numbers) if lost else numbers),
                    }
                )  # fmt: skip
    return pl.DataFrame(rows, infer_schema_length=None)


def _similarity(
    models: list[str], domains: list[Domain], codes: list[str], rng: np.random.Generator
) -> pl.DataFrame:
    a, b = (list(side) for side in zip(*combinations(codes, 2), strict=True))
    upper = np.triu_indices(len(codes), k=1)
    frames = [
        pl.DataFrame({"country_a": a, "country_b": b, "similarity": similarity_of(len(codes), rng)[upper]})
        .with_columns(model=pl.lit(m), domain=pl.lit(domain))
        for m in models
        for domain, *_ in domains
    ]  # fmt: skip
    return pl.concat(frames).select("model", "domain", "country_a", "country_b", "similarity")


def _domains(domains: list[Domain]) -> pl.DataFrame:
    rows = [(d, label, 150, f"{label} in your country", s, 2.0, c, 80) for d, label, s, c in domains]
    return frame(rows, "domain label n_items human_question human_score human_sd human_category human_n")


def _metrics() -> pl.DataFrame:
    names = ("macro_f1", "rank_spearman", "rank_kendall", "er_sr_correlation", "reference_mass")
    rows = [
        (m, f"Label of {m}", "share", 0.0, None, "higher", f"What {m} means.", "guessing", "never", "paper")
        for m in names
    ]
    columns = (
        "metric label unit range_low range_high direction description null_baseline unscored_when source"
    )
    return frame(rows, columns)


def _runs(everyone: list[str]) -> pl.DataFrame:
    params = json.dumps({"normalisation": "sum", "half_samples": 200, "max_items": 150, "profile": "demo"})
    own = ("spectral", "demo", "0.1.0", '{"kind": "fake"}', params, "rule", FINISHED, FINISHED)
    rows = [(f"run of {m}", m, m.startswith("null:"), *own) for m in everyone]
    about = "evaluation profile code_version engine params boundary_rule started_at finished_at"
    columns = f"run_id model is_null {about}"
    return frame(rows, columns)
