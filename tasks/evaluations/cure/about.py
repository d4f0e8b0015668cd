"""The cure evaluation as users see it: words, columns of its leaderboard, profiles."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

from tasks.evaluations.about import About, Column, interval

_TELLS = {True: "yes", False: "NO", None: "–"}
_JUDGE = {True: "validated", False: "not validated", None: "no judge"}


def _explained(r: Mapping[str, Any]) -> str:
    explained = f"{r['metric']} {interval(r['value'], r['ci_low'], r['ci_high'], 2)}"
    return "–" if r["value"] is None else explained


def _judge(r: Mapping[str, Any]) -> str:
    same_family = ", own family" if r["self_preference"] else ""
    return "–" if r["is_null"] else f"{_JUDGE[r['validated']]}{same_family}"


_BOARD = (
    Column("model", "model"),
    Column("benchmark", itemgetter("benchmark")),
    Column("explanations [95 %]", _explained, "the judge's score of explanations, 0 to 1"),
    Column("their null", "null_value", "the best of three null explanations, which know nothing of the item"),
    Column("n", "n_judged", "explanations judged"),
    Column("thin EM", "thin_em", "exact match of labels without an explanation"),
    Column("thick EM", "thick_em", "exact match with an explanation"),
    Column("majority", "majority_em", "exact match of always giving the commonest label"),
    Column("tells real", lambda r: _TELLS[r["tells_real_from_shuffled"]],
           "whether the judge tells explanations from shuffled ones"),
    Column("over shuffled", "explanation_gain"),
    Column("judge", _judge, "validated: compared with people"),
    Column("thin F1 macro", "thin_f1_macro"),
    Column("thick F1 macro", "thick_f1_macro"),
    Column("items", itemgetter("n_items")),
)  # fmt: skip

ABOUT = About(
    title="Can a model explain norms, not only label them? (NormAd, CASA, CultureBank, SpecNorm)",
    models=("smollm2-135m-vllm",),
    examples=(
        "--profile smoke",
        "-m ./gpt.toml --judges ./judge.toml --benchmarks normad,casa --max-usd 2 --dry-run",
        "--benchmarks normad --files normad=normad.csv --items-per-benchmark 1000",
    ),
    board=_BOARD,
    judged="scores of explanations",
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
