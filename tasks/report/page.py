"""The page: frames in, one HTML document out that needs nothing from the network."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tasks.report.bars import category_bars
from tasks.report.data import ReportData
from tasks.report.heatmaps import compact, spectrum_heatmap
from tasks.report.maps import CountryMap, country_maps
from tasks.report.ranks import rank_scatter
from tasks.report.verdicts import SHUFFLED, shuffled_copies, verdicts

_MINUS = "−"


def render(data: ReportData) -> str:
    """The report as one HTML document; the same frames give the same bytes.

    Models' names and all other texts are escaped. Figures are inline SVG, the style sheet is inline, and
    there is no script.
    """
    environment = Environment(
        loader=PackageLoader("tasks.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "compact": compact_or_dash, "when": when, "pretty": pretty}
    return environment.get_template("report.html").render(_context(data))


def number(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A number to show: an en dash where it is unscored, a true minus sign, ∞, <0.01 for nearly 0."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{_MINUS}∞"
    if 0 < value < 0.5 * 10**-digits:
        return f"<{10**-digits:.{digits}f}"
    return f"{value:{'+' if sign else ''}.{digits}f}".replace("-", _MINUS)


def compact_or_dash(value: float | None) -> str:
    """A number of any size in five characters, an en dash where it is unscored."""
    return compact(value) or "–"


def when(value: datetime | None) -> str:
    """A time in UTC, to the minute."""
    return f"{value:%Y-%m-%d %H:%M} UTC" if value else "–"


def pretty(text: str | None) -> str:
    """JSON with line breaks; any other text as it is."""
    try:
        return json.dumps(json.loads(text or "{}"), indent=1, ensure_ascii=False)
    except ValueError:
        return text or ""


def _context(data: ReportData) -> dict[str, Any]:
    models = data.leaderboard.filter(~pl.col("is_null"))
    found = verdicts(data.leaderboard)
    params = json.loads(data.runs["params"][0]) if data.runs.height else {}
    return {
        "data": data,
        "params": params,
        "models": models.to_dicts(),
        "nulls": data.leaderboard.filter("is_null").to_dicts(),
        "verdicts": found,
        "told": [model for model, verdict in found.items() if not verdict.badges],
        "shuffled": shuffled_copies(data.leaderboard),
        "best": _best(models),
        "overall": {metric: _overall(data, metric) for metric in data.overall["metric"].unique().sort()},
        "item_range": _range(data.items["n_items"]),
        "catalogue": {row["metric"]: row for row in data.metrics.iter_rows(named=True)},
        "figures": _figures(data),
        "mapped": _by_domain(country_maps(data)),
        "varied": _most_varied(data),
        "knowledge": _knowledge(data),
        "questions": _questions(data),
        "infinite": bool(data.by_question["spectral_gap_ratio"].is_infinite().any()),
    }


def _best(models: pl.DataFrame) -> dict[str, Any] | None:
    scored = models.filter(pl.col("macro_f1").is_not_null())
    return (
        scored.sort("macro_f1", "model", descending=[True, False]).row(0, named=True)
        if scored.height
        else None
    )


def _overall(data: ReportData, metric: str) -> dict[str, dict[str, Any]]:
    """model -> row of one overall metric."""
    return {row["model"]: row for row in data.overall.filter(metric=metric).iter_rows(named=True)}


def _range(counts: pl.Series) -> str:
    known = sorted(set(counts.drop_nulls()))
    return " to ".join(f"{n:,}" for n in known[:: max(len(known) - 1, 1)]) or "–"


def _figures(data: ReportData) -> dict[str, Markup]:
    """Shuffled copies are in the table only: their ER, SR and categories are their model's own."""
    shown = ~pl.col("model").str.starts_with(SHUFFLED)
    order = {model: place for place, model in enumerate(data.leaderboard["model"])}
    place = pl.col("model").replace_strict(order, return_dtype=pl.Int64)
    by_question = data.by_question.filter(shown).sort(place, maintain_order=True)
    own = by_question.filter(~pl.col("is_null"))
    figures = {"bars": category_bars(data.overall.filter(shown).sort(place, maintain_order=True))}
    if own.height:
        figures["er"] = spectrum_heatmap(by_question, "effective_rank")
        figures["sr"] = spectrum_heatmap(by_question, "spectral_gap_ratio")
        figures["ranks"] = rank_scatter(own, data.leaderboard.filter(~pl.col("is_null")))
    return figures


def _by_domain(maps: list[CountryMap]) -> list[tuple[str, list[CountryMap]]]:
    """The maps of each domain, in the order in which domains first occur."""
    grouped: dict[str, list[CountryMap]] = {}
    for each in maps:
        grouped.setdefault(each.label, []).append(each)
    return list(grouped.items())


def _most_varied(data: ReportData) -> str | None:
    """Label of the domain whose countries differ most in how alike they are: the map to show first."""
    spread = data.similarity.group_by("domain").agg(pl.col("similarity").std().fill_null(0.0))
    labels = spread.join(data.items, on="domain").sort("similarity", "label", descending=True)["label"]
    return labels[0] if labels.len() else None


def _knowledge(data: ReportData) -> list[dict[str, Any]]:
    """Per domain: label, items, and each model's reference mass and agreement of wordings."""
    rows = data.by_domain.filter(~pl.col("is_null")).to_dicts()
    cells = {(r["domain"], r["model"], r["metric"]): r for r in rows}
    models = data.leaderboard.filter(~pl.col("is_null"))["model"].to_list()
    return [
        {
            **domain,
            "cells": [
                (cells.get((domain["domain"], m, "reference_mass")),
                 cells.get((domain["domain"], m, "paraphrase_agreement")))
                for m in models
            ],
        }
        for domain in data.items.iter_rows(named=True)
    ]  # fmt: skip


def _questions(data: ReportData) -> list[tuple[str, list[dict[str, Any]]]]:
    """The questions of every model, null models but the shuffled copies last."""
    order = [m for m in data.leaderboard["model"] if not m.startswith(SHUFFLED)]
    tables = [(model, data.by_question.filter(model=model).to_dicts()) for model in order]
    return [(model, rows) for model, rows in tables if rows]
