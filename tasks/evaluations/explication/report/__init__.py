"""Prepares the explication page: its frames, and figures 3 and 4 of the paper with nulls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from tasks.evaluations.explication.params import CONDITIONS, ExplicationParams
from tasks.evaluations.explication.report.meta import HEADLINES, asked, correlations, differences
from tasks.metrics.comparison import holm_or_reason
from tasks.metrics.intervals import MIN_FLIPPED, least_flip_p, sign_flip_p_two_sided
from tasks.report import Badge, Frames, Report, Row, view
from tasks.report.bars import Legend, bar_of, bar_panels
from tasks.report.forest import Chart, picture
from tasks.report.page import render_page

_BOTH = ("evaluation", "config_hash")
FIGURES = {
    "meta": ({"apr": "APR", "interaction": "INT"}, 10.0, "APR and INT of control and treatment"),
    "instructions": ({"instruction_following": "Instruction following"}, 5.0, "Instruction following"),
    "counted": (
        {"facts_elicited": "Facts elicited", "facts_used": "Facts used", "violated": "Violated"},
        1.0,
        "Counts without a judge",
    ),
}
"""Name of a figure -> metrics with their titles, end of the axis, and description."""
OF_PEOPLE = "krippendorff_alpha"
"""Prefix of the metrics of agreement between people."""
NULLS = {
    "shuffled": "another persona’s recommendation", "silent": "a user who tells nothing",
    "generic": "the same for all, no question", "fixed": "the same for all, fixed questions",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ExplicationData(Frames):
    """The frames of one configuration.

    Attributes:
        leaderboard, personas, transcripts, meta: the views leaderboard_explication, explication_by_persona,
            explication_transcript and meta_explication.
        verdicts, validation: counts of verdicts by judge, and judges' agreement with people. people: how
            people rated the simulator, and the conversations that judges graded.
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_explication"))
    personas: pl.DataFrame = field(metadata=view("explication_by_persona"))
    transcripts: pl.DataFrame = field(metadata=view("explication_transcript"))
    meta: pl.DataFrame = field(metadata=view("meta_explication"))
    verdicts: pl.DataFrame = field(metadata=view("report_judge", _BOTH))
    validation: pl.DataFrame = field(metadata=view("report_validation", _BOTH))
    people: pl.DataFrame = field(metadata=view("explication_people"))

    @cached_property
    def models(self) -> list[str]:
        """Return the models without null recommenders, in the leaderboard's order."""
        return self.leaderboard.filter(~pl.col("is_null"))["model"].unique(maintain_order=True).to_list()

    @cached_property
    def conditions(self) -> list[str]:
        """Return the conditions of the conversations."""
        held = set(self.leaderboard["condition"])
        return [condition for condition in CONDITIONS if condition in held]

    def under(self, model: str, metric: str, condition: str) -> Row | None:
        """Return a metric under one condition."""
        return self.find(model, metric, "condition", condition)


def badge(row: Row) -> Badge:
    """Return the trust badge of the grades of a leaderboard row."""
    if row["is_null"]:
        return "plain", "null recommender"
    tells = row["tells_real_from_shuffled"]
    if tells is None:
        return "plain", "too few personas for the judges’ check"
    if tells:
        return "good", "beats another persona’s recommendation"
    return "warn", "not shown to beat another persona’s recommendation"


def figures(data: ExplicationData) -> dict[str, Markup]:
    """Return the figures by name, without figures that have no scores."""
    drawn: dict[str, Markup] = {}
    rows = {model: model for model in data.models}
    for name, (metrics, end, text) in FIGURES.items():
        bars = [
            bar_of(title, model, data.under(model, metric, condition), series=place)
            for metric, title in metrics.items()
            for model in data.models
            for place, condition in enumerate(data.conditions)
        ]
        key = Legend(tuple(data.conditions), "null: best conversation that ignores the user", end=end)
        figure = bar_panels(bars, rows, key, name, text, per_row=3) if bars else None
        if figure is not None:
            drawn[name] = figure
    return drawn


def model_pairs(data: ExplicationData) -> list[dict[str, Any]]:
    """Return every pair of models on the headline (``meta.asked``): difference over shared personas, p,
    Holm-adjusted p over these pairs, or holm_reason.

    All pairs are one family. A family of each model against the best one would be smaller, but the best is
    chosen by the same grades: equal models would differ in 6 % (six models) to 18 % (20) of studies.
    """
    scored = [
        (metric, condition)
        for metric, condition in product(HEADLINES, data.conditions)
        if data.personas.filter(pl.col("condition") == condition)[metric].count()
    ]
    metric, condition = asked(scored)
    own = data.personas.filter(pl.col("condition") == condition).drop_nulls(metric)
    means: dict[str, dict[str, float]] = {
        model: dict(own.filter(pl.col("model") == model).select("persona", metric).iter_rows())
        for model in data.models
    }
    pairs: list[dict[str, Any]] = []
    for first, second in combinations(data.models, 2):
        shared = sorted(means[first].keys() & means[second].keys())
        gaps = np.array([means[first][p] - means[second][p] for p in shared])
        line = {"metric": metric, "condition": condition, "first": first, "second": second}
        p_value = sign_flip_p_two_sided(gaps) if len(shared) >= MIN_FLIPPED else None
        difference = float(gaps.mean()) if shared else None
        pairs.append(line | {"n": len(shared), "difference": difference, "p_value": p_value})
    sizes = [line["n"] for line in pairs]
    floors, of = [least_flip_p(n) for n in sizes], [f"{n} personas" for n in sizes]
    outcomes = holm_or_reason([line["p_value"] for line in pairs], floors, of)
    return [
        line | {"p_holm": p, "holm_reason": reason} for line, (p, reason) in zip(pairs, outcomes, strict=True)
    ]


def judges(data: ExplicationData) -> list[Mapping[str, Any]]:
    """Return each judge and rubric, and whether it was validated with people; agreement among people does not
    count.
    """
    on_judge = data.validation.drop_nulls("value").filter(~pl.col("metric").str.starts_with(OF_PEOPLE))
    known = set(on_judge.select("judge_hash", "rubric").iter_rows())
    rows = data.verdicts.iter_rows(named=True)
    return [row | {"validated": (row["judge_hash"], row["rubric"]) in known} for row in rows]


def ends(data: ExplicationData) -> dict[str, list[tuple[str, str, float]]]:
    """Return model -> (condition, reason that ended conversations, share)."""
    own = data.values.filter(pl.col("slice_kind") == "condition_end", ~pl.col("is_null"))
    shares: dict[str, list[tuple[str, str, float]]] = {}
    for row in own.iter_rows(named=True):
        condition, _, reason = row["slice"].partition(":")
        shares.setdefault(row["model"], []).append((condition, reason, row["value"]))
    return shares


def _picture(data: ExplicationData, flagged: set[str]) -> Chart | None:
    """Draw how well recommendations suit the user, next to the best null that ignores the user."""
    lines = [
        (model, condition, data.under(model, "apr", condition))
        for condition in data.conditions
        for model in data.models
    ]
    note = (
        "The null is the best of another persona’s recommendation, a silent user and the same recommendation "
        "for all."
    )
    grades = picture("APR: how well the recommendation suits the user, 1 to 10", lines, note, doubted=flagged)
    counted = [
        (model, condition, data.under(model, "facts_elicited", condition))
        for condition in data.conditions
        for model in data.models
    ]
    return grades or picture(
        "Share of the user’s facts that the model elicits, counted without a judge", counted
    )


def left(data: ExplicationData) -> dict[str, tuple[float, float]]:
    """Return model -> (APR, APR if conversations that the user left counted as failed), where they differ."""
    both = {m: (data.value(m, "apr"), data.value(m, "apr_if_left_failed")) for m in data.models}
    return {
        m: (own, if_failed) for m, (own, if_failed) in both.items() if own and if_failed and if_failed < own
    }


def best_apr(data: ExplicationData) -> Row | None:
    """Return the leaderboard's row with the highest APR; None if no model has one."""
    own = [row for row in data.leaderboard.to_dicts() if not row["is_null"] and row["apr"] is not None]
    return max(own, key=lambda row: row["apr"], default=None)


def _context(data: ExplicationData) -> dict[str, Any]:
    flagged = set(data.leaderboard.filter(pl.col("tells_real_from_shuffled").eq(False))["model"])
    return {
        "picture": _picture(data, flagged),
        "best": best_apr(data),
        "board": data.leaderboard.to_dicts(),
        "badge": badge,
        "nulls": NULLS,
        "figures": figures(data),
        "pairs": model_pairs(data),
        "judges": judges(data),
        "ends": ends(data),
        "usual_turns": ExplicationParams.model_fields["max_turns"].default,
        "transcripts": data.transcripts.to_dicts(),
        "meta": correlations(data.meta.iter_rows(named=True)),
        "differences": differences(data.meta.to_dicts()),
        "people": data.people.to_dicts(),
        "by_persona": data.personas.to_dicts(),
        "flagged": sorted(flagged),
        "left": left(data),
        "cut_short": {model: share for model in data.models if (share := data.value(model, "cut_short"))},
        "unchecked": sorted(
            set(
                data.leaderboard.filter(~pl.col("is_null"), pl.col("tells_real_from_shuffled").is_null())[
                    "model"
                ]
            )
        ),
        "family": sorted(set(data.leaderboard.filter("self_preference")["model"])),
    }


REPORT = Report(
    "report-explication.html", ExplicationData, lambda data: render_page(__name__, data, _context(data))
)
