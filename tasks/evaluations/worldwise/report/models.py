"""Figures that set models side by side: decisions, stereotypes, radar, null profiles, scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from markupsafe import Markup

from tasks.evaluations.worldwise.report.data import BASELINE, NULLS, Data
from tasks.evaluations.worldwise.report.radar import Spoke, radar_panels
from tasks.evaluations.worldwise.report.stacks import Stack, stack_panels
from tasks.report import Row
from tasks.report.marks import Kind, Line, mark_lines
from tasks.report.svg import NULL
from tasks.report.text import number, percent, short

MOST_SCENARIOS = 20
"""The figure shows no more: half of them the easiest, half the hardest."""

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
    "unprompted": Kind("diamond", "null: without a persona"),
    "null": Kind("line", "null: the scenarios’ own texts", NULL),
}
_SCENARIOS = {
    "mean": Kind("dot", "mean of models"),
    "each": Kind("small", "each model"),
    "null": Kind("line", "null: each model’s best null profile, mean", NULL),
}


def patterns(data: Data) -> Markup | None:
    """Decisions by model over all cultures, and without a persona."""
    stacks = []
    for model in data.models:
        null = data.shares(model, BASELINE)
        stacks.append(Stack(short(model), data.pooled_shares(model), null))
        stacks.append(Stack("without a persona", null, is_null=True))
    return stack_panels({"All cultures together": stacks}, "patterns", "Decisions by model")


def stereotypes(data: Data) -> Markup | None:
    """Stereotype scores by model; a box is over cultures, for the warehouse has a mean for each."""
    lines = []
    for model in data.models:
        scores = _known([data.value(model, "stereotype_score", "culture", c) for c in data.cultures])
        unprompted = _known([data.value(model, "stereotype_score", "culture", BASELINE)])
        overall = data.find(model, "stereotype_score")
        marks = {"box": scores, "own": scores, "unprompted": unprompted}
        marks["null"] = _known([overall["null_value"] if overall else None])
        lines.append(Line(short(model), marks, is_scored=bool(scores)))
    if not any(line.marks["own"] or line.marks["unprompted"] for line in lines):
        return None
    return mark_lines(lines, _BOXES, "stereotypes", "Stereotype scores by model")


def baseline(data: Data) -> Markup | None:
    """Alignment with personas, joined to that of the same model's answers without one, among other nulls."""
    lines = []
    for model in data.models:
        own = data.find(model, "alignment")
        if own is None or own["value"] is None:
            lines.append(Line(short(model), {}, is_scored=False))
            continue
        nulls = {null: _known([data.value(model, "alignment", "null", null)]) for null in NULLS}
        gain = data.value(model, "alignment_gain", "null", "unprompted")
        marks = {"own": [own["value"]], "interval": _known([own["ci_low"], own["ci_high"]]), **nulls}
        marks["link"] = [*nulls["unprompted"], own["value"]]
        lines.append(Line(short(model), marks, "" if gain is None else number(gain, 2, True)))
    return mark_lines(lines, _LADDER, "baseline", "Alignment with and without personas", height=0.4)


def scenarios(data: Data) -> Markup | None:
    """Easiest and hardest scenarios, mean over models."""
    lines = []
    for scenario in data.slices("alignment", "scenario"):
        rows = [row for model in data.models if (row := data.find(model, "alignment", "scenario", scenario))]
        values = _known([row["value"] for row in rows])
        nulls = _known([row["null_value"] for row in rows])
        if values:
            marks = {"mean": [fmean(values)], "each": values, "null": [fmean(nulls)] if nulls else []}
            label = data.scenario_names.get(scenario, scenario)
            lines.append(Line(label, marks, number(fmean(values))))
    half, cut = MOST_SCENARIOS // 2, None
    if len(lines) > MOST_SCENARIOS:
        lines, cut = lines[:half] + lines[-half:], half
    return mark_lines(lines, _SCENARIOS, "scenarios", "Scenarios from easy to hard", height=0.22, cut=cut)


def radar(data: Data) -> Markup | None:
    """Five metrics of every model."""
    spokes = {model: _spokes(data, model) for model in data.models}
    return radar_panels(spokes, "radar", "Models compared over five metrics")


def _spokes(data: Data, model: str) -> list[Spoke]:
    within = [data.find(model, f"accuracy_{band}") for band in ("excellent", "good")]
    decided, unprompted = data.pooled_shares(model), data.shares(model, BASELINE)
    return [
        _spoke("Alignment", data.find(model, "alignment"), 10.0),
        _share_spoke("Error below 1", _sum(within, "value"), _sum(within, "null_value")),
        _spoke("Free of stereotypes", data.find(model, "stereotype_score"), 10.0),
        _spoke("Values shift", data.find(model, "value_shift"), 1.0),
        _share_spoke(
            "Decides", 1 - decided[2] if decided else None, 1 - unprompted[2] if unprompted else None
        ),
    ]


def _spoke(label: str, row: Row | None, top: float) -> Spoke:
    """A metric from 0 to top."""
    value, null = (row["value"], row["null_value"]) if row else (None, None)
    text = "–" if value is None else f"{value:.2f} of {top:g}"
    return Spoke(label, None if value is None else value / top, None if null is None else null / top, text)


def _share_spoke(label: str, value: float | None, null: float | None) -> Spoke:
    """A share of answers."""
    return Spoke(label, value, null, percent(value))


def _sum(rows: Sequence[Row | None], side: str) -> float | None:
    known = _known([row[side] if row else None for row in rows])
    return sum(known) if len(known) == len(rows) else None


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]
