"""Renders the overview: evaluations and models with intervals, nulls, history and differences. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import polars as pl
from markupsafe import Markup, escape

from tasks.metrics.comparison import LEVEL
from tasks.report import Badge, RankSets, Row
from tasks.report.cache import drawn_once
from tasks.report.forest import (
    ARROWS,
    Chart,
    Mark,
    Scale,
    extent,
    finding,
    in_order,
    name_of,
    setting_of,
    shade,
    state_of,
    strongest_null,
)
from tasks.report.grid import SIDES, Grid, GridColumn
from tasks.report.history import history_once, is_repeated, sparkline
from tasks.report.page import environment
from tasks.report.text import number

Verdict = Literal["better", "none"]


class Pair(NamedTuple):
    """Two models on one number. verdict: whether the first is better, or no difference is shown."""

    first: str
    second: str
    verdict: Verdict


@dataclass(frozen=True)
class OverviewSection:
    """One configuration of one evaluation.

    Attributes:
        history: its rows of ``leaderboard_history``.
        differences: paired differences of its models' newest runs, every headline (``ordered_pairs``).
        metrics: rows of the table metric: metric, label, range_low, range_high, direction, description, in
            order. link: link to its page, or None. published: rows of ``beside_published`` for one number
            that papers print too, or None. lost: lines on answers that were lost, if they are many.
            ranks: those that the data allow, by run.
    """

    evaluation: str
    title: str
    config_hash: str
    profile: str
    history: pl.DataFrame
    differences: pl.DataFrame
    metrics: pl.DataFrame
    link: str | None = None
    published: pl.DataFrame | None = None
    lost: tuple[str, ...] = ()
    ranks: RankSets = field(default_factory=RankSets)

    @cached_property
    def newest(self) -> pl.DataFrame:
        """Return each model's row of its newest occasion: models before null models, by name."""
        keys = ["metric", "label", "model", "engine_hash"]
        ordered = self.history.sort("finished_at", "run_id")
        return ordered.unique(keys, keep="last", maintain_order=True).sort("is_null", "model", "engine_hash")

    @cached_property
    def labels(self) -> list[tuple[str, str]]:
        """Return (metric, label) of every number, in the order of the catalogue."""
        place = {metric: at for at, metric in enumerate(self.metrics["metric"])}
        pairs = self.newest.select("metric", "label").unique().rows()
        return sorted(pairs, key=lambda pair: (place.get(pair[0], len(place)), pair[1]))

    @cached_property
    def models(self) -> dict[str, str]:
        """Return model_hash -> name, by name, without null models."""
        own = self.newest.filter(~pl.col("is_null")).sort("model", "model_hash")
        return dict(own.select("model_hash", "model").iter_rows())

    @cached_property
    def catalogue(self) -> Mapping[str, Row]:
        """Return metric -> its row of the catalogue."""
        return {row["metric"]: row for row in self.metrics.iter_rows(named=True)}

    def rows(self, metric: str, label: str) -> Sequence[Row]:
        """Return the newest rows of one number, in the form for cells; reasons for unscored ones are on their
        page.
        """
        rows = self.newest.filter(metric=metric, label=label)
        return rows.with_columns(unscored_reason=pl.lit(None, pl.String)).to_dicts()

    def past(self, row: Row) -> Sequence[Row]:
        """Return all occasions of a row's number, in the order of time."""
        same = {name: row[name] for name in ("metric", "label", "model", "engine_hash")}
        return self.history.filter(**same).sort("finished_at", "run_id").to_dicts()

    def direction(self, metric: str) -> str:
        """Return the better direction: higher, lower or none."""
        return str(self.catalogue.get(metric, {}).get("direction", "none"))

    def best(self, metric: str) -> float | None:
        """Return the best possible value of a number, or None."""
        known = self.catalogue.get(metric, {})
        value: float | None = known.get("range_low" if self.direction(metric) == "lower" else "range_high")
        return value

    def scale(self, metric: str, label: str) -> Scale:
        """Return the ends of this number's axis: its range, else the extent of the shown values."""
        known = self.catalogue.get(metric, {})
        low, high = known.get("range_low"), known.get("range_high")
        if low is not None and high is not None:
            return low, high
        return extent(self.history.filter(metric=metric, label=label).to_dicts())


def ordered_pairs(differences: Iterable[Row], direction: str) -> list[Pair]:
    """Return the pairs of models that differ on one number at 5 %, over items scored for both, better first.

    differences: rows of pairs, with ``first_model``, ``second_model``, ``difference`` (first less second) and
    ``p_holm``; pairs without a p-value are left out.
    """
    pairs: list[Pair] = []
    for row in differences:
        if row["p_holm"] is None:
            continue
        first, second = row["first_model"], row["second_model"]
        if (row["difference"] < 0) is not (direction == "lower"):
            first, second = second, first
        pairs.append(Pair(first, second, "better" if row["p_holm"] < LEVEL else "none"))
    return pairs


def beyond_null(row: Row, direction: str) -> Badge | None:
    """Return ``against_null``'s verdict on a model's number; None if it is undecided."""
    if row["is_null"] or row["value"] is None or row["null_value"] is None or direction == "none":
        return None
    if row["is_beyond_null"] is None:
        return "plain", "no interval"
    return ("good", "beyond its null") if row["is_beyond_null"] else ("warn", "not beyond its null")


def render(
    sections: Sequence[OverviewSection],
    agreements: pl.DataFrame | None = None,
    beside: Mapping[str, str] | None = None,
    foot: str = "",
) -> str:
    """Return one HTML document that needs nothing from the network; equal sections give equal bytes.

    Args:
        agreements: rows of ``evaluation_agreement`` with ``p_holm`` or ``holm_reason``, in order.
        beside: label -> link, of further pages.
        foot: additional text at the end of the page.
    """
    sections_drawn = [_shown(section) for section in sections]
    names = _names(sections)
    columns = [_column(each["section"], str(at), each["charts"]) for at, each in enumerate(sections_drawn)]
    grid = _grid(columns, names)
    context = {
        "grid": Markup(drawn_once(Grid.draw, grid, "overview", "Every model on every evaluation")),
        "sections": sections_drawn,
        "models": names,
        "columns": columns,
        "beaten": [column["section"] for column in columns if column["is_beaten"]],
        "verdicts": _counts(sections_drawn),
        "agreements": (pairs := _agreements(agreements, sections_drawn)),
        "tested": any(pair["row"]["rho"] is not None for pair in pairs),
        "unseparated": [each["section"] for each in sections_drawn if _separates(each) is False],
        "findings": [
            (each["section"], chart) for each in sections_drawn for chart in each["charts"] if chart.finding
        ],
        "beside": beside or {},
        "foot": foot,
    }
    return environment({}).get_template("overview.html").render(context)


def _names(sections: Sequence[OverviewSection]) -> dict[str, str]:
    """Return model_hash -> the name to show, by name; models of one name also show their hashes."""
    known = sorted({pair for section in sections for pair in section.models.items()}, key=_shortest)
    names = dict(reversed(known))
    several = {name for name in names.values() if list(names.values()).count(name) > 1}
    labels = {key: f"{name} ({key[:4]})" if name in several else name for key, name in names.items()}
    return dict(sorted(labels.items(), key=lambda pair: (pair[1], pair[0])))


def _shortest(pair: tuple[str, str]) -> tuple[int, str]:
    return len(pair[1]), pair[1]


def grid_of(sections: Sequence[OverviewSection]) -> Grid:
    """Return the figure of every model on every evaluation."""
    columns = [_column(section, str(at), _charts(section)) for at, section in enumerate(sections)]
    return _grid(columns, _names(sections))


def _grid(columns: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Grid:
    drawn = []
    for column in columns:
        chart: Chart = column["chart"]
        rows = {key: {side: tile.row[side] for side in SIDES} for key, tile in column["tiles"].items()}
        is_shared = len({row["null_value"] for row in rows.values()}) == 1
        printed = [mark.row["value"] for mark in chart.marks if mark.is_published]
        label = f"{column['label']} {column['arrow']}".strip()
        null = chart.null if is_shared else None
        drawn.append(GridColumn(column["section"].evaluation, label, rows, null, printed, chart.cited))
    return Grid(names, drawn)


@dataclass(frozen=True)
class Tile:
    """One model on one evaluation. shade: 0 to 1, how far beyond its null; order: sort key; ranks: 1 to 2."""

    row: Row
    state: str
    shade: float
    order: float
    badge: Badge | None
    history: Markup
    ranks: str
    id: str


def _column(section: OverviewSection, key: str, charts: Sequence[Chart]) -> dict[str, Any]:
    """Return model_hash -> tile for the first number of an evaluation, all on the axis of its chart. charts:
    result of ``_charts``.
    """
    metric, label = section.labels[0]
    direction, rows = section.direction(metric), [r for r in section.rows(metric, label) if not r["is_null"]]
    widest = max((abs(r["value"] - r["null_value"]) for r in rows if _has_gain(r)), default=0.0)
    sign = -1.0 if direction == "lower" else 1.0
    pasts = {row["model_hash"]: section.past(row) for row in rows}
    scale = extent(row for past in pasts.values() for row in past)
    tiles = {
        row["model_hash"]: Tile(
            row=row,
            state=state_of(row, direction),
            shade=shade(row, direction, section.best(metric), widest),
            order=float("-inf") if row["value"] is None else sign * row["value"],
            badge=beyond_null(row, direction),
            history=_history(pasts[row["model_hash"]], scale),
            ranks=section.ranks.of(row["run_id"]) if section.ranks.metric == metric else "",
            id=f"tile-{key}-{at}",
        )
        for at, row in enumerate(rows)
    }
    return {
        "section": section,
        "label": label,
        "arrow": ARROWS.get(direction, ""),
        "tiles": tiles,
        "chart": charts[0],
        "published": charts[0] if charts[0].finding else None,
        "is_beaten": any(tile.state == "beyond" for tile in tiles.values()),
    }


def _has_gain(row: Row) -> bool:
    return row["value"] is not None and row["null_value"] is not None and abs(row["value"]) != float("inf")


def _charts(section: OverviewSection) -> list[Chart]:
    """Return the chart of the first number, then that of the number that papers print, if it differs."""
    metric, label = section.labels[0]
    rows = [row for row in section.rows(metric, label) if not row["is_null"]]
    printed = section.published
    is_same = printed is not None and (printed["metric"][0], printed["slice_kind"][0]) == (metric, "overall")
    charts = [_chart(section, metric, label, rows, printed if is_same else None)]
    if printed is not None and not is_same:
        name = name_of(printed["label"][0], printed["slice_kind"][0], printed["slice"][0])
        known = {row["model"]: row for row in section.rows(printed["metric"][0], printed["label"][0])}
        own = [
            known.get(row["model"] if row["slice"] == "all" else None, {**row, **_beyond(row, section)})
            for row in printed.filter(source="measured").to_dicts()
            if row["model"] in section.models.values()
        ]
        charts.append(_chart(section, printed["metric"][0], name, own, printed))
    return charts


def _beyond(row: Row, section: OverviewSection) -> Row:
    """Return the verdict of a slice's interval; doubts exist for headlines only."""
    low, high, null = row["ci_low"], row["ci_high"], row["null_value"]
    if low is None or null is None:
        return {"is_beyond_null": None}
    return {"is_beyond_null": high < null if section.direction(row["metric"]) == "lower" else low > null}


def _chart(
    section: OverviewSection, metric: str, label: str, rows: Sequence[Row], printed: pl.DataFrame | None
) -> Chart:
    direction = section.direction(metric)
    marks = [Mark(row["model"], row, state_of(row, direction), row.get("engine") or "") for row in rows]
    null, cited = strongest_null(rows, direction), ""
    if printed is not None:
        values = printed.filter(pl.col("source") != "measured").to_dicts()
        cited = ", ".join(sorted({str(row["cited"] or row["source"]) for row in values}))
        marks += [
            Mark(
                row["model"] or "all models together",
                row | {"ci_low": None, "ci_high": None, "null_value": None},
                "bare",
                setting_of(row["condition"]),
                is_published=True,
                is_apart=row["definition"] != "equal",
            )
            for row in values
        ]
    marks = in_order(marks, direction)
    about = str(section.catalogue.get(metric, {}).get("description", ""))
    sentence = finding(marks, null, direction, cited)
    return Chart(label, ARROWS.get(direction, ""), about, marks, null, cited, sentence)


def _shown(section: OverviewSection) -> dict[str, Any]:
    """Return the template's values of a section."""
    numbers = []
    for metric, label in section.labels:
        known, scale = section.catalogue.get(metric, {}), section.scale(metric, label)
        direction = section.direction(metric)
        rows = section.rows(metric, label)
        past = {(row["model"], row["engine_hash"]): section.past(row) for row in rows}
        y_scale = extent([each for of_model in past.values() for each in of_model])
        lines = [  # null models appear in the null column instead
            {
                "row": row,
                "badge": beyond_null(row, direction),
                "history": _history(past[row["model"], row["engine_hash"]], y_scale),
            }
            for row in rows
            if not row["is_null"]
        ]
        pairs = ordered_pairs(section.differences.filter(metric=metric).iter_rows(named=True), direction)
        arrow = ARROWS.get(direction, "")
        numbers.append(
            {"label": label, "arrow": arrow, "about": known.get("description", ""), "scale": scale}
            | {"lines": lines, "pairs": pairs}
        )
    figure = history_once(section.history, section.labels, f"history-{section.evaluation}")
    return {
        "section": section,
        "charts": _charts(section),
        "numbers": numbers,
        "figure": figure,
        "finished": section.newest["finished_at"].max(),
    }


def _history(past: Sequence[Row], scale: Scale) -> Markup:
    """Return a sparkline, and words on its time span and change."""
    if not is_repeated(past):
        return Markup("<small>1 occasion</small>")
    scored = [row for row in past if row["value"] is not None]
    change = number(scored[-1]["value"] - scored[0]["value"], sign=True) if len(scored) > 1 else "–"
    names = [escape(row["occasion"] or "first") for row in past]
    text = Markup("<small>{}, {} to {}: {}</small>")
    return sparkline(past, scale) + text.format(f"{len(past)} occasions", names[0], names[-1], change)


def _separates(cell: Mapping[str, Any]) -> bool | None:
    """Return whether any two models differ on a section's first number; None if none could be compared."""
    pairs: Sequence[Pair] = cell["numbers"][0]["pairs"]
    return any(pair.verdict == "better" for pair in pairs) if pairs else None


def _agreements(rows: pl.DataFrame | None, cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return lines on pairs of numbers, with a verdict on their agreement about the order of models."""
    separates = {each["section"].evaluation: _separates(each) for each in cells}
    lines = []
    for row in [] if rows is None else rows.iter_rows(named=True):
        noise = [
            name for name in (row["evaluation"], row["other_evaluation"]) if separates.get(name) is False
        ]
        if row["rho"] is None:
            badge: Badge = ("plain", row["unscored_reason"])
        elif row["least_rho"] is None:
            badge = ("plain", "too few models to show any agreement")
        elif row["p_holm"] is None:
            badge = ("plain", row["holm_reason"])
        elif row["p_holm"] >= LEVEL:
            badge = ("warn", "no agreement shown")
        else:
            badge = ("good", "same order") if row["rho"] > 0 else ("warn", "reverse order")
        lines.append({"row": row, "badge": badge, "noise": noise})
    return lines


def _counts(cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the numbers of models beyond their null, of models not beyond it, and of pairs that differ."""
    badges = [
        line["badge"] for each in cells for of in each["numbers"] for line in of["lines"] if line["badge"]
    ]
    pairs = [pair for each in cells for of in each["numbers"] for pair in of["pairs"]]
    return {
        "good": sum(kind == "good" for kind, _ in badges),
        "numbers": len(badges),
        "apart": sum(pair.verdict == "better" for pair in pairs),
        "pairs": len(pairs),
    }


__all__ = ["OverviewSection", "Pair", "beyond_null", "extent", "ordered_pairs", "render"]
