"""Figures that set models side by side: decisions, stereotypes, radar, null profiles, scenarios.

Each has its number in the seed's list of figures (seed paper 003, section 5), and is None where nothing of it
was scored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from statistics import fmean

from markupsafe import Markup

from tasks.report.worldwise_cells import Find, Row, all_cultures, labels, models_of, slices, value_of
from tasks.report.worldwise_data import BASELINE, DECISIONS, NULLS, WorldwiseData
from tasks.report.worldwise_decisions import Shares, Stack, stack_panels
from tasks.report.worldwise_radar import Spoke, radar_panels
from tasks.report.worldwise_rows import Box, Difficulty, Ladder, box_figure, difficulty_figure, ladder_figure

MOST_SCENARIOS = 20
"""The figure shows no more: half of them the easiest, half the hardest."""


def decisions(data: WorldwiseData, find: Find, cultures: Mapping[str, str]) -> Markup | None:
    """2: shares of the decisions by culture; the null is the model's own answers without a persona."""
    named = {BASELINE: "no persona", **cultures}
    panels = {}
    for model in models_of(data):
        null = _shares(find, model, BASELINE)
        panels[model] = [
            Stack(label, _shares(find, model, c), None if c == BASELINE else null, c == BASELINE)
            for c, label in named.items()
        ]
    if not any(stack.shares for stacks in panels.values() for stack in stacks):
        return None
    return stack_panels(panels, "decisions", "Distribution of decisions by culture")


def patterns(data: WorldwiseData, find: Find) -> Markup | None:
    """10: decisions by model over all cultures, and without a persona."""
    stacks = []
    for model in models_of(data):
        null = _shares(find, model, BASELINE)
        own = pooled_shares(find, model, all_cultures(data))
        stacks.append(Stack(model, own, null, is_null=False))
        stacks.append(Stack("without a persona", null, None, is_null=True))
    if not any(stack.shares for stack in stacks):
        return None
    return stack_panels({"All cultures together": stacks}, "patterns", "Decisions by model")


def stereotypes(data: WorldwiseData, find: Find) -> Markup | None:
    """4: stereotype scores by model; a box is over cultures, for the warehouse has a mean for each."""
    boxes = []
    for model in models_of(data):
        scores = [value_of(find(model, "stereotype_score", "culture", c)) for c in all_cultures(data)]
        overall = find(model, "stereotype_score")
        unprompted = value_of(find(model, "stereotype_score", "culture", BASELINE))
        null = overall["null_value"] if overall else None
        boxes.append(Box(model, [s for s in scores if s is not None], unprompted, null))
    if not any(box.values or box.unprompted is not None for box in boxes):
        return None
    return box_figure(boxes, "stereotypes", "Stereotype scores by model")


def radar(data: WorldwiseData, find: Find) -> Markup | None:
    """5: several metrics of every model."""
    panels = {model: _spokes(find, model, all_cultures(data)) for model in models_of(data)}
    if not any(spoke.value is not None for spokes in panels.values() for spoke in spokes):
        return None
    return radar_panels(panels, "radar", "Models compared over five metrics")


def _spokes(find: Find, model: str, cultures: list[str]) -> list[Spoke]:
    within = [find(model, f"accuracy_{band}") for band in ("excellent", "good")]
    decided, unprompted = pooled_shares(find, model, cultures), _shares(find, model, BASELINE)
    return [
        _spoke("Alignment", find(model, "alignment"), 10.0),
        _share_spoke("Error below 1", _sum(within, "value"), _sum(within, "null_value")),
        _spoke("Free of stereotypes", find(model, "stereotype_score"), 10.0),
        _spoke("Values shift", find(model, "value_shift"), 1.0),
        _share_spoke(
            "Decides", 1 - decided[2] if decided else None, 1 - unprompted[2] if unprompted else None
        ),
    ]


def baseline(data: WorldwiseData, find: Find) -> Markup | None:
    """7: alignment with personas against that of the same model's answers without one, and other nulls."""
    ladders = []
    for model in models_of(data):
        own = find(model, "alignment")
        found = {null: value_of(find(model, "alignment", "null", null)) for null in NULLS}
        gain = find(model, "alignment_gain", "null", "unprompted")
        text = "" if value_of(gain) is None else f"{value_of(gain):+.2f}".replace("-", "−")
        interval = (own["ci_low"], own["ci_high"]) if own and own["ci_low"] is not None else None
        nulls = {null: at for null, at in found.items() if at is not None}
        ladders.append(Ladder(model, value_of(own), interval, nulls, text))
    if all(ladder.value is None for ladder in ladders):
        return None
    return ladder_figure(ladders, "baseline", "Alignment with and without personas")


def scenarios(data: WorldwiseData, find: Find) -> Markup | None:
    """9: easiest and hardest scenarios, mean over models."""
    ranked = slices(data, "alignment", "scenario")
    texts, found = scenario_labels(data), []
    for scenario in ranked:
        rows = [find(model, "alignment", "scenario", scenario) for model in models_of(data)]
        values = [row["value"] for row in rows if row and row["value"] is not None]
        nulls = [row["null_value"] for row in rows if row and row["null_value"] is not None]
        if values:
            label = texts.get(scenario, scenario)
            found.append(Difficulty(label, values, fmean(values), fmean(nulls) if nulls else None))
    if not found:
        return None
    half = MOST_SCENARIOS // 2
    shown, cut = (found[:half] + found[-half:], half) if len(found) > MOST_SCENARIOS else (found, None)
    return difficulty_figure(shown, cut, "scenarios", "Scenarios from easy to hard")


def scenario_labels(data: WorldwiseData) -> dict[str, str]:
    """scenario -> its identifier, dimension and category; empty if scenarios of the user's own were asked."""
    if json.loads(data.runs["params"][0]).get("scenarios_file"):
        return {}
    texts = labels(data, "dimension")
    return {
        s["scenario"]: f"{s['scenario']}  {texts.get(s['dimension'], s['dimension'])}, "
        f"{s['category'].replace('_', ' ')}"
        for s in data.scenarios.iter_rows(named=True)
    }


def _shares(find: Find, model: str, culture: str) -> Shares | None:
    """Of one culture's answers; None unless all three are scored."""
    found = [value_of(find(model, "decision_share", "culture_decision", f"{culture}:{d}")) for d in DECISIONS]
    a, b, decline = found
    return None if a is None or b is None or decline is None else (a, b, decline)


def pooled_shares(find: Find, model: str, cultures: list[str]) -> Shares | None:
    """Shares of the decisions over all answers with a persona."""
    counts = [0.0, 0.0, 0.0]
    for culture in cultures:
        for i, decision in enumerate(DECISIONS):
            row = find(model, "decision_share", "culture_decision", f"{culture}:{decision}")
            if row and row["value"] is not None:
                counts[i] += row["value"] * row["n_scored"]
    total = sum(counts)
    return (counts[0] / total, counts[1] / total, counts[2] / total) if total else None


def _spoke(label: str, row: Row | None, top: float) -> Spoke:
    """A metric from 0 to top."""
    value, null = (row["value"], row["null_value"]) if row else (None, None)
    text = "–" if value is None else f"{value:.2f} of {top:g}"
    return Spoke(label, None if value is None else value / top, None if null is None else null / top, text)


def _share_spoke(label: str, value: float | None, null: float | None) -> Spoke:
    """A share of answers."""
    return Spoke(label, value, null, "–" if value is None else f"{100 * value:.0f} %")


def _sum(rows: Sequence[Row | None], side: str) -> float | None:
    known = [row[side] for row in rows if row and row[side] is not None]
    return sum(known) if len(known) == len(rows) else None
