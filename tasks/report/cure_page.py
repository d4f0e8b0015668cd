"""The cure page: frames in, one HTML document out that needs nothing from the network."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from tasks.report import cure_tables as tables
from tasks.report.cure_cells import (
    MOST_COUNTRIES,
    benchmarks_of,
    countries_of,
    finder,
    is_judged,
    models_of,
    modes_of,
)
from tasks.report.cure_data import BENCHMARKS, METRICS, NULLS, CureData
from tasks.report.cure_figures import draw
from tasks.report.fmlama_page import percent
from tasks.report.page import number, pretty, when
from tasks.report.worldwise_tables import shortened


def render_cure(data: CureData) -> str:
    """The report as one HTML document; the same frames give the same bytes.

    Names of models, judges and countries are escaped. Figures are inline SVG, the style sheet is inline, and
    there is no script.
    """
    environment = Environment(
        loader=PackageLoader("tasks.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "when": when, "pretty": pretty, "percent": percent}
    environment.filters["listed"] = listed
    return environment.get_template("cure.html").render(_context(data))


def listed(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def _context(data: CureData) -> dict[str, Any]:
    find, models = finder(data), models_of(data)
    found = tables.tellings(data, find)
    board = data.leaderboard.partition_by("benchmark", as_dict=True)
    return {
        "data": data,
        "params": json.loads(data.runs["params"][0]),
        "find": find,
        "models": models,
        "benchmarks": benchmarks_of(data),
        "modes": modes_of(data),
        "titles": BENCHMARKS,
        "metric_of": METRICS,
        "nulls": NULLS,
        "judged": is_judged(data),
        "tellings": found,
        "n_over_majority": tables.over_majority(data),
        "board": {b: board[b,].to_dicts() for b in benchmarks_of(data)},
        "largest_gain": _largest_gain(data.leaderboard),
        "differences": data.differences.to_dicts(),
        "mode_pairs": tables.mode_pairs(data, find),
        "countries": countries_of(data),
        "most_countries": MOST_COUNTRIES,
        "judges": tables.judge_lines(data),
        "kin": sorted(set(data.leaderboard.filter("self_preference")["model"])),
        "metric_pairs": tables.metric_pairs(data, find),
        "lost": tables.lost_answers(data),
        "unscored": shortened(data.unscored),
        "catalogue": {row["metric"]: row for row in data.metrics.iter_rows(named=True)},
        "figures": draw(data),
    }


def _largest_gain(board: pl.DataFrame) -> float:
    """Where the leaderboard's small axes end, on both sides of 0."""
    sides = pl.max_horizontal(pl.col("explanation_gain", "gain_low", "gain_high").abs())
    return float(board.select(sides.max()).item() or 0.01)
