"""The figures of the CulturALL page; numbered as in Lin et al. 2026."""

from __future__ import annotations

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from tasks.evaluations.culturall.report.data import KINDS, Data
from tasks.report import drawn, panels, value_of
from tasks.report.bars import Bar, Key, bar_of, bar_panels
from tasks.report.heatmaps import Cell, matrix_panels
from tasks.report.svg import ACCENT, MUTED, SMALL, styled, to_svg
from tasks.report.text import short

MOST_REGIONS = 51
"""As many as the published benchmark has; a figure shows no more bars."""

_HEIGHT, _WIDTH = 0.16, 2.4  # inches: of a bar's row, of a panel

_CONDITIONS = Key(("accuracy, native", "accuracy without the scenario"), "null: guessing", end=1.0)


def draw(data: Data) -> dict[str, Markup]:
    """The figures by name; one of which nothing was scored is left out."""
    figures = {
        "items": items_figure,
        "languages": languages_figure,
        "solved": solved_figure,
        "scenario": scenario_figure,
    }
    return drawn(figures, data)


def items_figure(data: Data) -> Markup | None:
    """How many items there are by topic, language and region (figure 4)."""
    counts = {kind: dict(list(of.items())[:MOST_REGIONS]) for kind, of in data.n_items.items() if of}
    if not counts:
        return None
    most = max(map(len, counts.values()))
    with styled():
        figure = Figure(figsize=(len(counts) * (_WIDTH + 1.0), _HEIGHT * most + 0.3))
        axes = figure.subplots(1, len(counts), squeeze=False)[0]
        figure.subplots_adjust(left=0, right=1, bottom=0, top=1, wspace=1.0 / _WIDTH)
        for one, (kind, of) in zip(axes, counts.items(), strict=True):
            names = [data.label(kind, name) for name in of]
            one.barh(range(len(of)), list(of.values()), height=0.7, color=ACCENT)
            one.set_yticks(range(len(of)), names, fontsize=SMALL)
            one.set_ylim(most - 0.4, -0.6)
            one.set_xlim(0, 1.15 * max(of.values()))
            one.set_xticks([])
            for row, n in enumerate(of.values()):
                one.text(n, row, f"\N{NO-BREAK SPACE}{n}", va="center", fontsize=SMALL, color=MUTED)
            one.set_title(f"{KINDS[kind]} ({len(of)})")
            panels.bare(one)
        rows = [(kind, data.label(kind, name), n) for kind, of in counts.items() for name, n in of.items()]
        numbers = pl.DataFrame(rows, schema=["by", "name", "items"], orient="row")
        return to_svg(figure, "items", "Items by topic, language and region", numbers)


def languages_figure(data: Data) -> Markup | None:
    """Accuracy of every model in every language, framed where above guessing (figure 5)."""
    languages = data.by_name("language")
    cells = []
    for model in data.models:
        for language in languages:
            row = data.find(model, "accuracy", "language", language)
            if row is not None:
                note = "" if row["null_value"] is None else f"null {row['null_value']:.2f}"
                is_above = data.is_above_null(model, "language", language)
                cells.append(Cell("Accuracy", model, language, row["value"], note, is_above))
    columns = {
        name: f"{data.label('language', name)} ({data.n_items['language'][name]})" for name in languages
    }
    rows = {model: short(model) for model in data.models}
    return matrix_panels(cells, rows, columns, "languages", "Accuracy by model and language", digits=2)


def solved_figure(data: Data) -> Markup | None:
    """How many items of each language are solved by how many models (figure 13)."""
    n_models, languages = len(data.models), data.by_name("language")
    counts = {
        (language, n): items
        for language, n, items in data.solved.select("language", "n_solved", "n_items").rows()
    }
    cells = [
        Cell("Items", language, str(n), float(counts.get((language, n), 0)))
        for language in languages
        for n in range(n_models + 1)
    ]
    rows = {language: data.label("language", language) for language in languages}
    columns = {str(n): str(n) for n in range(n_models + 1)}
    return matrix_panels(
        cells, rows, columns, "solved", "Items by language and models that solve them", digits=0
    )


def scenario_figure(data: Data) -> Markup | None:
    """What is left of accuracy when the scenario is taken away."""
    if not data.asked("question") or not data.asked("native"):
        return None
    bars: list[Bar] = []
    for model in data.models:
        for series, condition in enumerate(("native", "question")):
            row = data.accuracy(model, condition)
            bars.append(bar_of("All items", model, row, series=series))
    if all(value_of(data.accuracy(model, "native")) is None for model in data.models):
        return None
    rows = {model: short(model) for model in data.models}
    return bar_panels(bars, rows, _CONDITIONS, "scenario", "Accuracy with and without the scenario")
