"""Which numbers go into the figures of the cure page, each with its null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.report.cure_cells import (
    Find,
    benchmarks_of,
    finder,
    is_judged,
    models_of,
    modes_of,
    shown_countries,
)
from tasks.report.cure_data import BENCHMARKS, METRICS, CureData
from tasks.report.cure_modes import Spread, modes_figure
from tasks.report.fmlama_heatmaps import matrix_panels
from tasks.report.svg import short
from tasks.report.worldwise_bars import Scale, bar_panels
from tasks.report.worldwise_cells import Row, told, value_of

MAJORITY, PRIOR = "null:majority", "null:prior"

_BAR = {
    "model": pl.String, "row": pl.String, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "null_value": pl.Float64, "mark": pl.String,
}  # fmt: skip
_HEAT = {
    "model": pl.String, "is_null": pl.Boolean, "row": pl.String, "column": pl.String, "value": pl.Float64,
    "note": pl.String, "is_framed": pl.Boolean,
}  # fmt: skip
_PROFILE = Scale(
    "score by the judge, 0 to 1", "the best of another item’s, a generic and an empty explanation", 1.0,
    marks="▲ told from another item’s explanation (95 %)",
)  # fmt: skip


def draw(data: CureData) -> dict[str, Markup]:
    """The figures by name; one of which nothing was scored is left out."""
    find = finder(data)
    drawn = {
        "micro": spread_figure(data, find, "f1_micro", "F1 micro, thin and thick, over models"),
        "macro": spread_figure(data, find, "f1_macro", "F1 macro, thin and thick, over models"),
        "profile": profile_figure(data, find),
        "countries": countries_figure(data, find),
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def spread_figure(data: CureData, find: Find, metric: str, description: str) -> Markup | None:
    """2 and 3: a label score over models, by benchmark and mode."""
    models, modes = models_of(data), modes_of(data)
    spreads = []
    for benchmark in benchmarks_of(data):
        values = {
            mode: {
                model: value
                for model in models
                if (value := value_of(find(model, metric, f"{benchmark}:{mode}"))) is not None
            }
            for mode in modes
        }
        nulls = [_null_model(find, null, metric, benchmark, modes) for null in (MAJORITY, PRIOR)]
        spreads.append(Spread(BENCHMARKS[benchmark], values, *nulls))
    if not any(values for spread in spreads for values in spread.values.values()):
        return None
    return modes_figure(spreads, metric.replace("_", "-"), description)


def profile_figure(data: CureData, find: Find) -> Markup | None:
    """4: the reasoning profile of every model: its explanations' metrics over the best null explanation."""
    benchmarks = benchmarks_of(data)
    labels = {b: f"{METRICS[b].capitalize()}, {BENCHMARKS[b]}" for b in benchmarks}
    cells: list[tuple[Any, ...]] = []
    for model in models_of(data):
        for benchmark in benchmarks:
            row = find(model, METRICS[benchmark], benchmark, "benchmark")
            sides = ("value", "ci_low", "ci_high", "null_value")
            mark = "▲" if told(find(model, "explanation_gain", benchmark, "benchmark")) > 0 else ""
            cells.append((model, benchmark, *(None if row is None else row[side] for side in sides), mark))
    frame = pl.DataFrame(cells, schema=_BAR, orient="row")
    if frame["value"].is_null().all():
        return None
    return bar_panels(frame, labels, _PROFILE, "profile", "Reasoning profile of every model")


def countries_figure(data: CureData, find: Find) -> Markup | None:
    """Heat rows: exact match and the explanations' metric by country; framed where above the null."""
    countries, rows, cells = shown_countries(data), _heat_rows(data), []
    for benchmark in benchmarks_of(data):
        for model in models_of(data):
            for what in (*modes_of(data), *([METRICS[benchmark]] if is_judged(data) else [])):
                for country in countries:
                    found = _country_row(find, model, benchmark, what, country)
                    if found is not None:
                        row = f"{model}\n{what if what in modes_of(data) else 'metric'}"
                        cells.append(_heat_cell(benchmark, row, country, found))
    frame = pl.DataFrame(cells, schema=_HEAT, orient="row")
    if frame["value"].is_null().all():
        return None
    description = "Exact match and explanations by country"
    return matrix_panels(frame, rows, countries, "countries", description, digits=2)


def _null_model(find: Find, null: str, metric: str, benchmark: str, modes: Sequence[str]) -> float | None:
    """A null model's score; it answers both modes alike."""
    return next((value_of(find(null, metric, f"{benchmark}:{mode}")) for mode in modes), None)


def _heat_rows(data: CureData) -> dict[str, str]:
    rows: dict[str, str] = {}
    for model in models_of(data):
        rows |= {f"{model}\n{mode}": f"{short(model)}, {mode}" for mode in modes_of(data)}
        if is_judged(data):
            rows[f"{model}\nmetric"] = "explanations"
    return rows


def _country_row(find: Find, model: str, benchmark: str, what: str, country: str) -> Row | None:
    if what == METRICS[benchmark]:
        return find(model, what, f"{benchmark}:{country}", "benchmark_country")
    return find(model, "exact_match", f"{benchmark}:{what}:{country}", "benchmark_mode_country")


def _heat_cell(benchmark: str, row: str, country: str, found: Row) -> tuple[Any, ...]:
    value, null = found["value"], found["null_value"]
    note = None if null is None else f"null {null:.2f}"
    is_above = value is not None and null is not None and value > null
    return (BENCHMARKS[benchmark], False, row, country, value, note, is_above)
