"""Prepares the CulturALL page: frames, and figures numbered as in Lin et al. 2026."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup
from matplotlib.figure import Figure

from tasks.evaluations.culturall.params import CONDITIONS
from tasks.evaluations.culturall.rows import DIFFERENCES, LEVELS
from tasks.report import Badge, Frames, Report, Row, drawn, gain_sign, panels, value_of, view
from tasks.report.bars import Bar, Legend, bar_of, bar_panels
from tasks.report.cohort import cohort_of_page
from tasks.report.forest import picture
from tasks.report.heatmaps import Cell, matrix_panels
from tasks.report.page import render_page
from tasks.report.svg import ACCENT, MUTED, SMALL, styled, to_svg
from tasks.report.text import short

KINDS = {"topic": "Topic", "language": "Language", "region": "Region"}
"""Kinds of slices whose items are counted, in the order of figure 4 of Lin et al. 2026."""

LANGUAGES = {
    "ar": "Arabic", "be": "Belarusian", "bn": "Bengali", "en": "English", "es": "Spanish", "ja": "Japanese",
    "kk": "Kazakh", "km": "Khmer", "ko": "Korean", "ms": "Malay", "ru": "Russian", "sr": "Serbian",
    "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip

MATCHING = Path(__file__).with_name("matching.csv")
"""Matching held against answers that two readers labelled: by language, right answers and those refused,
wrong answers and those accepted. A test counts them anew.
"""

MOST_REGIONS = 51
"""Number of regions of the published benchmark; a figure shows no more bars."""

_HEIGHT, _WIDTH = 0.16, 2.4  # inches: of a bar's row, of a panel

_CONDITIONS = Legend(("accuracy, native", "accuracy without the scenario"), "null: guessing", end=1.0)


@dataclass(frozen=True, kw_only=True)
class CulturallData(Frames):
    """The frames of one configuration.

    Attributes:
        leaderboard: the view leaderboard_culturall: models by accuracy, null models last.
        judges: the view culturall_judge: each judge's own check, over all languages, then in each.
        languages: the view culturall_by_language; the page names the languages that have an interval.
        solved: the view culturall_solved: items by language and how many models solve them.
        examples: the view culturall_example: one item and what every model answers.
        cohort: cohort, model: the models that numbers over several models are computed with.
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_culturall"))
    judges: pl.DataFrame = field(metadata=view("culturall_judge"))
    languages: pl.DataFrame = field(metadata=view("culturall_by_language"))
    solved: pl.DataFrame = field(metadata=view("culturall_solved"))
    examples: pl.DataFrame = field(metadata=view("culturall_example"))
    cohort: pl.DataFrame = field(
        default_factory=pl.DataFrame, metadata=view("report_cohort", ("evaluation", "config_hash"))
    )

    @cached_property
    def models(self) -> list[str]:
        """Return the models without nulls, in the order of the leaderboard."""
        return self.leaderboard.filter(~pl.col("is_null"))["model"].to_list()

    @cached_property
    def n_items(self) -> dict[str, dict[str, int]]:
        """Return kind of slice -> slice -> its number of items, most first, then by shown name."""
        rows = self.values.filter(pl.col("slice_kind").is_in(list(KINDS)), metric="accuracy", is_null=False)
        counts = rows.with_columns(n=pl.col("n_scored") + pl.col("n_unscored"))
        slices = counts.select("slice_kind", "slice", "n").unique().rows()
        by_kind: dict[str, dict[str, int]] = {kind: {} for kind in KINDS}
        for kind, name, n in sorted(slices, key=lambda row: (-row[2], self.label(*row[:2]))):
            by_kind[kind][name] = n
        return by_kind

    def judge_checks(self) -> list[Row]:
        """Return the judges' checks: over all languages, then in each, sorted by shown name."""
        rows = self.judges.to_dicts()
        return sorted(
            rows, key=lambda row: self.label("language", row["language"]) if row["language"] else ""
        )

    def by_name(self, kind: str) -> list[str]:
        """Return the slices of a kind, sorted by shown name."""
        return sorted(self.n_items[kind], key=lambda name: self.label(kind, name))

    @cached_property
    def spread(self) -> list[dict[str, Any]]:
        """Return language, items, regions and the reason for a missing interval, sorted by shown name."""
        rows = self.languages.unique("language").select("language", "n_regions", "no_interval_reason")
        counts = self.n_items["language"]
        named = sorted(rows.to_dicts(), key=lambda row: self.label("language", row["language"]))
        return [row | {"n_items": counts.get(row["language"])} for row in named]

    @cached_property
    def matching(self) -> list[Row]:
        """Return the rows of ``MATCHING`` for the languages of the items, sorted by shown name."""
        rows = (
            pl.read_csv(MATCHING).filter(pl.col("language").is_in(list(self.n_items["language"]))).to_dicts()
        )
        return sorted(rows, key=lambda row: self.label("language", row["language"]))

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """Return differences between settings of one model: model, other, metric and the number."""
        return self.values.filter(slice_kind="model_pair").sort("metric", "model", "slice").to_dicts()

    @cached_property
    def has_levels(self) -> bool:
        """Return whether enough models answered for difficulty to be known."""
        return not self.values.filter(slice_kind="difficulty")["value"].is_null().all()

    @cached_property
    def has_published_levels(self) -> bool:
        """Return whether the items state how many of the paper's settings solve them."""
        return bool(self.values.filter(slice_kind="published_difficulty")["value"].is_not_null().any())

    @cached_property
    def claimed(self) -> str:
        """Return the metric that claims rest on: accuracy by match if a judge fails its check."""
        return "accuracy_matched" if True in self.leaderboard["judge_flagged"] else "accuracy"

    @cached_property
    def best(self) -> Row | None:
        """Return the row of the model that solves most; None if nothing is scored."""
        rows = (self.find(model, self.claimed) for model in self.models)
        return max(
            (row for row in rows if row and row["value"] is not None),
            key=lambda row: row["value"],
            default=None,
        )

    def is_above_null(self, model: str, kind: str = "overall", name: str = "all") -> bool:
        """Return whether the whole interval lies above the score of guessing."""
        row = self.find(model, self.claimed, kind, name)
        return row is not None and row["ci_low"] is not None and row["ci_low"] > (row["null_value"] or 0.0)

    def label(self, kind: str, name: str) -> str:
        """Return the shown name of a slice."""
        names = {"language": LANGUAGES, "region": self.country_names}
        return names.get(kind, {}).get(name, name)

    def has_condition(self, condition: str) -> bool:
        """Return whether the run has a condition."""
        return self.has("accuracy" if condition == "native" else f"accuracy_{condition}")

    def has(self, metric: str) -> bool:
        """Return whether there are rows of a metric."""
        return not self.values.filter(pl.col("metric") == metric, ~pl.col("is_null")).is_empty()

    def accuracy(self, model: str, condition: str, **where: Any) -> Row | None:
        """Return the overall accuracy under a condition."""
        return self.find(model, "accuracy" if condition == "native" else f"accuracy_{condition}", **where)


def draw(data: CulturallData) -> dict[str, Markup]:
    """Return the figures by name, without figures that have no scores."""
    figures = {
        "items": items_figure,
        "languages": languages_figure,
        "solved": solved_figure,
        "scenario": scenario_figure,
    }
    return drawn(figures, data)


def items_figure(data: CulturallData) -> Markup | None:
    """Draw the number of items by topic, language and region (figure 4)."""
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


def languages_figure(data: CulturallData) -> Markup | None:
    """Draw the accuracy of every model in every language, framed if above guessing (figure 5)."""
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


def solved_figure(data: CulturallData) -> Markup | None:
    """Draw the number of items of each language by the number of models that solve them (figure 13)."""
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


def scenario_figure(data: CulturallData) -> Markup | None:
    """Draw the accuracy that remains without the scenario."""
    if not data.has_condition("question") or not data.has_condition("native"):
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


def _context(data: CulturallData) -> dict[str, Any]:
    return {
        "cohort": cohort_of_page(data.cohort),
        "picture": picture(
            "Accuracy" + (", by match" if data.claimed != "accuracy" else ""),
            [(model, "", data.find(model, data.claimed)) for model in data.models],
        ),
        "board": data.leaderboard.to_dicts(),
        "badge": _badge,
        "above_null": list(filter(data.is_above_null, data.models)),
        "conditions": [name for name in CONDITIONS if data.has_condition(name)],
        "differences": [name for name in DIFFERENCES if data.has(name)],
        "levels": LEVELS,
        "has_levels": data.has_levels,
        "has_published_levels": data.has_published_levels,
        "settings": data.settings,
        "spread": data.spread,
        "kinds": KINDS,
        "judges": data.judge_checks(),
        "matching": data.matching,
        "judged_languages": data.judges.filter(pl.col("language").is_not_null()).height,
        "examples": data.examples.to_dicts(),
        "figures": draw(data),
        "gain_sign": gain_sign,
    }


def _badge(line: Row) -> Badge:
    """Return the trust badge of a row's accuracy."""
    if line["is_null"]:
        return "plain", "null model"
    if line["judge"] is None:
        return "plain", "matched, not judged"
    if line["judge_flagged"] is None:
        return "warn", "judge not checked"
    return ("warn", "judge fails its check") if line["judge_flagged"] else ("good", "judge passes its check")


REPORT = Report(
    "report-culturall.html", CulturallData, lambda data: render_page(__name__, data, _context(data))
)
