"""Makes a persona from an interview, after boxes 1 and 2 of "Measuring meta-cultural competency" (2025).
Pure. An interviewer talks with a person and drafts a persona. The person corrects the draft as plain text,
one field for each part. The persona is that text and the draft's phrases for programs.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel, Field, ValidationError

from tasks.engines.protocols import Message
from tasks.evaluations.explication.materials import Fact, FactKind, Persona, Phrase, identifier_of
from tasks.loop.replies import read_fields
from tasks.parsing import complaints

Turns = Sequence[tuple[str, str]]
"""(speaker, text): speaker is INTERVIEWER or PERSON; the person begins."""
INTERVIEWER, PERSON = "interviewer", "person"

_PROMPTS = tomllib.loads(Path(__file__).with_name("prompts").joinpath("interview.toml").read_text("utf-8"))

_PLAIN = ("name", "country", "cuisine", "summary")
_SECTIONS: Mapping[str, type[BaseModel]] = {
    name: info.annotation
    for name, info in Persona.model_fields.items()
    if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel)
}
"""Parts that have parts themselves."""
_LISTS = ("typical_breakfast", "preparation_style", "emotional_associations", "notable_quotes")
FIELDS = tuple(name for name in Persona.model_fields if name in (*_PLAIN, *_LISTS, *_SECTIONS, "facts"))
"""Parts that the person corrects."""


def messages(turns: Turns, language: str) -> list[Message]:
    """Return the interviewer's messages; language: its name in English."""
    return [{"role": "system", "content": _PROMPTS["talk"].format(language=language)}, *_said(turns)]


def draft_messages(turns: Turns, language: str) -> list[Message]:
    """Return the messages that ask the interviewer for the draft, which follows ``SCHEMA``."""
    talk = json.dumps([{"speaker": speaker, "text": text} for speaker, text in turns], ensure_ascii=False)
    return [
        {"role": "system", "content": _PROMPTS["draft"].format(language=language)},
        {"role": "user", "content": f"The interview: {talk}"},
    ]


class _Interviewed(Persona):
    """A persona with what programs need to count."""

    facts: tuple[Fact, ...] = Field(min_length=6)
    dishes: tuple[Phrase, ...] = Field(min_length=1, description=Persona.model_fields["dishes"].description)


SCHEMA: Mapping[str, Any] = _Interviewed.model_json_schema()


def read_draft(text: str) -> dict[str, Any]:
    """Return the draft as written, complete or not; {} if there is none."""
    return read_fields(text, FIELDS) or {}


def texts_of(draft: Mapping[str, Any]) -> dict[str, str]:
    """Return field -> its text for the form: lines "part: text"; lists are lines, or within a part joined by
    "; ".
    """
    texts = {name: _line(draft.get(name)) for name in _PLAIN}
    texts |= {name: "\n".join(map(_line, _listed(draft.get(name)))) for name in _LISTS}
    for name, section in _SECTIONS.items():
        own = _mapping(draft.get(name))
        texts[name] = "\n".join(f"{_words(part)}: {_line(own.get(part))}" for part in section.model_fields)
    facts = [_mapping(fact) for fact in _listed(draft.get("facts"))]
    texts["facts"] = "\n".join(f"{_line(fact.get('kind'))}: {_line(fact.get('text'))}" for fact in facts)
    return {name: texts[name] for name in FIELDS}


def persona_of(
    code: str, texts: Mapping[str, str], draft: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the corrected persona as a JSON object, and what it still lacks to be a ``Persona``.

    An unchanged fact keeps the draft's phrases for programs. A changed fact lacks them, and somebody who
    knows the evaluation must write them.

    Args:
        code: the person's code, not a name. texts: field of ``FIELDS`` -> the person's text.
        draft: the interviewer's draft.
    """
    profile: dict[str, Any] = {"persona": identifier_of(code)}
    faults: list[str] = []
    profile |= {name: texts.get(name, "").strip() for name in _PLAIN}
    profile |= {name: _lines(texts.get(name, "")) for name in _LISTS}
    for name, section in _SECTIONS.items():
        profile[name], unknown = _section(section, texts.get(name, ""))
        faults += [f"{name}: no part is called {label!r}" for label in unknown]
    drafted = {_line(_mapping(f).get("text")): _mapping(f) for f in _listed(draft.get("facts"))}
    profile["facts"] = [_fact(n, line, drafted) for n, line in enumerate(_lines(texts.get("facts", "")), 1)]
    profile["cuisine_countries"] = _listed(draft.get("cuisine_countries")) or [profile["country"]]
    profile["dishes"] = _listed(draft.get("dishes"))
    try:
        _Interviewed.model_validate(profile)
    except ValidationError as error:
        faults += complaints(error, "persona")
    return profile, faults


def _said(turns: Turns) -> list[Message]:
    roles = {INTERVIEWER: "assistant", PERSON: "user"}
    return [{"role": roles[speaker], "content": text} for speaker, text in turns]


def _section(section: type[BaseModel], text: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fields in lines "part: text", without empty ones, and the labels that the section lacks."""
    own: dict[str, Any] = {}
    unknown = []
    for line in _lines(text):
        label, _, value = (part.strip() for part in line.partition(":"))
        name = label.casefold().replace(" ", "_")
        info = section.model_fields.get(name)
        if info is None:
            unknown.append(label)
        elif value:
            is_list = get_origin(info.annotation) is tuple
            own[name] = [part.strip() for part in value.split(";") if part.strip()] if is_list else value
    return own, unknown


def _fact(n: int, line: str, drafted: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fact in a line "kind: words"; without a known kind all is words, and the kind is taste."""
    kind, _, text = (part.strip() for part in line.partition(":"))
    if kind not in get_args(FactKind):
        kind, text = "taste", line
    known = dict(drafted.get(text, {"fact": f"fact_{n}", "told_by": []}))
    return known | {"kind": kind, "text": text}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _line(value: object) -> str:
    """Return a value on one line."""
    if isinstance(value, list | tuple):
        return "; ".join(map(_line, value))
    return "" if value is None else " ".join(str(value).split())


def _words(name: str) -> str:
    return name.replace("_", " ")
