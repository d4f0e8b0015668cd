"""The frames of the FmLAMA page: conditions, and the models and baselines under each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import polars as pl
from markupsafe import Markup

from tasks.report import Badge, Frames, Row, gain_sign, value_of, view
from tasks.report.cells import put

POOLINGS = {
    "mean_probability": "mean of probabilities (equation 2)", "sum_logprob": "sum of log-probabilities",
    "mean_logprob": "mean of log-probabilities",
}  # fmt: skip
"""Ways to pool token scores into a candidate's score, by the names of ``--pooling``."""
LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "ar": "Arabic",
    "ko": "Korean",
    "ru": "Russian",
    "he": "Hebrew",
}
"""Codes of the prompt languages in the order of Zhou et al. 2025. Figures have English names: no font has all
scripts."""


@dataclass(frozen=True, kw_only=True)
class FmlamaData(Frames):
    """The frames of one configuration.

    Languages stand in the columns main_language and subject_language; they differ where the dish is named
    in another language than the sentence.
    """

    dishes: pl.DataFrame = view("fmlama_dish_count")
    switching: pl.DataFrame = view("fmlama_code_switching")
    errors: pl.DataFrame = view("fmlama_frequent_error")
    predicted: pl.DataFrame = view("fmlama_frequent_prediction")
    judged: pl.DataFrame = view("report_judge")

    @cached_property
    def groups(self) -> list[ConditionGroup]:
        """Return every condition, those of one language before those that switch."""
        lines: dict[ProbeCondition, list[ModelLine]] = {}
        for row in self.leaderboard.iter_rows(named=True):
            condition = ProbeCondition(
                row["main_language"], row["subject_language"], row["country_mentioned"]
            )
            lines.setdefault(condition, []).append(ModelLine(self, condition, row["model"], row["is_null"]))
        codes = in_order([*self.leaderboard["main_language"], *self.leaderboard["subject_language"]])
        order = sorted(
            lines, key=lambda c: (c.main != c.subject, codes.index(c.main), codes.index(c.subject), c.country)
        )
        return [ConditionGroup(condition, lines[condition]) for condition in order]

    @cached_property
    def plain(self) -> list[ConditionGroup]:
        """Return the conditions of one language."""
        return [group for group in self.groups if group.condition.main == group.condition.subject]

    @cached_property
    def languages(self) -> list[str]:
        """Return the codes of the sentences' languages."""
        return in_order(self.leaderboard["main_language"])

    def n_dishes(self, main: str) -> int:
        """Return the number of dishes of one language."""
        return int(self.dishes.filter(main_language=main)["n_dishes"].sum())

    def origins(self, main: str) -> dict[str, int | None]:
        """Return the origins of one language with their number of dishes, most dishes first."""
        counts = dict(self.dishes.filter(main_language=main).select("origin", "n_dishes").iter_rows())
        slices = self.values.filter(slice_kind="condition_origin")["slice"].str.splitn(":", 4).struct.unnest()
        named = slices.filter(pl.col("field_0") == main)["field_3"].unique()
        return {o: counts.get(o) for o in sorted(named, key=lambda o: (-counts.get(o, 0), o))}


class ProbeCondition(NamedTuple):
    """A condition: languages of the sentence and of the dish's name, and whether the country is named."""

    main: str
    subject: str
    country: bool

    @property
    def key(self) -> str:
        """Return the condition's key, as in metric_value.slice."""
        return f"{self.main}:{self.subject}:{'yes' if self.country else 'no'}"

    @property
    def named(self) -> str:
        return "country named" if self.country else "country not named"

    @property
    def label(self) -> str:
        """Return "English, country named", or "English sentence, Korean dish, country not named"."""
        if self.main == self.subject:
            return f"{language(self.main)}, {self.named}"
        return f"{language(self.main)} sentence, {language(self.subject)} dish, {self.named}"


@dataclass(frozen=True)
class ModelLine:
    """One model under one condition."""

    data: FmlamaData = field(repr=False)
    condition: ProbeCondition
    model: str
    is_null: bool

    def cell(self, metric: str, origin: str | None = None) -> Row | None:
        """Return a metric over all dishes, or over those of one origin."""
        kind, where = "condition", self.condition.key
        if origin is not None:
            kind, where = "condition_origin", f"{where}:{origin}"
        return self.data.find(self.model, metric, kind, where)

    def under(self, pooling: str, metric: str) -> Row | None:
        """Return ``map`` or ``map_gain`` under another pooling; None in runs that did not store it."""
        return self.data.find(self.model, metric, "condition_pooling", f"{self.condition.key}:{pooling}")

    @property
    def map(self) -> float | None:
        return value_of(self.cell("map"))

    @property
    def beats_baseline(self) -> bool:
        """Return whether the whole interval of its gain over the best baseline is above 0."""
        return gain_sign(self.cell("map_gain")) > 0

    @property
    def badge(self) -> Badge:
        """Return the trust badge of its numbers."""
        if self.is_null or self.map is None:
            return "plain", "baseline" if self.is_null else "no average precision"
        return (
            ("good", "beats the best baseline")
            if self.beats_baseline
            else ("warn", "not shown to beat the best baseline")
        )


@dataclass(frozen=True)
class ConditionGroup:
    """The lines of one condition: models by mAP, then baselines."""

    condition: ProbeCondition
    lines: list[ModelLine]

    @property
    def models(self) -> list[ModelLine]:
        return [line for line in self.lines if not line.is_null]

    @property
    def has_poolings(self) -> bool:
        """Return whether a model has scores under every pooling."""
        return any(line.under(pooling, "map") for line in self.models for pooling in POOLINGS)

    @property
    def turned(self) -> list[str]:
        """Return the models whose gain is certainly above 0 under one pooling but not under another."""
        return [
            m.model
            for m in self.models
            if len({gain_sign(m.under(pooling, "map_gain")) > 0 for pooling in POOLINGS}) > 1
        ]

    @property
    def has_one_order(self) -> bool:
        """Return whether models have the same order by mAP under every pooling."""
        by_pooling = [
            {m.model: value_of(m.under(pooling, "map")) or 0.0 for m in self.models} for pooling in POOLINGS
        ]
        return len({tuple(sorted(of, key=lambda model: (-of[model], model))) for of in by_pooling if of}) <= 1

    @property
    def best_baseline(self) -> ModelLine | None:
        """Return the null model with the highest mAP."""
        nulls = [line for line in self.lines if line.is_null and line.map is not None]
        return max(nulls, key=lambda line: line.map or 0.0, default=None)

    @property
    def best_name(self) -> str:
        """Return the name of the gain's baseline: the best one, or chance if chance is better."""
        best = self.best_baseline
        row = best.cell("map") if best else None
        return (
            "chance"
            if best is None or row is None or row["value"] < (row["null_value"] or 0.0)
            else best.model
        )

    @property
    def n_candidates(self) -> int | None:
        """Return the number of candidates, those that the model can spell and cannot; None if unknown."""
        rows = [line.cell("unspellable_candidates") for line in self.lines]
        return max((row["n_scored"] + row["n_unscored"] for row in rows if row), default=None)

    @property
    def heading(self) -> Markup:
        """Return what stands above its rows."""
        facts = f"{self.lines[0].data.n_dishes(self.condition.main)} dishes" + (
            f", {self.n_candidates} candidates" if self.n_candidates else ""
        )
        return put(
            '{} <span class="aside">{}</span>',
            self.condition.label,
            facts + (f"; best baseline: {self.best_name}" if self.best_baseline else ""),
        )


def language(code: str) -> str:
    """Return the English name of a language code."""
    return LANGUAGES.get(code, code)


def in_order(codes: Iterable[str]) -> list[str]:
    """Return the distinct languages in the order of Zhou et al. 2025, others after them."""
    known = list(LANGUAGES)
    return sorted(set(codes), key=lambda c: (known.index(c) if c in known else len(known), c))
