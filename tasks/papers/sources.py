"""Python sources of others as data: literals and texts out of their syntax trees. Nothing of them is run.
Pure.

Constants are read by ``ast.literal_eval``. Texts that a program composes of variables (f-strings, ``+``,
``join``) become ``Pieces``: literal texts and slots, which ``template`` writes as a template with named
fields.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 4 * 2**20
"""Bytes of a source that is read; programs are smaller."""
_MOST_PIECES = 10_000
_MOST_TIMES = 100


@dataclass(frozen=True)
class Slot:
    """A variable in a text: its name, without what holds it; ``between`` joins the parts of a list."""

    name: str
    between: str | None = None


Pieces = tuple[str | Slot, ...]


class NotRead(ValueError):  # noqa: N818 - "raise NotRead" says it all
    """A source cannot be read, or has not what is looked for; the message says which and what."""


@dataclass(frozen=True)
class PythonSource:
    """A Python file as its syntax tree, with the constants of its modules.

    Attributes:
        constants: literal values of names that are assigned once at the top, those it imports from its
            neighbours too.
    """

    name: str
    tree: ast.Module
    constants: Mapping[str, Any]

    def constant(self, name: str) -> Any:
        """The literal that a top-level name is; raises NotRead."""
        if name not in self.constants:
            raise NotRead(f"{self.name}: no constant {name}")
        return self.constants[name]

    def attribute(self, name: str) -> Any:
        """The literal that is assigned to ``self.NAME`` or NAME anywhere; raises NotRead."""
        for node in ast.walk(self.tree):
            for target in _targets(node):
                if (target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")) != name:
                    continue
                try:
                    return self._literal(node.value)  # type: ignore[attr-defined]
                except NotRead:
                    continue
        raise NotRead(f"{self.name}: nothing literal is assigned to {name}")

    def calls(self, name: str) -> list[dict[str, Any]]:
        """The literal arguments of every call of a class or function, in their order.

        Positional ones are named after the fields of the class, where it stands in the file.
        """
        order = self._fields(name)
        rows = []
        for node in ast.walk(self.tree):
            if not (isinstance(node, ast.Call) and _dotted(node.func).rpartition(".")[2] == name):
                continue
            arguments = dict(zip(order, node.args, strict=False))
            arguments |= {each.arg: each.value for each in node.keywords if each.arg}
            row = {}
            for field, value in arguments.items():
                try:
                    row[field] = self._literal(value)
                except NotRead:
                    continue
            rows.append((node.lineno, node.col_offset, row))
        return [row for *_, row in sorted(rows, key=lambda each: each[:2])]

    def function(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef:
        """The function or method of a name; raises NotRead."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
                return node
        raise NotRead(f"{self.name}: no function {name}")

    def _fields(self, name: str) -> list[str]:
        return [
            each.target.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ClassDef) and node.name == name
            for each in node.body
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
        ]

    def _literal(self, node: ast.AST) -> Any:
        return _literal(node, self.constants, self.name)


def read_source(path: Path, others: Sequence[PythonSource] = ()) -> PythonSource:
    """The syntax tree of a Python file, in whatever encoding it names.

    Args:
        others: sources whose constants it may use.

    Raises:
        NotRead: it cannot be read, is no Python, or is larger than ``LARGEST``.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise NotRead(f"{path.name} cannot be read ({error.strerror}): check the path") from error
    if len(content) > LARGEST:
        raise NotRead(f"{path.name} has {len(content) / 2**20:.0f} MiB: no program is that long")
    try:
        tree = ast.parse(_decoded(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotRead(f"{path.name} is no Python source: {error}") from error
    known: dict[str, Any] = {}
    for other in others:
        known |= other.constants
    for node in tree.body:
        for target in _targets(node):
            if isinstance(target, ast.Name):
                try:
                    known[target.id] = _literal(node.value, known, path.name)  # type: ignore[attr-defined]
                except NotRead:
                    known.pop(target.id, None)
    return PythonSource(path.name, tree, known)


def composed(
    source: PythonSource, function: str, until: str = "", known: Mapping[str, Any] | None = None
) -> Pieces:
    """The text that a function makes, as pieces: what it returns last, or the value of a variable.

    A condition is taken to hold, except one whose body only returns: that answers for a special case.

    Args:
        until: the variable; "": what is returned.
        known: further constants.

    Raises:
        NotRead: there is no such function, or it makes its text in a way that is not followed here.
    """
    body = source.function(function).body
    names: dict[str, Pieces | None] = {}
    constants = {**source.constants, **(known or {})}
    returned: Pieces | None = None
    for node in _lines(body):
        try:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)])
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr())
                ):
                    assert node.value is not None
                    names[name] = _pieces(node.value, names, constants)
                case ast.AugAssign(target=ast.Name(id=name), op=ast.Add()):
                    names[name] = _short((*_known(name, names), *_pieces(node.value, names, constants)))
                case ast.Return(value=ast.expr()) if not until:
                    returned = _pieces(node.value, names, constants)  # type: ignore[arg-type]
        except NotRead:  # what is made of it later is not followed either
            lost = node.target if isinstance(node, ast.AugAssign) else next(iter(_targets(node)), None)
            if isinstance(lost, ast.Name):
                names[lost.id] = None
    text = names.get(until) if until else returned
    if text is None:
        raise NotRead(f"{source.name}: the text that {function} makes is not followed")
    return text


def template(pieces: Pieces, fields: Mapping[str, str]) -> str:
    """A template of Jinja's whose braces are the slots alone: literal braces stay what they are.

    Args:
        fields: name of a slot -> name of the field.

    Raises:
        NotRead: a slot has no field.
    """
    parts = []
    for piece in pieces:
        if isinstance(piece, Slot):
            if piece.name not in fields:
                raise NotRead(f"a text is made of {piece.name}, which is none of {', '.join(fields)}")
            parts.append(f"{{{{ {fields[piece.name]} }}}}")
        else:
            parts.append(literal(piece))
    return "".join(parts)


def literal(text: str) -> str:
    """A text as part of a template that renders as it stands."""
    for mark in ("{{", "{%", "{#", "}}", "%}", "#}"):
        if mark in text:
            cut = text.split(mark)
            return f'{{{{ "{mark}" }}}}'.join(literal(part) for part in cut)
    return text[:-1] + '{{ "{" }}' if text.endswith("{") else text


def _decoded(content: bytes) -> str:
    """The text of a source, in the encoding that it names; UTF-8 otherwise, or else as Windows writes it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return content.decode("cp1252", errors="replace")


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) and node.value is not None else []


def _literal(node: ast.AST, known: Mapping[str, Any], where: str) -> Any:
    """A literal, a known name, or lists and texts that are added; raises NotRead."""
    try:
        if isinstance(node, ast.Name) and node.id in known:
            return known[node.id]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = (_literal(side, known, where) for side in (node.left, node.right))
            return left + right
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise NotRead(f"{where}, line {getattr(node, 'lineno', 0)}: no literal") from error


def _lines(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a function one after another, into what is done under a condition."""
    for node in body:
        if isinstance(node, ast.If):
            if not all(isinstance(each, ast.Return | ast.Raise) for each in node.body):
                yield from _lines(node.body)
        elif isinstance(node, ast.With | ast.Try):
            yield from _lines(node.body)
        else:
            yield node


def _pieces(node: ast.expr, names: Mapping[str, Pieces | None], constants: Mapping[str, Any]) -> Pieces:
    """The pieces of an expression that makes a text; raises NotRead for any other."""
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.JoinedStr(values=parts):
            return _short(tuple(piece for part in parts for piece in _pieces(part, names, constants)))
        case ast.FormattedValue(value=value, format_spec=None):
            return _pieces(value, names, constants)
        case ast.Name(id=name):
            if name in names:
                return _known(name, names)
            return (constants[name],) if isinstance(constants.get(name), str) else (Slot(name),)
        case ast.Attribute(attr=name):
            return (Slot(name),)
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return (Slot(name),)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _short((*_pieces(left, names, constants), *_pieces(right, names, constants)))
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(n))) if 0 <= n <= _MOST_TIMES:
            return _short(_pieces(left, names, constants) * n)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"), args=[of]):
            return _joined(between, of, names, constants)
        case ast.Call(func=ast.Attribute(value=value, attr="strip" | "rstrip" | "lstrip"), args=[]):
            return _pieces(value, names, constants)
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return _pieces(value, names, constants)
        case ast.Call(func=ast.Attribute(attr=name), args=[], keywords=[]):
            return (Slot(name),)
        case ast.BoolOp(op=ast.Or(), values=[first, *_]):
            return _pieces(first, names, constants)
        case ast.IfExp(body=body):
            return _pieces(body, names, constants)
    raise NotRead(f"line {node.lineno}: a text is made in a way that is not followed")


def _joined(
    between: str, of: ast.expr, names: Mapping[str, Pieces | None], constants: Mapping[str, Any]
) -> Pieces:
    """The pieces of ``between.join(of)``: of texts that are known, or of a list that is a slot."""
    if isinstance(of, ast.List | ast.Tuple):
        rows = [_pieces(each, names, constants) for each in of.elts]
        return _between(between, rows)
    if isinstance(of, ast.ListComp | ast.GeneratorExp) and len(of.generators) == 1:
        each = of.generators[0]
        known = constants.get(each.iter.id) if isinstance(each.iter, ast.Name) else None
        if isinstance(each.target, ast.Name) and isinstance(known, list | tuple) and not each.ifs:
            rows = [_pieces(of.elt, {**names, each.target.id: (str(value),)}, constants) for value in known]
            return _between(between, rows)
    if isinstance(of, ast.Name) and isinstance(constants.get(of.id), list | tuple):
        return _between(between, [(str(value),) for value in constants[of.id]])
    if isinstance(of, ast.Name | ast.Attribute):
        return (Slot(of.id if isinstance(of, ast.Name) else of.attr, between),)
    raise NotRead(f"line {of.lineno}: a list is joined in a way that is not followed")


def _between(between: str, rows: Sequence[Pieces]) -> Pieces:
    pieces: list[str | Slot] = []
    for number, row in enumerate(rows):
        pieces += [between, *row] if number else row
    return _short(tuple(pieces))


def _known(name: str, names: Mapping[str, Pieces | None]) -> Pieces:
    pieces = names.get(name, ())
    if pieces is None:
        raise NotRead(f"{name} is made in a way that is not followed")
    return pieces


def _short(pieces: Pieces) -> Pieces:
    if len(pieces) > _MOST_PIECES or sum(len(p) for p in pieces if isinstance(p, str)) > LARGEST:
        raise NotRead("a text is too long to be a prompt")
    return pieces


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
