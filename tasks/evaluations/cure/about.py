"""The cure evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.about import About, interval, number

_TELLS = {True: "yes", False: "NO", None: "–"}
_JUDGE = {True: "validated", False: "not validated", None: "no judge"}


def _columns(r: Mapping[str, Any]) -> dict[str, Any]:
    explained = f"{r['metric']} {interval(r['value'], r['ci_low'], r['ci_high'], 2)}"
    same_family = ", own family" if r["self_preference"] else ""
    return {
        "model": r["model"],
        "benchmark": r["benchmark"],
        "explanations [95 %]": "–" if r["value"] is None else explained,
        "their null": number(r["null_value"]),
        "n": number(r["n_judged"]),
        "thin EM": number(r["thin_em"]),
        "thick EM": number(r["thick_em"]),
        "majority": number(r["majority_em"]),
        "tells real": _TELLS[r["tells_real_from_shuffled"]],
        "over shuffled": number(r["explanation_gain"]),
        "judge": "–" if r["is_null"] else f"{_JUDGE[r['validated']]}{same_family}",
        "thin F1 macro": number(r["thin_f1_macro"]),
        "thick F1 macro": number(r["thick_f1_macro"]),
        "items": r["n_items"],
    }


ABOUT = About(
    title="Can a model explain norms, not only label them? (NormAd, CASA, CultureBank, SpecNorm)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --judges ./judge.toml --benchmarks normad,casa --max-usd 2 --dry-run",
        "--benchmarks normad --files normad=normad.csv --items-per-benchmark 1000",
    ),
    caption="",
    columns=_columns,
    judged="scores of explanations",
    notes={
        "explanations [95 %]": "the judge's score of explanations, 0 to 1",
        "their null": "the best of three null explanations, which know nothing of the item",
        "n": "explanations judged",
        "thin EM": "exact match of labels without an explanation",
        "thick EM": "exact match with an explanation",
        "majority": "exact match of always giving the commonest label",
        "tells real": "whether the judge tells explanations from shuffled ones",
        "judge": "validated: compared with people",
    },
    profiles={
        # The embedded models do not reason first, so 256 tokens are enough.
        "smoke": {
            "items_per_benchmark": 2,
            "max_tokens": 256,
            "judge_max_tokens": 256,
            "judges": ["smollm2-135m-vllm"],
        },
        # Six items of each benchmark. The small model judges itself: this shows how it works, and a warning
        # says so.
        "demo": {
            "items_per_benchmark": 6,
            "max_tokens": 256,
            "judge_max_tokens": 256,
            "judges": ["smollm2-135m-vllm"],
        },
        # All items of the samples, or up to the paper's 1,000 of published files.
        "full": {"items_per_benchmark": 1000, "batch": 256},
        # Vo and Koyejo (2025): 1,000 items of each benchmark, thin and thick, judges who reason before they
        # score. Items come from a pack (culturemeter pack from cure --data FOLDER), prompts and rubrics from
        # a pack that you fill in (culturemeter pack new cure --as-published). Name the judge (--judges); the
        # paper's is GPT-5.
        "paper": {
            "items_per_benchmark": 1000,
            "modes": ["thin", "thick"],
            "judge_style": "reasoned",
            "judge_samples": 3,
        },
    },
)
