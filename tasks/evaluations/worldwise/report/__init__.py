"""Prepares what the template of the WorldWise page shows; the loop and the command line use only
``REPORT``.
"""

from __future__ import annotations

from typing import Any

from tasks.evaluations.worldwise.report import tables
from tasks.evaluations.worldwise.report.data import BASELINE, MOST_CULTURES, NULLS, WorldwiseData
from tasks.evaluations.worldwise.report.figures import MOST_SCENARIOS, draw
from tasks.report import Report
from tasks.report.cohort import cohort_of_page
from tasks.report.forest import picture
from tasks.report.page import render_page


def _context(data: WorldwiseData) -> dict[str, Any]:
    lines = tables.lines(data)
    own = [line for line in lines if not line["is_null"]]
    projected, projected_cultures = tables.projections(data)
    return {
        "cohort": cohort_of_page(data.cohort),
        "lines": lines,
        "picture": picture(
            "Alignment over each model’s best null model, in points",
            [(line["model"], line["best_null"] or "", line["gain"]) for line in own],
        ),
        "ours": own,
        "largest_gain": tables.largest_gain(own),
        "most_cultures": MOST_CULTURES,
        "most_scenarios": MOST_SCENARIOS,
        "nulls": NULLS,
        "baseline": BASELINE,
        "projected": projected,
        "projected_cultures": projected_cultures,
        "top_values": tables.top_values(data),
        "closest": {model: tables.closest(data, model) for model in data.models},
        "model_pairs": tables.model_pairs(data),
        "culture_pairs": {model: tables.top_pairs(data, model) for model in data.models},
        "lost": tables.lost_answers(data),
        "figures": draw(data),
    }


REPORT = Report(
    "report-worldwise.html", WorldwiseData, lambda data: render_page(__name__, data, _context(data))
)
