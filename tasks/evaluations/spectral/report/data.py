"""What the spectral page is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from tasks.report import Frames, view


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
