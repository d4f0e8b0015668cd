"""Parses a judge's completion and probabilities, and makes rows. Pure.

An answer is one JSON object with a key for each judged thing: ``{"salt": {"verdict": …, "reason": …}}``. The
forms of other rubrics are read too: ``{"salt": "Correct"}``, ``{'salt': ('Correct', '…')}``, ``{"salt":
{"score": 8}}``, and, about a single thing, the verdict alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from tasks.judging.quoting import may_hold_verdict
from tasks.judging.reasoned import nearest_verdict, reasoned_scores, score_of_number
from tasks.judging.rubric import FIELD, Rubric, normal
from tasks.loop.objects import members, objects
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import on_menu
from tasks.loop.requests import Engine
from tasks.loop.written import field_values, without_reasoning

UNANSWERED = "a judge has not answered"
"""Reason for no verdict if a judge failed or has not been run yet."""

NO_JUDGE = "no judge was named"

CUT_OFF = "the judge's answer was cut off at its limit of tokens"

NOTHING_READ = "the judge's text holds no complete JSON object with a key that was asked"

DIFFERENT = "the judge gave verdicts that differ"

VERDICT_FIELDS = (FIELD, "score", "rating", "grade", "evaluation", "mark", "judgement", "judgment")
"""Fields that hold a verdict; the first that an entry has counts."""

# A line that is only the verdict: "**Verdict:** good."
_VERDICT_LINE = re.compile(
    r"[\s*_#-]*(?:final\s+)?verdict[\s*_]*[:：=](?P<verdict>[^\n]{1,80})", re.IGNORECASE
)

# A name before the verdict of a rubric's own form: "Output: 1".
_NAMED = re.compile(
    r"\W*(?:(?:my|the|final)\s+)*(?:answer|output|response|result|verdict|judge?ment|decision|score)\W*[:：=]",
    re.I,
)

# The last words of a short text: "… so my final verdict is good."
_CONCLUSION = re.compile(
    r"\b(?:verdict|judge?ment|conclusion)\W{0,4}(?:is\b|[:：=])\W{0,6}(?P<verdict>[^\n]{1,80})$", re.I
)

# Longest text, or line, that may be a verdict alone.
_SHORT = 300

# Separator of two reasons in one text of a judge.
_BETWEEN_REASONS = re.compile(r"[,;/|+&]|\band\b")

# A log-probability may exceed 0 by rounding, not by more.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Verdict:
    """The judge's verdict on one key. An unscored verdict has a reason and is not a verdict of value 0.

    Attributes:
        verdict: a name on the rubric's menu; None if unscored.
        reason: one of the menu's reasons for this verdict; None if the judge gave another, which does not
            affect the verdict.
        value: the verdict's value in [0, 1]; None if unscored.
    """

    key: str
    verdict: str | None
    reason: str | None
    value: float | None
    unscored_reason: str | None


@dataclass(frozen=True)
class Opinion:
    """A verdict and the judge's confidence in it.

    Attributes:
        graded: in [0, 1]: the verdicts' values weighted by their probabilities, or a reasoning judge's
            number. None if the engine gives no probabilities, the verdict is unscored, or the text holds
            other verdicts.
    """

    verdict: Verdict
    graded: float | None = None

    @property
    def score(self) -> float | None:
        """The graded score, or the verdict's value if there is none; None if unscored."""
        return self.verdict.value if self.graded is None else self.graded

    @property
    def is_answered(self) -> bool:
        """Whether the judge wrote anything, readable or not."""
        return self.verdict.unscored_reason != UNANSWERED


def read_opinions(
    completion: Completion | None, keys: Sequence[str], rubric: Rubric, prompt: Prompt | None = None
) -> tuple[Opinion, ...]:
    """Return a completion's opinion for each key, in order; a missing one is unscored with a reason.

    A completion that was cut off gives no verdict, because it may only have quoted one. The probabilities
    count only if all verdicts in the text equal the parsed one.

    Args:
        prompt: what the judge read. If its data can hold no answer, the last of several answers counts.
    """
    if completion is None or completion.finish_reason == "length":
        fault = UNANSWERED if completion is None else CUT_OFF
        return tuple(Opinion(_unscored(key, fault)) for key in keys)
    revised = prompt is not None and not may_hold_verdict(prompt.conversation[-1]["content"])
    if rubric.has_own_form:
        return _own_form(completion.text, tuple(keys), rubric, revised)
    if rubric.style == "reasoned":
        return _reasoned(completion.text, tuple(keys), rubric)
    score = graded(completion.option_logprobs, {name: c.value for name, c in rubric.verdicts.items()})
    verdicts = _parse_with_uniqueness(completion.text, tuple(keys), rubric, revised)
    return tuple(Opinion(verdict, score if is_unique else None) for verdict, is_unique in verdicts)


def _own_form(text: str, keys: tuple[str, ...], rubric: Rubric, revised: bool) -> tuple[Opinion, ...]:
    """Return opinions in the form that the rubric's authors ask for: verdicts, numbers or scores in words."""
    read = _with_numbers(text, keys, rubric, revised)
    if all(opinion.verdict.unscored_reason == NOTHING_READ for opinion in read):
        return _reasoned(without_reasoning(text), keys, rubric)
    return read


def _reasoned(text: str, keys: tuple[str, ...], rubric: Rubric) -> tuple[Opinion, ...]:
    """Return opinions of a reasoning judge: its own number, and the verdict nearest to it."""
    opinions = []
    for key, score in zip(keys, reasoned_scores(text, keys, rubric), strict=True):
        if isinstance(score, str):
            opinions.append(Opinion(_unscored(key, score)))
            continue
        name = nearest_verdict(score, rubric)
        opinions.append(Opinion(Verdict(key, name, None, rubric.verdicts[name].value, None), score))
    return tuple(opinions)


@lru_cache(maxsize=1 << 12)
def _parse_with_uniqueness(
    text: str, keys: tuple[str, ...], rubric: Rubric, revised: bool
) -> tuple[tuple[Verdict, bool], ...]:
    """Return each key's verdict and whether the text holds no other verdict.

    Cached, because judges write few different texts.
    """
    written = {on_menu(value, rubric.verdicts) for value in field_values(text, FIELD)}
    return tuple(
        (verdict, verdict.verdict is not None and written == {verdict.verdict})
        for verdict in parse_verdicts(text, keys, rubric, revised)
    )


def parse_verdicts(
    text: str, keys: Sequence[str], rubric: Rubric, revised: bool = False
) -> tuple[Verdict, ...]:
    """Return a verdict for every key, in order, from any text of a judge; never raises.

    An answer is a complete JSON object with one of the keys, read as ``tasks.loop.objects`` reads it;
    reasoning before it and code fences are ignored. Keys and reasons are compared under ``normal``, verdicts
    under ``on_menu``; of several reasons the first on the menu counts. A key that is missing or whose verdict
    is not on the menu is unscored. For a single key, an object with a verdict but without the key, a line
    ``Verdict: good`` and a text of the verdict alone are answers too.

    A judge may quote judged text with verdicts, which cannot be distinguished from its own. So a key is also
    unscored if the text gives it two different verdicts: in several answers, twice in one, or inside and
    outside of an answer, as in an object broken by quotation marks.

    Args:
        revised: the judged text can hold no answer (``may_hold_verdict``). Then an answer replaces what
            stands before it, and the last one about a key counts.
    """
    return tuple(opinion.verdict for opinion in _with_numbers(text, tuple(keys), rubric, revised))


def _with_numbers(
    text: str, keys: tuple[str, ...], rubric: Rubric, revised: bool = False
) -> tuple[Opinion, ...]:
    """Return ``parse_verdicts``, with the judge's own number for a rubric in its authors' form."""
    text = without_reasoning(text)
    answers, outside = _answers(text, keys, rubric, revised)
    if not answers and len(keys) == 1:
        answers = [(normal(keys[0]), value) for value in _alone(text, outside, rubric, revised)]
    if not answers:
        return tuple(Opinion(_unscored(key, NOTHING_READ)) for key in keys)
    return tuple(
        _read(key, [entry for name, entry in answers if name == normal(key)], outside, rubric) for key in keys
    )


def _answers(
    text: str, keys: Sequence[str], rubric: Rubric, revised: bool
) -> tuple[list[tuple[str, object]], set[str]]:
    """Return (key, value) pairs of the answers in a text, and the verdicts stated outside of them.

    Outside is also every string in an object that is not exact JSON: its quotes can be read in two ways.
    revised: a key's pairs are of its last answer, and what is stated before the last answer does not count.
    """
    wanted = {normal(key) for key in keys}
    aliases = {normal(name): normal(key) for name, key in rubric.aliases.items()}
    answers: list[tuple[str, object]] = []
    rest, after = [], 0
    for found in objects(text):
        for pairs in members(found.pairs):
            own = [(aliases.get(normal(key), normal(key)), value) for key, value in pairs]
            if not any(name in wanted for name, _ in own):
                is_verdict = len(wanted) == 1 and any(name == FIELD for name, _ in own)
                own = [(normal(keys[0]), pairs)] if is_verdict else []
            if own:
                names = {name for name, _ in own} if revised else set()
                answers = [*(each for each in answers if each[0] not in names), *own]
                rest += [] if revised else [text[after : found.start]]
                rest += [] if found.is_exact else _strings(pairs)
                after = found.end
                break
    stated = _stated("\n".join([*rest, text[after:]]), rubric)
    return answers, set(stated if answers or not revised else stated[-1:])


def _strings(value: object, field: str = "") -> Iterator[str]:
    """Yield all strings within a value, except verdicts."""
    if isinstance(value, str) and field not in VERDICT_FIELDS:
        yield value
    for name, each in _parts(value):
        yield from _strings(each, name)


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """Yield the parts of an object, by name, or of an array."""
    if isinstance(value, tuple):
        yield from ((normal(name), each) for name, each in value)
    elif isinstance(value, list):
        yield from (("", each) for each in value)


def _alone(text: str, outside: set[str], rubric: Rubric, revised: bool) -> list[object]:
    """Return the verdict that stands without an object: as the whole text, or on a line of its own.

    A rubric in its authors' form may have reasons before or after it ("NO\n\nThe norm is missing.").
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(text) <= _SHORT:
        is_plain = "{" not in text  # else it may be an object that breaks off
        named = _NAMED.match(text) if rubric.has_own_form or is_plain else None
        said = [text, *([text[named.end() :]] if named else [])]
        said += _CONCLUSION.findall(text.strip()) if is_plain else []
        if name := next(filter(None, (_verdict_of(each, rubric) for each in said)), None):
            return [name]
    marked = [m["verdict"] for line in lines if (m := _VERDICT_LINE.fullmatch(line))]
    if marked and outside:
        return [*marked[-1:]] if revised else [*marked]
    if rubric.has_own_form and lines:
        ends = [_named_verdict(line, rubric) for line in (lines[0], lines[-1]) if len(line) <= _SHORT]
        return [name for name in ends if name]
    return []


def _named_verdict(text: str, rubric: Rubric) -> str | None:
    """Return the verdict that a text is, or that follows a name such as "Output:"."""
    named = _NAMED.match(text) if rubric.has_own_form else None
    return _verdict_of(text[named.end() :] if named else text, rubric)


def _verdict_of(value: object, rubric: Rubric) -> str | None:
    """Return the verdict that a value stands for. In an authors' form, 1, true and yes are the best of two
    verdicts, and 0, false and no the other one.
    """
    name = on_menu(value, rubric.verdicts)
    if name is not None or not rubric.has_own_form or len(rubric.verdicts) != 2:
        return name
    best, worst = sorted(rubric.verdicts, key=lambda each: -rubric.verdicts[each].value)
    for good, bad in (("1", "0"), ("yes", "no"), ("true", "false"), ("correct", "incorrect")):
        if said := on_menu(value, (good, bad)):
            return best if said == good else worst
    return None


def _stated(text: str, rubric: Rubric) -> list[str]:
    """Return verdicts stated outside of an answer: ``"verdict": "Good"``, ``**Verdict:** good``.

    Escaped quotation marks belong to a quotation.
    """
    menu = "|".join(sorted(map(re.escape, map(normal, rubric.verdicts)), key=len, reverse=True))
    marks = r"[\s\"'`*_“”‘’]*"
    return re.findall(rf"verdict{marks}[:=：]{marks}({menu})(?!\w)", normal(text))


def _read(key: str, entries: Sequence[object], outside: set[str], rubric: Rubric) -> Opinion:
    """Return the opinion in a key's entries; outside: verdicts stated outside of answers."""
    if not entries:
        return Opinion(_unscored(key, "the judge left this key out"))
    values = [value for entry in entries for value in _verdicts_in(entry)]
    if not values:
        return Opinion(_unscored(key, "the judge gave no verdict under this key"))
    last = values[-1]
    name, number = _verdict_of(last, rubric), None
    if name is None and rubric.has_own_form:
        name, number = _between(last, rubric)
    if name is None:
        written = repr(last[:40]) if isinstance(last, str) else f"of JSON type {_type(last)}"
        return Opinion(_unscored(key, f"the verdict {written} is not on the menu"))
    others = {_verdict_of(value, rubric) or _between(value, rubric)[0] for value in values}
    if others != {name} or outside - {normal(name)}:
        return Opinion(_unscored(key, DIFFERENT))
    choice = rubric.verdicts[name]
    reasons = [_reason(value, choice.reasons) for entry in entries for value in _reasons_in(entry)]
    reason = next(filter(None, reversed(reasons)), None)
    return Opinion(Verdict(key, name, reason, choice.value, None), number)


def _between(value: object, rubric: Rubric) -> tuple[str | None, float | None]:
    """Return the nearest verdict and the score in [0, 1] of a number between verdicts that are numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not rubric.has_own_form:
        return None, None
    score = score_of_number(str(value), rubric)
    return (None, None) if score is None else (nearest_verdict(score, rubric), score)


def _verdicts_in(entry: object) -> list[object]:
    """Return the verdicts in an entry: those of the first field that may hold one, the first of a tuple, or
    the entry itself.
    """
    if isinstance(entry, tuple):
        fields = [(normal(name), value) for name, value in entry]
        field = next((each for each in VERDICT_FIELDS if any(name == each for name, _ in fields)), None)
        return [value for name, value in fields if name == field]
    if isinstance(entry, list):
        return entry[:1] if entry and not isinstance(entry[0], list | tuple) else []
    return [] if entry is None else [entry]


def _reasons_in(entry: object) -> list[object]:
    """Return the reasons in an entry."""
    if isinstance(entry, tuple):
        return [value for name, value in entry if normal(name) == "reason"]
    return entry[1:2] if isinstance(entry, list) else []


def _type(value: object) -> str:
    return "dict" if isinstance(value, tuple) else type(value).__name__


def _reason(written: object, allowed: Sequence[str]) -> str | None:
    """Return the judge's first reason on the menu; it may have written one, a list, or "a and b"."""
    menu = {normal(reason): reason for reason in allowed}
    for text in written if isinstance(written, list) else [written]:
        if isinstance(text, str):
            for part in (text, *_BETWEEN_REASONS.split(normal(text))):
                if normal(part) in menu:
                    return menu[normal(part)]
    return None


def _unscored(key: str, fault: str) -> Verdict:
    return Verdict(key, None, None, None, fault)


def graded(logprobs: Mapping[str, float] | None, values: Mapping[str, float]) -> float | None:
    """Return the verdicts' expected value in [0, 1]; for yes and no, P(yes) / (P(yes) + P(no)).

    None if the engine gives no probabilities, or none of a verdict.

    Args:
        logprobs: text -> natural-log probability, for alternative texts at the verdict's place, none a prefix
            of another: top tokens, or whole continuations. None if the engine gives none.
        values: verdict -> value in [0, 1].

    Texts that differ from a verdict only in case and outer space ("Yes", " YES") are pooled. Other texts do
    not count. A verdict without a text has probability 0, because it is below the engine's top tokens.

    Raises:
        ValueError: a log-probability is NaN or above 0.
    """
    pooled: dict[str, list[float]] = {normal(name): [] for name in values}
    for text, logprob in (logprobs or {}).items():
        if math.isnan(logprob) or logprob > _ROUNDING:
            raise ValueError(f"{text!r} has the log-probability {logprob}, which must be at most 0")
        if normal(text) in pooled:
            pooled[normal(text)].append(logprob)
    highest = max((lp for spellings in pooled.values() for lp in spellings), default=-math.inf)
    if highest == -math.inf:
        return None
    # Relative to the highest, so that improbable verdicts do not become 0 / 0.
    weights = [math.fsum(math.exp(lp - highest) for lp in spellings) for spellings in pooled.values()]
    total = math.fsum(weights)
    return min(math.fsum(w / total * value for w, value in zip(weights, values.values(), strict=True)), 1.0)


class VerdictRow(NamedTuple):
    """One verdict, or the reason for none: a row of part kind ``verdict``, of any evaluation.

    Attributes:
        judge, judge_hash: name of the judge and hash of its engine.
        rubric: name and hash: "coverage 0123456789abcdef".
        item, item_text: the item and its text as the judge saw it, for people to read: line by line, with the
            right answer.
        group_name: grouping of results, such as country or origin.
        judged: the answer about the item, or a part of it; unique within a part together with item.
        verdict, reason: of the rubric's menu; None if the judge gave none.
        value: of the verdict, in [0, 1]; None if unscored.
        graded: in [0, 1]; None if the engine gives no probabilities.
        disagreement: standard deviation over several votes on the same answer; None for fewer than two.
        unscored_reason: None if there is a verdict.
        judged_text: the judged text as the judge saw it; None without one. People rate rows that have one
            (``audit``).
    """

    judge: str
    judge_hash: str
    rubric: str
    item: str
    item_text: str
    group_name: str
    judged: str
    verdict: str | None = None
    reason: str | None = None
    value: float | None = None
    graded: float | None = None
    disagreement: float | None = None
    unscored_reason: str | None = None
    judged_text: str | None = None


_NUMBERS = ("value", "graded", "disagreement")
SCHEMA = pl.Schema({name: pl.Float64() if name in _NUMBERS else pl.String() for name in VerdictRow._fields})


def verdict_row(
    judge: Engine, rubric: str, opinion: Opinion, *, item: str, item_text: str, group_name: str, judged: str,
    text: str,
) -> VerdictRow:  # fmt: skip
    """Return a judge's verdict as a row. rubric: its name and hash; text: the judged text."""
    verdict = opinion.verdict
    return VerdictRow(
        judge.name, judge.hash, rubric, item, item_text, group_name, judged, verdict.verdict, verdict.reason,
        verdict.value, opinion.graded, unscored_reason=verdict.unscored_reason, judged_text=text,
    )  # fmt: skip


def verdict_frame(rows: Iterable[VerdictRow]) -> pl.DataFrame:
    """Return the rows as a table, in their order; unknown values are null."""
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")
