"""Finds where the answer begins in a model's text, and how probable its options were. Pure.

Servers and templates differ in how much reasoning they leave before the answer: whole blocks in tags, a block
whose opening tag stands in the prompt, the channels of gpt-oss with their marks or without. What was cut off
while it reasoned holds no answer. Options are read from the tokens that might stand where an answer chooses.
"""

from __future__ import annotations

import json
import math
import re
import string
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from tasks.engines.protocols import TokenAlternatives

_NAMES = r"(?:think|thinking|thoughts?|reasoning|seed:think)"
_OPEN = re.compile(rf"\s*(?:<{_NAMES}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)", re.IGNORECASE)
_CLOSE = re.compile(rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE)
_CHANNEL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>|\s*(?:analysis|commentary)(?=[A-Z])")
_FINAL = re.compile(r"<\|channel\|>final.{0,40}?<\|message\|>|assistantfinal")
_ENDS = re.compile(r"<\|(?:return|end|start)\|>.*\Z", re.DOTALL)

# What may stand between a key, or the beginning of the answer, and the option.
_OUTER = string.whitespace + '":'


def answer_begins(text: str) -> int | None:
    """Return the start of the answer: index 0 without reasoning before it, None where the reasoning never
    ends.

    Reasoning is what comes first. Tags later in a text, or within a JSON object, are part of the answer.
    """
    if _CHANNEL.match(text):
        final = _FINAL.search(text)
        return final.end() if final else None
    begin = 0
    while True:
        opened = _OPEN.match(text, begin)
        if not opened and text[begin:].lstrip()[:1] in ("{", ""):
            return begin
        closed = _CLOSE.search(text, opened.end() if opened else begin)
        if not closed:
            return None if opened else begin
        begin = closed.end()


def without_reasoning(text: str) -> str:
    """The answer in what a model wrote: the text itself without reasoning, "" if that never ends."""
    begin = answer_begins(text)
    if begin is None:
        return ""
    answer = text[begin:]
    if not begin:
        return answer
    return (_ENDS.sub("", answer) if _CHANNEL.match(text) else answer).strip()


def option_logprobs(
    tokens: Sequence[TokenAlternatives], text: str, options: Sequence[str], field: str
) -> dict[str, float] | None:
    """Natural-log probability that the value goes on to be each option, given what was written before it.

    Read at the token in which the value begins: each alternative there counts for the option that it begins
    or is ("y", " Yes" and '"yes' for "yes"), so several ways to write one are added up. An alternative that
    begins two options ("n" for "no" and "neutral") is followed to the next token only if it was written.
    Otherwise it is undecided between them; an option of which more is undecided than known is left out.

    Args:
        tokens, text: of the answer; tokens up to the value make up the text.
        options: plain texts that differ by more than case.
        field: key of the JSON string that is the value, the last one of that name in a complete object, or
            else the last one; "" takes the first word of the answer.

    Returns:
        option to log p in (-inf, 0], without those that are not among the alternatives or are left out. The
        probabilities add up to at most 1: the rest goes to other texts, to alternatives that end before the
        value begins, and to those that the engine does not list. None if there is no such value or no token.
    """
    begin = _begin(text, field)
    place = None if begin is None else _place(tokens, text, begin)
    if begin is None or place is None:
        return None
    first, start = place
    return _read(tokens[first:], text[start:begin], tuple(options))


def _read(tokens: Sequence[TokenAlternatives], lead: str, options: tuple[str, ...]) -> dict[str, float]:
    """tokens: from the one on in which the value begins; lead: what that one holds before the value."""
    known = dict.fromkeys(options, -math.inf)
    undecided = dict.fromkeys(options, -math.inf)
    written, path = "", 0.0
    for token in tokens:
        follow = False
        for alternative, logprob in token.logprobs.items():
            begun = _begun(_extended(written, alternative, lead), options)
            if len(begun) > 1 and alternative == token.text:
                follow = True
                continue
            by_option = known if len(begun) == 1 else undecided
            for option in begun:
                by_option[option] = float(np.logaddexp(by_option[option], path + logprob))
        if not follow:
            break
        written = _extended(written, token.text, lead)
        path += token.logprobs[token.text]
    else:  # the answer ended first
        for option in _begun(written, options):
            undecided[option] = float(np.logaddexp(undecided[option], path))
    return {o: min(p, 0.0) for o, p in known.items() if p > -math.inf and p >= undecided[o]}


def field_values(text: str, field: str) -> list[str]:
    """Return the start of every JSON string under this key, in order: all that a text may mean by it."""
    return [key[1].strip() for key in _keys(text, field)]


def _begin(text: str, field: str) -> int | None:
    """Return the place of the value's first character, or where it would be; reasoning before it is no
    value.
    """
    answer = answer_begins(text)
    if answer is None:
        return None
    if not field:
        first = re.compile(r'[^\s"]').search(text, answer)
        return first.start() if first else None
    keys = [key.end() for key in _keys(text, field) if key.end() > answer]
    objects = list(_objects(text))
    whole = [key for key in keys if any(start < key < end for start, end in objects)]
    return max(whole or keys, default=None)


def _keys(text: str, field: str) -> Iterator[re.Match[str]]:
    """The beginnings of values of this key; quotation marks behind a backslash are those of a quotation."""
    key = re.escape(json.dumps(field, ensure_ascii=False))
    return re.finditer(rf'(?<!\\){key}\s*:\s*"\s*(?=([^"\\]*))', text)


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the complete top-level JSON objects of a text."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            end = decoder.raw_decode(text, at)[1]
            yield at, end
        except (ValueError, RecursionError):  # prose, cut off, or nested without end
            end = at + 1
        at = text.find("{", end)


def _place(tokens: Sequence[TokenAlternatives], text: str, position: int) -> tuple[int, int] | None:
    """The token that holds a character of the text, and where that token begins."""
    start = 0
    for index, token in enumerate(tokens):
        piece = token.text
        if not text.startswith(piece, start):  # decoded alone, some tokenizers' tokens lose or keep a space
            piece = piece.lstrip()
            start = len(text) - len(text[start:].lstrip())
            if not text.startswith(piece, start):
                return None
        if start <= position < start + len(piece):
            return index, start
        start += len(piece)
    return None


def _extended(written: str, alternative: str, lead: str) -> str:
    """The value as written so far with one more token; the first also holds what stands before the value."""
    return written + alternative if written else alternative.removeprefix(lead).lstrip(_OUTER)


@lru_cache(maxsize=1 << 14)
def _begun(value: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """The options that a value may still become; else the longest one that it is, if other text follows."""
    value = value.casefold()
    if not value:
        return ()
    begun = tuple(option for option in options if option.casefold().startswith(value))
    if begun:
        return begun
    whole = [o for o in options if re.match(re.escape(o.casefold()) + r"\W", value)]
    return (max(whole, key=len),) if whole else ()
