"""The figures of the WorldWise page: bars, matrices and decisions by culture, each with its null."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from markupsafe import Markup

from tasks.evaluations.worldwise.report import models as by_model
from tasks.evaluations.worldwise.report.data import BASELINE, Data
from tasks.evaluations.worldwise.report.stacks import Stack, stack_panels
from tasks.report import Row, gain_sign, value_of
from tasks.report.bars import Bar, Key, bar_of, bar_panels
from tasks.report.heatmaps import Cell, matrix_panels
from tasks.report.text import number

ALL = "all"
MOST_VALUES = 12
"""The heatmap shows no more, the most frequent ones."""

_ALIGNMENT = Key(
    ("alignment, 0 to 10",), "null: the model’s best null profile", 10.0,
    notes=("▲ ▼ gain over it wholly above, below 0 (95 %)",),
)  # fmt: skip
_SHIFT = Key(
    ("shift, percentage points",), "null: noise floor of permuted personas", digits=1,
    notes=("* permutation p < 0.05",),
)  # fmt: skip


def draw(data: Data) -> dict[str, Markup]:
    """The figures by name; one of which nothing was scored is left out."""
    makers: dict[str, Callable[[Data], Markup | None]] = {
        "cultures": cultures_figure,
        "decisions": decisions_figure,
        "values": values_figure,
        "stereotypes": by_model.stereotypes,
        "radar": by_model.radar,
        "categories": categories_figure,
        "baseline": by_model.baseline,
        "shift": shift_figure,
        "scenarios": by_model.scenarios,
        "patterns": by_model.patterns,
        "errors": errors_figure,
    }
    drawn = {name: make(data) for name, make in makers.items()} if data.models else {}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def cultures_figure(data: Data) -> Markup | None:
    """Alignment by model and culture."""
    named = _with_all(data)
    bars = [_aligned(data, model, "culture", c) for model in data.models for c in named]
    return bar_panels(bars, named, _ALIGNMENT, "cultures", "Alignment by model and culture")


def categories_figure(data: Data) -> Markup | None:
    """Alignment by category of scenarios."""
    named = {c: c.replace("_", " ") for c in data.slices("alignment", "category")}
    bars = [_aligned(data, model, "category", c) for model in data.models for c in named]
    return bar_panels(bars, named, _ALIGNMENT, "categories", "Alignment by category of scenarios")


def shift_figure(data: Data) -> Markup | None:
    """Shift of values in percentage points, over its noise floor."""
    named, bars = _with_all(data), []
    for model in data.models:
        for culture in named:
            kind = "overall" if culture == ALL else "culture"
            p = data.value(model, "value_shift_p", kind, culture)
            mark = "*" if p is not None and p < 0.05 else ""
            shift = data.find(model, "value_shift", kind, culture)
            bars.append(bar_of(model, culture, shift, mark, 100.0))
    return bar_panels(bars, named, _SHIFT, "shift", "Shift of values by persona")


def values_figure(data: Data) -> Markup | None:
    """Shares of the most frequent values; the null, answers without a persona, is the framed column."""
    columns = {BASELINE: "no persona", **data.shown_cultures}
    rows = {v: data.names["value"].get(v, v) for v in data.frequent_values[:MOST_VALUES]}

    def cell(model: str, value: str, culture: str) -> Cell:
        row = data.find(model, "value_share", "culture_value", f"{culture}:{value}")
        is_null = culture == BASELINE
        return Cell(model, value, culture, value_of(row), "" if is_null else _change(row), is_null)

    cells = _matrix(cell, data.models, rows, columns)
    return matrix_panels(cells, rows, columns, "values", "Share of values by culture", digits=2)


def errors_figure(data: Data) -> Markup | None:
    """Mean absolute error by culture and dimension; framed where it is below the all-zero profile's."""
    dimensions = data.dimensions_in_order(data.slices("hofstede_mae", "dimension"))
    columns = {d: data.names["dimension"].get(d, d) for d in dimensions}

    def cell(model: str, culture: str, dimension: str) -> Cell:
        row = data.find(model, "hofstede_mae", "culture_dimension", f"{culture}:{dimension}")
        value, null = value_of(row), row["null_value"] if row else None
        is_better = value is not None and null is not None and value < null
        return Cell(model, culture, dimension, value, "" if null is None else f"null {null:.2f}", is_better)

    cells = _matrix(cell, data.models, data.shown_cultures, columns)
    text = "Mean absolute error by culture and dimension"
    return matrix_panels(cells, data.shown_cultures, columns, "errors", text, digits=2)


def decisions_figure(data: Data) -> Markup | None:
    """Shares of the decisions by culture; the null is the model's own answers without a persona."""
    stacks = {}
    for model in data.models:
        null = data.shares(model, BASELINE)
        own = [Stack(label, data.shares(model, c), null) for c, label in data.shown_cultures.items()]
        stacks[model] = [Stack("no persona", null, is_null=True), *own]
    return stack_panels(stacks, "decisions", "Distribution of decisions by culture")


def _with_all(data: Data) -> dict[str, str]:
    return {ALL: "ALL cultures", **data.shown_cultures}


def _aligned(data: Data, model: str, kind: str, where: str) -> Bar:
    kind = "overall" if where == ALL else kind
    mark = {1: "▲", 0: "", -1: "▼"}[gain_sign(data.find(model, "alignment_gain", kind, where))]
    return bar_of(model, where, data.find(model, "alignment", kind, where), mark)


def _matrix(
    cell: Callable[[str, str, str], Cell],
    models: Iterable[str],
    rows: Mapping[str, str],
    columns: Mapping[str, str],
) -> list[Cell]:
    return [cell(model, row, column) for model in models for row in rows for column in columns]


def _change(row: Row | None) -> str:
    if row is None or row["value"] is None or row["null_value"] is None:
        return ""
    return number(round(row["value"] - row["null_value"], 2) + 0.0, 2, True)  # no minus before 0
