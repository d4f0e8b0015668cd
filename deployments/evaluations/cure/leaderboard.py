"""``culturescope leaderboard cure``: the view, and for people fewer, combined columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.display import number
from deployments.evaluations import Leaderboard

NEWEST = "SELECT config_hash FROM leaderboard_cure ORDER BY finished_at DESC LIMIT 1"
ROWS = """
SELECT * FROM leaderboard_cure WHERE config_hash = ?
ORDER BY list_position(['normad', 'casa', 'culturebank', 'specnorm'], benchmark), is_null,
    tells_real_from_shuffled DESC NULLS LAST, value DESC NULLS LAST, thick_em DESC NULLS LAST,
    thin_em DESC NULLS LAST, model
"""
_TELLS = {True: "yes", False: "NO", None: "–"}
_JUDGE = {True: "validated", False: "not validated", None: "no judge"}


def _line(r: Mapping[str, Any]) -> dict[str, Any]:
    is_scored = r["value"] is not None
    explained = f"{r['metric']} {number(r['value'])} [{number(r['ci_low'])}, {number(r['ci_high'])}]"
    kin = ", own family" if r["self_preference"] else ""
    return {
        "benchmark": r["benchmark"],
        "model": r["model"],
        "thin EM": number(r["thin_em"]),
        "thick EM": number(r["thick_em"]),
        "majority": number(r["majority_em"]),
        "thin F1 macro": number(r["thin_f1_macro"]),
        "thick F1 macro": number(r["thick_f1_macro"]),
        "explanations [95 %]": explained if is_scored else "–",
        "their null": number(r["null_value"]),
        "over shuffled": number(r["explanation_gain"]),
        "tells real": _TELLS[r["tells_real_from_shuffled"]],
        "judge": "–" if r["is_null"] else f"{_JUDGE[r['validated']]}{kin}",
        "items": r["n_items"],
    }


LEADERBOARD = Leaderboard(
    "Labels beside the commonest one, explanations beside worthless ones, the judge beside people.",
    NEWEST,
    ROWS,
    _line,
)
