"""CulturalBench-Hard: is this answer right? Four statements a question, all to be judged (Chiu et al. 2024).

``--data``: the folder of kellycyy/CulturalBench, or its file ``CulturalBench-Hard.csv``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from pydantic import Field

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import (
    LETTERED,
    NOT_DRAWN,
    SHORT_ANSWER,
    TWICE,
    ReadItem,
    choice,
    of_choices,
)
from tasks.evaluations.recipe.files import Files, Record, records
from tasks.evaluations.recipe.items import Item, LeftOut
from tasks.identity import digest
from tasks.metrics.types import FloatArray

TRUTHS = ("True", "False")
_WRITTEN = ({"true", "1", "yes"}, {"false", "0", "no"})
STATEMENTS = 4
"""Statements per question; a question is scored only if all of its statements are."""
QUESTIONS = "question_accuracy"


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield the statements of the drawn questions, each a question with one answer."""
    of_question: dict[str, dict[str, Record]] = {}
    for record in (record for path in files.about("hard") for record in records(path)):
        statement, name = record.text("prompt_option"), record.text("question_idx")
        if not (statement and name):
            yield LeftOut("without a statement or its question")
            continue
        key = "/".join([record.text("data_idx"), statement, str(record.get("answer"))])
        if of_question.setdefault(name, {}).setdefault(key, record) is not record:
            yield TWICE
    whole = {name: list(own.values()) for name, own in of_question.items() if _is_whole(own.values())}
    why = LeftOut(f"of a question without {STATEMENTS} statements of which one is true")
    yield from (why for name in of_question.keys() - whole.keys() for _ in of_question[name])
    for place, name in enumerate(sorted(whole, key=lambda name: digest([name]))):
        for record in whole[name]:
            if params.questions is not None and place >= params.questions:
                yield LeftOut(NOT_DRAWN, is_fault=False)
                continue
            yield choice(
                record.text("data_idx"),
                record.text("prompt_question"),
                TRUTHS,
                _truth(record),
                question_idx=name,
                statement=record.text("prompt_option"),
                country=record.text("country"),
            )


def _is_whole(statements: Collection[Record]) -> bool:
    """Return whether a question has all of its statements, and one that is true."""
    truths = sorted(truth for record in statements if (truth := _truth(record)) is not None)
    return len(statements) == STATEMENTS and truths == [0] + [1] * (STATEMENTS - 1)


def _truth(record: Record) -> int | None:
    """Return the index of a statement's answer in ``TRUTHS``."""
    text = str(record.get("answer")).strip().lower().removesuffix(".0")
    return next((place for place, words in enumerate(_WRITTEN) if text in words), None)


def of_questions(items: Sequence[Item], chosen: Sequence[int | None]) -> Mapping[str, FloatArray]:
    """Return [items]: 1 if all statements of a question are judged right, else 0; NaN if one is missing."""
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
        source="Culturemeter",
    ),
    also=(
        Metric(
            QUESTIONS,
            label="Questions",
            bounds=SHARE,
            null=1 / 2**STATEMENTS,
            description="Share of questions whose four statements are all judged rightly. Null: by chance.",
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
