"""Reads the message about a dish from FmLAMA's program for GPT-4o, by its syntax tree; nothing runs. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import chain

from tasks.papers.sources import literal

FIELDS = {
    "Dish": "dish",
    "Gold_ingredients": "reference",
    "Predicted_ingredient": "predicted",
    "dirct_match": "matched",
    "direct_match": "matched",
    "difference": "remaining",
}
"""Name of a value in the program -> field of ``mes_question``."""
NEEDED = ("dish", "reference", "predicted")
RULES = "instruction_prompt"
"""Name of the rules, which are a text of their own here."""

_Texts = dict[str, tuple[str, ...]]


def question(tree: ast.Module) -> str | None:
    """Return the program's message about a dish as a template of ``mes_question``; None if it has none.

    A text that the program writes only where predictions match the reference directly is conditional.
    """
    known: _Texts = {}
    _run(tree.body, known)
    texts = ("".join(parts).strip() for parts in known.values())
    whole = [text for text in texts if all(f"{{{{ {name} }}}}" in text for name in NEEDED)]
    return max(whole, key=len, default=None)


def _run(body: Sequence[ast.stmt], known: _Texts) -> None:
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                parts = _parts(value, known)
                if parts is not None:
                    known[name] = parts
            case ast.If(body=yes, orelse=no):
                _branch(node, yes, no, known)
            case ast.For(body=inner) | ast.With(body=inner) | ast.Try(body=inner):
                _run(inner, known)


def _branch(node: ast.If, yes: Sequence[ast.stmt], no: Sequence[ast.stmt], known: _Texts) -> None:
    """Read both sides of a condition on the direct matches; a text that both assign has both."""
    if not any(FIELDS.get(name) == "matched" for name in _names(node.test)):
        return
    sides: tuple[_Texts, _Texts] = (dict(known), dict(known))
    for body, side in zip((yes, no), sides, strict=True):
        _run(body, side)
    for name in sides[0].keys() & sides[1].keys():
        one, other = (side[name] for side in sides)
        known[name] = one if one == other else ("{% if matched %}", *one, "{% else %}", *other, "{% endif %}")


def _parts(node: ast.expr, known: _Texts) -> tuple[str, ...] | None:
    """Return a text's pieces, placeholders among them; None if it is no text of the message."""
    match node:
        case ast.Constant(value=str(text)):
            return (literal(text),)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = _parts(left, known), _parts(right, known)
            return None if None in sides else tuple(chain(*(side or () for side in sides)))
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"), args=[listed]):
            return _joined(between, listed, known)
        case ast.Name(id=name) if name in known and name not in FIELDS:
            return known[name]
        case ast.Name(id=name) if name == RULES:
            return ()
    return next(((f"{{{{ {FIELDS[name]} }}}}",) for name in _names(node) if name in FIELDS), None)


def _joined(between: str, listed: ast.expr, known: _Texts) -> tuple[str, ...] | None:
    if not isinstance(listed, ast.List):
        return _parts(listed, known)
    found: list[str] = []
    for n, element in enumerate(listed.elts):
        parts = _parts(element, known)
        if parts is None:
            return None
        found += ([literal(between)] if n else []) + list(parts)
    return tuple(found)


def _names(node: ast.expr) -> Iterator[str]:
    """Yield the names and keys that an expression reads, the outermost first."""
    for part in ast.walk(node):
        if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Constant):
            yield str(part.slice.value)
        elif isinstance(part, ast.Name):
            yield part.id
