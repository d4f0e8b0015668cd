"""CulturalBench-Easy: everyday knowledge of 45 places, four options a question (Chiu et al. 2024).

``--data``: the folder of kellycyy/CulturalBench, or its file ``CulturalBench-Easy.csv``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import AS_CHOICE, Row, benchmark, choice, place_of
from tasks.evaluations.recipe.definition import CHOICE
from tasks.evaluations.recipe.files import Files, records


def read(files: Files, params: Any) -> Iterator[Row]:
    """The questions with their four options."""
    for path in files.needed("*easy*.csv", "*easy*.jsonl", "*easy*.json", "*easy*.parquet"):
        for record in records(path):
            options = [record.get(f"prompt_option_{k}") for k in "abcd"]
            yield choice(
                record.text("data_idx") or record.text("question_idx"),
                record.text("prompt_question"),
                options,
                place_of(record.get("answer"), [option or "" for option in options]),
                country=record.text("country"),
            )


EVALUATION = benchmark(
    "culturalbench_easy",
    CHOICE,
    read,
    **AS_CHOICE,
    title="Which answer on everyday life in 45 places is right? (CulturalBench-Easy)",
    metric=Metric(
        "accuracy",
        bounds=SHARE,
        null="best",
        description="Share of questions whose right option is the likeliest, or named by its letter.",
        source="Chiu et al. 2024",
    ),
    cluster="item",
    slices=("country",),
    profiles={"smoke": {"limit": 20, "max_tokens": 64}, "demo": {"limit": 400, "max_tokens": 64}, "full": {}},
    licence="CC BY 4.0",
    source="huggingface.co/datasets/kellycyy/CulturalBench",
    citation="Chiu et al. 2024, CulturalBench: A Robust, Diverse and Challenging Benchmark on Measuring the "
    "(Lack of) Cultural Knowledge of LLMs",
)
