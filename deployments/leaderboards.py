"""Leaderboards as the command line prints them: the views, and for people fewer, combined columns."""

from __future__ import annotations

import polars as pl

from deployments.display import number
from warehouse import Warehouse, WarehouseError

NEWEST = "SELECT config_hash FROM leaderboard_spectral ORDER BY finished_at DESC LIMIT 1"
ROWS = """
SELECT * FROM leaderboard_spectral WHERE config_hash = ?
ORDER BY is_null, macro_f1 DESC NULLS LAST, model
"""


def spectral_leaderboard(warehouse: Warehouse, config: str | None, compact: bool) -> tuple[pl.DataFrame, str]:
    """The leaderboard of one configuration, and its title.

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    found = [config] if config else warehouse.query(NEWEST)["config_hash"].to_list()
    rows = warehouse.query(ROWS, found) if found else pl.DataFrame()
    if rows.is_empty():
        raise WarehouseError(
            "no finished run to show; start one with: culturescope run spectral --profile smoke"
        )
    title = f"spectral · profile {rows['profile'][0]} · config {rows['config_hash'][0]}"
    return (_compact(rows) if compact else rows), title


def _compact(rows: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
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
            for r in rows.to_dicts()
        ]
    )
