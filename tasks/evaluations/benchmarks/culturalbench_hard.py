"""CulturalBench-Hard: is this answer right? Four statements a question, all to be judged (Chiu et al. 2024).

``--data``: the folder of kellycyy/CulturalBench, or its file ``CulturalBench-Hard.csv``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import LETTERED, SHORT_ANSWER, Row, choice, of_choices
from tasks.evaluations.recipe.files import Files, Record, records
from tasks.evaluations.recipe.items import Item
from tasks.identity import digest
from tasks.metrics.types import FloatArray

TRUTHS = ("True", "False")
STATEMENTS = 4
"""Statements of each question; one whose statements are not all asked has no number of its own."""
QUESTIONS = "question_accuracy"


def read(files: Files, params: Any) -> Iterator[Row]:
    """Yield the statements of the drawn questions, each a question with one answer."""
    paths = files.needed("*hard*.csv", "*hard*.jsonl", "*hard*.json", "*hard*.parquet")
    of_question: dict[str, list[Record]] = {}
    for record in (record for path in paths for record in records(path)):
        of_question.setdefault(record.text("question_idx"), []).append(record)
    for name in sorted(of_question, key=lambda name: digest([name]))[: params.questions]:
        for record in of_question[name]:
            truth = str(record.get("answer")).strip().capitalize().replace("1", "True").replace("0", "False")
            yield choice(
                record.text("data_idx"),
                record.text("prompt_question"),
                TRUTHS,
                TRUTHS.index(truth) if truth in TRUTHS else None,
                question_idx=record.text("question_idx"),
                statement=record.text("prompt_option"),
                country=record.text("country"),
            )


def of_questions(items: Sequence[Item], chosen: Sequence[int | None]) -> Mapping[str, FloatArray]:
    """Return [items] 1 if all statements of a question are rightly judged, else 0; NaN if one is absent."""
    rows: dict[str, list[int]] = {}
    for row, item in enumerate(items):
        rows.setdefault(item.fields["question_idx"], []).append(row)
    values = np.full(len(items), np.nan)
    for of_question in rows.values():
        if len(of_question) == STATEMENTS:
            values[of_question] = float(all(_is_right(items[row], chosen[row]) for row in of_question))
    return {QUESTIONS: values}


def _is_right(item: Item, place: int | None) -> bool:
    return place is not None and item.fields[LETTERED[place]] == item.fields["answer"]


_HELP = "questions that are drawn, with all of their statements; empty: all"

EVALUATION = of_choices(
    "culturalbench_hard",
    read,
    derive=of_questions,
    knobs={"questions": (int | None, Field(None, ge=1, description=_HELP))},
    prompt="{{ question }}\nProposed answer: {{ statement }}\nIs the proposed answer true or false?\n"
    "{{ choices }}\nAnswer:",
    question=("question", "statement"),
    title="Is this answer on everyday life in 45 places right? (CulturalBench-Hard)",
    metric=Metric(
        "accuracy",
        bounds=SHARE,
        null="best",
        description="Share of statements that are rightly judged true or false. Three of four are false.",
        source="Culturescope",
    ),
    also=(
        Metric(
            QUESTIONS,
            label="Questions",
            bounds=SHARE,
            null=1 / 2**STATEMENTS,
            description="Share of questions all four statements of which are rightly judged. Null: by "
            "chance.",
            source="Chiu et al. 2024",
        ),
    ),
    cluster="question_idx",
    slices=("country",),
    profiles={
        "smoke": {"questions": 5, "max_tokens": SHORT_ANSWER},
        "demo": {"questions": 100, "max_tokens": SHORT_ANSWER},
        "full": {},
    },
    licence="CC BY 4.0, by its dataset card",
    source="huggingface.co/datasets/kellycyy/CulturalBench",
    citation="Chiu et al. 2024, CulturalBench: A Robust, Diverse and Challenging Benchmark on Measuring the "
    "(Lack of) Cultural Knowledge of LLMs",
)
