"""``culturescope leaderboard spectral``: the view, and for people fewer, combined columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.display import number
from deployments.evaluations import Leaderboard

NEWEST = "SELECT config_hash FROM leaderboard_spectral ORDER BY finished_at DESC LIMIT 1"
ROWS = """
SELECT * FROM leaderboard_spectral WHERE config_hash = ?
ORDER BY is_null, macro_f1 DESC NULLS LAST, model
"""


def _line(r: Mapping[str, Any]) -> dict[str, Any]:
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


LEADERBOARD = Leaderboard(
    "Macro-F1 against people's categories, with interval, null baseline and the null models' own rows.",
    NEWEST,
    ROWS,
    _line,
)
