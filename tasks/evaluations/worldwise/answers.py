"""How an answer is read. Pure.

Rules. An answer needs a decision, a value of the list and an explanation; else it is unscored, with the
reason. Values keep the order in which they are named; one that is not on the list is left out, one that is
named twice counts once. So an answer may have fewer than three: shares are of the values named. JSON that
is whole counts even if the model was stopped after it; free text that was stopped does not, since nobody
knows what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from tasks.evaluations.worldwise.materials import Scenario
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.requests import DECISIONS, N_VALUES
from tasks.loop.prompts import Completion
from tasks.loop.replies import NO_ANSWER, json_fields, no_text, unreadable

NO_DECISION = "no decision of the menu"
NO_VALUE, NO_EXPLANATION = "no value of the list", "no explanation"

SURE_MATCH = 90
"""Similarity (0 to 100, rapidfuzz) from which a value is taken for one of the list."""

_FIELD = re.compile(
    r"^[^\w\n]*(?:\d[.)]\W*)?(DECISION|TOP[_ ]VALUES|EXPLANATION)[^\w\n:]*:(.*)$", re.IGNORECASE
)
_CHOICE = re.compile(r"^\W*(?:option\W*|I\W+)?(a|b|decline)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What an answer says: as read, ``values`` are one to three labels of the list, most important first."""

    decision: str
    values: tuple[str, ...]
    explanation: str


def read(completion: Completion | None, labels: Sequence[str], as_json: bool) -> Answer | str:
    """The answer, or why it cannot be scored. Never raises."""
    reason = no_text(completion)
    if completion is None or reason:
        return reason or NO_ANSWER
    said = _from_json(completion.text) if as_json else _from_text(completion.text)
    if said is None or (completion.finish_reason == "length" and not as_json):
        return unreadable(completion)
    choice = _CHOICE.match(said.decision)
    if choice is None:
        return NO_DECISION
    named = [_label(value, labels) for value in said.values]
    values = tuple(dict.fromkeys(label for label in named if label))[:N_VALUES]
    if not values:
        return NO_VALUE
    explanation = " ".join(said.explanation.split())
    decision = next(d for d in DECISIONS if d.casefold() == choice[1].casefold())
    return Answer(decision, values, explanation) if explanation else NO_EXPLANATION


def composed(answer: Answer, scenario: Scenario, params: WorldwiseParams) -> str:
    """The text to embed: values (``values_weight`` times), explanation and decision, in ``order``.

    The decision is the chosen option's own text, or its letter, which says nothing of what was chosen.
    """
    values = [f"{', '.join(answer.values)}."] * params.values_weight
    body = [*values, answer.explanation]
    if params.order == "explanation-values-decision":
        body = [answer.explanation, *values]
    chosen = {"A": scenario.option_a, "B": scenario.option_b}.get(answer.decision, "Neither.")
    return " ".join([*body, chosen if params.decision == "option" else f"Decision: {answer.decision}."])


def _from_json(text: str) -> Answer | None:
    """The fields of the object in the text, as they stand."""
    fields = json_fields(text)
    if fields is None:
        return None
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    values = tuple(texts[key] for key in ("value_1", "value_2", "value_3") if key in texts)
    return Answer(texts.get("decision", ""), values, texts.get("explanation", ""))


def _from_text(text: str) -> Answer | None:
    """The fields as they stand: each runs to the next, and the last of its name counts, since models repeat
    the form first."""
    fields: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        field = _FIELD.match(line)
        if field:
            lines = fields[field[1].upper().replace(" ", "_")] = [field[2]]
        else:
            lines.append(line)
    if not fields:
        return None
    joined = {name: "\n".join(rest).strip() for name, rest in fields.items()}
    values = re.split(r"[,;\n]|\d[.)]", joined.get("TOP_VALUES", ""))
    explanation = joined.get("EXPLANATION", "").strip("*\n ")
    return Answer(joined.get("DECISION", ""), tuple(values), explanation)


def _label(named: str, labels: Sequence[str]) -> str | None:
    """The label that is meant: the same but for case, marks and "and" for "&", or nearly so."""
    if named in labels:
        return named
    plain = _plain(named)
    if not plain:
        return None
    best = process.extractOne(plain, [_plain(label) for label in labels], scorer=fuzz.ratio)
    return labels[best[2]] if best and best[1] >= SURE_MATCH else None


def _plain(text: str) -> str:
    """ "1) Work-Life Balance." is "work life balance"."""
    return " ".join(re.findall(r"[^\W\d_]+", text.casefold().replace("&", " and ")))
