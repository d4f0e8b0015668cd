"""``culturescope leaderboard fmlama``: the view, and for people fewer, combined columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.display import number
from deployments.evaluations import Leaderboard

NEWEST = "SELECT config_hash FROM leaderboard_fmlama ORDER BY finished_at DESC LIMIT 1"
ROWS = """
SELECT * FROM leaderboard_fmlama WHERE config_hash = ?
ORDER BY main_language, subject_language, country_mentioned, is_null, map DESC NULLS LAST, model
"""


def _line(r: Mapping[str, Any]) -> dict[str, Any]:
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


LEADERBOARD = Leaderboard(
    "Mean average precision by language and with or without the country, beside chance and baselines.",
    NEWEST,
    ROWS,
    _line,
)
