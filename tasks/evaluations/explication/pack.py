"""Defines pack rows for explication: tasks and personas (a TOML file each), prompts of all voices,
rubrics.
"""

from __future__ import annotations

from tasks.evaluations.explication.materials import ExplicationTask, Persona, row_of
from tasks.packs.shape import REPLACES, ByName, PackFile, Refers, Shape, Taken, Wording
from tasks.packs.wording import prompt_file

_TASK = {"thing": "picnic basket", "wish": "You want to eat out of doors.", "leave": "[end of chat]"}
_RECOMMENDER = {
    "expert": "You know about picnics.",
    "goal": "Recommend a picnic basket.",
    "form": "#Name: …",
    "reminder": "Tastes differ.",
}
_JUDGED = {
    "task": "You know about picnics. Recommend a picnic basket.",
    "persona": "Name: Ada. Likes: bread and cheese.",
    "conversation": '["Recommender: What do you like?", "User: Bread."]',
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
    Wording("begin", "the message to the recommender before anybody has spoken", section="none"),
    Wording("silence", "every turn of the silent user", section="none: it is of this project"),
    Wording("quality", "the rules of the judge of appropriateness and interaction", section="boxes 6 and 7"),
    Wording("instructions", "the rules of the judge of following instructions", section="boxes 8 and 9"),
    Wording("failures", "the rules of the judge of failures", section="none: it is of this project"),
    *(
        Wording(
            f"{name}_question",
            f"the quoted material that the judge of {name} receives",
            _JUDGED,
            ("conversation",),
            where,
        )
        for name, where in (("quality", "box 7"), ("failures", "none: it is of this project"))
    ),
    Wording(
        "instructions_question",
        "the quoted material that the judge of instructions receives",
        {name: text for name, text in _JUDGED.items() if name != "persona"},
        ("conversation",),
        "box 9",
    ),
    Wording(
        "judge_form",
        "the form of an answer of judges who reason (--judge-style reasoned); {keys} stands for what is "
        "scored, and each has to get a line with its name and a number",
        section="boxes 7 and 9",
    ),
)
"""Texts that a pack may replace.

A direct judge's form of answer is fixed by a schema; judged text is always quoted.
"""


def join(rows: ByName, tables: ByName) -> ByName:
    """Return tasks as a table of packs, and personas as rows of explication_persona."""
    personas = [row_of(Persona.model_validate(row)) for row in rows.get("personas", ())]
    return {"task": rows.get("tasks", ()), "persona": personas}


PACK = Shape(
    files=(
        PackFile(
            "tasks", ExplicationTask, "Tasks, one per file: what to recommend.", ("name",), is_folder=True,
            taken=Taken("task", ("name",)),
        ),
        PackFile(
            "personas", Persona, "Personas who talk with the models, one per file.", ("persona",),
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
