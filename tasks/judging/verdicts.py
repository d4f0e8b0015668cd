"""What a judge answered: the JSON schema that it has to keep to, and the reading of its text. Pure.

An answer is one JSON object with a key for each judged thing: ``{"salt": {"verdict": …, "reason": …}}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tasks.judging.rubric import Rubric, normal

# What stands between reasons where a judge names two in one text.
_BETWEEN_REASONS = re.compile(r"[,;/|+&]|\band\b")


@dataclass(frozen=True)
class Verdict:
    """What the judge said of one key. Unscored, with a reason, is not a verdict of value 0.

    Attributes:
        verdict: a name of the rubric's menu, None where unscored.
        reason: one of the menu's reasons for this verdict, None where the judge gave no such reason; the
            verdict counts all the same.
        value: the verdict's value in [0, 1], None where unscored.
    """

    key: str
    verdict: str | None
    reason: str | None
    value: float | None
    unscored_reason: str | None


@dataclass(frozen=True)
class Judgement:
    """One answer, read: a verdict for every key asked, in order, and how many other keys it held."""

    verdicts: tuple[Verdict, ...]
    n_extra: int


def answer_schema(rubric: Rubric, keys: Sequence[str]) -> dict[str, Any]:
    """JSON schema of an answer: exactly these keys, each with a verdict and a reason that goes with it.

    Keys that are the same under ``normal`` are asked once. Keeps to what OpenAI's strict mode and xgrammar
    take, so that any engine can hold a judge to it.

    Raises:
        ValueError: no keys.
    """
    if not keys:
        raise ValueError("there is nothing to judge: no keys were given")
    first: dict[str, str] = {}
    for key in keys:
        first.setdefault(normal(key), key)
    names = list(first.values())
    choices = [
        _closed_object({"verdict": [v], "reason": list(c.reasons)}) for v, c in rubric.verdicts.items()
    ]
    return {
        "type": "object",
        "properties": {name: {"$ref": "#/$defs/judged"} for name in names},
        "required": names,
        "additionalProperties": False,
        "$defs": {"judged": {"anyOf": choices}},
    }


def parse_verdicts(text: str, keys: Sequence[str], rubric: Rubric) -> Judgement:
    """Read a judge's text, whatever it looks like; never raises.

    An answer is a complete JSON object that names one of the keys; reasoning before it and code fences do no
    harm. Keys, verdicts and reasons are compared under ``normal``; of several reasons the first on the menu
    counts. A key that is missing or whose verdict is not on the menu is unscored.

    A judge may quote what it judges, which may hold verdicts, and nothing tells its own words from those. So
    a key is unscored, too, where the text says two things of it: in several answers, twice in one, or in an
    answer and outside of it, as in an object that quotation marks in a quotation have broken.
    """
    asked = {normal(key) for key in keys}
    answers, rest = _answers(text, asked)
    if not answers:
        fault = "the judge's text holds no complete JSON object with a key that was asked"
        return Judgement(tuple(_unscored(key, fault) for key in keys), 0)
    outside = _stated(rest, rubric)
    verdicts = []
    for key in keys:
        entries = [entry for answer in answers for name, entry in answer if name == normal(key)]
        verdicts.append(_read(key, entries, outside, rubric))
    return Judgement(tuple(verdicts), len({name for answer in answers for name, _ in answer} - asked))


def _answers(text: str, asked: set[str]) -> tuple[list[list[tuple[str, object]]], str]:
    """The top-level JSON objects with an asked key, as pairs in order; and the text without them."""
    # Objects as tuples of pairs, which keeps duplicates in order and tells them from arrays (lists).
    decoder = json.JSONDecoder(object_pairs_hook=tuple)
    answers, rest, kept = [], [], 0
    at = text.find("{")
    while at >= 0:
        try:
            pairs, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):  # prose, cut off, or nested without end
            end = at + 1
        else:
            answer = [(normal(key), value) for key, value in pairs]
            if not asked.isdisjoint(name for name, _ in answer):
                answers.append(answer)
                rest.append(text[kept:at])
                kept = end
        at = text.find("{", end)
    return answers, "\n".join([*rest, text[kept:]])


def _stated(text: str, rubric: Rubric) -> set[str]:
    """Verdicts that are stated outside of an answer: ``"verdict": "Good"``, ``**Verdict:** good``. Quotation
    marks behind a backslash are those of a quotation."""
    menu = "|".join(sorted(map(re.escape, map(normal, rubric.verdicts)), key=len, reverse=True))
    marks = r"[\s\"'`*_]*"
    return set(re.findall(rf"verdict{marks}[:=]{marks}({menu})(?!\w)", normal(text)))


def _read(key: str, entries: Sequence[object], outside: set[str], rubric: Rubric) -> Verdict:
    if not entries:
        return _unscored(key, "the judge left this key out")
    fields = [(normal(k), v) for entry in entries if isinstance(entry, tuple) for k, v in entry]
    every = [value for name, value in fields if name == "verdict"]
    if not every:
        return _unscored(key, "the judge gave no verdict under this key")
    said = every[-1]
    menu = {normal(name): name for name in rubric.verdicts}
    name = menu.get(normal(said)) if isinstance(said, str) else None
    if name is None:
        shown = repr(said[:40]) if isinstance(said, str) else f"of JSON type {type(said).__name__}"
        return _unscored(key, f"the verdict {shown} is not on the menu")
    if any(not isinstance(v, str) or normal(v) != normal(name) for v in every) or outside - {normal(name)}:
        return _unscored(key, "the judge gave verdicts that differ")
    choice = rubric.verdicts[name]
    reasons = [value for field, value in fields if field == "reason"]
    return Verdict(key, name, _reason(reasons[-1] if reasons else None, choice.reasons), choice.value, None)


def _reason(said: object, allowed: Sequence[str]) -> str | None:
    """The first reason of the judge's that is on the menu, whether it wrote one, a list, or "a and b"."""
    menu = {normal(reason): reason for reason in allowed}
    for text in said if isinstance(said, list) else [said]:
        if isinstance(text, str):
            for part in (text, *_BETWEEN_REASONS.split(normal(text))):
                if normal(part) in menu:
                    return menu[normal(part)]
    return None


def _unscored(key: str, fault: str) -> Verdict:
    return Verdict(key, None, None, None, fault)


def _closed_object(menus: dict[str, list[str]]) -> dict[str, Any]:
    """Schema of an object with exactly these fields, each with one of the given values."""
    return {
        "type": "object",
        "properties": {name: {"type": "string", "enum": menu} for name, menu in menus.items()},
        "required": list(menus),
        "additionalProperties": False,
    }
