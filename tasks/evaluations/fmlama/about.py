"""The fmlama evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    language = r["main_language"]
    if r["subject_language"] != language:
        language = f"{language} ({r['subject_language']} dish)"
    gain = interval(r["map_gain"], r["gain_low"], r["gain_high"])
    return {
        "model": r["model"],
        "asked in": f"{language}, country" if r["country_mentioned"] else language,
        "mAP": number(r["map"]),
        "over baseline [95 %]": gain,
        "n": number(r["n_scored"] or r["mws_n"]),
        "chance": number(r["null_map"]),
        "sd": number(r["map_sd"]),
        "mWS": interval(r["mws"], r["mws_low"], r["mws_high"]),
        "chance mWS": number(r["null_mws"]),
        "CV": number(r["map_cv"], 2),
        "country gain": number(r["country_gain"]),
        "p": number(r["country_gain_p"]),
        "MES": number(r["mes"], 2),
    }


ABOUT = About(
    title="Does a model know what dishes are made of? (14 origins, six languages)",
    models=("smollm2-135m", "gemma3-270m"),
    examples=(
        "--profile smoke",
        "-m Qwen/Qwen3-0.6B --origins Italy,Japan --mention-country no --dry-run",
        "--dish-set fmlama --languages en,zh --code-switching",
        "--judges smollm2-135m-vllm --origins Mexico",
    ),
    caption="",
    columns=_columns,
    judged="MES",
    notes={
        "asked in": "prompt language; country: the sentence names the country",
        "mAP": "mean average precision of the ranked ingredients",
        "over baseline [95 %]": "mAP above chance and above naming the most common ingredients",
        "n": "pairs of dish and wording; without mAP, those of mWS",
        "sd": "standard deviation over wordings",
        "mWS": "similarity of wrong ingredients to the right ones",
        "CV": "coefficient of variation over origins",
        "country gain": "mAP gained by naming the country",
    },
    profiles={
        "smoke": {
            "origins": ["Italy", "Japan", "Mexico"],
            "max_dishes_per_origin": 4,
            "variants": [1, 2],
            "mention_country": "both",
        },
        # Six dishes of each of the paper's 14 groups, in English, with and without the country.
        "demo": {"origins": ["fmlama"], "max_dishes_per_origin": 6},
        # All dishes of the paper's 14 groups: 2,480 of the shipped set, 10 templates.
        "full": {"origins": ["fmlama"], "dishes_per_part": 256},
        # Zhou et al. (2025), as in their program: English, 14 groups, five wordings with and without the
        # country, the mean of log-probabilities. Decoder prompts are cut at the blank, and candidates scored
        # along the decoder's own text. Dishes and sentences come from a pack: culturemeter pack from fmlama
        # --data CLONE, then --pack fmlama-published; --dish-set fmlama-aligned --languages en,zh,ar,ko,ru,he
        # select its aligned dishes.
        "paper": {
            "origins": ["fmlama"],
            "languages": ["en"],
            "aligned": False,
            "mention_country": "both",
            "pooling": "mean_logprob",
            "cut_at_blank": True,
            "later_tokens": "own",
            "baseline_top": 10,
            "judged_dishes_per_origin": 285,
            "direct_matches": "given",
            "dishes_per_part": 256,
        },
        # As in their text: equation 2 takes the mean of probabilities.
        "paper-text": {
            "origins": ["fmlama"],
            "languages": ["en"],
            "aligned": False,
            "mention_country": "both",
            "pooling": "mean_probability",
            "baseline_top": 10,
            "judged_dishes_per_origin": 285,
            "direct_matches": "given",
            "dishes_per_part": 256,
        },
    },
)
