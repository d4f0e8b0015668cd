"""Finds a recommendation's parts where they do not stand under labels of lines: in a JSON object, and the
title in a heading or sentence before the first label. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tasks.evaluations.explication.texts import WORDS
from tasks.loop.objects import members, objects

_LONGEST = 12
"""Words of a heading or of a name in a sentence."""
_SHORTEST_PLAIN = 8
"""Most words of a heading without marks."""

_LATEST = 2
"""Statements before the first label that may name the recommendation."""

_UNDERLINE = re.compile(r"\n[ \t]*(?:={3,}|-{3,})[ \t]*\Z")
_QUOTED = re.compile(
    r"\*\*\*?([^*\n]{2,80})\*\*|__([^_\n]{2,80})__|[\"“«]([^\"”»\n]{2,80})[\"”»]|\*([^*\n]{2,80})\*"
)
_ACTIONS = "recommend|suggest|propose"
_RECOMMENDS = re.compile(
    r"\b(?:(?:i|we)(?:['’](?:d|ll)| would| will| can| could| am going to)?(?: like to)?(?: highly| really)? "
    rf"(?:{_ACTIONS})(?:ing)?|i(?: a|['’])m (?:recommending|suggesting)|let me (?:{_ACTIONS})"
    r"|(?:my|the|a|one|great|good|perfect|ideal) "
    r"(?:recommendation|suggestion|choice|pick|option|match|idea|fit)"
    r"(?: for (?:you|today))?(?: is| would be)?"
    r"|(?:how|what) about|(?:why not|you (?:could|should|might)|please|then)"
    r" (?:try|make|cook|prepare)"
    r"|here(?: is| are|['’]s)|(?:go|going) (?:with|for)|let['’]s (?:try|make|cook|prepare|go with)"
    r"|you(?:['’](?:ll|d)| will| might| may| would)(?: really)? (?:enjoy|love|like)"
    r"|(?:just|exactly) the (?:thing|dish|recipe)|(?:recipe|dish) (?:(?:for you )?is|for|called|named)"
    r"|perfect (?:dish|recipe|breakfast|match)(?: for you)?(?: is| would be)?)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\s*[:,–—-]?\s*(?:(?:that|you|to|try|trying|make|making|cook|cooking|prepare|preparing|have|having|called|a|an|the|some|your|my"
    r"|this|is|recipe|dish|breakfast|for|of|personali[sz]ed|delicious|simple|quick and easy)\b\s*[:,]?\s*)*",
    re.IGNORECASE,
)
_ROW = re.compile(r"^[ \t]*\|(.+)\|[ \t]*$", re.MULTILINE)
_STATEMENT = re.compile(r"[^.!?\n]+[.!?]*")
_CLAUSE_END = re.compile(r"[.?!:;\n]|\s[–—-]\s|, (?:which|because|as|since|it)\b")
_NO_NAME = re.compile(
    r"^(?:we|you|it|i|one|something|that|first|talking|telling)\b|^(?:it|one)$", re.IGNORECASE
)


def in_objects(
    text: str, labels: Mapping[str, Sequence[str]]
) -> tuple[dict[str, str], tuple[int, int]] | None:
    """Return label -> content of the last JSON object with most of the labels as keys, and its start and end;
    None without one that has two. An object may stand within another one; without one, a table counts.

    Args:
        labels: label -> its other names.
    """
    names = {compact(name): label for label, own in labels.items() for name in own}
    names |= {compact(label): label for label in labels}
    best: tuple[dict[str, str], tuple[int, int]] | None = None
    for found in objects(text):
        for pairs in members(found.pairs):
            own: dict[str, str] = {}
            for key, value in pairs:
                if label := names.get(compact(key)):
                    own.setdefault(label, _shown(value))
            if len(own) > 1 and (best is None or len(own) >= len(best[0])):
                best = own, (found.start, found.end)
    return best or _in_table(text, names)


def _in_table(text: str, names: Mapping[str, str]) -> tuple[dict[str, str], tuple[int, int]] | None:
    """Return label -> cell of the last row of a table whose first row has labels; None without one."""
    rows = list(_ROW.finditer(text))
    if len(rows) < 2:
        return None
    first, last = ([cell.strip(" *`") for cell in row[1].split("|")] for row in (rows[0], rows[-1]))
    if len(first) < 2 or len(first) != len(last) or not all(compact(cell) in names for cell in first):
        return None
    own = {names[compact(name)]: cell for name, cell in zip(first, last, strict=True)}
    return own, (rows[0].start(), rows[-1].end())


def compact(name: str) -> str:
    """Return a name without case, spaces, marks and a plural's s."""
    return re.sub(r"[\W_]", "", name.casefold()).removesuffix("s")


def _shown(value: object) -> str:
    """Return a value as lines of text."""
    if isinstance(value, list):
        return "\n".join(map(_shown, value))
    if isinstance(value, tuple):
        return "\n".join(f"{name}: {_shown(each)}" for name, each in value)
    return "" if value is None or isinstance(value, bool) else str(value).strip()


def recommended_before(text: str, begin: int) -> tuple[int, str] | None:
    """Return the place and name of what the text before a place recommends in a sentence ("I recommend
    **Poha**."); None where there is none. The last such sentence counts.
    """
    for said in reversed([*_RECOMMENDS.finditer(text, 0, begin)]):
        rest = text[said.end() : begin]
        paragraph = re.split(r"\n\s*\n", rest, maxsplit=1)[0]
        if quoted := _QUOTED.search(paragraph):
            name = next(filter(None, quoted.groups()))
        else:
            filler = _FILLER.match(paragraph)
            name = _CLAUSE_END.split(paragraph[filler.end() if filler else 0 :], maxsplit=1)[0]
        name = name.strip(" \t*_#.,:!")
        if name and len(name.split()) <= _LONGEST and not _NO_NAME.match(name):
            return said.start(), name
    return None


def named_before(text: str, begin: int) -> tuple[int, str] | None:
    """Return the place and name of what the last statement before a place names ("Gallo pinto it is!"); None
    where it is a question or has only words of courtesy.
    """
    statements = [match for match in _STATEMENT.finditer(text, 0, begin) if match[0].strip(" \t#*_")]
    if not statements or statements[-1][0].rstrip(" *_").endswith(("?", "？")):
        return None
    for said in statements[: -_LATEST - 1 : -1]:
        quoted = _QUOTED.search(said[0])
        name = next(filter(None, quoted.groups())) if quoted else said[0].strip(" \t#*_.,:!\n")
        words = [word.strip(".,:;!()\"'“”*_").casefold() for word in name.split()]
        is_name = any(word not in WORDS["chat"] and not word.isdecimal() for word in words if word)
        if is_name and len(words) <= _LONGEST and not said[0].rstrip(" *_").endswith(("?", "？")):
            return said.start(), name
    return None


def heading_before(text: str, begin: int) -> tuple[int, str] | None:
    """Return the place and words of the heading right before a place: a marked, underlined or short line of
    its own; None where there is none.
    """
    before = _UNDERLINE.sub("", text[:begin].rstrip())
    start = before.rfind("\n") + 1
    line = before[start:]
    words = line.strip(" \t#*_:")
    is_marked = line.lstrip().startswith(("#", "**", "__")) or len(before) < len(text[:begin].rstrip())
    ends = ("?", "？") if is_marked else ("?", "？", ".", "!", ",", ";", ":", "…")
    longest = _LONGEST if is_marked else _SHORTEST_PLAIN
    if not words or len(words.split()) > longest or line.rstrip(" *_").endswith(ends):
        return None
    return start + line.index(words), words
