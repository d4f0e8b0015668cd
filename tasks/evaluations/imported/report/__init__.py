"""Prepares the page of an imported task: models, slices, lost answers, published values and hardest items."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tasks.report import Frames, Report, view
from tasks.report.forest import Chart, picture
from tasks.report.page import render_page

SCORE, LOSS, TASK = "score", "loss", "task"
HARDEST = 12
"""Number of items that the page shows; they are those with the lowest scores."""
_OURS = {SCORE, LOSS, "stderr", "coverage", "unanswered"}


@dataclass(frozen=True, kw_only=True)
class ImportedData(Frames):
    """The frames of one configuration.

    Attributes:
        answers: model, item, cluster, answer, target, value: every model's answer, hardest item first.
        against: model, metric, is_beyond_null, doubt.
        published: metric, slice_kind, slice, model, value, paper, difference, note: of every task.
    """

    answers: pl.DataFrame = field(metadata=view("recipe_answer"))
    against: pl.DataFrame = field(metadata=view("report_against_null"))
    published: pl.DataFrame = field(metadata=view("imported_published", ()))


def _context(data: ImportedData) -> dict[str, Any]:
    metric = LOSS if data.params.get("direction") == "lower" else SCORE
    models = data.values.filter(metric=metric, slice_kind="overall").select("model", "is_null", "value")
    falls = metric == SCORE
    ordered = models.sort("is_null", "value", "model", descending=[False, falls, False], nulls_last=True)
    own = ordered.filter(~pl.col("is_null"))["model"].to_list()
    by = data.params.get("by") or []
    slices = {
        kind: sorted(set(data.values.filter(pl.col("slice_kind") == kind)["slice"].to_list())) for kind in by
    }
    hardest = data.answers["item"].unique(maintain_order=True).head(HARDEST).to_list()
    lost = data.values.filter(metric="unanswered", slice_kind="reason")
    task = str(data.params.get("task", ""))
    return {
        "headline": metric,
        "scale": data.params.get("scale"),
        "cluster": data.params.get("cluster") or "",
        "picture": _picture(data, metric, own),
        "board": ordered.to_dicts(),
        "models": own,
        "logs": _logs(data),
        "further": sorted(set(data.overall["metric"].to_list()) - _OURS),
        "nulls": [line["model"].removeprefix("null:") for line in ordered.to_dicts() if line["is_null"]],
        "against": {row["model"]: row for row in data.against.to_dicts() if row["metric"] == metric},
        "slices": slices,
        "lost_by": {
            model: [(row["slice"], round(row["value"] * row["n_scored"])) for row in rows.to_dicts()]
            for (model,), rows in lost.group_by("model", maintain_order=True)
        },
        "published": data.published.filter(slice_kind=TASK, slice=task).to_dicts(),
        "hardest": [data.answers.filter(pl.col("item") == item).to_dicts() for item in hardest],
    }


def _logs(data: ImportedData) -> dict[str, dict[str, Any]]:
    """Return model -> the program and version that made its log, its date, and whether somebody named it."""
    logs = {}
    for row in data.runs.filter(~pl.col("is_null")).to_dicts():
        params, engine = json.loads(row["params"]), json.loads(row["engine"])
        logs[row["model"]] = {
            "program": " ".join(filter(None, (params.get("harness"), params.get("harness_version")))),
            "source": engine.get("model") or "",
            "revision": engine.get("revision") or "",
            "is_stated": row["model"] in (params.get("stated") or ()),
            "date": row.get("occasion") or "",
        }
    return logs


def _picture(data: ImportedData, headline: str, models: list[str]) -> Chart | None:
    """Draw the headline of every model beside its null."""
    doubted = set(data.against.filter(~pl.col("is_beyond_null"), metric=headline)["model"])
    known = data.catalogue[headline]
    lines = [(model, "", data.find(model, headline)) for model in models]
    return picture(known["label"], lines, doubted=doubted, direction=known["direction"])


REPORT = Report(
    "report-imported.html", ImportedData, lambda data: render_page(__name__, data, _context(data))
)
