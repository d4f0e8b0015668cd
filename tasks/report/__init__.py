"""Defines the frames that every page is made from. Pure, and independent of evaluations.

An evaluation has a module ``report`` with a ``REPORT`` (``page.Report``): a subclass of ``Frames``, whose
fields name the views that fill them, and a pure function from these frames to what the page shows: sentences,
tables and figures as values (``parts``), which this package draws.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import polars as pl
from markupsafe import Markup

from tasks.report.text import sentence, span

Row = Mapping[str, Any]
"""One row of a frame, column -> value."""

Badge = tuple[Literal["good", "warn", "plain"], str]
"""Trust badge of a model's numbers: (kind, text)."""


_CONFIG, _EVALUATION = "config_hash", "evaluation"


def view(name: str, *by: str) -> Any:
    """Return a field of ``Frames`` that a view fills.

    Args:
        name: a view; its column ``place`` has the order of rows. {} in it stands for the evaluation.
        by: columns to filter by: config_hash, evaluation, both or none; by default config_hash, and for views
            whose names begin with report_, which hold all evaluations, both.
    """
    usual = (_EVALUATION, _CONFIG) if name.startswith("report_") else (_CONFIG,)
    return field(metadata={"view": name, "by": tuple(filter(None, by)) if by else usual})


@dataclass(frozen=True)
class RankSets:
    """The ranks that the data allow a board's models on one headline; empty for fewer than two models.

    Attributes:
        metric: the headline. sets: model, or run in the overview -> its best and its worst possible rank.
            reason: why nothing separates any two models; "" if something could.
    """

    metric: str = ""
    sets: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    reason: str = ""

    def of(self, key: str) -> str:
        """Return the possible ranks: "1", "2 to 3", or – without any."""
        return span(self.sets.get(key, ())) or "–"

    def note(self, label: str) -> str:
        """Return what the ranks are; "" without any. label: of the headline."""
        if not self.sets:
            return ""
        text = (
            f"Ranks are all those that the data allow on {label}, over all {len(self.sets)} models at 95 %."
        )
        return text + (f" {sentence(self.reason)}." if self.reason else "")


@dataclass(frozen=True, kw_only=True)
class Frames:
    """The frames of one configuration. Each evaluation adds its own in a subclass.

    Attributes:
        config_hash: the configuration. links: evaluation -> link to its page, in the order to show; "" for
            this page, None for a page that is not written yet. foot: additional text at the end of the page.
        lost: lines on answers that were lost, if they are many. ranks: those that the data allow.
        rectified: judges' means beside those rectified by people's ratings: a row per model and headline,
            column -> text. ceilings: people's own means: a row per study and headline, column -> text.
        leaderboard: the evaluation's, best first, null models last.
        values: every number: model, is_null, metric, slice_kind, slice, value (null: unscored),
            unscored_reason, n_scored, n_unscored, ci_low, ci_high, null_value.
        metrics: the table metric, of this evaluation.
        runs: the newest run of each model, null models last; params and engine are JSON text.
        unscored: model, metric, slice_kind, slice, unscored_reason, n_unscored; metrics and slices that share
            a reason are in one row, separated by commas.
        countries: country, name (without "the"), region.
        sources: the table source.
        configurations: the evaluation's configurations, newest first: configuration, profile, n_models,
            finished_at.
    """

    config_hash: str
    links: Mapping[str, str | None] = field(default_factory=dict)
    foot: str = ""
    lost: tuple[str, ...] = ()
    ranks: RankSets = field(default_factory=RankSets)
    rectified: tuple[Row, ...] = ()
    ceilings: tuple[Row, ...] = ()
    leaderboard: pl.DataFrame = view("leaderboard_{}")
    values: pl.DataFrame = view("report_value")
    metrics: pl.DataFrame = view("report_metric", _EVALUATION)
    runs: pl.DataFrame = view("report_run")
    unscored: pl.DataFrame = view("report_unscored")
    countries: pl.DataFrame = view("report_country", "")
    sources: pl.DataFrame = view("report_source", "")
    configurations: pl.DataFrame = view("report_configuration", _EVALUATION)

    @cached_property
    def params(self) -> dict[str, Any]:
        """Return the parameters of the configuration; empty without runs."""
        params: dict[str, Any] = json.loads(self.runs["params"][0]) if self.runs.height else {}
        return params

    @cached_property
    def models(self) -> list[str]:
        """Return the models without nulls, in the order of the leaderboard."""
        return self.leaderboard.filter(~pl.col("is_null"))["model"].unique(maintain_order=True).to_list()

    @cached_property
    def overall(self) -> pl.DataFrame:
        """Return the values over everything, without slices."""
        return self.values.filter(slice_kind="overall")

    @cached_property
    def catalogue(self) -> dict[str, Row]:
        """Return metric -> its row of the table metric."""
        return {row["metric"]: row for row in self.metrics.iter_rows(named=True)}

    @cached_property
    def country_names(self) -> dict[str, str]:
        """Return code -> name, alphabetically by code."""
        return dict(self.countries.select("country", "name").iter_rows())

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str, str], Row]:
        names = ("model", "metric", "slice_kind", "slice")
        return {tuple(row[name] for name in names): row for row in self.values.iter_rows(named=True)}

    def find(self, model: str, metric: str, kind: str = "overall", where: str = "all") -> Row | None:
        """Return one number with its interval, counts and null; None if the configuration lacks it."""
        return self._rows.get((model, metric, kind, where))

    def head(self, metric: str, label: str, below: str = "") -> Markup:
        """Return the heading of a metric's column."""
        from tasks.report.cells import head

        return head(self.catalogue, metric, label, below)

    def label(self, metric: str) -> str:
        """Return a metric's name."""
        return str(self.catalogue[metric]["label"]) if metric in self.catalogue else metric

    def value(self, model: str, metric: str, kind: str = "overall", where: str = "all") -> float | None:
        """Return one number alone; None if it is missing or unscored."""
        return value_of(self.find(model, metric, kind, where))


def value_of(row: Row | None) -> float | None:
    """Return the number of a row; None if the row is missing or unscored."""
    return None if row is None else row["value"]


def gain_sign(row: Row | None) -> int:
    """Return 1 if a number's whole interval lies above 0, -1 if below, else 0; 0 without an interval."""
    if row is None or row["ci_low"] is None:
        return 0
    return int(row["ci_low"] > 0) - int(row["ci_high"] < 0)


def in_order_of(frame: pl.DataFrame, models: list[str]) -> pl.DataFrame:
    """Return the rows of the models in this order, others after them; rows of one model keep their order."""
    names = list(dict.fromkeys(models))
    place = pl.col("model").replace_strict(names, list(range(len(names))), default=len(names))
    return frame.sort(place, maintain_order=True)
