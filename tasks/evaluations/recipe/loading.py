"""Reads and checks a definition and the files beside it; reports all faults at once.

Pure but for ``read``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from tasks.evaluations.recipe import checks, own_score
from tasks.evaluations.recipe.checks import parsed
from tasks.evaluations.recipe.definition import PrintedNumber, Recipe
from tasks.evaluations.recipe.groups import Preference
from tasks.evaluations.recipe.items import ITEM, Item, LoadedRecipe, Member
from tasks.evaluations.recipe.judged import Judged
from tasks.evaluations.recipe.short_answers import ShortAnswer
from tasks.identity import digest
from tasks.judging.rubric import Rubric, RubricError, parse_rubric
from tasks.packs.files import AnyCells, header_of, read_csv, tables_of
from tasks.packs.shape import PackError, PackFault, PackFile
from tasks.parsing import text_of

ID = "id"
"""Column that names the items of a file without a column ``item``."""

Read = Callable[[str], bytes]
"""A file beside the definition, by name. Raises OSError."""


def load(name: str, recipe: str, fields: Mapping[str, Any], read: Read, file: str) -> LoadedRecipe:
    """Return the evaluation of a definition.

    Args:
        file: name of the definition's file, for faults. Raises: PackError: with all faults of the definition
            and its files.
    """
    loaded, faults = examine(name, recipe, fields, read, file)
    if faults or loaded is None:
        raise PackError(name, faults)
    return loaded


def examine(
    name: str, recipe: str, fields: Mapping[str, Any], read: Read, file: str
) -> tuple[LoadedRecipe | None, list[PackFault]]:
    """Return ``load``'s result, with the faults in place of an error."""
    definition, faults = parsed(recipe, fields, file)
    if definition is None:
        return None, faults
    if definition.also:
        what = "only a benchmark in Python can compute further numbers"
        faults.append(PackFault(file, None, "also", what, "remove it"))
    wrong = {fault.column.partition(".")[0] for fault in faults}
    loaded, further = _examined(name, definition, read, file, wrong)
    faults += [fault for fault in further if fault.file != file or fault.column not in wrong]
    return (None if faults else loaded), faults


def _examined(
    name: str, definition: Recipe, read: Read, file: str, unknown: Set[str]
) -> tuple[LoadedRecipe | None, list[PackFault]]:
    """Return ``examine``'s result for a definition in which these fields are stand-ins."""
    faults: list[PackFault] = []
    named = definition.asked
    rows, header, wrong = _table(named, read)
    faults += wrong
    members: tuple[Member, ...] = ()
    rubric, code = None, ""
    match definition:
        case Preference():
            members, wrong = _members(definition, read)
            faults += wrong
        case ShortAnswer() if definition.score:
            code, wrong = _code(definition.score, read)
            faults += wrong
        case Judged():
            rubric, wrong = _rubric(definition, read)
            faults += wrong
            if rubric and header:
                faults += checks.input_faults(definition, rubric, header, definition.rubric)
    published, wrong = _published(definition, read)
    faults += wrong
    if not header:
        return None, faults
    of_definition = checks.columns_there(definition, header, file)
    of_definition += checks.prompt_faults(definition, header, file)
    faults += of_definition
    unread = unknown | {fault.column.partition(".")[0] for fault in of_definition}
    named_by = _names(rows, header)
    items = [_item(definition, row, line, header, named_by) for line, row in rows]
    faults += checks.repeated(items, named)
    if "cluster" not in unread:
        faults += checks.cluster_faults(definition, items, named)
    if not unread & checks.READ_OF_ITEMS:
        faults += [fault for item in items for fault in checks.item_faults(definition, item, named)]
        together = definition.flaws_together([(item.line, item.fields) for item in items], members)
        faults += [PackFault(named, line, *flaw) for line, flaw in together]
    ordered = tuple(sorted(items, key=lambda item: item.name))
    return LoadedRecipe(name, definition, ordered, rubric, members, published, code=code), faults


def _table(file: str, read: Read) -> tuple[list[tuple[int, dict[str, str]]], list[str], list[PackFault]]:
    """Return lines and cells of a CSV file with any columns, its header, and its faults."""
    try:
        data = read(file)
    except OSError:
        return [], [], [PackFault(file, None, "", "the file is missing", "add it beside the definition")]
    placed, faults = read_csv(data, file, PackFile(file, AnyCells, "", ()))
    return [(line or 0, cells) for _, line, cells in placed], header_of(data), faults


def _published(definition: Recipe, read: Read) -> tuple[tuple[dict[str, Any], ...], list[PackFault]]:
    """Return the published numbers and their faults: each must occur once and lie within the bounds."""
    if not (file := definition.published):
        return (), []
    try:
        placed, faults = read_csv(read(file), file, PackFile(file, PrintedNumber, "", ()))
    except OSError:
        return (), [PackFault(file, None, "", "the file is missing", "add it beside the definition")]
    low, high = definition.metric.bounds
    first: dict[tuple[str, ...], int | None] = {}
    for _, line, row in placed:
        if not low <= row["value"] <= high:
            what = f"{row['value']:g} is not within the bounds {low:g} to {high:g}"
            faults.append(PackFault(file, line, "value", what, "write it in the headline's unit"))
        key = tuple(row[name] for name in ("source", "model", "slice_kind", "slice"))
        if first.setdefault(key, line) != line:
            faults.append(
                PackFault(file, line, "model", f"it already exists: line {first[key]}", "remove one")
            )
    return tuple(row for *_, row in placed), faults


def _names(rows: Sequence[tuple[int, Mapping[str, str]]], header: Sequence[str]) -> str:
    """Return the column that names the items: ``item``, else ``id`` if it tells all rows apart."""
    own = [row.get(ID, "") for _, row in rows]
    return ID if ITEM not in header and ID in header and all(own) and len({*own}) == len(own) else ITEM


def _item(
    definition: Recipe, row: Mapping[str, str], line: int, header: Sequence[str], named_by: str
) -> Item:
    fields = {column: row.get(column, "") for column in header}
    return Item(fields.get(named_by) or digest(fields, 12), fields.get(definition.cluster, ""), fields, line)


def _members(definition: Preference, read: Read) -> tuple[tuple[Member, ...], list[PackFault]]:
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
            faults.append(PackFault(definition.items, line, "", "item or group is empty", "fill it in"))
    groups = {member.group for member in members}
    if definition.target not in groups or len(groups) < 2:
        what = f"groups are {', '.join(sorted(groups))}; target is {definition.target!r}"
        todo = "at least two groups are needed, one of them the target"
        faults.append(PackFault(definition.items, None, definition.group, what, todo))
    twice = [key for key, n in Counter((m.text, m.kind) for m in members).items() if n > 1]
    for text, kind in twice:
        what = f"{text!r} occurs twice{f' of {kind}' if kind else ''}"
        faults.append(PackFault(definition.items, None, ITEM, what, "remove one"))
    return tuple(members), faults


def _code(file: str, read: Read) -> tuple[str, list[PackFault]]:
    """Return the code of a score, which is not run, and its faults."""
    if not file.endswith(".py"):
        return "", [PackFault(file, None, "", "a score is a file of Python", "name it score.py")]
    try:
        code, flaws = own_score.read(read(file))
    except OSError:
        return "", [PackFault(file, None, "", "the file is missing", "add it beside the definition")]
    return code, [PackFault(file, line, *flaw) for line, flaw in flaws]


def _rubric(definition: Judged, read: Read) -> tuple[Rubric | None, list[PackFault]]:
    try:
        data = read(definition.rubric)
    except OSError:
        what = "the file is missing"
        return None, [PackFault(definition.rubric, None, "", what, "add it beside the definition")]
    if faults := tables_of(data, definition.rubric)[1]:
        return None, faults
    try:
        return parse_rubric(text_of(data), definition.rubric), []
    except RubricError as error:
        what = str(error).removeprefix(f"{definition.rubric}: ")
        return None, [PackFault(definition.rubric, None, "", what, "correct it")]
