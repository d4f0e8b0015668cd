"""What the fmlama page is made from: frames of one configuration, as the warehouse's views have them."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

LANGUAGES = {
    "en": "English", "zh": "Chinese", "ar": "Arabic", "ko": "Korean", "ru": "Russian", "he": "Hebrew"
}  # fmt: skip
"""Codes of the prompt languages in the seed's order. Figures have English names: no font has all scripts."""


@dataclass(frozen=True)
class FmlamaData:
    """The frames of one configuration. Null values are unscored numbers.

    Languages stand in the columns main_language and subject_language; they differ where the dish is named in
    another language than the sentence.

    Attributes:
        config_hash: which configuration this is.
        leaderboard: the view leaderboard_fmlama: in each condition models by mAP, best first, baselines last.
        values: every number of a condition or of an origin in it: model, is_null, main_language,
            subject_language, country_mentioned, origin (null: all origins), metric, value, unscored_reason,
            n_scored, n_unscored, ci_low, ci_high, null_value.
        dishes: main_language, origin, n_dishes.
        switching: the view fmlama_code_switching.
        errors: the first five rows of each origin in the view fmlama_errors, of conditions in one language.
        predicted: the five candidates predicted most often by a model in a condition of one language: model,
            main_language, country_mentioned, candidate, times, share (of all predictions), correct (share of
            the times that it was right), rank.
        judged: judge, rubric, n_predictions (with baselines'), n_unscored; no row if nothing was judged.
        metrics, runs, unscored, sources, configurations: as in ``ReportData``.
    """

    config_hash: str
    leaderboard: pl.DataFrame
    values: pl.DataFrame
    dishes: pl.DataFrame
    switching: pl.DataFrame
    errors: pl.DataFrame
    predicted: pl.DataFrame
    judged: pl.DataFrame
    metrics: pl.DataFrame
    runs: pl.DataFrame
    unscored: pl.DataFrame
    sources: pl.DataFrame
    configurations: pl.DataFrame
