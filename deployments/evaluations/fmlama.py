"""The door of the fmlama evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployments.show.display import interval, number
from tasks.evaluations.about import About


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


DOOR = About(
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
)
