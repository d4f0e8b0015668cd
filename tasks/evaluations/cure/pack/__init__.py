"""What a pack may bring to cure: benchmarks of its own, each made like a published one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from tasks.evaluations.cure.materials import LABELS
from tasks.evaluations.cure.params import kind_of
from tasks.packs.shape import ByName, PackFile, PackRow, Refers, Shape, Taken, Text

Benchmark = Annotated[str, StringConstraints(pattern=r"^(normad|casa|specnorm)-[a-z0-9][a-z0-9_]*$")]


class ItemRow(PackRow):
    """One item of a benchmark."""

    benchmark: Benchmark = Field(
        description="name of your benchmark after the published one that it is made like, which settles "
        "labels, prompt and rubric: normad-mine, casa-mine or specnorm-mine"
    )
    item: Annotated[Text, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$")] = Field(
        description="identifier; of normad and casa, those that differ after the last hyphen are one family"
    )
    country: Annotated[str, StringConstraints(pattern="^[A-Z]{2}$")] = Field(
        description="ISO 3166-1 alpha-2 code"
    )
    group_name: str = Field("", description="group or axis by which results may be broken down")
    persona: str = Field("", description="who it is about, for specnorm: name, community, place")
    situation: Text = Field(description="what happens, or what the user writes")
    question: Text = Field(description="what is asked about it")
    label: Literal["yes", "no", "neutral"] = Field(
        description="the right label: yes or no; of normad also neutral"
    )
    gold: Text = Field(description="the norm, and why the label is right: what explanations are held against")
    cues: str = Field(
        "", description="what a specific answer has to name, separated by |; specnorm needs some"
    )
    rule: str = Field("", description="the norm as a rule, not shown to models")

    @model_validator(mode="after")
    def _fits_its_kind(self) -> ItemRow:
        kind = kind_of(self.benchmark)
        if self.label not in LABELS[kind]:
            raise ValueError(f"a benchmark like {kind} has the labels {', '.join(LABELS[kind])}")
        if kind == "specnorm" and not self.cues:
            raise ValueError("a benchmark like specnorm needs cues")
        return self


def join(rows: ByName, tables: ByName) -> ByName:
    """The items as rows of cure_item."""
    return {"cure_item": rows.get("item", ())}


PACK = Shape(
    files=(
        PackFile(
            "item", ItemRow, "Situations with a label and a norm that explains it.", ("benchmark", "item"),
            taken=Taken("cure_item", ("benchmark",)),
            refers=(Refers("country", table="country", known_as="country"),),
        ),
    ),
    join=join,
    example=Path(__file__).parent / "example",
)  # fmt: skip
