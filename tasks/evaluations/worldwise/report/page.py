"""The WorldWise page: what its template shows."""

from __future__ import annotations

from typing import Any

from tasks.evaluations.worldwise.report import tables
from tasks.evaluations.worldwise.report.data import BASELINE, MOST_CULTURES, NULLS, Data
from tasks.evaluations.worldwise.report.figures import draw
from tasks.evaluations.worldwise.report.models import MOST_SCENARIOS
from tasks.report.page import render_page


def render(data: Data) -> str:
    """The page as one HTML document; the same frames give the same bytes."""
    return render_page(__package__, data, _context(data))


def _context(data: Data) -> dict[str, Any]:
    lines = tables.lines(data)
    own = [line for line in lines if not line.is_null]
    projected, projected_cultures = tables.projections(data)
    return {
        "lines": lines,
        "ours": own,
        "models": data.models,
        "above": [line for line in own if line.gain_sign > 0],
        "below": [line for line in own if line.gain_sign < 0],
        "unscored_models": [line for line in own if line.board["alignment_gain"] is None],
        "largest_gain": tables.largest_gain(own),
        "cultures": data.cultures,
        "most_cultures": MOST_CULTURES,
        "most_scenarios": MOST_SCENARIOS,
        "nulls": NULLS,
        "baseline": BASELINE,
        "names": data.names,
        "dimensions": data.dimensions_in_order(data.slices("alignment", "dimension")),
        "projected": projected,
        "projected_cultures": projected_cultures,
        "scenarios": data.slices("alignment", "scenario"),
        "categories": data.slices("alignment", "category"),
        "top_values": tables.top_values(data),
        "closest": {model: tables.closest(data, model) for model in data.models},
        "model_pairs": tables.model_pairs(data),
        "culture_pairs": {model: tables.top_pairs(data, model) for model in data.models},
        "lost": tables.lost_answers(data),
        "figures": draw(data),
    }
