"""Reads other people's Python sources as data: constants, and texts that functions compose. Pure. Texts
become ``Pieces``, literal texts and slots, which ``template`` turns into a template with named fields.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.papers.expressions import Reader
from tasks.papers.values import LARGEST, Composed, Lost, NotRead, Pieces, Slot

_MOST_FILES = 20


@dataclass(frozen=True)
class PythonSource:
    """A Python file as its syntax tree, with the constants of its modules.

    Attributes:
        constants: values of names assigned at top level, including imports from neighbouring files.
    """

    name: str
    tree: ast.Module
    reader: Reader

    @property
    def constants(self) -> Mapping[str, Any]:
        """Return the values of names assigned at top level, including imports from neighbouring files."""
        return self.reader.globals

    def constant(self, name: str, lost: list[str] | None = None) -> Any:
        """Return the value of a top-level name; raises NotRead.

        Args:
            lost: if given, unreadable entries of dictionaries are left out, and their faults are added to it.
        """
        if name not in self.constants:
            raise NotRead(f"{self.name}: no constant {name}")
        return cleared(self.constants[name], f"{self.name}: {name}", lost)

    def attribute(self, name: str) -> Any:
        """Return the value assigned to ``self.NAME`` or NAME anywhere; raises NotRead."""
        error = NotRead(f"{self.name}: nothing literal is assigned to {name}")
        for node in ast.walk(self.tree):
            for target in _targets(node):
                if (target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")) != name:
                    continue
                try:
                    value = self.reader.value(node.value, self.constants)  # type: ignore[attr-defined]
                    return cleared(value, f"{self.name}: {name}")
                except NotRead as fault:
                    error = fault
        raise error

    def dictionaries(self) -> Iterator[Any]:
        """Yield every dictionary literal in the file, longest first."""
        displays = [node for node in ast.walk(self.tree) if isinstance(node, ast.Dict)]
        for node in sorted(displays, key=lambda display: -len(display.keys)):
            try:
                yield cleared(self.reader.value(node, self.constants), self.name)
            except NotRead:
                continue

    def calls(self, name: str) -> list[dict[str, Any]]:
        """Return the readable fields of every call of a class, in order. The class, if the file defines it,
        names positional arguments.
        """
        class_node = self.reader.classes.get(name)
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        rows = []
        for node in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
            if _dotted(node.func).rpartition(".")[2] == name:
                record = self.reader.record(class_node, node, self.constants)
                rows.append(cleared(record, self.name, []))
        return rows

    def texts(self, function: str) -> list[Pieces]:
        """Return the texts that a function returns on its paths, true conditions first; raises NotRead if
        there are none.
        """
        values = self.reader.returned(function, {})
        if texts := [_pieces(value) for value in values if isinstance(value, str | Composed)]:
            return texts
        reason = next((value.reason for value in values if isinstance(value, Lost)), "")
        raise NotRead(reason or f"{self.name}: {function} returns no readable text")


def read_source(path: Path, sources: dict[Path, PythonSource] | None = None) -> PythonSource:
    """Return the syntax tree of a Python file, in the encoding that it names, and of the neighbours it
    imports.

    Args:
        sources: files that were read already.

    Raises:
        NotRead: the file cannot be read, is not Python, or is larger than ``LARGEST``.
    """
    sources = {} if sources is None else sources
    if path in sources:
        return sources[path]
    try:
        content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
    except OSError as error:
        raise NotRead(f"{path.name} cannot be read ({error.strerror}): check the path") from error
    if not content and path.stat().st_size:
        raise NotRead(f"{path.name} has {path.stat().st_size / 2**20:.0f} MiB: too long for a program")
    try:
        tree = ast.parse(_decoded(content))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotRead(f"{path.name} is not Python source: {error}") from error
    reader = Reader(path.name, tree)
    source = sources[path] = PythonSource(path.name, tree, reader)
    for node in ast.walk(tree):
        modules = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in modules if len(sources) < _MOST_FILES else ():
            _import(module.split("."), path, reader, sources)
    body = [node for node in tree.body if not isinstance(node, ast.Raise)]
    try:
        end, _ = next(reader.paths(body, reader.globals))
        reader.globals.update(end)
    except (NotRead, RecursionError, StopIteration):
        pass  # keep what was read before the error
    return source


def _import(module: Sequence[str], path: Path, reader: Reader, sources: dict[Path, PythonSource]) -> None:
    """Add the constants of a neighbouring file; unreadable constants are skipped."""
    for neighbour in (path.parent.joinpath(*module).with_suffix(".py"), path.parent / f"{module[-1]}.py"):
        if neighbour.is_file() and neighbour != path:
            try:
                reader.globals |= {
                    n: v for n, v in read_source(neighbour, sources).constants.items() if n[0] != "_"
                }
            except NotRead:
                return
            return


def cleared(value: Any, place: str, lost: list[str] | None = None) -> Any:
    """Return the value if all its parts can be read; raises NotRead.

    Args:
        lost: if given, unreadable entries of dictionaries are left out, and their faults are added to it.
    """
    match value:
        case Lost(reason=reason):
            raise NotRead(reason)
        case Slot() | Composed():
            raise NotRead(f"{place} depends on values that only the running program knows")
        case list() | tuple():
            return type(value)(cleared(part, place, lost) for part in value)
        case dict():
            entries = {}
            for key, part in value.items():
                try:
                    entries[key] = cleared(part, f"{place}, {key}", lost)
                except NotRead as error:
                    if lost is None:
                        raise
                    lost.append(f"{place}, {key}: {error}")
            return entries
    return value


def _pieces(text: str | Composed) -> Pieces:
    return (text,) if isinstance(text, str) else text.pieces


def template(pieces: Pieces, fields: Mapping[str, str]) -> str:
    """Return a Jinja template in which only slots are placeholders; literal braces are kept.

    Args:
        fields: name of a slot -> name of the field.

    Raises:
        NotRead: a slot has no field.
    """
    parts = []
    for piece in pieces:
        if isinstance(piece, Slot):
            if piece.name not in fields:
                raise NotRead(f"unknown field {piece.name!r} in a text; known: {', '.join(fields)}")
            parts.append(f"{{{{ {fields[piece.name]} }}}}")
        else:
            parts.append(literal(piece))
    return "".join(parts)


def literal(text: str) -> str:
    """Return a text for a template that renders it unchanged."""
    for mark in ("{{", "{%", "{#", "}}", "%}", "#}"):
        if mark in text:
            parts = text.split(mark)
            return f'{{{{ "{mark}" }}}}'.join(literal(part) for part in parts)
    return text[:-1] + '{{ "{" }}' if text.endswith("{") else text


def _decoded(content: bytes) -> str:
    """Return the text of a source in the encoding that it names, else in UTF-8, else in that of Windows."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        return content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return content.decode("cp1252", errors="replace")


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) and node.value is not None else []


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""
