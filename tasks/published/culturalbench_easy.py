"""CulturalBench-Easy: everyday knowledge of 45 places, four options a question (Chiu et al. 2024).

``--data``: the folder of kellycyy/CulturalBench, or its file ``CulturalBench-Easy.csv``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tasks.evaluations.recipe.benchmark import ReadItem, choice, of_choices, place_of
from tasks.evaluations.recipe.files import Files, records


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield the questions with their four options."""
    for path in files.about("easy"):
        for record in records(path):
            options = [record.get(f"prompt_option_{k}") for k in "abcd"]
            yield choice(
                record.text("data_idx") or record.text("question_idx"),
                record.text("prompt_question"),
                options,
                place_of(record.get("answer"), options),
                country=record.text("country"),
            )


EVALUATION = of_choices(
    "culturalbench_easy",
    read,
    title="Which answer on everyday life in 45 places is right? (CulturalBench-Easy)",
    cluster="item",
    slices=("country",),
    licence="CC BY 4.0, by its dataset card",
    source="huggingface.co/datasets/kellycyy/CulturalBench",
    citation="Chiu et al. 2024, CulturalBench: A Robust, Diverse and Challenging Benchmark on Measuring the "
    "(Lack of) Cultural Knowledge of LLMs",
)
