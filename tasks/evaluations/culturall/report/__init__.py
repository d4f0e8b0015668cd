"""The CulturALL page: what its template shows; the loop and the command line ask for ``REPORT`` alone."""

from __future__ import annotations

from typing import Any

import polars as pl

from tasks.evaluations.culturall.params import CONDITIONS
from tasks.evaluations.culturall.report.data import KINDS, Data
from tasks.evaluations.culturall.report.figures import draw
from tasks.evaluations.culturall.rows import DIFFERENCES
from tasks.evaluations.culturall.scores import LEVELS
from tasks.report import Badge, Report, Row, gain_sign
from tasks.report.page import render_page


def _context(data: Data) -> dict[str, Any]:
    return {
        "board": data.leaderboard.to_dicts(),
        "badge": _badge,
        "above_null": list(filter(data.is_above_null, data.models)),
        "conditions": [name for name in CONDITIONS if data.asked(name)],
        "differences": [name for name in DIFFERENCES if data.has(name)],
        "levels": LEVELS,
        "has_levels": data.has_levels,
        "settings": data.settings,
        "spread": data.spread,
        "kinds": KINDS,
        "judges": data.judges.to_dicts(),
        "judged_languages": data.judges.filter(pl.col("language").is_not_null()).height,
        "examples": data.examples.to_dicts(),
        "figures": draw(data),
        "gain_sign": gain_sign,
    }


def _badge(line: Row) -> Badge:
    """What a row's accuracy may be trusted for."""
    if line["is_null"]:
        return "plain", "null model"
    if line["judge"] is None:
        return "plain", "matched, not judged"
    if line["judge_flagged"] is None:
        return "warn", "judge not checked"
    return ("warn", "judge fails its check") if line["judge_flagged"] else ("good", "judge passes its check")


REPORT = Report("report-culturall.html", Data, lambda data: render_page(__name__, data, _context(data)))
