"""What the spectral page is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from tasks.report import Badge, Frames, view


@dataclass(frozen=True, kw_only=True)
class Data(Frames):
    """The frames of one configuration. SR may be infinite.

    Attributes:
        leaderboard: the view leaderboard_spectral, best first, null models last.
        by_question: the view spectral_by_domain: one row a model and question, domains from common to unique.
        similarity: model, domain, country_a, country_b, similarity; each pair once.
        domains: domain, label, n_items (scored), human_question, human_score, human_sd, human_category.
    """

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_spectral"))
    by_question: pl.DataFrame = field(metadata=view("spectral_by_domain"))
    similarity: pl.DataFrame = field(metadata=view("spectral_similarity"))
    domains: pl.DataFrame = field(metadata=view("spectral_domain"))

    @cached_property
    def models(self) -> list[str]:
        """Without null models, best first."""
        return self.leaderboard.filter(~pl.col("is_null"))["model"].to_list()

    @cached_property
    def competence(self) -> dict[tuple[str, str], dict[str, float | None]]:
        """(model, domain) -> country -> its loading on the pattern that all countries share."""
        own = self.values.filter(~pl.col("is_null"), metric="competence", slice_kind="domain_country")
        loadings: dict[tuple[str, str], dict[str, float | None]] = {}
        for model, where, value in own.select("model", "slice", "value").iter_rows():
            domain, country = where.split("/")
            loadings.setdefault((model, domain), {})[country] = value
        return loadings

    @cached_property
    def asked(self) -> pl.DataFrame:
        """The countries asked about: country, name, region."""
        codes = {country for loadings in self.competence.values() for country in loadings}
        return self.countries.filter(pl.col("country").is_in(codes))


LOOK_UP = "null:list-frequency"
SHUFFLED = "null:shuffled("


@dataclass(frozen=True)
class Verdict:
    """Why one model's macro-F1 may be no finding. Empty lists: nothing speaks against it."""

    guessing: list[str]
    look_up: list[str]

    @property
    def reasons(self) -> list[str]:
        return [*self.guessing, *self.look_up]

    @property
    def badges(self) -> list[Badge]:
        """What to write beside the model's name."""
        doubts: list[Badge] = [("warn", "not distinguishable from guessing")] if self.guessing else []
        if self.look_up:
            doubts.append(("warn", "no better than a list look-up"))
        return doubts or [("good", "better than guessing")]


def verdicts(leaderboard: pl.DataFrame) -> dict[str, Verdict]:
    """A verdict on every model that is no null model.

    leaderboard: rows of one configuration. Shuffled copies of a model are left out: they have their model's
    categories by construction (``shuffled_copies``).
    """
    rows = leaderboard.to_dicts()
    nulls = [r for r in rows if r["is_null"] and not r["model"].startswith(SHUFFLED)]
    return {row["model"]: _verdict(row, nulls) for row in rows if not row["is_null"]}


def shuffled_copies(leaderboard: pl.DataFrame) -> list[str]:
    """The models whose copy with countries shuffled has the same macro-F1 or more."""
    value = dict(leaderboard.select("model", "macro_f1").rows())
    return [
        model
        for model, own in value.items()
        if own is not None and (copy := value.get(f"{SHUFFLED}{model})")) is not None and copy >= own
    ]


def _verdict(row: dict[str, Any], nulls: list[dict[str, Any]]) -> Verdict:
    own, low, high, expected = (row[name] for name in ("macro_f1", "ci_low", "ci_high", "null_macro_f1"))
    if own is None:
        return Verdict(["it has no macro-F1"], [])
    guessing: list[str] = []
    look_up: list[str] = []
    if low is None:
        guessing.append("its macro-F1 has no interval")
    elif expected is not None and low <= expected:
        guessing.append(
            f"its 95 % interval is {low:.2f} to {high:.2f}, and guessing scores {expected:.2f} on average"
        )
    for null in nulls:
        value, top = null["macro_f1"], null["ci_high"]
        reasons = look_up if null["model"] == LOOK_UP else guessing
        if value is not None and value >= own:
            reasons.append(f"{null['model']} scores {value:.2f}, the model {own:.2f}")
        elif top is not None and top >= own and null["model"] != LOOK_UP:
            reasons.append(f"{null['model']} reaches {top:.2f} in 2.5 % of its draws, the model {own:.2f}")
    return Verdict(guessing, look_up)
