"""Prompts of an evaluation as pages for people, and people's answers as completions of those prompts. Pure.

A prompt with a JSON schema becomes a form with a field for each of its parts, a question with options a form
with a letter, any other prompt a form with one text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from string import ascii_uppercase
from typing import Any, NamedTuple

from tasks.identity import digest
from tasks.loop.items import OptionScores, Question
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Request

TEXT, CHOICE = "answer", "choice"
"""Names of the pages of prompts without a schema, and of questions with options; also of their fields."""


class AskedItem(NamedTuple):
    """A prompt or question of a request. unit: its id there; label: of the request."""

    unit: str
    label: str
    source: Prompt | Question

    @property
    def page(self) -> str:
        """The page that asks it."""
        if isinstance(self.source, Question):
            return CHOICE
        return TEXT if self.source.schema is None else f"form_{digest(self.source.schema, 8)}"

    @property
    def content(self) -> dict[str, str | list[str]]:
        """Its content as people read it."""
        if isinstance(self.source, Question):
            options = zip(ascii_uppercase, self.source.options, strict=False)
            return {"prompt": self.source.text, "options": [f"{name}. {text}" for name, text in options]}
        return {"prompt": "\n\n".join(message["content"] for message in self.source.conversation)}


def askable(requests: Sequence[Request[Any]]) -> dict[str, list[AskedItem]]:
    """Return the prompts that people can answer, by the label of their request, in the order of the study."""
    found: dict[str, list[AskedItem]] = {}
    for request in requests:
        label = request.label or request.topic
        if request.role != "candidate":
            continue
        if isinstance(request, Prompts):
            own = [AskedItem(unit, label, prompt) for unit, prompt in request.by_id.items()]
        elif isinstance(request, OptionScores):
            own = [AskedItem(unit, label, question) for unit, question in request.by_id.items()]
        else:
            continue
        found.setdefault(label, []).extend(each for each in own if _fields(each) is not None)
    return {label: own for label, own in found.items() if own}


def pages(asked: Sequence[AskedItem]) -> list[dict[str, Any]]:
    """Return the pages of a study with these prompts, as tables of study.toml."""
    first = {each.page: each for each in reversed(asked)}
    return [
        {
            "name": name,
            "title": "A question",
            "shows": [
                {"name": "prompt", "label": "Question"},
                *([{"name": "options", "label": "Options"}] if name == CHOICE else []),
            ],
            "fields": _fields(first[name]),
        }
        for name in sorted(first)
    ]


def reply(page: str, values: Mapping[str, str]) -> str:
    """Return a person's answer as a model would write it. values: field -> text."""
    if page in (TEXT, CHOICE):
        return values.get(page, "")
    return json.dumps(
        {field.removeprefix(f"{page}_"): value for field, value in values.items()}, ensure_ascii=False
    )


def _fields(asked: AskedItem) -> list[dict[str, Any]] | None:
    """Return a page's fields; None if a part of the answer has no form: no text, and no menu."""
    if isinstance(asked.source, Question):
        return [{"name": CHOICE, "kind": "text", "label": "The letter of your answer", "max_chars": 200}]
    if asked.source.schema is None:
        return [{"name": TEXT, "kind": "text", "label": "Your answer"}]
    fields: list[dict[str, Any]] = []
    for name, part in asked.source.schema.get("properties", {}).items():
        menu = part.get("enum", [])
        if part.get("type") != "string" or not name.isidentifier() or name != name.lower():
            return None
        fields.append({"name": f"{asked.page}_{name}", "label": name, "kind": "choice" if menu else "text"})
        if menu:
            fields[-1]["options"] = [{"value": each, "label": each} for each in menu]
    return fields or None
