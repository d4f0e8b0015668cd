"""Leaderboards as the command line prints them: the views, and for people fewer, combined columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from deployments.display import number
from warehouse import Warehouse, WarehouseError

SPECTRAL_NEWEST = "SELECT config_hash FROM leaderboard_spectral ORDER BY finished_at DESC LIMIT 1"
SPECTRAL_ROWS = """
SELECT * FROM leaderboard_spectral WHERE config_hash = ?
ORDER BY is_null, macro_f1 DESC NULLS LAST, model
"""
FMLAMA_NEWEST = "SELECT config_hash FROM leaderboard_fmlama ORDER BY finished_at DESC LIMIT 1"
FMLAMA_ROWS = """
SELECT * FROM leaderboard_fmlama WHERE config_hash = ?
ORDER BY main_language, subject_language, country_mentioned, is_null, map DESC NULLS LAST, model
"""


def spectral_leaderboard(warehouse: Warehouse, config: str | None, compact: bool) -> tuple[pl.DataFrame, str]:
    """The leaderboard of one configuration, and its title.

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    rows, title = _rows(warehouse, "spectral", SPECTRAL_NEWEST, SPECTRAL_ROWS, config)
    return (pl.DataFrame([_spectral_line(r) for r in rows.to_dicts()]) if compact else rows), title


def fmlama_leaderboard(warehouse: Warehouse, config: str | None, compact: bool) -> tuple[pl.DataFrame, str]:
    """See ``spectral_leaderboard``; a line for each model and condition."""
    rows, title = _rows(warehouse, "fmlama", FMLAMA_NEWEST, FMLAMA_ROWS, config)
    return (pl.DataFrame([_fmlama_line(r) for r in rows.to_dicts()]) if compact else rows), title


def _rows(
    warehouse: Warehouse, evaluation: str, newest: str, query: str, config: str | None
) -> tuple[pl.DataFrame, str]:
    found = [config] if config else warehouse.query(newest)["config_hash"].to_list()
    rows = warehouse.query(query, found) if found else pl.DataFrame()
    if rows.is_empty():
        raise WarehouseError(
            f"no finished run to show; start one with: culturescope run {evaluation} --profile smoke"
        )
    return rows, f"{evaluation} · profile {rows['profile'][0]} · config {rows['config_hash'][0]}"


def _spectral_line(r: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": r["model"],
        "macro-F1 [95 %]": f"{number(r['macro_f1'])} [{number(r['ci_low'])}, {number(r['ci_high'])}]",
        "guessing": number(r["null_macro_f1"]),
        "LH": number(r["f1_lh"], 2),
        "HL": number(r["f1_hl"], 2),
        "HH": number(r["f1_hh"], 2),
        "LL": number(r["f1_ll"], 2),
        "rank ρ": number(r["rank_spearman"], 2),
        "rank τ": number(r["rank_kendall"], 2),
        "ER–SR ρ": number(r["er_sr_correlation"], 2),
        "own-item mass": number(r["reference_mass"]),
        "coverage": number(r["coverage"], 2),
    }


def _fmlama_line(r: Mapping[str, Any]) -> dict[str, Any]:
    languages = r["main_language"]
    if r["subject_language"] != languages:
        languages = f"{languages} ({r['subject_language']} dish)"
    is_scored = r["map"] is not None
    gain = f"{number(r['map_gain'])} [{number(r['gain_low'])}, {number(r['gain_high'])}]"
    return {
        "language": languages,
        "country": "named" if r["country_mentioned"] else "–",
        "model": r["model"],
        "mAP ± sd": f"{number(r['map'])} ± {number(r['map_sd'])}" if is_scored else "–",
        "chance": number(r["null_map"]),
        "over baseline [95 %]": gain if is_scored and not r["is_null"] else "–",
        "mWS": number(r["mws"]),
        "chance mWS": number(r["null_mws"]),
        "CV": number(r["map_cv"], 2),
        "country gain": number(r["country_gain"]),
        "p": number(r["country_gain_p"]),
        "MES": number(r["mes"], 2),
    }
