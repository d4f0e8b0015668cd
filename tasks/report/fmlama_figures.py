"""Which numbers go into the figures of the fmlama page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from markupsafe import Markup

from tasks.report.fmlama_bars import country_bars
from tasks.report.fmlama_data import FmlamaData
from tasks.report.fmlama_heatmaps import matrix_panels
from tasks.report.fmlama_tables import Group, in_order, language, origins

ALL = "all dishes"
_SCHEMA = {
    "model": pl.String, "row": pl.String, "country_mentioned": pl.Boolean, "value": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "null_value": pl.Float64, "baseline": pl.Float64,
    "p": pl.Float64,
}  # fmt: skip


def origin_figure(data: FmlamaData, pair: list[Group]) -> Markup:
    """mAP by origin in one language; pair: its conditions, without and with the country or one of them."""
    main = pair[0].condition.main
    rows = []
    for group in pair:
        best = group.best_baseline
        of_condition = _monolingual(data.values, main).filter(country_mentioned=group.condition.country)
        baseline = of_condition.filter(model=best.model if best else "", metric="map")
        known = dict(baseline.select(pl.col("origin").fill_null(ALL), "value").iter_rows())
        for line in group.models:
            own = of_condition.filter(model=line.model)
            p = dict(own.filter(metric="country_gain_p").select("origin", "value").iter_rows())
            for cell in own.filter(metric="map").iter_rows(named=True):
                row = cell["origin"] or ALL
                rows.append(_bar(cell, row, known.get(row), p.get(cell["origin"])))
    labels = {ALL: "ALL"} | {o: f"{o} ({n or '–'})" for o, n in origins(data, main).items()}
    cells = _by_leaderboard(_frame(rows), pair)
    return country_bars(cells, labels, f"origins-{main}", f"mAP by origin in {language(main)}")


def language_figure(found: list[Group]) -> Markup:
    """mAP over all dishes, by prompt language; found: the conditions of one language."""
    rows = []
    for group in found:
        best = group.best_baseline
        baseline = best.cells["map"]["value"] if best else None
        for line in group.models:
            p = line.cells.get("country_gain_p")
            rows.append(_bar(line.cells["map"], group.condition.main, baseline, p["value"] if p else None))
    cells = _by_leaderboard(_frame(rows), found)
    labels = {code: language(code) for code in in_order(cells["row"])}
    text = f"mAP of {cells['model'].n_unique()} models by prompt language"
    return country_bars(cells, labels, "languages", text)


def language_heatmap(data: FmlamaData, found: list[Group], country: bool) -> Markup:
    """mAP of every origin in every prompt language; baselines have panels of their own."""
    cells = data.values.filter(
        pl.col("main_language") == pl.col("subject_language"),
        pl.col("country_mentioned") == country,
        pl.col("origin").is_not_null(),
        metric="map",
    ).select(
        "model", "is_null", "value", row="origin", column="main_language",
        note=pl.lit(None, pl.String), is_framed=pl.lit(False),
    )  # fmt: skip
    columns = {code: language(code) for code in in_order(cells["column"])}
    counts = {o: n for code in reversed(columns) for o, n in origins(data, code).items()}
    rows = {o: o for o in sorted(counts, key=lambda o: (-(counts[o] or 0), o))}
    ordered = _by_leaderboard(cells, found)
    return matrix_panels(ordered, rows, columns, "origin-languages", "mAP by origin and prompt language")


def switching_heatmap(data: FmlamaData, found: list[Group]) -> Markup:
    """Main language by subject language; the diagonal, one language, is framed; notes are changes from it."""
    change = pl.col("change").map_elements(
        lambda x: f"{x:+.3f}".replace("-", "−"), return_dtype=pl.String
    )  # fmt: skip
    framed = pl.col("main_language") == pl.col("subject_language")
    cells = data.switching.select(
        "model", "is_null", value="map", row="main_language", column="subject_language",
        note=pl.when(~framed).then(change), is_framed=framed,
    )  # fmt: skip
    rows, columns = ({c: language(c) for c in in_order(cells[side])} for side in ("row", "column"))
    text = "mAP by language of the sentence (rows) and of the dish's name (columns)"
    return matrix_panels(_by_leaderboard(cells, found), rows, columns, "switching", text)


def _monolingual(values: pl.DataFrame, main: str) -> pl.DataFrame:
    return values.filter(main_language=main, subject_language=main)


def _bar(cell: Mapping[str, Any], row: str, baseline: float | None, p: float | None) -> tuple[Any, ...]:
    own = (cell[name] for name in ("country_mentioned", "value", "ci_low", "ci_high", "null_value"))
    return (cell["model"], row, *own, baseline, p)


def _frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _by_leaderboard(cells: pl.DataFrame, found: list[Group]) -> pl.DataFrame:
    """Models in the order of the first condition, others after them; rows of one model keep their order."""
    order = list(dict.fromkeys(line.model for group in found for line in group.lines))
    place = pl.col("model").replace_strict(order, list(range(len(order))), return_dtype=pl.Int64)
    return cells.sort(place, maintain_order=True)
