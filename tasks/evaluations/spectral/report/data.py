"""Collects the data of the spectral page."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from tasks.evaluations.spectral.panel import CHOICES
from tasks.report import Badge, Frames, view


@dataclass(frozen=True, kw_only=True)
class SpectralData(Frames):
    """The frames of one configuration. SR may be infinite.

    Attributes:
        leaderboard: the view leaderboard_spectral, best first, null models last.
        by_question: the view spectral_by_domain: one row a model and question, domains from common to unique.
        similarity: model, domain, country_a, country_b, similarity; each pair once.
        domains: domain, label, n_items (scored), human_question, human_score, human_sd, human_category,
            human_n (people who ranked; None for a domain of a pack).
        cohort: cohort, model: the models whose medians are used.
        doubts: model, metric, reason: why a headline result may not beat its null (the view doubt).
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_spectral"))
    by_question: pl.DataFrame = field(metadata=view("spectral_by_domain"))
    similarity: pl.DataFrame = field(metadata=view("spectral_similarity"))
    domains: pl.DataFrame = field(metadata=view("spectral_domain"))
    cohort: pl.DataFrame = field(metadata=view("report_cohort", ("evaluation", "config_hash")))
    doubts: pl.DataFrame = field(metadata=view("report_doubt", ("evaluation", "config_hash")))

    @cached_property
    def models(self) -> list[str]:
        """Return the models without nulls, best first."""
        return self.leaderboard.filter(~pl.col("is_null"))["model"].to_list()

    @cached_property
    def competence(self) -> dict[tuple[str, str], dict[str, float | None]]:
        """Return (model, domain) -> country -> its loading on the pattern that all countries share."""
        own = self.values.filter(~pl.col("is_null"), metric="competence", slice_kind="domain_country")
        loadings: dict[tuple[str, str], dict[str, float | None]] = {}
        for model, where, value in own.select("model", "slice", "value").iter_rows():
            domain, country = where.split("/")
            loadings.setdefault((model, domain), {})[country] = value
        return loadings

    @cached_property
    def run_countries(self) -> pl.DataFrame:
        """Return the countries of the questions: country, name, region."""
        codes = {country for loadings in self.competence.values() for country in loadings}
        return self.countries.filter(pl.col("country").is_in(codes))


@dataclass(frozen=True)
class Panel:
    """Macro-F1 of every model under other choices.

    Attributes:
        choices: choice -> model -> macro-F1; None: unscored. The headline's own choice is among them.
        reversals: choice -> pairs of models (better in the headline, better under this choice).
    """

    choices: dict[str, dict[str, float | None]]
    reversals: dict[str, list[tuple[str, str]]]


def panel(data: SpectralData) -> Panel | None:
    """Return the models' macro-F1 under every choice; None for runs without them."""
    rows = data.values.filter(~pl.col("is_null"), metric="macro_f1_under", slice_kind="choice")
    choices: dict[str, dict[str, float | None]] = {}
    for model, choice, value in rows.select("model", "slice", "value").iter_rows():
        choices.setdefault(choice, {})[model] = value
    first = [choice for choice in CHOICES if choice in choices]
    choices = {choice: choices[choice] for choice in (*first, *sorted(choices.keys() - set(first)))}
    own = {
        m: row["value"] for m in data.models if (row := data.find(m, "macro_f1")) and row["value"] is not None
    }
    reversals = {}
    for choice, values in choices.items():
        known = [m for m in own if values.get(m) is not None]
        pairs = [
            (a, b) for a in known for b in known if own[a] > own[b] and (values[a] or 0) < (values[b] or 0)
        ]
        if pairs:
            reversals[choice] = pairs
    return Panel(choices, reversals) if choices else None


LOOK_UP = "null:list-frequency"
SHUFFLED = "null:shuffled("


@dataclass(frozen=True)
class MacroF1Doubts:
    """Reasons to doubt one model's macro-F1; empty lists: none."""

    guessing: list[str]
    look_up: list[str]
    is_below: bool = False
    """Whether its whole interval lies below what guessing scores."""

    @property
    def reasons(self) -> list[str]:
        return [*self.guessing, *self.look_up]

    @property
    def badges(self) -> list[Badge]:
        """Return the badges beside the model’s name."""
        verdict = "scores less than guessing" if self.is_below else "not shown to beat guessing"
        doubts: list[Badge] = [("warn", verdict)] if self.guessing else []
        if self.look_up:
            doubts.append(("warn", "no better than a list look-up"))
        return doubts or [("good", "better than guessing")]


def verdicts(data: SpectralData) -> dict[str, MacroF1Doubts]:
    """Return a verdict on every model except null models. A model's shuffled copy is not compared with it:
    both have the same categories by construction (``shuffled_copies``).
    """
    rows = data.leaderboard.to_dicts()
    look_up = next((r["macro_f1"] for r in rows if r["model"] == LOOK_UP), None)
    doubts = data.doubts.filter(metric="macro_f1")
    return {
        row["model"]: _verdict(row, doubts.filter(model=row["model"])["reason"].to_list(), look_up)
        for row in rows
        if not row["is_null"]
    }


def shuffled_copies(leaderboard: pl.DataFrame) -> list[str]:
    """Return the models whose shuffled copy has at least the same macro-F1."""
    value = dict(leaderboard.select("model", "macro_f1").rows())
    return [
        model
        for model, own in value.items()
        if own is not None and (copy := value.get(f"{SHUFFLED}{model})")) is not None and copy >= own
    ]


def _verdict(row: dict[str, Any], doubts: list[str], look_up: float | None) -> MacroF1Doubts:
    """Judge one model. doubts: reasons from the warehouse other than the interval; look_up: macro-F1 of the
    reference list.
    """
    own, low, high, expected = (row[name] for name in ("macro_f1", "ci_low", "ci_high", "null_macro_f1"))
    if own is None:
        return MacroF1Doubts(["it has no macro-F1"], [])
    guessing = [*doubts]
    if low is None:
        guessing.insert(0, "its macro-F1 has no interval")
    elif expected is not None and low <= expected:
        average = f"its 95 % interval is {low:.2f} to {high:.2f}; guessing scores {expected:.2f} on average"
        guessing.insert(0, average)
    is_below = None not in (high, expected) and high < expected
    above = look_up is not None and look_up >= own
    better = [f"{LOOK_UP} scores {look_up:.2f}, the model {own:.2f}"] if above else []
    return MacroF1Doubts(guessing, better, is_below)


@dataclass(frozen=True)
class OwnItems:
    """The domain on which a model distinguishes countries best, with two probabilities on a country's own
    items: under the country's own answer (value) and under another country's answer (exchanged).
    """

    model: str
    label: str
    value: float
    exchanged: float


def own_items(data: SpectralData) -> OwnItems | None:
    """Return the best domain of the model with most probability on countries' own items; None if unscored."""
    labels = dict(data.domains.select("domain", "label").iter_rows())
    rows = data.values.filter(
        ~pl.col("is_null"), pl.col("value").is_not_null(), pl.col("null_value").is_not_null(),
        metric="reference_mass", slice_kind="domain",
    )  # fmt: skip
    overall = {m: row["value"] for m in data.models if (row := data.find(m, "reference_mass")) is not None}
    known = [row for row in rows.to_dicts() if overall.get(row["model"]) is not None]
    if not known:
        return None
    model = max(sorted({row["model"] for row in known}), key=lambda name: overall[name])
    of_model = [row for row in known if row["model"] == model]
    own = [row for row in of_model if row["ci_low"] is not None] or of_model  # one country shows little
    best = max(own, key=lambda row: (row["value"] - row["null_value"], row["slice"]))
    return OwnItems(model, labels.get(best["slice"], best["slice"]), best["value"], best["null_value"])
