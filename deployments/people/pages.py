"""Pages of a study and the values of their forms. Nothing here knows the private file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from deployments.people.store import Saved, Who
from tasks.people.study import FREE, Assignment, FormField, FormPage, PeopleItem, PeopleStudy, in_language

_HERE = Path(__file__).parent
RIGHT_TO_LEFT = ("ar", "he")


@cache
def interface() -> dict[str, dict[str, str]]:
    """Return the interface's own texts: language -> name -> text."""
    return tomllib.loads((_HERE / "texts.toml").read_text(encoding="utf-8"))


def texts(language: str) -> dict[str, str]:
    """Return the interface's texts in a language, in English where it is not translated."""
    return interface().get(language, interface()["en"])


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )


def render(template: str, study: PeopleStudy, language: str, heading: str, **values: Any) -> str:
    """Return a whole page; untranslated texts are in English."""
    known = language if language in interface() else "en"
    return _environment().get_template(template).render(
        language=known,
        direction="rtl" if known in RIGHT_TO_LEFT else "ltr",
        title=in_language(study.title, known),
        t=interface()[known],
        heading=heading,
        **values,
    )  # fmt: skip


def text_page(study: PeopleStudy, language: str, heading: str, text: str, **values: Any) -> str:
    """Return a page of paragraphs, with a button (action, button, hidden) or links if they are passed."""
    base: dict[str, Any] = {"action": "", "button": "", "hidden": {}, "links": (), "code": None}
    return render("text.html", study, language, heading, paragraphs=paragraphs(text), **(base | values))


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which blank lines separate."""
    return [part for part in (piece.strip() for piece in text.split("\n\n")) if part]


def form_page(
    study: PeopleStudy,
    who: Who,
    assignment: Assignment,
    item: PeopleItem,
    saved: Mapping[tuple[str, str], Saved],
    counts: tuple[int, int],
    marks: Mapping[str, str],
) -> str:
    """Return the form of one assigned page with the saved values.

    counts: (pages complete, pages); marks: by field.
    """
    page = study.page(item.page)
    language = who.language
    shows = [
        (in_language(part.label, language), _listed(item.content.get(part.name, ""))) for part in page.shows
    ]
    fields = [_shown(field, item, assignment, saved, language, marks) for field in page.fields]
    return render(
        "form.html",
        study,
        language,
        in_language(page.title, language),
        paragraphs=paragraphs(in_language(page.text, language)),
        shows=[(label, texts) for label, texts in shows if texts],
        place=assignment.place,
        n_complete=counts[0],
        n_pages=counts[1],
        fields=fields,
        csrf=who.csrf,
    )


def given(field: FormField, item: PeopleItem, form: Mapping[str, str]) -> Any:
    """Return the value of a field in a form; None if the form lacks it.

    Entries are named by their place in the item's list, so that no text becomes a name.
    """
    entries = field.entries(item)
    if field.kind == "chat":
        return None
    if not entries:
        # A browser sends nothing for a group of radio buttons without a choice.
        return form.get(field.name, None if field.kind in FREE else "")
    return {entry: form.get(f"{field.name}.{n}", "") for n, entry in enumerate(entries)}


def missing(page: FormPage, item: PeopleItem, saved: Mapping[tuple[str, str], Saved]) -> dict[str, str]:
    """Return the incomplete fields of a page: name -> name of the interface's text that says so."""
    states = {field.name: saved.get((item.item, field.name)) for field in page.fields}
    wanted = page.wanted({name: state.value for name, state in states.items() if state})
    return {
        field.name: "incomplete" if state and state.value else "empty"
        for field in wanted
        for state in [states[field.name]]
        if state is None or not state.value or state.status != "complete"
    }


def _shown(
    field: FormField,
    item: PeopleItem,
    assignment: Assignment,
    saved: Mapping[tuple[str, str], Saved],
    language: str,
    marks: Mapping[str, str],
) -> dict[str, Any]:
    """Return a field for the template, with options and entries in the person's own order."""
    state = saved.get((item.item, field.name))
    value = state.value if state else ""
    order = assignment.shown.get(field.name) or list(field.shown(item))
    labels = {option.value: in_language(option.label, language) for option in field.options}
    entries, options = field.entries(item), list(labels)
    names = labels | {row.value: in_language(row.label, language) for row in field.rows}
    if entries:
        chosen = value if isinstance(value, dict) else {}
        listed = [
            {
                "name": f"{field.name}.{entries.index(e)}",
                "label": e if field.of else names[e],
                "chosen": chosen.get(e, ""),
            }
            for e in order
            if e in entries
        ]
    else:
        listed = []
        options = [value for value in order if value in labels] or options
    if field.kind == "likert":
        labels = {str(n): str(n) for n in range(1, field.points + 1)}
        options = list(labels)
    text = field.source(item)
    return {
        "name": field.name,
        "kind": field.kind,
        "label": in_language(field.label, language),
        "help": in_language(field.help, language),
        "is_required": field.is_required,
        "entries": listed,
        "options": [(name, labels[name]) for name in options],
        "ends": [in_language(end, language) for end in field.ends or ()],
        "given": text,
        "chosen": text if state is None and text else value,
        "max_chars": field.most_chars(item),
        "mark": marks.get(field.name, ""),
        "turns": turns_of(state) if field.kind == "chat" else [],
        "is_over": state is not None and state.status == "complete",
    }


def turns_of(state: Saved | None) -> list[tuple[str, str]]:
    """Return the (speaker, text) pairs of a chat so far."""
    return [(speaker, text) for speaker, text in json.loads(str(state.value))] if state else []


def _listed(content: str | list[str]) -> list[str]:
    return [content] if isinstance(content, str) and content else list(content)
