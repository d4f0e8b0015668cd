"""The worldwise page: frames in, one HTML document out that needs nothing from the network."""

from __future__ import annotations

import json
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tasks.report import worldwise_tables as tables
from tasks.report.fmlama_page import percent
from tasks.report.page import number, pretty, when
from tasks.report.worldwise_cells import (
    MOST_CULTURES,
    all_cultures,
    finder,
    in_reference_order,
    labels,
    models_of,
    slices,
)
from tasks.report.worldwise_data import BASELINE, NULLS, WorldwiseData
from tasks.report.worldwise_figures import draw, frequent_values
from tasks.report.worldwise_models import MOST_SCENARIOS, scenario_labels


def render_worldwise(data: WorldwiseData) -> str:
    """The report as one HTML document; the same frames give the same bytes.

    Names of models, cultures, values and scenarios are escaped. Figures are inline SVG, the style sheet is
    inline, and there is no script.
    """
    environment = Environment(
        loader=PackageLoader("tasks.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "when": when, "pretty": pretty, "percent": percent}
    return environment.get_template("worldwise.html").render(_context(data))


def _context(data: WorldwiseData) -> dict[str, Any]:
    find, models = finder(data), models_of(data)
    found = tables.lines(data, find)
    own = [line for line in found if not line.is_null]
    dimensions, projected = tables.projections(data)
    return {
        "data": data,
        "params": json.loads(data.runs["params"][0]),
        "find": find,
        "lines": found,
        "models": models,
        "above": [line for line in own if line.told > 0],
        "below": [line for line in own if line.told < 0],
        "unscored_models": [line for line in own if line.board["alignment_gain"] is None],
        "ours": own,
        "cultures": all_cultures(data),
        "most_cultures": MOST_CULTURES,
        "most_scenarios": MOST_SCENARIOS,
        "nulls": NULLS,
        "baseline": BASELINE,
        "dimensions": in_reference_order(data, "dimension", slices(data, "alignment", "dimension")),
        "projected": in_reference_order(data, "dimension", dimensions),
        "projected_cultures": projected,
        "scenarios": slices(data, "alignment", "scenario"),
        "categories": slices(data, "alignment", "category"),
        "names": {kind: labels(data, kind) for kind in ("culture", "value", "dimension")},
        "scenario_names": scenario_labels(data),
        "values": frequent_values(data),
        "top_values": tables.top_values(data),
        "closest": {model: tables.closest(data, find, model) for model in models},
        "model_pairs": tables.model_pairs(models, find),
        "culture_pairs": {model: tables.top_pairs(data, model) for model in models},
        "lost": tables.lost_answers(data),
        "unscored": tables.shortened(data.unscored),
        "catalogue": {row["metric"]: row for row in data.metrics.iter_rows(named=True)},
        "figures": draw(data),
    }
