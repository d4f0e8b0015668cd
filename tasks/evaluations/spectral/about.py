"""The spectral evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": r["model"],
        "macro-F1 [95 %]": interval(r["macro_f1"], r["ci_low"], r["ci_high"]),
        "guessing": number(r["null_macro_f1"]),
        "n": number(r["n_scored"]),
        "own items": number(r["reference_mass"]),
        "coverage": number(r["coverage"], 2),
        "rank ρ": number(r["rank_spearman"], 2),
        "rank τ": number(r["rank_kendall"], 2),
        "ER–SR ρ": number(r["er_sr_correlation"], 2),
        "F1 LH": number(r["f1_lh"], 2),
        "F1 HL": number(r["f1_hl"], 2),
        "F1 HH": number(r["f1_hh"], 2),
        "F1 LL": number(r["f1_ll"], 2),
    }


ABOUT = About(
    title="Does a model know the macrostructure of culture? (170 countries, 9 domains)",
    models=("smollm2-135m", "gemma3-270m"),
    examples=(
        "--profile smoke",
        "-m Qwen/Qwen3-0.6B -m ./my-model --profile full --dry-run",
        "-m smollm2-135m --countries FR,IT,JP --domains currency,religions",
    ),
    caption="",
    cohort="High and Low, and so macro-F1, are relative to its medians",
    columns=_columns,
    notes={
        "macro-F1 [95 %]": "agreement with people's categories of the domains",
        "guessing": "mean score of random categories",
        "n": "questions scored",
        "own items": "probability of a country's own items in the reference lists",
        "coverage": "share of questions scored",
        "rank ρ": "rank correlation with people's order of domains",
        "ER–SR ρ": "rank correlation of effective rank and spectral gap ratio",
    },
    profiles={
        # A minute on a laptop: does everything work at all?
        "smoke": {"countries": ["BR", "DE", "EG", "IN", "JP", "NG"], "variants": [1], "max_items": 30},
        # Two small models in a few minutes on two cores: every domain and phrasing, 14 countries of all
        # continents, 40 items of each list.
        "demo": {
            "countries": ["AU", "BR", "CN", "DE", "EG", "ET", "FR", "IN", "IT", "JP", "MX", "NG", "TR", "US"],
            "max_items": 40,
        },
        # The paper's size: 170 countries, 27 questions, whole lists. Needs a GPU, or a day per small model.
        "full": {"countries_per_part": 170},
        # The whole world on two cores in an hour: every country and question, 60 items of each list.
        "world": {"max_items": 60, "countries_per_part": 17},
        # As the paper ran it: whole lists, every country and question, half precision. Name the paper's
        # models.
        "paper": {"dtype": "float16"},
        # A first result with intervals in a minute or two on two cores: one phrasing of every domain, as few
        # countries as an interval needs, 16 items of each list.
        "quick": {
            "countries": ["AU", "BR", "CN", "DE", "EG", "ET", "FR", "IN", "JP", "MX", "NG", "US"],
            "variants": [1],
            "max_items": 16,
        },
    },
)
