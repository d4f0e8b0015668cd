"""Rows of packs for spectral: domains with their questions and item lists."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from tasks.engines.prompting import CUE_ENDS
from tasks.evaluations.spectral.params import LANGUAGE
from tasks.packs.shape import (
    REPLACES,
    ByName,
    Name,
    PackFile,
    PackRow,
    Refers,
    Rows,
    Several,
    Shape,
    Taken,
    Text,
)

Language = Annotated[str, StringConstraints(pattern=LANGUAGE)]


def _template(text: str) -> str:
    rest = text.replace("{country}", "", 1)
    if rest == text or "{" in rest or "}" in rest:
        raise ValueError("the text must hold {country} once, and no other braces")
    return text


def _with_cue(text: str) -> str:
    if not _template(text).endswith(CUE_ENDS):
        raise ValueError("the text must end with a colon, which the item follows")
    return text


class DomainRow(PackRow):
    """One cultural domain, and what people expect of it."""

    domain: Name = Field(description="identifier: lower-case letters, digits and _")
    label: Text = Field(description="name for display")
    item_list: Name = Field(
        description="name of the item list to score: one of item.csv, or a shipped one such as dishes"
    )
    prefix: Text = Field(description="instruction that precedes every question of the domain")
    human_category: Literal["LH", "HL", "HH", "LL"] = Field(
        description="your expectation. First letter, effective rank: H for many patterns of answers, nearly"
        " one per country; L for few shared ones. Second letter, spectral gap ratio: H if one pattern is"
        " common to all countries; L if countries fall into groups or differ one by one"
    )
    human_score: float = Field(
        ge=1,
        le=9,
        description="rank that people give the domain, from 1 (common) to 9 (unique)",
    )
    human_sd: float = Field(0.0, ge=0, description="standard deviation of people's ranks; empty: 0")
    human_question: str = Field("", description="subject that people were asked to rank; shown in reports")


class WordingRow(PackRow):
    """One wording of a domain's question."""

    domain: Name = Field(description="a domain of domain.csv")
    variant: Literal["1", "2", "3"] = Field(description="number of the wording: 1, 2 or 3")
    template: Annotated[Text, AfterValidator(_template)] = Field(
        description="the question as the beginning of its answer, with {country} once"
    )


class ListItemRow(PackRow):
    """One item of a list that models choose from."""

    item_list: Name = Field(description="name of the list; shipped lists cannot be added to")
    item: Text = Field(description="the text that is scored")
    countries: Several = Field(
        (),
        description="codes of the countries that have the item, separated by |, such as DE|FR; "
        "empty: not known",
    )


class QuestionTextRow(PackRow):
    """One wording of a domain's question in another language than English."""

    domain: Name = Field(description="a domain of domain.csv, or a shipped one")
    variant: Literal["1", "2", "3"] = Field(description="number of the wording: 1, 2 or 3")
    language: Language = Field(description="code of the language, such as bn, or pt-BR")
    prefix: Text = Field(description="instruction before the question, in that language")
    template: Annotated[Text, AfterValidator(_with_cue)] = Field(
        description="the question with {country} once and a colon at its end, so worded that names of "
        "countries and items keep their plain form: Country: {country}. The currency of this country:"
    )


class ItemNameRow(PackRow):
    """The name of an item or a country in another language than English."""

    item_list: Name = Field(description="name of the list; or country")
    item: Text = Field(description="the item as in its list; or the code of the country, such as FR")
    language: Language = Field(description="code of the language")
    name: Text = Field(description="its name in a sentence of that language, which no other item has")


def join(rows: ByName, tables: ByName) -> ByName:
    """Return questions joined with their domains, and items, in the columns that the study reads."""
    domains = {row["domain"]: row for row in rows.get("domain", ())}
    questions: Rows = [
        {"human_sd": 0.0, "human_question": "", "seed_items": ""}
        | dict(domains[row["domain"]])
        | dict(row)
        | {"question": f"{row['domain']}-{row['variant']}", "variant": int(row["variant"])}
        for row in rows.get("question", ())
    ]
    items: Rows = [{"countries": [], **row} for row in rows.get("item", ())]
    texts: Rows = [
        {**row, "question": f"{row['domain']}-{row['variant']}"} for row in rows.get("question_text", ())
    ]
    names = rows.get("item_name", ())
    return {"question": questions, "item": items, "question_text": texts, "item_name": names}


PACK = Shape(
    files=(
        PackFile(
            "domain", DomainRow, "Domains, each with the answers that people expect.", ("domain",),
            taken=Taken("question", ("domain",)),
            refers=(
                Refers("domain", file="question", of="domain"),
                Refers("item_list", file="item", of="item_list", table="item", known_as="item_list"),
            ),
        ),
        PackFile(
            "question", WordingRow, "The wordings of each domain's question.", ("domain", "variant"),
            refers=(Refers("domain", file="domain", of="domain"),),
        ),
        PackFile(
            "item", ListItemRow, "Items of your own lists; a list needs at least two.", ("item_list", "item"),
            taken=Taken("item", ("item_list",)),
            refers=(Refers("countries", table="country", known_as="country"),),
        ),
        PackFile(
            "question_text", QuestionTextRow, "Questions in other languages, for --languages.",
            ("domain", "variant", "language"), over=Taken("question_text", ("question", "language")),
            refers=(Refers("domain", file="domain", of="domain", table="question", known_as="domain"),),
        ),
        PackFile(
            "item_name", ItemNameRow, "Names of items and countries in other languages.",
            ("item_list", "item", "language"), over=Taken("item_name", ("item_list", "item", "language")),
        ),
        REPLACES,
    ),
    join=join,
)  # fmt: skip
