"""Texts of an evaluation that a pack may replace: prompts, rubrics and forms as templates over named
fields. Pure.

An evaluation declares its ``Wording``s once. ``prompt_file`` makes the pack's file ``prompts.toml`` from
them, ``templates`` returns the templates in a study's packs, ``previews`` and ``skeleton`` are for people.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model, model_validator

from tasks.packs.prompts import rendered
from tasks.packs.shape import PROMPTS, ByName, PackFile, PackRow, Text, Wording

Templates = Mapping[str, str]
"""Name of a wording -> the template that replaces it; wordings with the shipped text are absent."""

_TIE = "\N{NO-BREAK SPACE}"
"""A space at which no line of a skeleton breaks."""


def prompt_file(wordings: Sequence[Wording]) -> PackFile:
    """Return the file ``prompts.toml`` of a pack, with an optional field for every wording."""
    fields: dict[str, Any] = {
        wording.name: (
            Annotated[Text, AfterValidator(_validator(wording, wordings))] | None,
            Field(None, description=wording.about),
        )
        for wording in wordings
    }
    split: dict[str, Any] = {"split": model_validator(mode="before")(partial(_split, wordings))}
    row = create_model("Prompts", __base__=PackRow, __validators__=split, **fields)
    row.__doc__ = "Texts that replace the shipped ones."
    return PackFile(PROMPTS, row, "Texts that replace the shipped ones.", tuple(fields), is_single=True)


def templates(tables: ByName) -> Templates:
    """Return the templates in a study's packs; of two packs the later one's."""
    rows = tables.get(PROMPTS, ())
    return dict(rows[0]) if rows else {}


def filled(template: str, fields: Mapping[str, str]) -> str:
    """Return the text of a template with these fields."""
    return rendered(template, fields)


def previews(wordings: Sequence[Wording], pack_templates: Templates) -> list[str]:
    """Return a text for each wording: its template with an example, and the fields that it does not use."""
    lines = []
    for wording in wordings:
        if wording.name not in pack_templates:
            lines.append(f"{wording.name}: as shipped")
            continue
        unused = wording.unused(pack_templates[wording.name])
        note = f" (unused: {', '.join(unused)})" if unused else ""
        example = filled(pack_templates[wording.name], wording.example)
        lines.append(f"{wording.name}{note}, with an example:\n{textwrap.indent(example, '  | ')}")
    return lines


def skeleton(wordings: Sequence[Wording]) -> str:
    """Return a ``prompts.toml`` to fill in, with every text's section of the paper and its fields."""
    blocks = []
    for wording in wordings:
        fields = ", ".join(f"{{{{{_TIE}{name}{_TIE}}}}}" for name in wording.example)
        about = f"{wording.about[:1].upper()}{wording.about[1:]}."
        about += f" In the paper: {wording.section}." if wording.section else ""
        about += f" Fields: {fields}." if fields else ""
        about += f" It must use {', '.join(wording.needs)}." if wording.needs else ""
        lines = textwrap.wrap(f"{about} Delete this entry to keep the shipped text.", 100)
        comment = "".join(f"# {line}\n" for line in lines).replace(_TIE, " ")
        blocks.append(f"{comment}{wording.name} = '''\n'''\n")
    return "\n".join(blocks)


def _split(wordings: Sequence[Wording], row: Any) -> Any:
    """Return the row, with a rubric that papers print in one piece split into its rules and its question: the
    question begins with the first line that has one of its fields, and with the heading before it.
    """
    if not isinstance(row, Mapping):
        return row
    parts = dict(row)
    names = {wording.name for wording in wordings}
    for question in wordings:
        of = question.name.removesuffix("_question")
        rules = next((name for name in (of, f"{of}_rules") if name in names), None)
        text = parts.get(rules) if rules and question.name != of and not parts.get(question.name) else None
        if not isinstance(text, str) or not question.example:
            continue
        field = re.search(rf"\{{\s*(?:{'|'.join(map(re.escape, question.example))})\s*\}}", text)
        if field is None:
            continue
        heading = re.search(r"(?:[^\n]*:[ \t]*\n\s*)?[^\n]*\Z", text[: field.start()])
        start = heading.start() if heading else field.start()
        if text[:start].strip():
            parts |= {str(rules): text[:start].strip(), question.name: text[start:].strip()}
    return parts


def _validator(wording: Wording, wordings: Sequence[Wording]) -> Callable[[str], str]:
    """Return the check of a text. A rubric's rules and its question are texts of their own, so that a message
    about rules with a field names the question.
    """
    own = f"{wording.name.removesuffix('_rules')}_question"
    elsewhere = {name: (each.name,) for each in wordings if each.name == own for name in each.example}
    return lambda text: wording.checked(text, elsewhere)
