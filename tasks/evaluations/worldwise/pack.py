"""Rows of packs for worldwise: scenarios, dimensions by exemplars, target profiles and values."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, StringConstraints

from tasks.packs.shape import ByName, Name, PackFile, PackRow, Refers, Shape, Taken, Text

Pole = Literal["high", "low"]
Country = Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")]


class ScenarioRow(PackRow):
    """One dilemma whose options pull apart on a dimension."""

    scenario: Annotated[Text, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")] = Field(
        description="identifier: lower-case letters, digits, - and _"
    )
    framework: Name = Field("hofstede", description="whose dimensions they are; empty: hofstede")
    dimension: Name = Field(description="dimension that the options pull apart on, such as power_distance")
    category: Text = Field(description="what it is about: family, work, money and so on")
    region: str = Field("", description="where it takes place")
    text: Text = Field(description="the dilemma, ending with the question what to do")
    option_a: Text = Field(description="one way out")
    option_b: Text = Field(description="the other")
    pole_a: Pole | None = Field(
        None, description="end of the dimension that option A stands for: high or low"
    )


class ExemplarRow(PackRow):
    """A statement of somebody at one end of a dimension."""

    framework: Name = Field("hofstede", description="whose dimension it is; empty: hofstede")
    dimension: Name = Field(description="a new dimension: those that are there keep their statements")
    pole: Pole = Field(description="which end: high or low; a dimension needs both")
    number: Annotated[str, StringConstraints(pattern="^[1-9][0-9]?$")] = Field(description="from 1")
    text: Text = Field(description="the statement")


class ProfileRow(PackRow):
    """The target of one culture on one dimension."""

    profile: Name = Field(description="name of the profile, for --targets")
    country: Country = Field(description="ISO 3166-1 alpha-2 code")
    framework: Name = Field("hofstede", description="whose dimension it is; empty: hofstede")
    dimension: Name = Field(description="the dimension")
    score: FiniteFloat = Field(description="from 0 to 100, or from -2 to 2: the same for the whole profile")


class ValueRow(PackRow):
    """One value that models may name."""

    value: Name = Field(description="identifier")
    label: Annotated[Text, StringConstraints(pattern=r"^[^,;\n]+$")] = Field(
        description="as models see it, without commas"
    )
    description: str = Field("", description="what it means; not shown to models")


def join(rows: ByName, tables: ByName) -> ByName:
    """The rows as the study reads them."""
    return {
        "scenario": [{"is_multi": False, **row} for row in rows.get("scenario", ())],
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
            "exemplar", ExemplarRow, "Dimensions of your own, each by statements of its two ends.",
            ("framework", "dimension", "pole", "number"), taken=Taken("exemplar", ("dimension",)),
        ),
        PackFile(
            "culture_profile", ProfileRow, "What cultures are held against, dimension by dimension.",
            ("profile", "country", "framework", "dimension"), taken=Taken("culture_profile", ("profile",)),
            refers=(_OF_DIMENSION, Refers("country", table="country", known_as="country")),
        ),
        PackFile(
            "guiding_value", ValueRow, "Values that models may name, beside the shipped ones.", ("value",),
            taken=Taken("guiding_value", ("value",)),
        ),
    ),
    join=join,
)  # fmt: skip
