"""Rows of packs for fmlama: templates and dishes, in languages of its own too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from tasks.evaluations.fmlama.params import LANGUAGE
from tasks.evaluations.fmlama.study import Template, check_template
from tasks.packs.shape import ByName, PackFile, PackRow, Refers, Several, Shape, Taken, Text

Language = Annotated[str, StringConstraints(pattern=LANGUAGE)]
YesNo = Literal["yes", "no"]


class TemplateRow(PackRow):
    """One wording of the question what a dish is made of."""

    language: Language = Field(description="code of the language, such as sw, or pt-BR")
    variant: Literal["1", "2", "3", "4", "5"] = Field(description="number of the wording: 1 to 5")
    mentions_country: YesNo = Field(description="whether the sentence names the country of origin: yes or no")
    text: Text = Field(
        description="the sentence: [X] is the dish, [C] its country where it is named, and then [Y] the "
        "ingredient"
    )

    @model_validator(mode="after")
    def _has_its_slots(self) -> TemplateRow:
        check_template(_template(self.model_dump()))
        return self


class DishRow(PackRow):
    """One dish in one language."""

    url: Annotated[Text, StringConstraints(pattern=r"^[^\s]+$")] = Field(
        description="identifier of the dish, the same in every language; that of one which is there, such as "
        "culturescope:dish/pizza, names it in a further language"
    )
    language: Language = Field(description="language of this row's names")
    name: Text = Field(description="name of the dish in that language")
    origin: Text = Field(description="country of origin in English, the same in every language")
    origin_name: str = Field("", description="the country as it stands in a sentence of that language")
    ingredients: Several = Field(description="what it is made of, in that language, separated by |")


def _template(row: Mapping[str, Any]) -> Template:
    mentions = row["mentions_country"] == "yes"
    name = f"fmlama-{row['language']}-{row['variant']}{'c' if mentions else ''}"
    return Template(name, row["language"], int(row["variant"]), mentions, row["text"])


def join(rows: ByName, tables: ByName) -> ByName:
    """Templates and dishes as the study reads them; dishes join whichever dish set is asked."""
    templates = [vars(_template(row)) for row in rows.get("template", ())]
    dishes = [
        {"url": row["url"], "origin_name": row.get("origin_name") or None, "materials": [], "image": None}
        | {name: row[name] for name in ("language", "name", "origin", "ingredients")}
        for row in rows.get("dish", ())
    ]
    return {"template": templates, "dish": dishes}


PACK = Shape(
    files=(
        PackFile(
            "template", TemplateRow, "Sentences in which models fill in an ingredient.",
            ("language", "variant", "mentions_country"), taken=Taken("template", ("language",)),
        ),
        PackFile(
            "dish", DishRow, "Dishes with their ingredients, a row for each language.", ("url", "language"),
            taken=Taken("dish", ("url", "language")),
            refers=(Refers("language", "template", "language", "template", "language"),),
        ),
    ),
    join=join,
)  # fmt: skip
