"""Prepares what the template of the FmLAMA page shows; the loop and the command line use only ``REPORT``."""

from __future__ import annotations

from collections import Counter
from typing import Any

import polars as pl

from tasks.evaluations.fmlama.report import figures
from tasks.evaluations.fmlama.report.data import POOLINGS, ConditionGroup, FmlamaData, ModelLine, language
from tasks.report import Report, Row, gain_sign, value_of
from tasks.report.forest import picture
from tasks.report.page import render_page
from tasks.report.text import number


def p_note(gain: Row | None, p: Row | None) -> str:
    """Return the note under a gain: its p-value and number of dishes."""
    if gain is None:
        return ""
    text = number(value_of(p), 3)
    return f"p {text if text[0] in '–<' else f'= {text}'}, n {gain['n_scored']}"


def _context(data: FmlamaData) -> dict[str, Any]:
    plain = [g for g in data.groups if g.condition.main == g.condition.subject]
    lines = [line for group in plain for line in group.models if line.map is not None]
    doubtful: dict[str, list[str]] = {}
    for line in lines:
        if not line.beats_baseline:
            doubtful.setdefault(line.model, []).append(line.condition.label)
    counts = dict(data.dishes.group_by("main_language").agg(pl.col("n_dishes").sum()).iter_rows())
    unspellable = [value_of(line.cell("unspellable_candidates")) for group in plain for line in group.models]
    return {
        "picture": picture(
            "Gain in mAP over the best baseline, which knows no dish",
            [
                (line.model, group.condition.label, line.cell("map_gain"))
                for group in plain
                for line in group.models
            ],
            "The best baseline is the best of a random ranking and two that name common ingredients.",
        ),
        "plain": plain,
        "switched": [g for g in data.groups if g.condition.main != g.condition.subject],
        "language": language,
        "language_names": [language(code) for code in data.languages],
        "p_note": p_note,
        "doubtful": doubtful,
        "worse": Counter(line.model for line in lines if gain_sign(line.cell("map_gain")) < 0),
        "n_lines": len(lines),
        "n_beating": sum(line.beats_baseline for line in lines),
        "n_dishes": {code: counts.get(code, 0) for code in data.languages},
        "largest": _largest(plain),
        "by_language": [_by_language(data, plain, code) for code in data.languages],
        "figures": figures.draw(data, plain),
        "country_in_all": figures.named_in_all(plain),
        "errors": [_errors(data, group) for group in plain],
        "mes": [g for g in plain if any(line.cell("mes") for line in g.lines)],
        "poolings": POOLINGS,
        "pooled": [group for group in plain if group.has_poolings],
        "turned": sorted({model for group in plain for model in group.turned}),
        "judges": data.judged["judge"].to_list(),
        "most_unspellable": max((int(n) for n in unspellable if n is not None), default=0),
    }


def _largest(plain: list[ConditionGroup]) -> float:
    """Return the end of the leaderboard's small axes: the largest end of an interval of mAP."""
    cells = [cell for group in plain for line in group.lines if (cell := line.cell("map"))]
    return max((c["ci_high"] or c["value"] for c in cells if c["value"] is not None), default=1.0) or 1.0


def _by_language(data: FmlamaData, plain: list[ConditionGroup], code: str) -> dict[str, Any]:
    """Return one language's conditions, its figure by origin, and the models of that figure's table."""
    pair = [g for g in plain if g.condition.main == code]
    best = pair[0].best_baseline
    return {
        "code": code,
        "pair": pair,
        "figure": figures.origin_figure(data, pair),
        "best": best.model if best else None,
        "models": [
            [ModelLine(data, group.condition, line.model, line.is_null) for group in pair]
            for line in pair[0].lines
        ],
    }


def _errors(data: FmlamaData, group: ConditionGroup) -> dict[str, Any]:
    """Return one condition's false predictions, by model over all origins and by origin and model."""
    condition = {"main_language": group.condition.main, "country_mentioned": group.condition.country}
    errors = data.errors.filter(**condition).partition_by("origin", "model", as_dict=True)
    predicted = data.predicted.filter(**condition).partition_by("model", as_dict=True)
    return {
        "group": group,
        "overall": {model: frame.to_dicts() for (model,), frame in predicted.items()},
        "of_origin": {key: frame.to_dicts() for key, frame in errors.items()},
    }


REPORT = Report("report-fmlama.html", FmlamaData, lambda data: render_page(__name__, data, _context(data)))
