"""Prepares the page of any evaluation from a recipe: numbers by slice, controls, nulls, and single items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tasks.report import Frames, Report, view
from tasks.report.forest import Chart, picture
from tasks.report.page import render_page

HARDEST = 12
"""Number of items that the page shows; they are those with the lowest scores."""


@dataclass(frozen=True, kw_only=True)
class RecipeData(Frames):
    """The frames of one configuration.

    Attributes:
        answers: model, item, cluster, answer, target, value: every model's answer, hardest item first.
        against: model, metric, is_beyond_null, doubt.
    """

    answers: pl.DataFrame = field(metadata=view("recipe_answer"))
    against: pl.DataFrame = field(metadata=view("report_against_null"))


def report_of(name: str, about: Mapping[str, Any]) -> Report[RecipeData]:
    """Return the report of an evaluation. about: ``Described.page``."""
    return Report(
        f"report-{name}.html", RecipeData, lambda data: render_page(__name__, data, _context(data, about))
    )


def _left_out(data: RecipeData) -> dict[str, tuple[int, list[tuple[int, str]]]]:
    """Return unit of the data -> how many there are, and for each reason how many are left out."""
    of_metric = data.values.filter((pl.col("metric") == "left_out") & (pl.col("slice_kind") == "reason"))
    units: dict[str, tuple[int, list[tuple[int, str]]]] = {}
    for slice_, share, n in (
        of_metric.select("slice", "value", "n_scored").unique("slice").sort("slice").rows()
    ):
        unit, _, reason = str(slice_).partition(": ")
        units.setdefault(unit, (int(n), []))[1].append((round(share * n), reason))
    return units


def _best_nulls(data: RecipeData, headline: str) -> dict[tuple[str, str], str]:
    """Return slice kind and slice -> the null models whose value is the slice's null, by name."""
    values = data.values.filter(metric=headline)
    own = values.filter(~pl.col("is_null")).select("slice_kind", "slice", "null_value")
    nulls = values.filter("is_null").select("slice_kind", "slice", "model", "value")
    pairs = nulls.join(own, on=["slice_kind", "slice"]).filter(pl.col("value") == pl.col("null_value"))
    names: dict[tuple[str, str], set[str]] = {}
    for kind, of, model in pairs.select("slice_kind", "slice", "model").rows():
        names.setdefault((kind, of), set()).add(model.removeprefix("null:"))
    return {where: ", ".join(sorted(those)) for where, those in names.items()}


def _context(data: RecipeData, about: Mapping[str, Any]) -> dict[str, Any]:
    models = data.values.select("model", "is_null", "metric", "slice_kind", "value").filter(
        (pl.col("metric") == about["headline"]) & (pl.col("slice_kind") == "overall")
    )
    falls = data.catalogue[about["headline"]]["direction"] != "lower"
    ordered = models.sort("is_null", "value", "model", descending=[False, falls, False], nulls_last=True)
    own = ordered.filter(~pl.col("is_null"))["model"].to_list()
    kinds = about["slices"]
    if kinds is None:  # the slices requested by the run
        kinds = sorted(set(data.values["slice_kind"]) - {"overall", "reason", "judge"})
    slices = {
        kind: sorted(
            set(data.values.filter((pl.col("slice_kind") == kind) & ~pl.col("is_null"))["slice"].to_list())
        )
        for kind in kinds
    }
    hardest = data.answers["item"].unique(maintain_order=True).head(HARDEST).to_list()
    by_item = [data.answers.filter(pl.col("item") == item).to_dicts() for item in hardest]
    return {
        "averaged": False,
        "rotated": False,
        **about,
        "picture": _picture(data, about["headline"], own),
        "board": ordered.to_dicts(),
        "models": own,
        "against": {
            row["model"]: row for row in data.against.to_dicts() if row["metric"] == about["headline"]
        },
        "slices": slices,
        "hardest": by_item,
        "left_out": _left_out(data),
        "best_nulls": _best_nulls(data, about["headline"]),
        "judged": sorted(set(data.values.filter(pl.col("slice_kind") == "judge")["slice"].to_list())),
    }


def _picture(data: RecipeData, headline: str, models: list[str]) -> Chart | None:
    """Draw the headline of every model beside its null."""
    doubted = set(data.against.filter(~pl.col("is_beyond_null"), metric=headline)["model"])
    known = data.catalogue[headline]
    lines = [(model, "", data.find(model, headline)) for model in models]
    return picture(known["label"], lines, doubted=doubted, direction=known["direction"])
