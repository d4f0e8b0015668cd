"""Values of a program that is read but not run: Python values, slots, and texts composed of both. Pure."""

from __future__ import annotations

import ast
import inspect
import operator
import re
import string
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LARGEST = 4 * 2**20
"""Largest number of characters of a text, and of bytes of a source; real programs are smaller."""
MOST_PARTS = 2_000
"""Largest number of parts of a text, and of rounds of a loop."""


@dataclass(frozen=True)
class Slot:
    """A variable by its last name. between: separator if it is a list; times: number of repetitions."""

    name: str
    between: str | None = None
    times: int = 1


Pieces = tuple[str | Slot, ...]


@dataclass(frozen=True)
class Composed:
    """A text with slots."""

    pieces: Pieces


@dataclass(frozen=True)
class Lost:
    """A value that could not be read, with the reason."""

    reason: str


class NotRead(ValueError):  # noqa: N818 - "raise NotRead" says it all
    """Raised if a source cannot be read or lacks something; the message names source, place and fault."""


def text_of(parts: Iterable[Any]) -> str | Composed:
    """Return the text of some parts, a str if it has no slot."""
    pieces: list[str | Slot] = []
    for part in parts:
        match part:
            case str() | int() | float():
                new: Pieces = (str(part),)
            case Slot():
                new = (part,)
            case Composed(pieces=new):
                pass
            case _:
                raise NotRead("a part of a text is not a text")
        for piece in new:
            if piece == "":
                continue
            if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
                pieces[-1] += piece
            else:
                pieces.append(piece)
    if all(isinstance(piece, str) for piece in pieces):
        return str(pieces[0]) if pieces else ""
    return Composed(tuple(pieces))


def joined(between: str, values: Any) -> str | Composed:
    """Return ``between.join(values)`` for known texts, or for a list that is a slot."""
    parts: list[Any] = []
    for part in [Slot(values.name, "", values.times)] if isinstance(values, Slot) else values:
        is_list = isinstance(part, Slot) and part.between is not None
        for item in [Slot(part.name, between)] * part.times if is_list else [part]:
            if not isinstance(item, str | Slot | Composed):
                raise NotRead("join() of a value that is not a text")
            parts += [between, item] if parts else [item]
    return text_of(parts)


def combined(op: ast.operator, left: Any, right: Any) -> Any:
    """Return the result of an operator on two values."""
    is_text = [isinstance(side, str | Composed | Slot) for side in (left, right)]
    match op:
        case ast.Add() if all(is_text):
            return text_of([left, right])
        case ast.Add() if isinstance(left, list) or isinstance(right, list):
            sides = [[Slot(s.name, "", s.times)] if isinstance(s, Slot) else list(s) for s in (left, right)]
            return sides[0] + sides[1]
        case ast.Add():
            return left + right
        case ast.Mult() if isinstance(left, Slot) and isinstance(right, int) and 0 < right < 100:
            return Slot(left.name, left.between, left.times * right)
        case ast.Mult():
            value, n = (right, left) if isinstance(left, int) else (left, right)
            if isinstance(value, Composed):
                return text_of([value] * min(int(n), 100))
            if isinstance(value, str | list | tuple) and len(value) * n > LARGEST:
                raise NotRead("a value is too long to be read")
            return value * n
        case ast.Mod() if isinstance(left, str):
            return _percent(left, right if isinstance(right, tuple | dict) else (right,))
        case ast.BitOr() if isinstance(left, dict):
            return left | right
        case ast.Sub():
            return left - right
        case ast.Div():
            return left / right
    raise NotRead("an operator of this kind is not supported")


_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.Is: operator.eq, ast.NotEq: operator.ne, ast.IsNot: operator.ne,
    ast.In: lambda left, right: left in right, ast.NotIn: lambda left, right: left not in right,
    ast.Lt: operator.lt, ast.Gt: operator.gt, ast.LtE: operator.le, ast.GtE: operator.ge,
}  # fmt: skip


def compare(op: ast.cmpop, left: Any, right: Any) -> bool:
    """Return the result of a comparison; values of programs are compared by what they are, not which."""
    return bool(_COMPARISONS[type(op)](left, right))


def _percent(text: str, parts: Any) -> str | Composed:
    """Return ``text % parts``."""
    pieces: list[Any] = []
    values = iter(parts) if isinstance(parts, tuple) else None
    for piece in re.split(r"(%(?:\(\w+\))?[sd%])", text):
        if piece == "%%" or not re.fullmatch(r"%(\(\w+\))?[sd]", piece):
            pieces.append("%" if piece == "%%" else piece)
        else:
            pieces.append(next(values) if values else parts[piece[2:-2]])
    return text_of(pieces)


def formatted(text: str, args: Sequence[Any], keywords: Mapping[str, Any]) -> str | Composed:
    """Return ``text.format(*args, **more)``."""
    pieces: list[Any] = []
    numbers = iter(range(len(args)))
    for literal, field, spec, _ in string.Formatter().parse(text):
        pieces.append(literal)
        if field is None:
            continue
        if spec:
            raise NotRead("a format specification is not supported")
        name, *path = re.split(r"[.\[]", field.replace("]", ""))
        value = args[int(name) if name else next(numbers)] if not name or name.isdigit() else keywords[name]
        for key in path:
            value = value[key] if isinstance(value, dict) else Slot(key)
        pieces.append(readable(value))
    return text_of(pieces)


def replaced(base: str | Composed, old: Any, new: Any) -> str | Composed:
    """Return ``base.replace(old, new)``."""
    parts: list[Any] = []
    for piece in (base,) if isinstance(base, str) else base.pieces:
        if isinstance(piece, Slot):
            parts.append(piece)
            continue
        for number, part in enumerate(piece.split(str(plain(old)))):
            parts += [new, part] if number else [part]
        if len(parts) > MOST_PARTS:
            raise NotRead("a text is too long to be a prompt")
    return text_of(parts)


def stripped(base: Composed | Slot, name: str) -> Composed | Slot:
    """Return ``base.strip()``, or lstrip or rstrip by ``name``; slots stay unchanged."""
    if isinstance(base, Slot):
        return base
    pieces = list(base.pieces)
    if name != "rstrip" and isinstance(pieces[0], str):
        pieces[0] = pieces[0].lstrip()
    if name != "lstrip" and isinstance(pieces[-1], str):
        pieces[-1] = pieces[-1].rstrip()
    return Composed(tuple(piece for piece in pieces if piece != ""))


def dedented(text: Any, name: str) -> str | Composed:
    """Return ``textwrap.dedent`` or ``inspect.cleandoc`` of a text, with its slots unchanged."""
    pieces = (text,) if isinstance(text, str) else text.pieces
    slots = [piece for piece in pieces if isinstance(piece, Slot)]
    marked = "".join("\x00" if isinstance(piece, Slot) else piece for piece in pieces)
    plain = (textwrap.dedent if name == "dedent" else inspect.cleandoc)(marked).split("\x00")
    return text_of([plain[0], *(piece for pair in zip(slots, plain[1:], strict=True) for piece in pair)])


def unique(values: Iterable[Any]) -> list[Any]:
    """Return each value once, as a list, since the order of a set varies between runs."""
    return list(dict.fromkeys(values))


def readable(value: Any) -> Any:
    """Return the value; raises NotRead if it is lost."""
    if isinstance(value, Lost):
        raise NotRead(value.reason)
    return value


def is_plain(value: Any) -> bool:
    """Return whether a value and all its parts are Python values."""
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return not isinstance(value, Slot | Composed | Lost)


def plain(value: Any) -> Any:
    """Return the value; raises NotRead if it is not a Python value in all its parts."""
    if not is_plain(value):
        raise NotRead("it depends on an unknown value")
    return value


def n_slots(value: Any) -> int:
    """Return the number of slots in a value."""
    return (
        sum(isinstance(p, Slot) for p in value.pieces)
        if isinstance(value, Composed)
        else isinstance(value, Slot)
    )


def weight(value: Any, weighed: dict[int, tuple[Any, int]]) -> int:
    """Return the approximate length of a value when written out.

    Args:
        weighed: cache, id of a list or dictionary -> the object and its weight.
    """
    match value:
        case str():
            return len(value)
        case Composed(pieces=pieces):
            return sum(len(piece) if isinstance(piece, str) else 1 for piece in pieces)
        case int():
            return value.bit_length() * 1000
        case list() | tuple() | dict():
            cached, total = weighed.get(id(value), (None, 0))
            if cached is not value:
                parts = value.values() if isinstance(value, dict) else value
                total = len(value) + sum(weight(part, weighed) for part in parts)
                weighed[id(value)] = value, total
            return total
    return 1
