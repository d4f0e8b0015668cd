"""``culturescope leaderboard worldwise``: the view, and for people fewer, combined columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.display import number
from deployments.evaluations import Leaderboard

NEWEST = "SELECT config_hash FROM leaderboard_worldwise ORDER BY finished_at DESC LIMIT 1"
ROWS = """
SELECT * FROM leaderboard_worldwise WHERE config_hash = ?
ORDER BY is_null, alignment_gain DESC NULLS LAST, model
"""


def _line(r: Mapping[str, Any]) -> dict[str, Any]:
    is_scored = r["alignment_gain"] is not None and not r["is_null"]
    gain = f"{number(r['alignment_gain'])} [{number(r['gain_low'])}, {number(r['gain_high'])}]"
    return {
        "model": r["model"],
        "gain over null [95 %]": gain if is_scored else "–",
        "best null": r["best_null"] or "–",
        "alignment": f"{number(r['alignment'], 2)} ± {number(r['alignment_sd'], 2)}",
        "its null": number(r["null_alignment"], 2),
        "MAE": number(r["hofstede_mae"], 2),
        "null MAE": number(r["null_mae"], 2),
        "shift": number(r["value_shift"]),
        "noise": number(r["null_shift"]),
        "stereotype": number(r["stereotype_score"], 2),
        "unprompted like": r["closest_culture"] or "–",
        "declined": number(r["decline_share"], 2),
        "answered": number(r["answered"], 2),
    }


LEADERBOARD = Leaderboard(
    "Gain in alignment over the best null profile, with interval; raw alignment second.",
    NEWEST,
    ROWS,
    _line,
)
