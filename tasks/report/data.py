"""What the page is made from: frames of one configuration, as the warehouse's views and tables have them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class ReportData:
    """The frames of one configuration. Null values are unscored numbers; SR may be infinite.

    Attributes:
        config_hash: which configuration this is.
        leaderboard: one row a model: the view leaderboard_spectral, best first, null models last.
        overall: one row a model and overall metric: model, is_null, metric, value, ci_low, ci_high,
            null_value, n_scored, n_unscored.
        by_question: one row a model and question, domains from common to unique: the view spectral_by_domain
            with variant, label (the domain's name) and template.
        by_domain: reference_mass and paraphrase_agreement: model, is_null, metric, domain, value, ci_low,
            ci_high, null_value.
        competence: model, domain, country, value.
        similarity: model, domain, country_a, country_b, similarity; each pair once.
        countries: the countries asked about: country, name, region.
        items: domain, label, n_items (scored), human_question, human_score, human_sd, human_category.
        metrics: the table metric, of this evaluation.
        runs: the table run without its run_request rows, real models first; params and engine are JSON text.
        unscored: model, metric, slice_kind, slice, unscored_reason, n_unscored; metrics and slices that
            share a reason are in one row, separated by commas.
        sources: the table source.
        configurations: all configurations, newest first: config_hash, profile, n_models, finished_at.
    """

    config_hash: str
    leaderboard: pl.DataFrame
    overall: pl.DataFrame
    by_question: pl.DataFrame
    by_domain: pl.DataFrame
    competence: pl.DataFrame
    similarity: pl.DataFrame
    countries: pl.DataFrame
    items: pl.DataFrame
    metrics: pl.DataFrame
    runs: pl.DataFrame
    unscored: pl.DataFrame
    sources: pl.DataFrame
    configurations: pl.DataFrame
