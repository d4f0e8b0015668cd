"""Defines pack rows for fmlama: templates, dishes, dish sets, groups of origins, and the judge's texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from tasks.evaluations.fmlama.params import LANGUAGE
from tasks.evaluations.fmlama.study import Template, check_template
from tasks.packs.shape import (
    REPLACES,
    ByName,
    PackFile,
    PackRow,
    Refers,
    Several,
    Shape,
    Taken,
    Text,
    Wording,
)
from tasks.packs.wording import prompt_file

Language = Annotated[str, StringConstraints(pattern=LANGUAGE)]
YesNo = Literal["yes", "no"]


class TemplateRow(PackRow):
    """One wording of the question what a dish is made of."""

    language: Language = Field(description="code of the language, such as sw, or pt-BR")
    variant: Literal["1", "2", "3", "4", "5"] = Field(description="number of the wording: 1 to 5")
    mentions_country: YesNo = Field(description="whether the sentence names the country of origin: yes or no")
    text: Text = Field(
        description="the sentence, with [X] for the dish, [C] for its country if named, and last [Y] for the "
        "ingredient"
    )

    @model_validator(mode="after")
    def _has_its_slots(self) -> TemplateRow:
        check_template(_template(self.model_dump()))
        return self


class DishRow(PackRow):
    """One dish in one language."""

    url: Annotated[Text, StringConstraints(pattern=r"^[^\s]+$")] = Field(
        description="identifier of the dish, the same in every language; use a shipped dish's, such as "
        "culturemeter:dish/pizza, to add a language to that dish"
    )
    language: Language = Field(description="language of this row's names")
    name: Text = Field(description="name of the dish in that language")
    origin: Text = Field(description="country of origin in English, the same in every language")
    origin_name: str = Field("", description="the country's name in a sentence of that language")
    ingredients: Several = Field(description="ingredients, in that language, separated by |")


class DishSetRow(DishRow):
    """One dish in one language, in a named dish set."""

    dish_set: Annotated[Text, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")] = Field(
        description="name of the set, for --dish-set; a run uses one set alone"
    )


class OriginGroupRow(PackRow):
    """The group of one origin."""

    origin: Text = Field(description="country of origin, spelled as in the dishes")
    origin_group: Text = Field(description="group of origins for results, such as U.S.")


_DISH = {
    "dish": "poutine",
    "origin": "Canada",
    "reference": '["french fries", "gravy"]',
    "predicted": '["potato", "gravy"]',
    "matched": '["gravy"]',
    "remaining": '["potato"]',
}
WORDINGS = (
    Wording(
        "mes_rules",
        "the rules for judging predicted ingredients",
        section="analysis/04-gpt4o-evaluation/prompt/prompt.txt",
    ),
    Wording(
        "mes_question",
        "the quoted material that a judge receives",
        _DISH,
        ("predicted",),
        "analysis/04-gpt4o-evaluation/gpt4o-predict.py",
    ),
    Wording("judge_form", "the answer format of judges who reason (--judge-style reasoned)"),
)
"""Texts that a pack may replace."""


def _template(row: Mapping[str, Any]) -> Template:
    mentions = row["mentions_country"] == "yes"
    name = f"fmlama-{row['language']}-{row['variant']}{'c' if mentions else ''}"
    return Template(name, row["language"], int(row["variant"]), mentions, row["text"])


def join(rows: ByName, tables: ByName) -> ByName:
    """Return rows in the columns that the study reads; dishes without a set join whichever dish set is
    chosen.
    """
    templates = [vars(_template(row)) for row in rows.get("template", ())]
    dishes = [
        {"url": row["url"], "origin_name": row.get("origin_name") or None, "materials": [], "image": None}
        | {name: row[name] for name in ("language", "name", "origin", "ingredients")}
        | ({"dish_set": row["dish_set"], "is_alone": True} if "dish_set" in row else {})
        for row in (*rows.get("dish", ()), *rows.get("dish_set", ()))
    ]
    return {"template": templates, "dish": dishes, "origin_group": rows.get("origin_group", ())}


PACK = Shape(
    files=(
        PackFile(
            "template", TemplateRow, "Sentences in which models fill in an ingredient.",
            ("language", "variant", "mentions_country"), over=Taken("template", ("language",)),
        ),
        PackFile(
            "dish", DishRow, "Dishes with their ingredients, a row for each language.", ("url", "language"),
            taken=Taken("dish", ("url", "language")),
            refers=(Refers("language", "template", "language", "template", "language"),),
        ),
        PackFile(
            "dish_set", DishSetRow, "Named sets of dishes; a run sends one set alone.",
            ("dish_set", "url", "language"),
        ),
        PackFile(
            "origin_group", OriginGroupRow, "Groups of origins.", ("origin",),
            over=Taken("origin_group", ("origin",)),
        ),
        prompt_file(WORDINGS),
        REPLACES,
    ),
    join=join,
    wordings=WORDINGS,
)  # fmt: skip
