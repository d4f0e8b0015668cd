"""Which numbers go into the figures of the worldwise page (seed paper 003, section 5), each with its null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.report import worldwise_models as by_model
from tasks.report.fmlama_heatmaps import matrix_panels
from tasks.report.worldwise_bars import Scale, bar_panels
from tasks.report.worldwise_cells import (
    Find,
    Row,
    finder,
    in_reference_order,
    labels,
    models_of,
    shown_cultures,
    slices,
    told,
    value_of,
)
from tasks.report.worldwise_data import BASELINE, WorldwiseData

ALL = "all"
MOST_VALUES = 12
"""The heatmap shows no more, the most frequent ones."""

_CELL = {
    "model": pl.String, "row": pl.String, "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64,
    "null_value": pl.Float64, "mark": pl.String,
}  # fmt: skip
_MATRIX = {
    "model": pl.String, "is_null": pl.Boolean, "row": pl.String, "column": pl.String, "value": pl.Float64,
    "note": pl.String, "is_framed": pl.Boolean,
}  # fmt: skip
_ALIGNMENT = Scale(
    "alignment, 0 to 10", "the model’s best null profile", 10.0,
    marks="▲ ▼ gain over it wholly above, below 0 (95 %)",
)  # fmt: skip
_SHIFT = Scale(
    "shift, percentage points", "noise floor of permuted personas", None, 1, "* permutation p < 0.05"
)


def draw(data: WorldwiseData) -> dict[str, Markup]:
    """The figures by name; one of which nothing was scored is left out."""
    find, cultures = finder(data), shown_cultures(data)
    if not models_of(data):
        return {}
    drawn = {
        "cultures": cultures_figure(data, find, cultures),
        "decisions": by_model.decisions(data, find, cultures),
        "values": values_figure(data, find, cultures),
        "stereotypes": by_model.stereotypes(data, find),
        "radar": by_model.radar(data, find),
        "categories": categories_figure(data, find),
        "baseline": by_model.baseline(data, find),
        "shift": shift_figure(data, find, cultures),
        "scenarios": by_model.scenarios(data, find),
        "patterns": by_model.patterns(data, find),
        "errors": errors_figure(data, find, cultures),
    }
    return {name: figure for name, figure in drawn.items() if figure is not None}


def cultures_figure(data: WorldwiseData, find: Find, cultures: Mapping[str, str]) -> Markup | None:
    """1: alignment by model and culture."""
    cells = [_gained(find, model, ALL, "overall") for model in models_of(data)]
    cells += [_gained(find, model, c, "culture") for model in models_of(data) for c in cultures]
    named = {ALL: "ALL cultures", **cultures}
    return _bars(cells, named, _ALIGNMENT, "cultures", "Alignment by model and culture")


def categories_figure(data: WorldwiseData, find: Find) -> Markup | None:
    """6: alignment by category of scenarios."""
    named = {c: c.replace("_", " ") for c in slices(data, "alignment", "category")}
    cells = [_gained(find, model, c, "category") for model in models_of(data) for c in named]
    return _bars(cells, named, _ALIGNMENT, "categories", "Alignment by category of scenarios")


def shift_figure(data: WorldwiseData, find: Find, cultures: Mapping[str, str]) -> Markup | None:
    """8: shift of values in percentage points, over its noise floor."""
    named = {ALL: "ALL cultures", **cultures}
    cells = []
    for model in models_of(data):
        for culture in named:
            kind = "overall" if culture == ALL else "culture"
            p = value_of(find(model, "value_shift_p", kind, culture))
            mark = "*" if p is not None and p < 0.05 else ""
            cells.append(_bar(model, culture, find(model, "value_shift", kind, culture), mark, 100.0))
    return _bars(cells, named, _SHIFT, "shift", "Shift of values by persona")


def values_figure(data: WorldwiseData, find: Find, cultures: Mapping[str, str]) -> Markup | None:
    """3: shares of the most frequent values; the null, answers without a persona, is the framed column."""
    columns = {BASELINE: "no persona", **cultures}
    texts = labels(data, "value")
    cells, frequent = [], frequent_values(data)[:MOST_VALUES]
    for model in models_of(data):
        for value in frequent:
            for culture in columns:
                row = find(model, "value_share", "culture_value", f"{culture}:{value}")
                note = None if culture == BASELINE else _change(row)
                cells.append(_matrix_cell((model, value, culture), row, note, culture == BASELINE))
    rows = {value: texts.get(value, value) for value in frequent}
    return _matrix(cells, rows, columns, "values", "Share of values by culture")


def errors_figure(data: WorldwiseData, find: Find, cultures: Mapping[str, str]) -> Markup | None:
    """11: mean absolute error by culture and dimension; framed where it is below the all-zero profile's."""
    texts = labels(data, "dimension")
    dimensions = in_reference_order(data, "dimension", slices(data, "hofstede_mae", "dimension"))
    cells = []
    for model in models_of(data):
        for culture in cultures:
            for dimension in dimensions:
                row = find(model, "hofstede_mae", "culture_dimension", f"{culture}:{dimension}")
                value, null = value_of(row), row["null_value"] if row else None
                note = None if null is None else f"null {null:.2f}"
                is_better = value is not None and null is not None and value < null
                cells.append(_matrix_cell((model, culture, dimension), row, note, is_better))
    columns = {d: texts.get(d, d) for d in dimensions}
    return _matrix(cells, cultures, columns, "errors", "Mean absolute error by culture and dimension")


def frequent_values(data: WorldwiseData) -> list[str]:
    """Values by their mean share over models and cultures, most frequent first."""
    shares = data.values.filter(~pl.col("is_null"), pl.col("value").is_not_null(), metric="value_share")
    named = shares.with_columns(named=pl.col("slice").str.split(":").list.last())
    means = named.group_by("named").agg(pl.col("value").mean())
    return means.sort("value", "named", descending=[True, False])["named"].to_list()


def _gained(find: Find, model: str, where: str, kind: str) -> tuple[Any, ...]:
    mark = {1: "▲", 0: "", -1: "▼"}[told(find(model, "alignment_gain", kind, where))]
    return _bar(model, where, find(model, "alignment", kind, where), mark)


def _bar(model: str, name: str, row: Row | None, mark: str, times: float = 1.0) -> tuple[Any, ...]:
    sides = ("value", "ci_low", "ci_high", "null_value")
    own = [None if row is None or row[side] is None else times * row[side] for side in sides]
    return (model, name, *own, mark)


def _bars(
    cells: list[tuple[Any, ...]], rows: Mapping[str, str], scale: Scale, name: str, description: str
) -> Markup | None:
    frame = pl.DataFrame(cells, schema=_CELL, orient="row")
    if frame["value"].is_null().all():
        return None
    return bar_panels(frame, dict(rows), scale, name, description)


def _change(row: Row | None) -> str | None:
    if row is None or row["value"] is None or row["null_value"] is None:
        return None
    change = round(row["value"] - row["null_value"], 2) + 0.0  # no minus before 0
    return f"{change:+.2f}".replace("-", "−")


def _matrix_cell(
    at: tuple[str, str, str], row: Row | None, note: str | None, is_framed: bool
) -> tuple[Any, ...]:
    """at: model, row and column."""
    model, line, column = at
    return (model, False, line, column, value_of(row), note, is_framed)


def _matrix(
    cells: list[tuple[Any, ...]],
    rows: Mapping[str, str],
    columns: Mapping[str, str],
    name: str,
    description: str,
) -> Markup | None:
    frame = pl.DataFrame(cells, schema=_MATRIX, orient="row")
    if frame["value"].is_null().all():
        return None
    return matrix_panels(frame, dict(rows), dict(columns), name, description, digits=2)
