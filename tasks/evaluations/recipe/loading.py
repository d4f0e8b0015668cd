"""A definition with the files beside it, read and checked: every fault at once. Pure but for ``read``."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, create_model

from tasks.evaluations.recipe import checks
from tasks.evaluations.recipe.definition import Choice, Judged, Preference, Recipe, parsed
from tasks.evaluations.recipe.items import ITEM, Item, Loaded, Member
from tasks.identity import digest
from tasks.judging.rubric import Rubric, RubricError, parse_rubric
from tasks.packs.files import read_csv
from tasks.packs.shape import Fault, PackError, PackFile, PackRow

Read = Callable[[str], bytes]
"""A file beside the definition, by name. Raises OSError."""


def load(name: str, recipe: str, fields: Mapping[str, Any], read: Read, file: str) -> Loaded:
    """The evaluation of a definition.

    Args:
        file: where the definition stands, for faults.

    Raises:
        PackError: with everything that is wrong with it and its files.
    """
    loaded, faults = examine(name, recipe, fields, read, file)
    if faults or loaded is None:
        raise PackError(name, faults)
    return loaded


def examine(
    name: str, recipe: str, fields: Mapping[str, Any], read: Read, file: str
) -> tuple[Loaded | None, list[Fault]]:
    """As ``load``, with the faults in place of an error."""
    definition, faults = parsed(recipe, fields, file)
    if definition is None:
        return None, faults
    is_preference = isinstance(definition, Preference)
    named = definition.contexts if isinstance(definition, Preference) else definition.items
    rows, header, wrong = _table(named, read)
    faults += wrong
    members: tuple[Member, ...] = ()
    if isinstance(definition, Preference):
        members, wrong = _members(definition, read)
        faults += wrong
    rubric, wrong = _rubric(definition, read)
    faults += wrong
    if not header:
        return None, faults
    faults += checks.columns_there(definition, header, file)
    faults += checks.prompt_faults(definition, header, file)
    if rubric and isinstance(definition, Judged):
        faults += checks.input_faults(definition, rubric, header, definition.rubric)
    if faults:
        return None, faults
    items = [_item(definition, row, line, header) for line, row in rows]
    faults += checks.repeated(items, named) + checks.cluster_faults(definition, items, named)
    faults += [fault for item in items for fault in checks.item_faults(definition, item, named)]
    if isinstance(definition, Choice):
        faults += checks.unequal(definition, items, named)
    if is_preference:
        faults += checks.kind_faults(definition, items, members, named)
    ordered = tuple(sorted(items, key=lambda item: item.name))
    return Loaded(name, definition, ordered, rubric, members), faults


def _table(file: str, read: Read) -> tuple[list[tuple[int, dict[str, str]]], list[str], list[Fault]]:
    """Lines and cells of a CSV file with any columns, its header, and its faults."""
    try:
        data = read(file)
    except OSError:
        return [], [], [Fault(file, None, "", "the file is missing", "add it beside the definition")]
    header = _header(data)
    row: type[BaseModel] = create_model("Row", __base__=PackRow, **dict.fromkeys(header, (str, "")))  # type: ignore[call-overload]
    placed, faults = read_csv(data, file, PackFile(file, row, "", ()))
    if not faults and not placed:
        faults = [Fault(file, None, "", "it has no rows", "add some under the header")]
    return [(line or 0, cells) for _, line, cells in placed], header, faults


def _header(data: bytes) -> list[str]:
    """The columns of a CSV file; what is wrong with it ``read_csv`` says."""
    lines = data.decode("utf-8-sig", errors="replace").splitlines()
    first = next((line for line in lines if not line.startswith("#")), "")
    return [name.strip() for name in next(csv.reader(io.StringIO(first)), []) if name.strip()]


def _item(definition: Recipe, row: Mapping[str, str], line: int, header: Sequence[str]) -> Item:
    fields = {column: row.get(column, "") for column in header}
    return Item(fields.get(ITEM) or digest(fields, 12), fields[definition.cluster], fields, line)


def _members(definition: Preference, read: Read) -> tuple[tuple[Member, ...], list[Fault]]:
    rows, header, faults = _table(definition.items, read)
    needed = [ITEM, definition.group, *([definition.kind] if definition.kind else [])]
    faults += [
        checks.no_column(definition.items, name, header, 1)
        for name in needed
        if header and name not in header
    ]
    if faults:
        return (), faults
    members = [
        Member(row.get(ITEM, ""), row.get(definition.group, ""), row.get(definition.kind, ""))
        for _, row in rows
    ]
    for (line, _), member in zip(rows, members, strict=True):
        if not (member.text and member.group):
            faults.append(Fault(definition.items, line, "", "item or group is empty", "fill it in"))
    groups = {member.group for member in members}
    if definition.target not in groups or len(groups) < 2:
        what = f"groups are {', '.join(sorted(groups))}; target is {definition.target!r}"
        faults.append(
            Fault(definition.items, None, definition.group, what, "two groups at least, one the target")
        )
    twice = [key for key, n in Counter((m.text, m.kind) for m in members).items() if n > 1]
    faults += [
        Fault(
            definition.items,
            None,
            ITEM,
            f"{text!r} is there twice{f' of {kind}' if kind else ''}",
            "remove one",
        )
        for text, kind in twice
    ]
    return tuple(members), faults


def _rubric(definition: Recipe, read: Read) -> tuple[Rubric | None, list[Fault]]:
    if not isinstance(definition, Judged):
        return None, []
    try:
        return parse_rubric(read(definition.rubric).decode(), definition.rubric), []
    except OSError:
        what = "the file is missing"
        return None, [Fault(definition.rubric, None, "", what, "add it beside the definition")]
    except (RubricError, UnicodeDecodeError) as error:
        return None, [Fault(definition.rubric, None, "", str(error), "correct it")]
