"""Rows of packs for explication: tasks and personas, a TOML file each."""

from __future__ import annotations

from tasks.evaluations.explication.materials import Persona, Task, row_of
from tasks.packs.shape import ByName, PackFile, Refers, Shape, Taken


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
    ),
    join=join,
)  # fmt: skip
