"""Rows of packs for culturall: items, which are asked beside the shipped ones."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from tasks.evaluations.culturall.items import NOT_CHECKED, TOPICS
from tasks.evaluations.culturall.matching import LETTERS, options
from tasks.packs.shape import ByName, PackFile, PackRow, Shape, Taken, Text

Identifier = Annotated[Text, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")]


class ItemRow(PackRow):
    """One task."""

    item: Identifier = Field(description="identifier: lower-case letters, digits, - and _")
    language: Annotated[str, StringConstraints(pattern="^[a-z]{2}$")] = Field(
        description="ISO 639-1 code of scenario, question and answer"
    )
    region: Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")] = Field(
        description="ISO 3166-1 alpha-2 code of where it plays"
    )
    topic: Literal[TOPICS] = Field(description=f"one of {', '.join(TOPICS)}")  # type: ignore[valid-type]
    form: Literal["free", "choice"] = Field(
        "free", description="choice: options A. to D. stand in the question, and the answer is a letter"
    )
    scenario: Text = Field(description="the situation")
    question: Text = Field(description="what is asked about it")
    answer: Text = Field(description="the right answer, short")
    variants: str = Field("", description="further answers that are accepted, separated by |")
    explanation: str = Field("", description="why it is right, for judges and people")
    scenario_en: str = Field("", description="the scenario in English")
    question_en: str = Field("", description="the question in English")
    answer_en: str = Field("", description="the answer in English")
    explanation_en: str = Field("", description="the explanation in English")

    @model_validator(mode="after")
    def _has_its_options(self) -> ItemRow:
        if self.form == "choice" and (self.answer not in LETTERS or not options(self.question)):
            raise ValueError("a choice needs options A. to D. in the question, and a letter as its answer")
        return self


def join(rows: ByName, tables: ByName) -> ByName:
    """The items as the study reads them."""
    facts = {"source": "pack", "status": NOT_CHECKED}
    return {"culturall_item": [{**row, **facts} for row in rows.get("item", ())]}


PACK = Shape(
    files=(
        PackFile("item", ItemRow, "Grounded tasks.", ("item",), taken=Taken("culturall_item", ("item",))),
    ),
    join=join,
)
