"""Draws the figures of the WorldWise page, by culture and by model, each with its null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product, starmap
from statistics import fmean

from markupsafe import Markup

from tasks.evaluations.worldwise.report.data import BASELINE, NULLS, WorldwiseData
from tasks.evaluations.worldwise.report.shapes import Spoke, Stack, radar_panels, stack_panels
from tasks.report import Row, gain_sign, value_of
from tasks.report.bars import Bar, Legend, bar_of, bar_panels
from tasks.report.heatmaps import Cell, matrix_panels
from tasks.report.marks import Kind, MarkLine, mark_lines
from tasks.report.svg import NULL
from tasks.report.text import number, percent, short

ALL = "all"
MOST_VALUES = 12
"""Most values in the heatmap; it shows the most frequent ones."""

_ALIGNMENT = Legend(
    ("alignment, 0 to 10",), "null: the model’s best null model", 10.0,
    notes=("▲ ▼ whole interval of the gain above, below 0",),
)  # fmt: skip
_SHIFT = Legend(
    ("shift, percentage points",), "null: noise floor of permuted personas", digits=1,
    notes=("* permutation p < 0.05",),
)  # fmt: skip

MOST_SCENARIOS = 20
"""Most scenarios in the figure: half are the easiest, half the hardest."""

_SHAPES = ("line", "x", "^", "s", "D")
_LADDER = {
    "own": Kind("dot", "with personas"),
    "link": Kind("link", "gain of the personas"),
    "interval": Kind("interval", "95 % interval"),
    **{
        null: Kind(shape, f"null: {text}", NULL)
        for (null, text), shape in zip(NULLS.items(), _SHAPES, strict=True)
    },
}
_BOXES = {
    "box": Kind("box", "cultures: quartiles, median, range (from four)"),
    "own": Kind("small", "each culture"),
    "null": Kind("line", "null: chance", NULL),
}
_SCENARIOS = {
    "mean": Kind("dot", "mean of models"),
    "each": Kind("small", "each model"),
    "null": Kind("line", "null: each model’s best null model, mean", NULL),
}


def draw(data: WorldwiseData) -> dict[str, Markup]:
    """Return the figures by name, without figures that have no scores."""
    makers: dict[str, Callable[[WorldwiseData], Markup | None]] = {
        "cultures": cultures_figure,
        "decisions": decisions_figure,
        "values": values_figure,
        "stereotypes": recognition,
        "radar": radar,
        "categories": categories_figure,
        "baseline": baseline,
        "shift": shift_figure,
        "scenarios": scenarios,
        "patterns": patterns,
        "errors": errors_figure,
    }
    drawn = {name: make(data) for name, make in makers.items()} if data.models else {}
    return {name: figure for name, figure in drawn.items() if figure is not None}


def cultures_figure(data: WorldwiseData) -> Markup | None:
    """Draw alignment by model and culture."""
    named = _with_all(data)
    bars = [_aligned(data, model, "culture", c) for model in data.models for c in named]
    return bar_panels(bars, named, _ALIGNMENT, "cultures", "Alignment by model and culture")


def categories_figure(data: WorldwiseData) -> Markup | None:
    """Draw alignment by category of scenarios."""
    named = {c: c.replace("_", " ") for c in data.slices("alignment", "category")}
    bars = [_aligned(data, model, "category", c) for model in data.models for c in named]
    return bar_panels(bars, named, _ALIGNMENT, "categories", "Alignment by category of scenarios")


def shift_figure(data: WorldwiseData) -> Markup | None:
    """Draw the shift of values in percentage points, over its noise floor."""
    named, bars = _with_all(data), []
    for model in data.models:
        for culture in named:
            kind = "overall" if culture == ALL else "culture"
            p = data.value(model, "value_shift_p", kind, culture)
            mark = "*" if p is not None and p < 0.05 else ""
            shift = data.find(model, "value_shift", kind, culture)
            bars.append(bar_of(model, culture, shift, mark, 100.0))
    return bar_panels(bars, named, _SHIFT, "shift", "Shift of values by persona")


def values_figure(data: WorldwiseData) -> Markup | None:
    """Draw shares of the most frequent values; the framed column is the null, answers without a persona."""
    columns = {BASELINE: "no persona", **data.shown_cultures}
    rows = {v: data.names["value"].get(v, v) for v in data.frequent_values[:MOST_VALUES]}

    def cell(model: str, value: str, culture: str) -> Cell:
        row = data.find(model, "value_share", "culture_value", f"{culture}:{value}")
        is_null = culture == BASELINE
        return Cell(model, value, culture, value_of(row), "" if is_null else _change(row), is_null)

    cells = list(starmap(cell, product(data.models, rows, columns)))
    return matrix_panels(cells, rows, columns, "values", "Share of values by culture", digits=2)


def errors_figure(data: WorldwiseData) -> Markup | None:
    """Draw mean absolute error by culture and dimension, framed if it is below the all-zero profile's."""
    dimensions = data.dimensions_in_order(data.slices("hofstede_mae", "dimension"))
    columns = {d: data.names["dimension"].get(d, d) for d in dimensions}

    def cell(model: str, culture: str, dimension: str) -> Cell:
        row = data.find(model, "hofstede_mae", "culture_dimension", f"{culture}:{dimension}")
        value, null = value_of(row), row["null_value"] if row else None
        is_better = value is not None and null is not None and value < null
        return Cell(model, culture, dimension, value, "" if null is None else f"null {null:.2f}", is_better)

    cells = list(starmap(cell, product(data.models, data.shown_cultures, columns)))
    text = "Mean absolute error by culture and dimension"
    return matrix_panels(cells, data.shown_cultures, columns, "errors", text, digits=2)


def decisions_figure(data: WorldwiseData) -> Markup | None:
    """Draw shares of the decisions by culture; the null is the model's own answers without a persona."""
    stacks = {}
    for model in data.models:
        null = data.shares(model, BASELINE)
        own = [Stack(label, data.shares(model, c), null) for c, label in data.shown_cultures.items()]
        stacks[model] = [Stack("no persona", null, is_null=True), *own]
    return stack_panels(stacks, "decisions", "Distribution of decisions by culture")


def _with_all(data: WorldwiseData) -> dict[str, str]:
    return {ALL: "ALL cultures", **data.shown_cultures}


def _aligned(data: WorldwiseData, model: str, kind: str, where: str) -> Bar:
    kind = "overall" if where == ALL else kind
    mark = {1: "▲", 0: "", -1: "▼"}[gain_sign(data.find(model, "alignment_gain", kind, where))]
    return bar_of(model, where, data.find(model, "alignment", kind, where), mark)


def _change(row: Row | None) -> str:
    if row is None or row["value"] is None or row["null_value"] is None:
        return ""
    return number(round(row["value"] - row["null_value"], 2) + 0.0, 2, True)  # avoids -0


def patterns(data: WorldwiseData) -> Markup | None:
    """Draw decisions by model over all cultures, and without a persona."""
    stacks = []
    for model in data.models:
        null = data.shares(model, BASELINE)
        stacks.append(Stack(short(model), data.pooled_shares(model), null))
        stacks.append(Stack("without a persona", null, is_null=True))
    return stack_panels({"All cultures together": stacks}, "patterns", "Decisions by model")


def recognition(data: WorldwiseData) -> Markup | None:
    """Draw how well cultures are recognised by their wording, by model; a box is over cultures."""
    lines = []
    for model in data.models:
        shares = _known([data.value(model, "persona_recognition", "culture", c) for c in data.cultures])
        marks = {"box": shares, "own": shares, "null": [0.0]}
        lines.append(MarkLine(short(model), marks, is_scored=bool(shares)))
    if not any(line.marks["own"] for line in lines):
        return None
    return mark_lines(lines, _BOXES, "stereotypes", "Personas recognised by their wording")


def baseline(data: WorldwiseData) -> Markup | None:
    """Draw alignment with personas, joined to the model's own alignment without one, among other nulls."""
    lines = []
    for model in data.models:
        own = data.find(model, "alignment")
        if own is None or own["value"] is None:
            lines.append(MarkLine(short(model), {}, is_scored=False))
            continue
        nulls = {null: _known([data.value(model, "alignment", "null", null)]) for null in NULLS}
        gain = data.value(model, "alignment_gain", "null", "unprompted")
        marks = {"own": [own["value"]], "interval": _known([own["ci_low"], own["ci_high"]]), **nulls}
        marks["link"] = [*nulls["unprompted"], own["value"]]
        lines.append(MarkLine(short(model), marks, "" if gain is None else number(gain, 2, True)))
    return mark_lines(lines, _LADDER, "baseline", "Alignment with and without personas", height=0.4)


def scenarios(data: WorldwiseData) -> Markup | None:
    """Draw the easiest and hardest scenarios by mean over models."""
    lines = []
    for scenario in data.slices("alignment", "scenario"):
        rows = [row for model in data.models if (row := data.find(model, "alignment", "scenario", scenario))]
        values = _known([row["value"] for row in rows])
        nulls = _known([row["null_value"] for row in rows])
        if values:
            marks = {"mean": [fmean(values)], "each": values, "null": [fmean(nulls)] if nulls else []}
            label = data.scenario_names.get(scenario, scenario)
            lines.append(MarkLine(label, marks, number(fmean(values))))
    half, cut = MOST_SCENARIOS // 2, None
    if len(lines) > MOST_SCENARIOS:
        lines, cut = lines[:half] + lines[-half:], half
    return mark_lines(lines, _SCENARIOS, "scenarios", "Scenarios from easy to hard", height=0.22, cut=cut)


def radar(data: WorldwiseData) -> Markup | None:
    """Draw five metrics of every model."""
    spokes = {model: _spokes(data, model) for model in data.models}
    return radar_panels(spokes, "radar", "Models compared over five metrics")


def _spokes(data: WorldwiseData, model: str) -> list[Spoke]:
    within = [data.find(model, f"accuracy_{band}") for band in ("excellent", "good")]
    decided, unprompted = data.pooled_shares(model), data.shares(model, BASELINE)
    return [
        _spoke("Alignment", data.find(model, "alignment"), 10.0),
        _share_spoke("Error below 1", _sum(within, "value"), _sum(within, "null_value")),
        _spoke("Recognised", data.find(model, "persona_recognition"), 1.0),
        _spoke("Values shift", data.find(model, "value_shift"), 1.0),
        _share_spoke(
            "Decides", 1 - decided[2] if decided else None, 1 - unprompted[2] if unprompted else None
        ),
    ]


def _spoke(label: str, row: Row | None, top: float) -> Spoke:
    """Return the spoke of a metric from 0 to top."""
    value, null = (row["value"], row["null_value"]) if row else (None, None)
    text = "–" if value is None else f"{number(value)} of {top:g}"
    return Spoke(
        label, None if value is None else max(0.0, value / top), None if null is None else null / top, text
    )


def _share_spoke(label: str, value: float | None, null: float | None) -> Spoke:
    """Return the spoke of a share of answers."""
    return Spoke(label, value, null, percent(value))


def _sum(rows: Sequence[Row | None], side: str) -> float | None:
    known = _known([row[side] if row else None for row in rows])
    return sum(known) if len(known) == len(rows) else None


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
