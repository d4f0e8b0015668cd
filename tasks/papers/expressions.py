"""Evaluates Python expressions and functions by their syntax trees, without running them. Pure. A value is a
Python value, a ``Slot`` if it depends on something unknown (an argument, a file), or ``Composed``: a text of
literal parts and slots. A function is evaluated along every path through it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tasks.papers.values import (
    LARGEST,
    MOST_PARTS,
    Composed,
    Lost,
    NotRead,
    Slot,
    combined,
    compare,
    dedented,
    formatted,
    is_plain,
    joined,
    n_slots,
    plain,
    readable,
    replaced,
    stripped,
    text_of,
    unique,
    weight,
)

_MOST_STEPS = 200_000
_MOST_PATHS = 64
_MOST_CALLS = 8
Names = dict[str, Any]
NOTHING = object()
"""Result of a path through a function that ends without ``return``."""
_PLAIN: Mapping[str, Callable[..., Any]] = {
    **{kind.__name__: kind for kind in (str, list, tuple, dict, len, sorted, int, float, bool)},
    "set": lambda values=(): unique(values),
    "frozenset": lambda values=(): unique(values),
    "reversed": lambda values: list(reversed(values)),
    "enumerate": lambda values, start=0: list(enumerate(values, start)),
    "zip": lambda *lists: list(zip(*lists, strict=False)),
}
_TEXT_METHODS = {
    "upper", "lower", "title", "capitalize", "casefold", "split", "splitlines", "removeprefix",
    "removesuffix", "startswith", "endswith", "strip", "lstrip", "rstrip",
}  # fmt: skip
_DICT_METHODS = {"get", "items", "keys", "values"}
_ADD_METHODS = {"append", "extend", "insert", "update"}
_STRIP_METHODS = {"strip", "lstrip", "rstrip"}
_MACHINE = {"os", "environ", "random", "json"}


class Reader:
    """Reads the expressions and functions of a program.

    Attributes:
        name: name of the file. functions, classes: the program's own, by name. steps: number of steps left
            before reading stops.
    """

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.steps, self._depth = name, _MOST_STEPS, 0
        self._weights: dict[int, tuple[Any, int]] = {}
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self._attributes: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
                for statement in node.body:
                    self._store_attribute(statement)
            else:
                self._store_attribute(node)
        self.globals: Names = {"__name__": "read"}

    def paths(self, body: Sequence[ast.stmt], names: Names) -> Iterator[tuple[Names, Any]]:
        """Yield (names at its end, return value) for every path through statements, true conditions first."""
        for number, node in enumerate(body):
            rest = body[number + 1 :]
            self._count_step(node)
            if (node := _if_statement(node)) and isinstance(node, ast.If):
                holds = self._holds(node.test, names)
                for branch, when in ((node.body, True), (node.orelse, False)):
                    if holds in (None, when):
                        yield from self.paths([*branch, *rest], dict(names))
                return
            match node:
                case ast.Return(value=value):
                    yield names, self._or_lost(value, names) if value else NOTHING
                    return
                case ast.Raise():
                    return
                case ast.Continue() | ast.Break():
                    break
                case ast.With(body=inner) | ast.AsyncWith(body=inner):
                    yield from self.paths([*inner, *rest], names)
                    return
                case ast.Try():
                    yield from self.paths([*node.body, *node.orelse, *node.finalbody, *rest], names)
                    return
                case _:
                    self._execute(node, names)
        yield names, NOTHING

    def returned(self, function: str, arguments: Mapping[str, Any]) -> list[Any]:
        """Return the values that a function of the program returns on its paths, each once.

        Args:
            arguments: values of some arguments; other arguments are slots.
        """
        if (node := self.functions.get(function)) is None:
            raise NotRead(f"{self.name}: no function {function}")
        if self._depth >= _MOST_CALLS:
            raise NotRead(f"{self.name}: functions call each other too deeply to be read")
        args = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
        names = {**self.globals, **{arg: Slot(arg) for arg in args}, **arguments}
        self._depth += 1
        try:
            paths_taken = list(islice(self.paths(node.body, names), _MOST_PATHS))
        except RecursionError as error:
            raise NotRead(f"{self.name}: {function} is nested too deeply to be read") from error
        finally:
            self._depth -= 1
        values: list[Any] = []
        for _, value in paths_taken:
            if value is not NOTHING and value not in values:
                values.append(value)
        return values

    def ends(self, function: str) -> list[Names]:
        """Return the names at the end of each path through a function of the program."""
        node = self.functions[function]
        return [names for names, _ in islice(self.paths(node.body, dict(self.globals)), _MOST_PATHS)]

    def value(self, node: ast.AST, names: Mapping[str, Any]) -> Any:
        """Return the value of an expression; raises NotRead."""
        self._count_step(node)
        try:
            return self._checked_size(self._value(node, names))
        except NotRead as error:
            raise NotRead(
                str(error) if str(error).startswith(self.name) else self._placed(node, str(error))
            ) from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            raise NotRead(self._placed(node, f"no value ({error})")) from error
        except (RecursionError, MemoryError) as error:
            raise NotRead(self._placed(node, "nested too deeply or too long to be read")) from error

    def _value(self, node: ast.AST, names: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return readable(names.get(name, Slot(name)))
            case ast.Attribute(value=inner, attr=attr):
                return self._attribute(inner, attr, names)
            case ast.Subscript(value=inner, slice=key):
                return self._subscript(self.value(inner, names), key, names)
            case ast.JoinedStr(values=parts):
                return text_of([self.value(part, names) for part in parts])
            case ast.FormattedValue(value=inner, format_spec=None):
                return self.value(inner, names)
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return _collection(node, self._values(elements, names))
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values, names)
            case ast.BinOp(left=left, op=op, right=right):
                return combined(op, self.value(left, names), self.value(right, names))
            case ast.UnaryOp(op=ast.USub() | ast.Not() as op, operand=inner):
                value = plain(self.value(inner, names))
                return -value if isinstance(op, ast.USub) else not value
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compare(op, plain(self.value(left, names)), plain(self.value(right, names)))
            case ast.BoolOp(op=op, values=sides):
                return self._bool_op(isinstance(op, ast.Or), sides, names)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(orelse if self._holds(test, names) is False else body, names)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return _collection(node, self._elements(node.elt, node.generators, names))
            case ast.DictComp(key=key, value=value, generators=inner):
                pair = ast.copy_location(ast.Tuple([key, value], ast.Load()), node)
                return dict(self._elements(pair, inner, names))
            case ast.Call():
                return self._call(node, names)
        raise NotRead("an expression of this kind is not supported")

    def _attribute(self, node: ast.expr, attr: str, names: Mapping[str, Any]) -> Any:
        base = self.value(node, names)
        if isinstance(base, dict):
            return readable(base[attr])
        if not isinstance(base, Slot):
            raise NotRead(f"no attribute {attr}")
        if f"self.{attr}" in names and base.name in ("self", "cls"):
            return readable(names[f"self.{attr}"])
        if base.name in ("self", "cls", *self.classes) and attr in self._attributes:
            value = self.value(self._attributes[attr], self.globals)
            return value if is_plain(value) else Slot(attr)
        return (
            self.globals[attr]
            if base.name in names.get("import", ()) and attr in self.globals
            else Slot(attr)
        )

    def _subscript(self, base: Any, key: ast.expr, names: Mapping[str, Any]) -> Any:
        if isinstance(key, ast.Slice):
            if isinstance(base, Slot) and key.lower is None and key.step is None:
                return base
            ends = (end and plain(self.value(end, names)) for end in (key.lower, key.upper, key.step))
            return base[slice(*ends)]
        index = self.value(key, names)
        if isinstance(base, Slot):
            return Slot(index) if isinstance(index, str) else base
        if not is_plain(index):  # a dictionary's value under an unknown key
            return Slot(index.name) if isinstance(index, Slot) else Slot("")
        return readable(base[index])

    def _values(self, nodes: Iterable[ast.expr], names: Mapping[str, Any]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                spread = self.value(node.value, names)
                values += [Slot(spread.name, "")] if isinstance(spread, Slot) else list(spread)
            else:
                values.append(self.value(node, names))
        return values

    def _dict(
        self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr], names: Mapping[str, Any]
    ) -> dict[Any, Any]:
        """Return a dictionary; entries whose values cannot be read are ``Lost``."""
        entries: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                entries |= self.value(value, names)
            else:
                entries[plain(self.value(key, names))] = self._or_lost(value, names)
        return entries

    def _bool_op(self, is_or: bool, sides: Sequence[ast.expr], names: Mapping[str, Any]) -> Any:
        value: Any = None
        for side in sides:
            value = self.value(side, names)
            if not is_plain(value) or bool(value) == is_or:
                return value
        return value

    def _elements(self, elt: ast.expr, loops: Sequence[ast.comprehension], names: Mapping[str, Any]) -> Any:
        """Return a comprehension's values, or the slot whose parts it leaves unchanged."""
        first, *more = loops
        iterated = self.value(first.iter, names)
        if isinstance(iterated, Slot):
            target = first.target.id if isinstance(first.target, ast.Name) else ""
            slot = self.value(elt, {**names, target: Slot("")})
            if more or not (isinstance(slot, Slot) and slot.name in ("", "value", "name")):
                raise NotRead("a list comprehension of this kind is not supported")
            return iterated
        values: list[Any] = []
        if len(iterated) > MOST_PARTS:
            raise NotRead("a list is too long to be read")
        for item in iterated:
            inner = {**names}
            self._assign(first.target, item, inner)
            if all(self._holds(test, inner) is not False for test in first.ifs):
                values += self._elements(elt, more, inner) if more else [self.value(elt, inner)]
        return values

    def _call(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        match node.func:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in ("dedent", "cleandoc"):
                return dedented(self._values(node.args, names)[0], name)
            case ast.Name(id="filter"):
                return self.value(node.args[1], names)
            case ast.Name(id=name) if name in self.classes:
                return self.record(self.classes[name], node, names)
            case ast.Name(id=name) if name in _PLAIN and name not in self.functions:
                args = self._values(node.args, names)
                is_text = name in ("str", "list", "tuple") and args and isinstance(args[0], Slot | Composed)
                return args[0] if is_text else _PLAIN[name](*args, **self._keywords(node, names))
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if (
                name in self.functions
            ):
                return self._own_call(name, node, names)
            case ast.Attribute(value=owner, attr=name):
                return self._method(self.value(owner, names), name, node, names)
        raise NotRead(f"{ast.unparse(node.func)[:60]}() is not supported")

    def _method(self, base: Any, name: str, node: ast.Call, names: Mapping[str, Any]) -> Any:
        args, keywords = self._values(node.args, names), self._keywords(node, names)
        if name == "join" and isinstance(base, str):
            return joined(base, args[0])
        if name == "format" and isinstance(base, str):
            return formatted(base, args, keywords)
        if name == "replace" and isinstance(base, str | Composed):
            return replaced(base, *args[:2])
        if name in _STRIP_METHODS and isinstance(base, Composed | Slot):
            return stripped(base, name)
        if name in _TEXT_METHODS and isinstance(base, str):
            return getattr(base, name)(*map(plain, args))
        if name in _DICT_METHODS and isinstance(base, dict):
            value = getattr(base, name)(*args)
            return readable(value) if name == "get" else list(value)
        if isinstance(base, Slot) and name == "get" and isinstance(args[0], str):
            return Slot(args[0])
        if isinstance(base, Slot) and not args and name not in _TEXT_METHODS and base.name not in _MACHINE:
            return Slot(name)
        raise NotRead(f"{ast.unparse(node.func)[:60]}() is not supported")

    def _keywords(self, node: ast.Call, names: Mapping[str, Any]) -> dict[str, Any]:
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self._or_lost(keyword.value, names)
            if keyword.arg is None:
                keywords |= value if isinstance(value, dict) else {}
            else:
                keywords[keyword.arg] = value
        return keywords

    def record(self, cls: ast.ClassDef | None, node: ast.Call, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object of a class as a dictionary of its fields, which also name positional arguments."""
        fields, defaults = self.fields(cls)
        positional = dict(zip(fields, (self._or_lost(arg, names) for arg in node.args), strict=False))
        return {**{n: self._or_lost(d, self.globals) for n, d in defaults.items()}, **positional,
                **self._keywords(node, names)}  # fmt: skip

    def fields(self, cls: ast.ClassDef | None) -> tuple[list[str], dict[str, ast.expr]]:
        """Return the fields of a class, and the literal defaults."""
        if cls is None:
            return [], {}
        annotated = [e for e in cls.body if isinstance(e, ast.AnnAssign) and isinstance(e.target, ast.Name)]
        fields = [e.target.id for e in annotated if isinstance(e.target, ast.Name)]
        defaults = {f: e.value for f, e in zip(fields, annotated, strict=True) if e.value}
        makers = [e for e in cls.body if isinstance(e, ast.FunctionDef) and e.name == "__init__"]
        if not fields and makers:
            args = makers[0].args.args[1:]
            fields = [arg.arg for arg in args]
            own_defaults = makers[0].args.defaults
            defaults = dict(zip(fields[len(fields) - len(own_defaults) :], own_defaults, strict=True))
        return fields, {f: value for f, value in defaults.items() if not isinstance(value, ast.Call)}

    def _own_call(self, name: str, node: ast.Call, names: Mapping[str, Any]) -> Any:
        """Return the value of a call to a function of the program: its text with the most slots."""
        function = self.functions[name]
        args = [arg.arg for arg in function.args.args]
        args = args[1:] if args[:1] in (["self"], ["cls"]) else args
        known = dict(zip(args, self._values(node.args, names), strict=False)) | self._keywords(node, names)
        values = [value for value in self.returned(name, known) if not isinstance(value, Lost)]
        if not values:
            raise NotRead(f"the return value of {name}() cannot be read")
        return max(values, key=n_slots)

    def _execute(self, node: ast.stmt, names: Names) -> None:
        """Update the names by a statement."""
        for call in (part for part in ast.walk(node) if isinstance(part, ast.Call) and part.args):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "encode":
                names["encode()"] = self._or_lost(call.args[0], names)
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, self._or_lost(value, names), names)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._or_lost(value, names), names)
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
                current = ast.copy_location(_loaded(target), node)
                sum_node = ast.copy_location(ast.BinOp(current, op, value), node)
                self._assign(target, self._or_lost(sum_node, names), names)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) as call):
                if name in names and attr in _ADD_METHODS:
                    names[name] = self._extended(call, attr, names[name], names)
            case ast.For(target=target, iter=iterated, body=body):
                self._loop(target, iterated, body, names)
            case ast.Import(names=modules):
                names["import"] = (*names.get("import", ()), *(m.asname or m.name for m in modules))
            case ast.ImportFrom(names=imported):
                names.update({m.asname: names[m.name] for m in imported if m.asname and m.name in names})
            case ast.stmt() if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._mark_lost(node, names)

    def _assign(self, target: ast.expr, value: Any, names: Names) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = value
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                names[f"self.{name}"] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = list(value) if isinstance(value, list | tuple) else []
                values += [Lost("its value cannot be read")] * len(parts)
                for part, item in zip(parts, values, strict=False):
                    self._assign(part, item, names)
            case ast.Subscript(value=ast.Name(id=name), slice=key) if isinstance(names.get(name), dict):
                index = self._or_lost(key, names)
                names[name] = (
                    {**names[name], index: value} if is_plain(index) else Lost(self._placed(target, "a key"))
                )

    def _extended(self, call: ast.Call, attr: str, current: Any, names: Names) -> Any:
        try:
            args = self._values(call.args, names)
            if isinstance(current, list) and attr == "append":
                return self._checked_size([*current, args[0]])
            if isinstance(current, list) and attr == "extend":
                return self._checked_size(combined(ast.Add(), current, args[0]))
            if isinstance(current, list) and attr == "insert":
                return self._checked_size([*current[: args[0]], args[1], *current[args[0] :]])
            if isinstance(current, dict) and attr == "update":
                return self._checked_size(current | (args[0] if args else {}) | self._keywords(call, names))
        except (NotRead, TypeError, IndexError) as error:
            return Lost(str(error))
        fault = Lost(self._placed(call, f"{attr}() is not supported"))
        return current if isinstance(current, Slot | Lost) else fault

    def _loop(self, target: ast.expr, iterated: ast.expr, body: Sequence[ast.stmt], names: Names) -> None:
        """Run a loop over known values, one path per round; names assigned by other loops are ``Lost``."""
        items = self._or_lost(iterated, names)
        has_exit = any(isinstance(e, ast.Break | ast.Return) for node in body for e in ast.walk(node))
        if has_exit or not isinstance(items, list | tuple | dict) or len(items) > MOST_PARTS:
            for node in body:
                self._mark_lost(node, names)
            return
        for item in items:
            self._assign(target, item, names)
            end, _ = next(self.paths(body, dict(names)), (names, None))
            names.update(end)

    def _mark_lost(self, node: ast.AST, names: Names) -> None:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                names[part.id] = Lost(self._placed(node, f"{part.id} cannot be read"))
            match part:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                    if attr in _ADD_METHODS and name in names:
                        names[name] = Lost(self._placed(part, f"{name} cannot be read"))

    def _holds(self, test: ast.expr, names: Mapping[str, Any]) -> bool | None:
        """Return whether a condition holds; None if that depends on unknown values."""
        try:
            value = self.value(test, names)
        except NotRead:
            return None
        return bool(value) if is_plain(value) else None

    def _or_lost(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        try:
            return self.value(node, names)
        except NotRead as error:
            return Lost(str(error))

    def _store_attribute(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name | ast.Attribute):
                    name = target.id if isinstance(target, ast.Name) else target.attr
                    self._attributes.setdefault(name, node.value)

    def _checked_size(self, value: Any) -> Any:
        """Return the value; raises NotRead if it is too long, as nested lists can be."""
        if weight(value, self._weights) > LARGEST:
            raise NotRead("a text or list is too long to be read")
        return value

    def _count_step(self, node: ast.AST) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise NotRead(self._placed(node, "the program is too long to be read"))

    def _placed(self, node: ast.AST, fault: str) -> str:
        return f"{self.name}, line {getattr(node, 'lineno', 0)}: {fault}"


def _if_statement(node: ast.stmt) -> ast.stmt:
    """Return ``x = a if c else b`` as an if statement; any other statement unchanged."""
    value = getattr(node, "value", None)
    if not (isinstance(node, ast.Assign | ast.Return | ast.AugAssign) and isinstance(value, ast.IfExp)):
        return node
    branches = []
    for branch in (value.body, value.orelse):
        fields = {name: part for name, part in ast.iter_fields(node) if name != "value"}
        branches.append(ast.copy_location(type(node)(**fields, value=branch), node))
    return ast.copy_location(ast.If(value.test, [branches[0]], [branches[1]]), node)


def _collection(node: ast.AST, values: Any) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(values)
    return unique(values) if isinstance(node, ast.Set | ast.SetComp) else values


def _loaded(target: ast.Name | ast.Attribute) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load())
