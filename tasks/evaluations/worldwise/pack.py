"""Defines pack rows for worldwise: scenarios, dimensions, target profiles, values, phrases, prompts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, StringConstraints

from tasks.packs.shape import (
    REPLACES,
    ByName,
    Name,
    PackFile,
    PackRow,
    Refers,
    Shape,
    Taken,
    Text,
    Wording,
)
from tasks.packs.wording import prompt_file

Pole = Literal["high", "low"]
Country = Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")]


class ScenarioRow(PackRow):
    """One dilemma whose options lie at opposite ends of a dimension."""

    scenario: Annotated[Text, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")] = Field(
        description="identifier: lower-case letters, digits, - and _"
    )
    framework: Name = Field("hofstede", description="framework of the dimensions; empty: hofstede")
    dimension: Name = Field(
        description="dimension whose opposite ends the options stand for, such as power_distance"
    )
    category: Text = Field(description="subject: family, work, money and so on")
    region: str = Field("", description="place of the dilemma")
    text: Text = Field(description="the dilemma, ending with the question what to do")
    option_a: str = Field(
        "", description="text of option A; empty only if prompts.toml has a question without options"
    )
    option_b: str = Field("", description="text of option B")
    pole_a: Pole | None = Field(
        None, description="end of the dimension that option A stands for: high or low"
    )


class ExemplarRow(PackRow):
    """A typical statement of a person at one end of a dimension."""

    framework: Name = Field("hofstede", description="framework of the dimension; empty: hofstede")
    dimension: Name = Field(description="name of a new dimension; shipped dimensions keep their statements")
    pole: Pole = Field(description="end of the dimension: high or low; a dimension needs a row for each")
    number: Annotated[str, StringConstraints(pattern="^[1-9][0-9]?$")] = Field(
        description="number of the statement, from 1"
    )
    text: Text = Field(description="the statement")


class ProfileRow(PackRow):
    """The target of one culture on one dimension."""

    profile: Name = Field(description="name of the profile, for --targets")
    country: Country = Field(description="ISO 3166-1 alpha-2 code")
    framework: Name = Field("hofstede", description="framework of the dimension; empty: hofstede")
    dimension: Name = Field(description="the dimension")
    score: FiniteFloat = Field(description="from 0 to 100, or from -2 to 2; the whole profile uses one scale")


class ValueRow(PackRow):
    """One value that models may name."""

    value: Name = Field(description="identifier")
    label: Annotated[Text, StringConstraints(pattern=r"^[^,;\n]+$")] = Field(
        description="name that models see, without commas"
    )
    description: str = Field("", description="meaning; not shown to models")


class PhraseRow(PackRow):
    """One phrase that generalises about a whole people."""

    phrase: Text = Field(description="the phrase, in lower case")


class CultureRow(PackRow):
    """Words for a culture that the persona in ``prompts.toml`` uses beside the name of its country."""

    country: Country = Field(description="ISO 3166-1 alpha-2 code")
    place: str = Field("", description="place where a member lives: {{ place }}")
    people: str = Field("", description="name of its people: {{ people }}")
    called: str = Field("", description="name of the culture, if it differs from its country's: {{ called }}")


WORDINGS = (
    Wording(
        "persona",
        "the system prompt of a culture",
        {"country": "Japan", "place": "a town by the sea", "people": "Japanese", "called": "Nippon"},
        section="prompt_constructor.py, build_system_prompt",
    ),
    Wording(
        "baseline",
        "the system prompt without a persona",
        section="prompt_constructor.py, build_system_prompt",
    ),
    Wording(
        "question",
        "the question that follows every scenario",
        {
            "scenario": "Two friends want the last seat. What do you do?",
            "option_a": "Give it up.",
            "option_b": "Take it.",
            "values": "Patience; Courage; Fairness",
        },
        ("scenario",),
        "prompt_constructor.py, build_user_prompt",
    ),
    Wording(
        "embedded",
        "the text of an answer that is embedded",
        {
            "explanation": "There will be another bus.",
            "decision": "Option A",
            "option": "Give it up.",
            "values": "Patience, Fairness, Courage",
            "value_1": "Patience",
            "value_2": "Fairness",
            "value_3": "Courage",
        },
        ("explanation",),
        "evaluator.py, _infer_cultural_profile",
    ),
)


def join(rows: ByName, tables: ByName) -> ByName:
    """Return the rows in the columns that the study reads."""
    return {
        "scenario": [
            {"is_multi": False, "option_a": "", "option_b": "", **row} for row in rows.get("scenario", ())
        ],
        "stereotype": rows.get("stereotype", ()),
        "culture": rows.get("culture", ()),
        "exemplar": [{**row, "number": int(row["number"])} for row in rows.get("exemplar", ())],
        "culture_profile": rows.get("culture_profile", ()),
        "guiding_value": rows.get("guiding_value", ()),
    }


_OF_DIMENSION = Refers("dimension", file="exemplar", of="dimension", table="exemplar", known_as="dimension")

PACK = Shape(
    files=(
        PackFile(
            "scenario", ScenarioRow, "Dilemmas.", ("scenario",), taken=Taken("scenario", ("scenario",)),
            refers=(_OF_DIMENSION,),
        ),
        PackFile(
            "exemplar", ExemplarRow, "Your own dimensions, each defined by statements of its two ends.",
            ("framework", "dimension", "pole", "number"), taken=Taken("exemplar", ("dimension",)),
        ),
        PackFile(
            "culture_profile", ProfileRow, "Targets of cultures by dimension.",
            ("profile", "country", "framework", "dimension"), over=Taken("culture_profile", ("profile",)),
            refers=(_OF_DIMENSION, Refers("country", table="country", known_as="country")),
        ),
        PackFile(
            "guiding_value", ValueRow, "Values that models may name, besides the shipped ones.", ("value",),
            taken=Taken("guiding_value", ("value",)),
        ),
        PackFile(
            "stereotype", PhraseRow, "Phrases to count, for --stereotype-rule.", ("phrase",),
            taken=Taken("stereotype", ("phrase",)),
        ),
        PackFile(
            "culture", CultureRow, "Words for the persona in prompts.toml.", ("country",),
            refers=(Refers("country", table="country", known_as="country"),),
        ),
        prompt_file(WORDINGS),
        REPLACES,
    ),
    join=join,
    wordings=WORDINGS,
)  # fmt: skip
