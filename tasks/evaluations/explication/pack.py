"""Rows of packs for explication: tasks and personas, a TOML file each; prompts of every side and rubric."""

from __future__ import annotations

from tasks.evaluations.explication.materials import Persona, Task, row_of
from tasks.packs.shape import REPLACES, ByName, PackFile, Refers, Shape, Taken, Wording
from tasks.packs.wording import prompt_file

_TASK = {"thing": "picnic basket", "wish": "You want to eat out of doors.", "leave": "[end of chat]"}
_RECOMMENDER = {
    "expert": "You know about picnics.",
    "goal": "Recommend a picnic basket.",
    "form": "#Name: …",
    "reminder": "Tastes differ.",
}
WORDINGS = (
    Wording("control", "the system prompt of the recommender, not reminded", _RECOMMENDER, (), "box 4"),
    Wording("treatment", "the system prompt of the recommender, reminded", _RECOMMENDER, (), "box 5"),
    Wording(
        "simulator",
        "the system prompt of the simulated user",
        {"persona": "Name: Ada. Likes: bread and cheese.", **_TASK},
        ("persona",),
        "box 3",
    ),
    Wording("quality", "the rules of the judge of appropriateness and interaction", section="boxes 6 and 7"),
    Wording("instructions", "the rules of the judge of following instructions", section="boxes 8 and 9"),
    Wording("failures", "the rules of the judge of failures", section="none: it is of this project"),
)
"""The form of a judge's answer and the quoted conversation stay, since programs need them."""


def join(rows: ByName, tables: ByName) -> ByName:
    """Tasks as a table of packs alone; personas as rows of explication_persona."""
    personas = [row_of(Persona.model_validate(row)) for row in rows.get("personas", ())]
    return {"task": rows.get("tasks", ()), "persona": personas}


PACK = Shape(
    files=(
        PackFile(
            "tasks", Task, "What is to be recommended, one task a file.", ("name",), is_folder=True,
            taken=Taken("task", ("name",)),
        ),
        PackFile(
            "personas", Persona, "Who talks with the models, one person a file.", ("persona",),
            is_folder=True, taken=Taken("persona", ("persona",)),
            refers=(
                Refers("country", table="country", known_as="country"),
                Refers("cuisine_countries", table="country", known_as="country"),
            ),
        ),
        prompt_file(WORDINGS),
        REPLACES,
    ),
    join=join,
    wordings=WORDINGS,
)  # fmt: skip
