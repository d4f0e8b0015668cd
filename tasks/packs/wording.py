"""Texts of an evaluation that a pack may replace: prompts, rubrics and forms as templates over named
fields. Pure.

An evaluation declares its ``Wording``s once. ``prompt_file`` makes the pack's file ``prompts.toml`` of them,
``templates`` gives the study those that its packs bring, and ``check`` and ``skeleton`` serve people.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model

from tasks.packs.prompts import rendered
from tasks.packs.shape import PROMPTS, ByName, PackFile, PackRow, Text, Wording

Templates = Mapping[str, str]
"""Name of a wording -> the template that stands in its place; those that keep the shipped text are absent."""

_TIE = "\N{NO-BREAK SPACE}"
"""A space at which no line of a skeleton breaks."""


def prompt_file(wordings: Sequence[Wording]) -> PackFile:
    """The file ``prompts.toml`` of a pack: a field for every wording, each of which may be left out."""
    fields: dict[str, Any] = {
        each.name: (
            Annotated[Text, AfterValidator(_validator(each))] | None,
            Field(None, description=each.about),
        )
        for each in wordings
    }
    row = create_model("Prompts", __base__=PackRow, **fields)
    row.__doc__ = "Texts that stand in place of the shipped ones."
    return PackFile(
        PROMPTS, row, "Texts that stand in place of the shipped ones.", tuple(fields), is_single=True
    )


def templates(tables: ByName) -> Templates:
    """The templates that a study's packs bring; of two packs the later one's."""
    rows = tables.get(PROMPTS, ())
    return dict(rows[0]) if rows else {}


def filled(template: str, fields: Mapping[str, str]) -> str:
    """The text of a template with these fields."""
    return rendered(template, fields)


def previews(wordings: Sequence[Wording], own: Templates) -> list[str]:
    """Lines for people: each template with its example, and the fields that it does not use."""
    lines = []
    for each in wordings:
        if each.name not in own:
            lines.append(f"{each.name}: as shipped")
            continue
        unused = each.unused(own[each.name])
        left = f" (unused: {', '.join(unused)})" if unused else ""
        example = filled(own[each.name], each.example)
        lines.append(f"{each.name}{left}, with an example:\n{textwrap.indent(example, '  | ')}")
    return lines


def skeleton(wordings: Sequence[Wording]) -> str:
    """``prompts.toml`` to be filled in: for every text its section of the paper and its fields."""
    blocks = []
    for each in wordings:
        fields = ", ".join(f"{{{{{_TIE}{name}{_TIE}}}}}" for name in each.example)
        about = f"{each.about[:1].upper()}{each.about[1:]}."
        about += f" In the paper: {each.section}." if each.section else ""
        about += f" Fields: {fields}." if fields else ""
        about += f" It must use {', '.join(each.needs)}." if each.needs else ""
        lines = textwrap.wrap(f"{about} Delete this entry to keep the shipped text.", 100)
        comment = "".join(f"# {line}\n" for line in lines).replace(_TIE, " ")
        blocks.append(f"{comment}{each.name} = '''\n'''\n")
    return "\n".join(blocks)


def _validator(wording: Wording) -> Callable[[str], str]:
    return lambda text: wording.checked(text)
