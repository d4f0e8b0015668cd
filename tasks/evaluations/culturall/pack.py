"""Defines pack rows for culturall: items, added to the shipped ones or replacing them, and prompts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from tasks.evaluations.culturall.items import FROM_PACK, NOT_CHECKED, TOPICS
from tasks.evaluations.culturall.matching.choices import LETTERS, options
from tasks.packs.shape import REPLACES, ByName, PackFile, PackRow, Shape, Taken, Text, Wording
from tasks.packs.wording import prompt_file

Identifier = Annotated[Text, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")]


class CulturallTaskRow(PackRow):
    """One task."""

    item: Identifier = Field(description="identifier: lower-case letters, digits, - and _")
    language: Annotated[str, StringConstraints(pattern="^[a-z]{2}$")] = Field(
        description="ISO 639-1 code of scenario, question and answer"
    )
    region: Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")] = Field(
        description="ISO 3166-1 alpha-2 code of the place of the task"
    )
    topic: Literal[TOPICS] = Field(description=f"one of {', '.join(TOPICS)}")  # type: ignore[valid-type]
    form: Literal["free", "choice"] = Field(
        "free", description="choice: the question has the options A. to D., and the answer is a letter"
    )
    scenario: Text = Field(description="the situation")
    question: Text = Field(description="question about the situation")
    answer: Text = Field(description="the right answer, short")
    variants: str = Field("", description="further answers that are accepted, separated by |")
    explanation: str = Field("", description="explanation of the right answer, for judges and people")
    scenario_en: str = Field("", description="the scenario in English")
    question_en: str = Field("", description="the question in English")
    answer_en: str = Field("", description="the answer in English")
    variants_en: str = Field("", description="further answers in English that are accepted, separated by |")
    explanation_en: str = Field("", description="the explanation in English")
    eval_sum: Annotated[str, StringConstraints(pattern=r"^([0-9]|1[0-5])?$")] = Field(
        "",
        description="number of the paper's 15 settings that solve the item: 10 or more is easy, 5 to 9 "
        "medium, fewer hard",
    )

    @model_validator(mode="after")
    def _has_its_options(self) -> CulturallTaskRow:
        if self.form == "choice" and (self.answer not in LETTERS or not options(self.question)):
            raise ValueError("a choice needs options A. to D. in the question, and a letter as its answer")
        return self


_SHOWN = {"scenario": "You are a guest in Tampere.", "question": "What do you take off at the door?"}
WORDINGS = (
    Wording("prompt", "the prompt of a model", _SHOWN, ("question",), "figure 11"),
    Wording(
        "prompt_question",
        "the prompt without the scenario (condition question)",
        {"question": _SHOWN["question"]},
        ("question",),
    ),
    Wording("passages", "the text above the passages of the condition retrieval"),
    Wording("judge_rules", "the rules for judging answers", section="figure 12"),
    Wording(
        "judge_question",
        "the quoted material that a judge receives",
        _SHOWN
        | {
            "gold": "Shoes",
            "accepted": '["shoes"]',
            "explanation": "Shoes come off at the door.",
            "prediction": "My shoes",
        },
        ("prediction",),
        "figure 12",
    ),
    Wording(
        "judge_form",
        "the form of an answer of judges who reason (--judge-style reasoned): the paper's is 1 or 0 alone",
        section="figure 12",
    ),
)
"""Texts that a pack may replace."""


def join(rows: ByName, tables: ByName) -> ByName:
    """Return the items in the columns that the study reads."""
    facts = {"source": FROM_PACK, "status": NOT_CHECKED}
    items = [{**row, **facts} for row in rows.get("item", ())]
    return {"culturall_item": [{n: c for n, c in row.items() if n != "eval_sum" or c} for row in items]}


PACK = Shape(
    files=(
        PackFile(
            "item", CulturallTaskRow, "Grounded tasks.", ("item",), taken=Taken("culturall_item", ("item",))
        ),
        prompt_file(WORDINGS),
        REPLACES,
    ),
    join=join,
    wordings=WORDINGS,
)
