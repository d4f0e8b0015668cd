"""Finds the answer in a completion, and the probabilities of its options. Pure.

Servers and templates differ in the reasoning that they leave before the answer: whole blocks in tags, a block
whose opening tag is in the prompt, the channels of gpt-oss with or without their marks. A text that is cut
off in its reasoning has no answer. Options are scored by the alternative tokens at the place of the choice.
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
from tasks.loop.objects import objects

_NAMES = r"(?:think|thinking|thoughts?|reasoning|seed:think)"
_OPEN = re.compile(rf"\s*(?:<{_NAMES}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)", re.IGNORECASE)
_CLOSE = re.compile(rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE)
_CHANNEL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>|\s*(?:analysis|commentary)(?=[A-Z])")
_FINAL = re.compile(r"<\|channel\|>final.{0,40}?<\|message\|>|assistantfinal")
_ENDS = re.compile(r"<\|(?:return|end|start)\|>.*\Z", re.DOTALL)

# Characters that may stand before the option, after its key or at the start of the answer.
_OUTER = string.whitespace + '":'


def answer_begins(text: str) -> int | None:
    """Return the index where the answer begins: 0 without reasoning, None if the reasoning never ends.

    Only text at the beginning is reasoning. Tags later in a text, or in a JSON object, belong to the answer.
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
    """Return the text without its reasoning; "" if the reasoning never ends."""
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
    """Return the natural-log probability of each option as the answer's value, given the text before it.

    At the token where the value begins, each alternative counts for the option that it is or begins ("y",
    " Yes" and '"yes' for "yes"), so several spellings of one option are added up. An alternative that begins
    two options ("n" for "no" and "neutral") is followed to the next token only if it was generated. Otherwise
    it is undecided between them; an option with more undecided than known probability is left out.

    Args:
        tokens, text: of the completion; the tokens up to the value spell the text.
        options: plain texts that differ by more than case.
        field: key of the JSON string that holds the value: the last such key in a complete object, else the
            last one; "": the value is the first word of the answer.

    Returns:
        option -> log p in (-inf, 0], without options that no alternative begins or that are left out. The
        probabilities sum to at most 1: the rest belongs to other texts, to alternatives that end before the
        value begins, and to those that the engine does not list. None if there is no such value or no token.
    """
    begin = _begin(text, field)
    place = None if begin is None else _place(tokens, text, begin)
    if begin is None or place is None:
        return None
    first, start = place
    return _read(tokens[first:], text[start:begin], tuple(options))


def _read(tokens: Sequence[TokenAlternatives], lead: str, options: tuple[str, ...]) -> dict[str, float]:
    """Return the options' log-probabilities, see ``option_logprobs``.

    tokens: from the token where the value begins; lead: text of that token before the value.
    """
    known = dict.fromkeys(options, -math.inf)
    undecided = dict.fromkeys(options, -math.inf)
    written, path = "", 0.0
    for token in tokens:
        follow = False
        for alternative, logprob in token.logprobs.items():
            matching = _matching(_extended(written, alternative, lead), options)
            if len(matching) > 1 and alternative == token.text:
                follow = True
                continue
            by_option = known if len(matching) == 1 else undecided
            for option in matching:
                by_option[option] = float(np.logaddexp(by_option[option], path + logprob))
        if not follow:
            break
        written = _extended(written, token.text, lead)
        path += token.logprobs[token.text]
    else:  # the completion ended before the choice was clear
        for option in _matching(written, options):
            undecided[option] = float(np.logaddexp(undecided[option], path))
    return {o: min(p, 0.0) for o, p in known.items() if p > -math.inf and p >= undecided[o]}


def field_values(text: str, field: str) -> list[str]:
    """Return the start of every JSON string under this key, in order."""
    return [key[1].strip() for key in _keys(text, field)]


def _begin(text: str, field: str) -> int | None:
    """Return the index of the value's first character, outside of reasoning; None without a value."""
    answer = answer_begins(text)
    if answer is None:
        return None
    if not field:
        first = re.compile(r'[^\s"]').search(text, answer)
        return first.start() if first else None
    keys = [key.end() for key in _keys(text, field) if key.end() > answer]
    found = objects(text)
    whole = [key for key in keys if any(each.start < key < each.end for each in found)]
    return max(whole or keys, default=None)


def _keys(text: str, field: str) -> Iterator[re.Match[str]]:
    """Yield a match at the beginning of each value of a key; keys in escaped quotation marks do not count."""
    key = re.escape(json.dumps(field, ensure_ascii=False))
    return re.finditer(rf'(?<!\\){key}\s*:\s*"\s*(?=([^"\\]*))', text)


def _place(tokens: Sequence[TokenAlternatives], text: str, position: int) -> tuple[int, int] | None:
    """Return the index of the token that contains a position, and where that token begins."""
    start = 0
    for index, token in enumerate(tokens):
        piece = token.text
        if not text.startswith(piece, start):  # some tokenizers drop or keep a space in single tokens
            piece = piece.lstrip()
            start = len(text) - len(text[start:].lstrip())
            if not text.startswith(piece, start):
                return None
        if start <= position < start + len(piece):
            return index, start
        start += len(piece)
    return None


def _extended(written: str, alternative: str, lead: str) -> str:
    """Return the value so far with one more token; the first token may begin before the value."""
    return written + alternative if written else alternative.removeprefix(lead).lstrip(_OUTER)


@lru_cache(maxsize=1 << 14)
def _matching(value: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options that begin with a value; else the longest option that the value begins with."""
    value = value.casefold()
    if not value:
        return ()
    prefixed = tuple(option for option in options if option.casefold().startswith(value))
    if prefixed:
        return prefixed
    whole = [o for o in options if re.match(re.escape(o.casefold()) + r"\W", value)]
    return (max(whole, key=len),) if whole else ()
