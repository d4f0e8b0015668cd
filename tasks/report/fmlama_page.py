"""The fmlama page: frames in, one HTML document out that needs nothing from the network."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks.report import fmlama_figures as figures
from tasks.report.fmlama_data import FmlamaData
from tasks.report.fmlama_tables import Group, cells_of, groups, in_order, language, origins
from tasks.report.page import number, pretty, when


def render_fmlama(data: FmlamaData) -> str:
    """The report as one HTML document; the same frames give the same bytes.

    Names of models, dishes and ingredients are escaped. Figures are inline SVG, the style sheet is inline,
    and there is no script.
    """
    environment = Environment(
        loader=PackageLoader("tasks.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "when": when, "pretty": pretty, "percent": percent}
    environment.filters["language_name"] = language
    environment.globals |= {"language": language}
    return environment.get_template("fmlama.html").render(_context(data))


def percent(share: float | None) -> str:
    """A share in whole percent, an en dash where it is unscored."""
    if share is None:
        return "–"
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _context(data: FmlamaData) -> dict[str, Any]:
    found = groups(data)
    plain = [g for g in found if g.condition.main == g.condition.subject]
    params = json.loads(data.runs["params"][0])
    return {
        "data": data,
        "params": params,
        "plain": plain,
        "switched": [g for g in found if g.condition.main != g.condition.subject],
        "languages": in_order(data.leaderboard["main_language"]),
        "catalogue": {row["metric"]: row for row in data.metrics.iter_rows(named=True)},
        "doubtful": _doubtful(plain),
        "worse": _worse(plain),
        "n_lines": sum(len(g.models) for g in plain),
        "n_told": sum(line.told for g in plain for line in g.models),
        "n_dishes": {code: _n_dishes(data, code) for code in in_order(data.leaderboard["main_language"])},
        "largest": _largest(plain),
        "by_language": _by_language(data, plain),
        "figures": _figures(data, plain),
        "errors": [_errors(data, group) for group in plain],
        "mes": [_mes(data, g) for g in plain if any("mes" in line.cells for line in g.lines)],
        "most_unspellable": _unspellable(plain),
    }


def _doubtful(plain: list[Group]) -> dict[str, list[str]]:
    """model -> the conditions in which it is not told from naming common ingredients."""
    found: dict[str, list[str]] = {}
    for group in plain:
        for line in group.models:
            if not line.told:
                found.setdefault(line.model, []).append(group.condition.label)
    return found


def _worse(plain: list[Group]) -> Counter[str]:
    """model -> in how many conditions its whole interval of the gain lies below 0."""
    gains = [(line.model, line.cells.get("map_gain")) for group in plain for line in group.models]
    return Counter(model for model, g in gains if g and g["ci_high"] is not None and g["ci_high"] < 0)


def _n_dishes(data: FmlamaData, main: str) -> int:
    return int(data.dishes.filter(main_language=main)["n_dishes"].sum())


def _largest(plain: list[Group]) -> float:
    """Where the leaderboard's small axes end: the largest end of an interval of mAP."""
    cells = [line.cells["map"] for group in plain for line in group.lines]
    return max((c["ci_high"] or c["value"] for c in cells if c["value"] is not None), default=1.0) or 1.0


def _by_language(data: FmlamaData, plain: list[Group]) -> list[dict[str, Any]]:
    """Per language: its conditions, the figure by origin, and that figure's numbers."""
    cells = cells_of(data.values)
    sections = []
    for code in in_order(data.leaderboard["main_language"]):
        pair = [g for g in plain if g.condition.main == code]
        rows = [
            (
                origin,
                line.model,
                line.is_null,
                [cells.get((g.condition, origin, line.model), {}) for g in pair],
            )
            for origin in origins(data, code)
            for line in pair[0].lines
        ]
        best = pair[0].best_baseline
        figure = figures.origin_figure(data, pair) if pair[0].models else None
        sections.append(
            {"code": code, "pair": pair, "rows": rows, "figure": figure, "best": best.model if best else None}
        )
    return sections


def _figures(data: FmlamaData, plain: list[Group]) -> dict[str, Markup]:
    """Those that compare languages, if there are several."""
    found: dict[str, Markup] = {}
    if len({g.condition.main for g in plain}) > 1:
        country = all(g.condition.country for g in plain)
        if any(g.models for g in plain):
            found["languages"] = figures.language_figure(plain)
        found["origins"] = figures.language_heatmap(data, plain, country)
    if not data.switching.filter(pl.col("main_language") != pl.col("subject_language")).is_empty():
        found["switching"] = figures.switching_heatmap(data, plain)
    return found


def _errors(data: FmlamaData, group: Group) -> dict[str, Any]:
    """One condition's false predictions: by model over all origins, and by origin and model."""
    condition = group.condition
    where = {"main_language": condition.main, "country_mentioned": condition.country}
    errors = data.errors.filter(**where).partition_by("origin", "model", as_dict=True)
    predicted = data.predicted.filter(**where).partition_by("model", as_dict=True)
    cells = cells_of(data.values)
    return {
        "group": group,
        "overall": {model: frame.to_dicts() for (model,), frame in predicted.items()},
        "rows": [
            (
                origin,
                n,
                [
                    (cells.get((condition, origin, line.model), {}).get("error_foreign"),
                     errors[origin, line.model].to_dicts() if (origin, line.model) in errors else [])
                    for line in group.lines
                ],
            )
            for origin, n in origins(data, condition.main).items()
        ],
    }  # fmt: skip


def _mes(data: FmlamaData, group: Group) -> dict[str, Any]:
    """The judge's marks of one condition, by origin."""
    cells = cells_of(data.values)
    judges = data.judged["judge"].to_list()
    return {
        "group": group,
        "rows": [
            (origin, [cells.get((group.condition, origin, line.model), {}) for line in group.lines])
            for origin in (None, *origins(data, group.condition.main))
        ],
        "own": [line.model for line in group.models if line.model in judges],
    }


def _unspellable(plain: list[Group]) -> int:
    """The most candidates that one model cannot spell in one condition."""
    found = [line.cells.get("unspellable_candidates") for group in plain for line in group.models]
    return max((int(c["value"]) for c in found if c and c["value"] is not None), default=0)
