"""Finds phrases, questions, farewells and labelled parts in texts. Pure.

A phrase is lower-case words; ``*`` at a word's end stands for any ending. Case, accents, hyphens and
punctuation do not matter. A denied phrase ("I am not vegetarian") does not count, unless the phrase itself
begins with the denial. "I say bye to the children" and "I take care of my two kids" are not farewells.
``begin.toml`` lists polite phrases; a sentence of such phrases alone is a courtesy.

A label begins a line, after any marks (``#Dish name:``, ``### Dish name``, ``1. **Dish name** –``,
``"Dish name":``), is marked within a line (``… #Ingredients: …``), or begins a sentence. It ends with a
colon, with a dash, or with its line. Text that repeats the form instead of filling it, such as "(what the
dish is called)" or "[Dish name]", does not count as content; "{Poha}" does.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

_FOLDER = Path(__file__).parent

KINDS: Mapping[str, tuple[str, ...]] = {
    kind: tuple(phrases)
    for kind, phrases in tomllib.loads((_FOLDER / "questions.toml").read_text(encoding="utf-8")).items()
}
"""Kind of a question -> its phrases; ``dish`` asks for the name of a dish."""
DISH = "dish"

_NOT = r"(?:not|never|isn't|aren't|wasn't|don't|doesn't|didn't|nor|without|no)"
_SENTENCE = re.compile(r"(?<=[.!?…。？！])\s+|\n+")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_ALIKE = 0.6
"""Questions that share this part of their words count as the same."""

BEGIN: Mapping[str, Any] = tomllib.loads((_FOLDER / "prompts" / "begin.toml").read_text(encoding="utf-8"))
"""Texts before and around a conversation, and a user's farewells."""
LEAVE: str = BEGIN["leave"]
"""The mark that the simulator is asked to end with."""

_NUMBERED = (
    r"(?:(?:step|part|section)[ \t]*\d{1,2}[ \t]*[:.)–—-]|(?:\d{1,2}|[a-z]|[ivx]{2,4})[.)]|\d\ufe0f?\u20e3)"
)
_BEFORE = rf"(?:[^\w\n]|_){{0,12}}(?:{_NUMBERED}(?:[^\w\n]|_){{0,8}})?(?:<\w{{1,6}}>)?"
"""Marks, an emoji or a number before a label."""
_INSIDE = r"(?<=[\s.;,!])(?:\#{1,6}|\*{2,3}\#?)[ \t]*"
_ARTICLES = (
    r"(?:(?:the|your|our|main|key|all|basic|list of|cooking|detailed|simple|easy|step[- ]by[- ]step)"
    r"[ \t]+){0,2}"
)
"""Words before a label."""
_ASIDE = r"(?:[*_`\"]*[ \t]*[(\[][^)\]\n]{0,60}[)\]])"
_REST = r"(?:[ \t]+[^\W\d_][^\n:.?!#*]{0,38})"
"""Words that may follow a marked label before its end: "Ingredients for two", "Why it suits you"."""
_PLAIN_REST = (
    r"(?:[ \t]+(?:for|to follow|needed|required|used|list|you(?:['’]ll| will)? need)\b[^\n:.?!]{0,30})?"
)
_CLOSE = r"(?:</\w{1,6}>|[*_`\"'“”)\]|#]*)"
_COLON = rf"[ \t]*{_CLOSE}(?:[ \t]+(?:is|are))?[ \t]*[:：]{_CLOSE}"
_DASH = rf"{_CLOSE}[ \t]*(?:[-–—=;]|[-=]>|→|\|)(?=[ \t]|(?-i:[A-Z]))"
_LINE = rf"{_CLOSE}[ \t]*$"

_NOTHING = {
    "",
    "tbd",
    "tba",
    "n a",
    "none",
    "unknown",
    "to be decided",
    "to be determined",
    "to be announced",
    "to be added",
    "to follow",
    "coming soon",
    "pending",
    "name",
    "insert",
}
WORDS = {
    name: frozenset(words.split())
    for name, words in tomllib.loads((_FOLDER / "words.toml").read_text(encoding="utf-8")).items()
}
"""Words that are no content: of forms, without meaning, of chats."""
_ASKS = re.compile(
    r"(?:I|[Ww]e) (?:(?:would|will|still|do) )*(?:need|require|want|have)(?: to know)?(?: some| a bit)?"
    r" (?:more|your|further|to ask)|(?:[Pp]lease |[Ff]irst,? )*(?:[Tt]ell|[Ll]et) (?:me|us) "
    r"|(?:[Ii]t )?[Dd]epends on "
)
"""Beginning of a content that asks for what is to be known first."""
_BREAK = re.compile(r"<(?:br|/p|/li|/h\d|p|li)[ \t]*/?>", re.IGNORECASE)
_WRAPPED = re.compile(
    r"\{(?P<a>[^{}]*|\{[^{}]*\})\}\.?|\[(?P<b>[^\[\]]*)\]\.?|<(?P<c>[^<>/]*)>\.?|\((?P<d>[^()]*)\)\.?",
    re.DOTALL,
)
_ECHO = 0.5
"""Content that shares this part of its words with the form's description of its section repeats the form."""


@lru_cache(maxsize=1 << 14)
def plain(text: str) -> str:
    """Return the words of a text, lower case and without accents, with single spaces between and
    around them.
    """
    text = unicodedata.normalize("NFKD", text.casefold().replace("’", "'"))
    letters = "".join(c for c in text if not unicodedata.combining(c))
    return " " + " ".join(_WORD.findall(letters)) + " "


def is_in(phrases: Iterable[str], text: str) -> bool:
    """Return whether the text contains one of the phrases."""
    words = plain(text)
    return any(_affirmed(phrase, words) for phrase in phrases)


def is_denied(phrases: Iterable[str], text: str) -> bool:
    """Return whether the text contains one of the phrases after a denial."""
    words = plain(text)
    before = rf" {_NOT} (?:[^ ]+ )?"
    return any(_pattern(phrase, before).search(words) for phrase in phrases if not _is_denial(phrase))


def questions(text: str) -> list[str]:
    """Return the sentences of a text that end with a question mark."""
    return [s.strip() for s in _SENTENCE.split(text) if s.strip().rstrip("\"'”’»)*_ ").endswith(("?", "？"))]


def kinds(question: str) -> frozenset[str]:
    """Return the topics of a question; none for an open one."""
    return frozenset(kind for kind, phrases in KINDS.items() if is_in(phrases, question))


def is_new(question: str, before: Iterable[str]) -> bool:
    """Return whether a question differs from all earlier ones by more than wording."""
    return all(likeness(question, other) < _ALIKE for other in before)


def likeness(first: str, second: str) -> float:
    """Return the Jaccard similarity of two texts' words, in [0, 1]; 1 for two empty texts."""
    one, other = set(plain(first).split()), set(plain(second).split())
    return len(one & other) / len(one | other) if one | other else 1.0


def as_regex(phrase: str) -> str:
    """Return a regex that matches a phrase in the words that ``plain`` returns."""
    parts = (re.escape(w.rstrip("*")) + ("[^ ]*" if w.endswith("*") else "") for w in _split(phrase))
    return " ".join(parts)


def _split(phrase: str) -> list[str]:
    """Return the words of a phrase in the form of ``plain``, with their stars."""
    words: list[str] = []
    for word in phrase.split():
        own = plain(word.rstrip("*")).split()
        words += [*own[:-1], own[-1] + ("*" if word.endswith("*") else "")] if own else []
    return words


@lru_cache(maxsize=1 << 14)
def _pattern(phrase: str, before: str = "(?<= )") -> re.Pattern[str]:
    """Return the pattern of a phrase within the words that ``plain`` returns."""
    return re.compile(rf"{before}{as_regex(phrase)}(?= )")


@lru_cache(maxsize=1 << 14)
def _is_denial(phrase: str) -> bool:
    return re.match(rf"{_NOT}\b", " ".join(_split(phrase))) is not None


def _affirmed(phrase: str, words: str) -> bool:
    """Return whether the phrase occurs at least once without a denial in the two words before it."""
    matches = _pattern(phrase).finditer(words)
    return any(
        _is_denial(phrase) or not re.search(rf" {_NOT} (?:[^ ]+ )?$", words[: match.start()])
        for match in matches
    )


_FAREWELL, _THANKS, _COURTESY = (
    "|".join(sorted(map(as_regex, BEGIN[name]), key=len, reverse=True))  # "see you later" before "see you"
    for name in ("farewell", "thanks", "courtesy")
)
# Atomic, since "bye bye bye" can be split into "bye" and "bye bye" in many ways and one is enough.
_POLITE = re.compile(rf" (?>(?:{_FAREWELL}|{_THANKS}|{_COURTESY}) )++")
_TAKES_LEAVE = re.compile(rf" (?:{_FAREWELL}) ")
_THANKING = re.compile(rf" (?:{_THANKS}) ")
_CLAUSE = re.compile(r"[^.!?…。！？\n]+[.!?…。！？]*|\n")
_QUOTED = re.compile(r"[\"“”«»„]|(?:^|\s)['‘]|['’](?:\s|$)")


def is_farewell(text: str) -> bool:
    """Return whether the speaker of a text leaves. True for a text of only courtesies that include a
    farewell, for a text that ends in such courtesies with thanks in or before them, and for a text that ends
    with ``LEAVE``. False if the text asks a question or quotes the farewell. Texts are English.
    """
    if re.search(rf"{re.escape(LEAVE)}[\s.!*_]*\Z", text, re.IGNORECASE):
        return True
    sentences = [match[0] for match in _CLAUSE.finditer(text) if plain(match[0]).strip()]
    if not sentences or any(sentence.rstrip().endswith(("?", "？")) for sentence in sentences):
        return False
    n_polite = 0
    while n_polite < len(sentences) and _is_polite(sentences[-1 - n_polite]):
        n_polite += 1
    end = " ".join(sentences[len(sentences) - n_polite :])
    if not n_polite or not _TAKES_LEAVE.search(plain(end)):
        return False
    return n_polite == len(sentences) or _THANKING.search(plain(text)) is not None


def _is_polite(sentence: str) -> bool:
    return _POLITE.fullmatch(plain(sentence)) is not None and not _QUOTED.search(sentence)


class Part(NamedTuple):
    """Text under one label; begin: position of the label's line or mark in the text."""

    label: str
    begin: int
    content: str


def label_pattern(labels: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
    """Return the pattern that finds labels in a text; labels: label -> other names of it."""
    names = sorted(_names(labels), key=len, reverse=True)
    name = "|".join(re.escape(n).replace(r"\ ", r"[ \t_-]*").replace("'", "['’]") for n in names)

    def named(group: str) -> str:
        return rf"{_ARTICLES}(?P<{group}>(?:{name})s?)(?![^\W_])"

    return re.compile(
        rf"^(?P<marks>{_BEFORE}){named('first')}"
        rf"(?:{_ASIDE}?(?:{_PLAIN_REST}(?:{_COLON}|(?P<dash>{_DASH}))|(?P<line>{_LINE}))|(?P<rest>{_REST}{_ASIDE}?)(?:{_COLON}|{_LINE}))"
        rf"|{_INSIDE}{named('inside')}{_ASIDE}?(?:{_COLON}|{_DASH})"
        rf"|^[^\w\n*]{{0,6}}\*\*{named('bold')}\*\*[ \t]+(?=\S)"
        rf"|<{named('tag')}>|^\[{named('bracket')}\][ \t]*(?=\S)"
        rf"|(?<=[.,;!|] )(?=(?-i:[A-Z])){named('sentence')}{_COLON}",
        re.IGNORECASE | re.MULTILINE,
    )


def as_lines(text: str) -> str:
    """Return the text with line breaks in the places of HTML's, of equal length."""
    return _BREAK.sub(lambda match: "\n".rjust(len(match[0])), text)


def labelled_parts(labels: Mapping[str, Sequence[str]], pattern: re.Pattern[str], text: str) -> list[Part]:
    """Return the labelled parts of a text in their order; pattern: ``label_pattern`` of their labels."""
    names = _names(labels)
    matches = [match for match in pattern.finditer(text) if _is_label(match)]
    ends = [*(match.start() for match in matches[1:]), len(text)][: len(matches)]
    parts = []
    for match, end in zip(matches, ends, strict=True):
        written = next(
            filter(None, (match[name] for name in ("first", "inside", "bold", "tag", "bracket", "sentence")))
        )
        content = _bare(text[match.end() : end]) or (match["rest"] or "").strip()
        parts.append(Part(names[_key(written, names)], match.start(), content))
    return parts


def is_filled(content: str, label: str, holds: str, others: Sequence[str] = ()) -> bool:
    """Return whether a part has content of its own.

    Args:
        holds: the form's description of the part. others: other names of it.
    """
    words = plain(content).strip()
    first = next((line.strip() for line in content.splitlines() if line.strip()), "")
    inner = first.strip("*_ \t.\"'`")
    if words in _NOTHING or re.fullmatch(r"_{2,}|x{2,}", inner.casefold()):
        return False
    form = WORDS["form"] | set(plain(" ".join((label, holds, *others))).split())
    own = [
        word
        for word in plain(unwrapped(content)).split()
        if word not in WORDS["small"] and not word.isdecimal()
    ]
    n_form = sum(word in form or word.removesuffix("s") in form for word in own)
    if n_form == len(own) or (_wrapped(inner) and n_form > len(own) / 2):
        return False
    if likeness(inner, holds) >= _ECHO or plain(inner) == plain(label):
        return False
    if _ASKS.match(inner):
        return False
    of_content = questions(content)
    return not of_content or plain(" ".join(of_content)) != plain(content)


def unwrapped(content: str) -> str:
    """Return the content without the brackets around all of it: "{Poha}" is "Poha"."""
    while inner := _wrapped(content.strip()):
        content = inner
    return content.strip()


def _wrapped(text: str) -> str | None:
    """Return what stands between brackets around a whole text; None without them."""
    match = _WRAPPED.fullmatch(text)
    return next((inner for inner in match.groups() if inner is not None), None) if match else None


def _is_label(match: re.Match[str]) -> bool:
    """Return whether the beginning of a line is a label; prose with the same word has no mark, or
    continues.
    """
    if match["first"] is None or not (match["dash"] or match["line"] is not None or match["rest"]):
        return True
    is_marked = re.search(r"[^\s\-–—(\"'“]", match["marks"]) is not None
    return is_marked or (match["rest"] is None and match["first"][0].isupper())


def _names(labels: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return every name, without its plural -> the label."""
    names = {other.casefold().removesuffix("s"): label for label, own in labels.items() for other in own}
    return names | {label.casefold().removesuffix("s"): label for label in labels}


def _key(written: str, names: Mapping[str, str]) -> str:
    """Return a name in the form for look-ups."""
    compact = {re.sub(r"[\s_-]", "", name): name for name in names}
    own = re.sub(r"[\s_-]", "", written.casefold().replace("’", "'"))
    return compact.get(own) or compact[own.removesuffix("s")]


def _bare(content: str) -> str:
    return re.sub(r"</\w{1,20}>\s*\Z", "", content.strip()).strip("|").strip(" \t\n,")
