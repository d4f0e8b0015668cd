"""The overview: all evaluations and models with intervals, nulls and history, and who differs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import polars as pl
from markupsafe import Markup, escape

from tasks.report import Badge, Row
from tasks.report.history import history_figure, is_repeated, sparkline
from tasks.report.page import environment
from tasks.report.text import number

Verdict = Literal["better", "none"]
Scale = tuple[float, float]


class Pair(NamedTuple):
    """Two models on one number. verdict: the first is better, or it does not show that they differ."""

    first: str
    second: str
    verdict: Verdict


@dataclass(frozen=True)
class Section:
    """One configuration of one evaluation.

    Attributes:
        history: its rows of ``leaderboard_history``.
        differences: paired differences of its models' newest runs, every headline (``told_apart``).
        metrics: of the table metric: metric, label, range_low, range_high, direction, description, in order.
        link: to its page; None: there is none.
    """

    evaluation: str
    title: str
    config_hash: str
    profile: str
    history: pl.DataFrame
    differences: pl.DataFrame
    metrics: pl.DataFrame
    link: str | None = None

    @cached_property
    def newest(self) -> pl.DataFrame:
        """Return each model's row of its newest occasion: models before null models, by name."""
        keys = ["metric", "label", "model", "engine_hash"]
        ordered = self.history.sort("finished_at", "run_id")
        return ordered.unique(keys, keep="last", maintain_order=True).sort("is_null", "model", "engine_hash")

    @cached_property
    def labels(self) -> list[tuple[str, str]]:
        """(metric, label) of every number, in the order of the catalogue."""
        place = {metric: at for at, metric in enumerate(self.metrics["metric"])}
        pairs = self.newest.select("metric", "label").unique().rows()
        return sorted(pairs, key=lambda pair: (place.get(pair[0], len(place)), pair[1]))

    @cached_property
    def models(self) -> list[str]:
        """Models by name, without null models."""
        return sorted(set(self.newest.filter(~pl.col("is_null"))["model"]))

    @cached_property
    def catalogue(self) -> Mapping[str, Row]:
        """metric -> its row of the catalogue."""
        return {row["metric"]: row for row in self.metrics.iter_rows(named=True)}

    def rows(self, metric: str, label: str) -> Sequence[Row]:
        """The newest rows of one number, as cells take them; why one is unscored is on its page."""
        rows = self.newest.filter(metric=metric, label=label)
        return rows.with_columns(unscored_reason=pl.lit(None, pl.String)).to_dicts()

    def past(self, row: Row) -> Sequence[Row]:
        """All occasions of the number of a row, in the order of time."""
        same = {name: row[name] for name in ("metric", "label", "model", "engine_hash")}
        return self.history.filter(**same).sort("finished_at", "run_id").to_dicts()

    def scale(self, metric: str, label: str) -> Scale:
        """Return the ends of this number's axis: its range, or else all that is to be seen."""
        known = self.catalogue.get(metric, {})
        low, high = known.get("range_low"), known.get("range_high")
        if low is not None and high is not None:
            return low, high
        return extent(self.history.filter(metric=metric, label=label).to_dicts())


def extent(rows: Iterable[Row]) -> Scale:
    """Least and greatest of values, intervals and nulls that are finite; never of no width."""
    sides = ("value", "ci_low", "ci_high", "null_value")
    seen = [row[side] for row in rows for side in sides if row[side] is not None]
    seen = [x for x in seen if abs(x) != float("inf")]
    low, high = min(seen, default=0.0), max(seen, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def told_apart(differences: Iterable[Row], direction: str) -> list[Pair]:
    """Which models differ on one number at 5 %, over the items scored for both, the better one first.

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
        pairs.append(Pair(first, second, "better" if row["p_holm"] < 0.05 else "none"))
    return pairs


def beyond_null(row: Row, direction: str) -> Badge | None:
    """Return ``against_null``'s verdict on a model's number; None where nothing can be said."""
    if row["is_null"] or row["value"] is None or row["null_value"] is None or direction == "none":
        return None
    if row["is_beyond_null"] is None:
        return "plain", "no interval"
    return ("good", "beyond its null") if row["is_beyond_null"] else ("warn", "not beyond its null")


def render(
    sections: Sequence[Section],
    agreements: pl.DataFrame | None = None,
    beside: Mapping[str, str] | None = None,
    foot: str = "",
) -> str:
    """One HTML document that needs nothing from the network; the same sections give the same bytes.

    Args:
        agreements: rows of ``evaluation_agreement`` with ``p_holm``, in order; None: there are none.
        beside: label -> where that page is, of pages beside those of the evaluations.
        foot: what stands at the end of the page beside what it is made from.
    """
    shown = [_shown(section) for section in sections]
    models = sorted({model for section in sections for model in section.models})
    context = {
        "sections": shown,
        "models": models,
        "first": _first(sections, models),
        "verdicts": _counts(shown),
        "agreements": _agreements(agreements, shown),
        "unseparated": [each["section"] for each in shown if _separates(each) is False],
        "beside": beside or {},
        "foot": foot,
    }
    return environment({}).get_template("overview.html").render(context)


def _shown(section: Section) -> dict[str, Any]:
    """Return the template's values of a section."""
    numbers = []
    for metric, label in section.labels:
        known, scale = section.catalogue.get(metric, {}), section.scale(metric, label)
        direction = known.get("direction", "none")
        rows = section.rows(metric, label)
        past = {(row["model"], row["engine_hash"]): section.past(row) for row in rows}
        y_scale = extent([each for of_model in past.values() for each in of_model])
        lines = [  # null models stand in the column of what they score
            {
                "row": row,
                "badge": beyond_null(row, direction),
                "history": _history(past[row["model"], row["engine_hash"]], y_scale),
            }
            for row in rows
            if not row["is_null"]
        ]
        pairs = told_apart(section.differences.filter(metric=metric).iter_rows(named=True), direction)
        arrow = {"higher": "↑", "lower": "↓"}.get(direction, "")
        numbers.append(
            {"label": label, "arrow": arrow, "about": known.get("description", ""), "scale": scale}
            | {"lines": lines, "pairs": pairs}
        )
    figure = history_figure(section.history, section.labels, f"history-{section.evaluation}")
    return {
        "section": section,
        "numbers": numbers,
        "figure": figure,
        "finished": section.newest["finished_at"].max(),
    }


def _history(past: Sequence[Row], scale: Scale) -> Markup:
    """A sparkline, and in words from when to when and by how much."""
    if not is_repeated(past):
        return Markup("<small>1 occasion</small>")
    scored = [row for row in past if row["value"] is not None]
    change = number(scored[-1]["value"] - scored[0]["value"], sign=True) if len(scored) > 1 else "–"
    names = [escape(row["occasion"] or "first") for row in past]
    text = Markup("<small>{}, {} to {}: {}</small>")
    return sparkline(past, scale) + text.format(f"{len(past)} occasions", names[0], names[-1], change)


def _first(sections: Sequence[Section], models: Sequence[str]) -> list[tuple[Section, str, dict[str, Row]]]:
    """Return, for each evaluation, the first number of its catalogue: section, label, model -> row."""
    chosen = []
    for section in sections:
        metric, label = section.labels[0]
        rows = {row["model"]: row for row in section.rows(metric, label) if row["model"] in models}
        chosen.append((section, label, rows))
    return chosen


def _separates(shown: Mapping[str, Any]) -> bool | None:
    """Whether any two models differ on the first number of a section; None where none could be compared."""
    pairs: Sequence[Pair] = shown["numbers"][0]["pairs"]
    return any(pair.verdict == "better" for pair in pairs) if pairs else None


def _agreements(rows: pl.DataFrame | None, shown: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lines of two numbers, with what may be said of their order of models."""
    separates = {each["section"].evaluation: _separates(each) for each in shown}
    lines = []
    for row in [] if rows is None else rows.iter_rows(named=True):
        noise = [
            name for name in (row["evaluation"], row["other_evaluation"]) if separates.get(name) is False
        ]
        if row["rho"] is None:
            badge: Badge = ("plain", row["unscored_reason"])
        elif row["least_rho"] is None:
            badge = ("plain", "too few models for any agreement to show")
        elif row["p_holm"] >= 0.05:
            badge = ("warn", "not told from none")
        else:
            badge = ("good", "alike") if row["rho"] > 0 else ("warn", "in reverse")
        lines.append({"row": row, "badge": badge, "noise": noise})
    return lines


def _counts(shown: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many models are beyond their null, how many are not, and how many pairs differ."""
    badges = [
        line["badge"] for each in shown for of in each["numbers"] for line in of["lines"] if line["badge"]
    ]
    pairs = [pair for each in shown for of in each["numbers"] for pair in of["pairs"]]
    return {
        "good": sum(kind == "good" for kind, _ in badges),
        "numbers": len(badges),
        "apart": sum(pair.verdict == "better" for pair in pairs),
        "pairs": len(pairs),
    }


__all__ = ["Pair", "Section", "beyond_null", "extent", "render", "told_apart"]
