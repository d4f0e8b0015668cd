"""Edits of one syntax node of a source file: lists them, and applies one.

Parts that tests need not check are not edited: docstrings, annotations, decorators, texts, messages of raised
errors, log lines, assertions, ``__repr__`` and code for type checkers.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

Node: TypeAlias = ast.expr | ast.stmt

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_LOGS = {"log", "logger", "logging", "warnings", "_log", "_logger"}
_NOT_RUN_NAMES = {"__name__", "TYPE_CHECKING"}
_SKIPPED_ARGUMENTS = {"strict", "description", "title", "flush", "file", "stacklevel"}
_SKIPPED_CALLS = {"cast", "TypeVar", "NewType"}


@dataclass(frozen=True)
class Mutant:
    """One edit of a file.

    Attributes:
        file: path relative to the repository.
        function: qualified name of the function; "" for code that runs on import.
        line: line of the node, from 1.
        before, after: source of the node and its replacement.
        nth: number, from 0, among the file's edits with the same function, before and after.
        start, end: range of the file's bytes that are replaced.
        shown: the line before and after the edit.
    """

    file: str
    function: str
    line: int
    before: str
    after: str
    nth: int
    start: int
    end: int
    shown: tuple[str, str]

    @property
    def name(self) -> tuple[str, str, str, str, int]:
        """Key by which the mutant is found again in another revision of its file."""
        return self.file, self.function, self.before, self.after, self.nth


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """Return all mutants of a file, in the order of their places."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    changes = []
    for function, node, after in _edits(ast.parse(source), ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        first_line = lines[node.lineno - 1].rstrip()
        tail = source[end : starts[node.end_lineno or node.lineno]].rstrip()
        line = first_line[: node.col_offset] + after.encode() + tail
        texts = first_line.decode().strip(), line.decode().strip()
        changes.append(Mutant(file, function, node.lineno, before, after, 0, start, end, texts))
    changes.sort(key=lambda each: (each.start, each.end, each.after))
    numbers: Counter[tuple[object, ...]] = Counter()
    numbered = []
    for each in changes:
        numbered.append(replace(each, nth=numbers[each.name]))
        numbers[each.name] += 1
    return numbered


def located(mutant: Mutant, source: bytes) -> Mutant | None:
    """Return the mutant in the present file; None if its code no longer exists."""
    return next((each for each in mutants_of(mutant.file, source) if each.name == mutant.name), None)


def edited(mutant: Mutant, source: bytes) -> bytes:
    """Return the source with the mutant in it; the mutant must have been found in the same source."""
    return source[: mutant.start] + mutant.after.encode() + source[mutant.end :]


def _edits(node: ast.AST, function: str) -> Iterator[tuple[str, Node, str]]:
    """Yield the function's name, a node in it and the source that replaces the node."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        if node.name == "__repr__":
            return
        name = f"{function}.{node.name}" if function else node.name
        if not isinstance(node, ast.ClassDef):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                yield from _edits(default, function)
        for each in node.body:
            yield from _edits(each, name)
        return
    if (
        isinstance(node, ast.If)
        and {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)} & _NOT_RUN_NAMES
    ):
        return
    if isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
        return  # before Python 3.12, places of nodes in an f-string are wrong
    if isinstance(node, ast.Expr) and _is_log(node.value):
        return
    if isinstance(node, ast.stmt | ast.expr):
        yield from ((function, each, after) for each, after in _node_edits(node))
    if isinstance(node, ast.Raise):
        return
    for child in _children(node):
        yield from _edits(child, function)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.AnnAssign):
        yield from filter(None, [node.value])
    elif isinstance(node, ast.Call):
        if not (isinstance(node.func, ast.Name) and node.func.id in _SKIPPED_CALLS):
            yield from (node.func, *node.args)
            yield from (each.value for each in node.keywords if each.arg not in _SKIPPED_ARGUMENTS)
    else:
        yield from ast.iter_child_nodes(node)


def _node_edits(node: Node) -> Iterator[tuple[Node, str]]:
    match node:
        case ast.Compare():
            for k, operator in enumerate(node.ops):
                yield (
                    node,
                    _with(node, ops=[*node.ops[:k], _COMPARISONS[type(operator)](), *node.ops[k + 1 :]]),
                )
        case ast.BinOp() if type(node.op) in _OPERATORS and not (_is_text(node.left) or _is_text(node.right)):
            yield node, _with(node, op=_OPERATORS[type(node.op)]())
        case ast.AugAssign() if type(node.op) in _OPERATORS and not _is_text(node.value):
            yield node, ast.unparse(_copied(node, op=_OPERATORS[type(node.op)]()))
        case ast.BoolOp():
            yield node, _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node, f"({ast.unparse(node.operand)})"
        case ast.Constant(value=bool()):
            yield node, str(not node.value)
        case ast.Constant(value=int() | float()):
            yield node, repr(node.value + 1)  # type: ignore[operator]
        case ast.Slice():
            for bound in filter(None, (node.lower, node.upper)):
                if not isinstance(bound, ast.Constant):
                    yield bound, f"({ast.unparse(bound)}) + 1"
        case ast.If() | ast.While() | ast.IfExp():
            yield from _negated(node.test)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            for test in (test for each in node.generators for test in each.ifs):
                yield from _negated(test)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield node, "return None"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Break() | ast.Continue() | ast.Delete():
            yield node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield node, "pass"


def _negated(test: ast.expr) -> Iterator[tuple[Node, str]]:
    """Yield the negated test; comparisons and `not` have edits of their own."""
    if not (isinstance(test, ast.UnaryOp) or (isinstance(test, ast.Compare) and len(test.ops) == 1)):
        yield test, f"(not ({ast.unparse(test)}))"


def _with(node: Node, **fields: object) -> str:
    return f"({ast.unparse(_copied(node, **fields))})"


def _copied(node: Node, **fields: object) -> Node:
    edited = copy.copy(node)
    for name, value in fields.items():
        setattr(edited, name, value)
    return edited


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_log(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Constant)
    base = node.func.value if isinstance(node.func, ast.Attribute) else None
    names = {each.id for each in ast.walk(base) if isinstance(each, ast.Name)} if base else set()
    names |= (
        {base.func.attr} if isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute) else set()
    )
    return bool(names & _LOGS)


def blocks_of(
    file: str, tree: ast.Module
) -> dict[str, tuple[tuple[int, int], tuple[int, int], list[ast.stmt]]]:
    """Return the blocks of all functions of a file by name: places of start and end (line, column),
    statements.

    A block is a list of statements whose first one runs if and only if the block is entered. Docstrings are
    not part of a block.
    """
    functions: dict[str, tuple[tuple[int, int], tuple[int, int], list[ast.stmt]]] = {}
    numbers: Counter[str] = Counter()

    def walk(node: ast.AST, function: str, inside: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}" if function else node.name
            inside = not isinstance(node, ast.ClassDef)
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt) and inside:
                is_text = isinstance(value[0], ast.Expr) and isinstance(value[0].value, ast.Constant)
                if len(value) > is_text:
                    first, last = value[is_text], value[-1]
                    place = (first.lineno, first.col_offset), (last.end_lineno or 0, last.end_col_offset or 0)
                    functions[f"{file}::{function}::{numbers[function]}"] = (*place, value)
                    numbers[function] += 1
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    walk(child, function, inside)

    walk(tree, "", False)
    return functions


def block_at(file: str, source: bytes, mutant: Mutant) -> str:
    """Return the innermost block with a mutant of the same source; "" for code that runs on import."""
    column = mutant.start - (source.rfind(b"\n", 0, mutant.start) + 1)
    place = (mutant.line, column)
    enclosing = [
        (start, name)
        for name, (start, end, _) in blocks_of(file, ast.parse(source)).items()
        if start <= place <= end
    ]
    return max(enclosing)[1] if enclosing else ""
