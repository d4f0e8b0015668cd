"""Draws figures 2, 3 and 4 of Zhou et al. 2025 for the FmLAMA page, with intervals, chance and baselines."""

from __future__ import annotations

import polars as pl
from markupsafe import Markup

from tasks.evaluations.fmlama.report.data import ConditionGroup, FmlamaData, ModelLine, in_order, language
from tasks.report import in_order_of, value_of
from tasks.report.bars import Bar, Legend, bar_of, bar_panels
from tasks.report.heatmaps import Cell, matrix_panels
from tasks.report.text import number

ALL = "all dishes"
_KEY = Legend(
    ("country not named", "country named"), "chance", digits=None, other="baseline of common ingredients",
    notes=("* p < 0.1,  ** p < 0.05,  *** p < 0.01",),
)  # fmt: skip


def draw(data: FmlamaData, plain: list[ConditionGroup]) -> dict[str, Markup]:
    """Draw the figures that compare languages, if there are several. plain: the conditions of one
    language.
    """
    figures: dict[str, Markup | None] = {}
    if len(data.languages) > 1:
        figures["languages"] = language_figure(plain)
        figures["origins"] = origin_heatmap(data, plain)
    if not data.switching.filter(pl.col("main_language") != pl.col("subject_language")).is_empty():
        figures["switching"] = switching_heatmap(data)
    return {key: figure for key, figure in figures.items() if figure is not None}


def origin_figure(data: FmlamaData, pair: list[ConditionGroup]) -> Markup | None:
    """Draw mAP by origin in one language. pair: its conditions without and with the country, or one
    of them.
    """
    main = pair[0].condition.main
    origins = data.origins(main)
    bars = [
        _bar(line, origin, group.best_baseline, origin or ALL)
        for group in pair
        for line in group.models
        for origin in (None, *origins)
    ]
    rows = {ALL: "ALL"} | {o: f"{o} ({n or '–'})" for o, n in origins.items()}
    return bar_panels(bars, rows, _KEY, f"origins-{main}", f"mAP by origin in {language(main)}")


def language_figure(plain: list[ConditionGroup]) -> Markup | None:
    """Draw mAP over all dishes, by prompt language."""
    bars = [
        _bar(line, None, group.best_baseline, group.condition.main)
        for group in plain
        for line in group.models
    ]
    rows = {code: language(code) for code in in_order(bar.row for bar in bars)}
    text = f"mAP of {len({bar.panel for bar in bars})} models by prompt language"
    return bar_panels(bars, rows, _KEY, "languages", text)


def origin_heatmap(data: FmlamaData, plain: list[ConditionGroup]) -> Markup | None:
    """Draw mAP of every origin in every prompt language; baselines have their own panels."""
    country = named_in_all(plain)
    cells = [
        Cell(line.model, origin, group.condition.main, value_of(row), is_null=line.is_null)
        for group in plain
        if group.condition.country == country
        for line in group.lines
        for origin in data.origins(group.condition.main)
        if (row := line.cell("map", origin))
    ]
    counts = {o: n or 0 for code in reversed(data.languages) for o, n in data.origins(code).items()}
    rows = {o: o for o in sorted(counts, key=lambda o: (-counts[o], o))}
    columns = {code: language(code) for code in in_order(cell.column for cell in cells)}
    return matrix_panels(cells, rows, columns, "origin-languages", "mAP by origin and prompt language")


def switching_heatmap(data: FmlamaData) -> Markup | None:
    """Draw mAP by main and subject language; the diagonal (one language) is framed, notes are changes from
    it.
    """
    order = list(dict.fromkeys(line.model for group in data.groups for line in group.lines))
    cells = []
    for row in in_order_of(data.switching, order).iter_rows(named=True):
        main, subject = row["main_language"], row["subject_language"]
        note = "" if main == subject or row["change"] is None else number(row["change"], 3, True)
        cells.append(Cell(row["model"], main, subject, row["map"], note, main == subject, row["is_null"]))
    rows = {code: language(code) for code in in_order(cell.row for cell in cells)}
    columns = {code: language(code) for code in in_order(cell.column for cell in cells)}
    text = "mAP by language of the sentence (rows) and of the dish's name (columns)"
    return matrix_panels(cells, rows, columns, "switching", text)


def named_in_all(plain: list[ConditionGroup]) -> bool:
    """Return whether every condition names the country; only then the matrix of origins uses it."""
    return all(group.condition.country for group in plain)


def stars(p: float | None) -> str:
    """Return the marks of Zhou et al. 2025: * below 0.1, ** below 0.05, *** below 0.01, else none."""
    return "" if p is None else "*" * sum(p < limit for limit in (0.1, 0.05, 0.01))


def _bar(line: ModelLine, origin: str | None, baseline: ModelLine | None, row: str) -> Bar:
    country = line.condition.country
    mark = stars(value_of(line.cell("country_gain_p", origin))) if country else ""
    other = value_of(baseline.cell("map", origin)) if baseline else None
    return bar_of(line.model, row, line.cell("map", origin), mark, series=int(country), other=other)
