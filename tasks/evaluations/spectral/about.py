"""The spectral evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from tasks.evaluations.about import About, Column

_BOARD = (
    Column("model", "model"),
    Column("macro-F1 [95 %]", "macro_f1 ci_low ci_high", "agreement with people's categories of the domains"),
    Column("guessing", "null_macro_f1", "mean score of random categories"),
    Column("n", "n_scored", "questions scored"),
    Column("own items", "reference_mass", "probability of a country's own items in the reference lists"),
    Column("coverage", "coverage", "share of questions scored", 2),
    Column("rank ρ", "rank_spearman", "rank correlation with people's order of domains", 2),
    Column("rank τ", "rank_kendall", digits=2),
    Column("ER–SR ρ", "er_sr_correlation", "rank correlation of effective rank and spectral gap ratio", 2),
    *(Column(f"F1 {cell}", f"f1_{cell.lower()}", digits=2) for cell in ("LH", "HL", "HH", "LL")),
)  # fmt: skip

ABOUT = About(
    title="Does a model know the macrostructure of culture? (170 countries, 9 domains)",
    models=("smollm2-135m", "gemma3-270m"),
    examples=(
        "--profile smoke",
        "-m Qwen/Qwen3-0.6B -m ./my-model --profile full --dry-run",
        "-m smollm2-135m --countries FR,IT,JP --domains currency,religions",
    ),
    cohort="High and Low, and so macro-F1, are relative to its medians",
    board=_BOARD,
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
