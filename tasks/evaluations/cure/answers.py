"""How a candidate's answer is read. Pure.

Rules. A label is one of the benchmark's, whatever its case; any other is no answer, and an answer without a
label is neither right nor wrong. Where the engine gives the labels' probabilities (thin mode) the likeliest
is taken. Label and explanation are read each on their own: one that is missing does not take the other with
it. An explanation that was cut off is not judged, since nobody knows what is missing; the label before it
counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.evaluations.cure.materials import LABELS
from tasks.evaluations.cure.requests import Key, Sample, Study
from tasks.generation.prompts import Completion
from tasks.judging.rubric import normal

NO_ANSWER = "not asked or not answered"
REFUSED, EMPTY, CUT_OFF = "refused", "empty answer", "cut off at max_tokens"
UNPARSABLE, OFF_MENU = "unparsable answer", "no label of the menu"
NO_EXPLANATION = "no explanation"

_FIRST_LABEL = re.compile(r'\{\s*"label"\s*:\s*("(?:[^"\\]|\\.)*")\s*[,}]')


@dataclass(frozen=True)
class Answer:
    """One answer, read. Of label and its reason one is None; so of explanation and its reason in thick mode,
    and both are None in thin mode."""

    label: str | None
    label_reason: str | None
    explanation: str | None = None
    explanation_reason: str | None = None


Readings = Mapping[Key, Answer]
"""Every sample of the study -> its answer"""


def read_answers(study: Study, completions: Mapping[Key, Completion]) -> dict[Key, Answer]:
    """Every sample's answer; samples without a completion are unscored."""
    return {sample.key: read(sample, completions.get(sample.key)) for sample in study.all_samples()}


def read(sample: Sample, completion: Completion | None) -> Answer:
    """One answer, whatever the text; never raises."""
    is_thick = sample.mode == "thick"
    reason = _no_text(completion)
    if completion is None or reason:
        return Answer(None, reason, None, reason if is_thick else None)
    labels = LABELS[sample.item.benchmark]
    fields = _fields(completion.text)
    label, label_reason = _label(fields, completion, labels)
    if not is_thick:
        return Answer(label, label_reason)
    explanation = fields.get("explanation") if fields else None
    if isinstance(explanation, str) and explanation.strip():
        return Answer(label, label_reason, " ".join(explanation.split()))
    return Answer(label, label_reason, None, _no_explanation(fields, completion))


def _no_text(completion: Completion | None) -> str | None:
    """Why there is nothing to read."""
    if completion is None:
        return NO_ANSWER
    if completion.finish_reason in ("refusal", "content_filter"):
        return REFUSED
    return None if completion.text.strip() or completion.option_logprobs else EMPTY


def _label(
    fields: Mapping[str, object] | None, completion: Completion, labels: Sequence[str]
) -> tuple[str | None, str | None]:
    """The label, or why there is none."""
    likely = completion.option_logprobs or {}
    known = [label for label in labels if label in likely]
    if known:
        return max(known, key=lambda label: likely[label]), None  # ties: the first on the menu
    said = fields.get("label") if fields else _first_label(completion.text)
    if said is None:
        return None, _unreadable(completion) if fields is None else OFF_MENU
    menu = {normal(label): label for label in labels}
    label = menu.get(normal(said)) if isinstance(said, str) else None
    return label, None if label else OFF_MENU


def _no_explanation(fields: Mapping[str, object] | None, completion: Completion) -> str:
    return _unreadable(completion) if fields is None else NO_EXPLANATION


def _unreadable(completion: Completion) -> str:
    return CUT_OFF if completion.finish_reason == "length" else UNPARSABLE


def _fields(text: str) -> dict[str, object] | None:
    """The object in the text; servers without structured outputs put it between fences."""
    try:
        answer = json.loads(text[text.find("{") : text.rfind("}") + 1])
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict):
        return None
    return {key: _clean(value) for key, value in answer.items()}


def _first_label(text: str) -> object:
    """The label of an object that was cut off after it."""
    match = _FIRST_LABEL.search(text)
    try:
        return json.loads(match[1]) if match else None
    except ValueError:
        return None


def _clean(value: object) -> object:
    """Escapes may spell half a surrogate pair, which is no text: neither files nor engines take it."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
