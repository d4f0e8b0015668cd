"""Evaluates Python expressions and functions by their syntax trees, without running them. Pure. A value is a
Python value, a ``Slot`` if it depends on something unknown (an argument, a file), or ``Composed``: a text of
literal parts and slots. A function is followed along every path through it.
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
    compares,
    formatted,
    indented,
    is_plain,
    joined,
    n_slots,
    plain,
    replaced,
    stripped,
    text_of,
    there,
    unique,
    weight,
)

_MOST_STEPS = 200_000
_MOST_WAYS = 64
_MOST_CALLS = 8
Names = dict[str, Any]
NOTHING = object()
"""Result of a path through a function that ends without ``return``."""
_PLAIN: Mapping[str, Callable[..., Any]] = {
    **{of.__name__: of for of in (str, list, tuple, dict, len, sorted, int, float, bool)},
    "set": lambda of=(): unique(of),
    "frozenset": lambda of=(): unique(of),
    "reversed": lambda of: list(reversed(of)),
    "enumerate": lambda of, start=0: list(enumerate(of, start)),
    "zip": lambda *of: list(zip(*of, strict=False)),
}
_OF_TEXT = {
    "upper", "lower", "title", "capitalize", "casefold", "split", "splitlines", "removeprefix",
    "removesuffix", "startswith", "endswith", "strip", "lstrip", "rstrip",
}  # fmt: skip
_OF_DICT = {"get", "items", "keys", "values"}
_ADDS = {"append", "extend", "insert", "update"}
_STRIPS = {"strip", "lstrip", "rstrip"}
_OF_MACHINE = {"os", "environ", "random", "json"}


class Reader:
    """Reads the expressions and functions of a program.

    Attributes:
        name: name of the file. functions, classes: those of the program, by name. steps: number left before
            reading stops.
    """

    def __init__(self, name: str, tree: ast.Module) -> None:
        self.name, self.steps, self._depth = name, _MOST_STEPS, 0
        self._weights: dict[int, tuple[Any, int]] = {}
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self._of_self: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions.setdefault(node.name, node)
            elif isinstance(node, ast.ClassDef):
                self.classes.setdefault(node.name, node)
                for each in node.body:
                    self._keep_attribute(each)
            else:
                self._keep_attribute(node)
        self.globals: Names = {"__name__": "read"}

    def ways(self, body: Sequence[ast.stmt], names: Names) -> Iterator[tuple[Names, Any]]:
        """Yield every path through statements, true conditions first: the names at its end, and its return
        value.
        """
        for number, node in enumerate(body):
            rest = body[number + 1 :]
            self._spend(node)
            if (node := _as_condition(node)) and isinstance(node, ast.If):
                holds = self._holds(node.test, names)
                for branch, when in ((node.body, True), (node.orelse, False)):
                    if holds in (None, when):
                        yield from self.ways([*branch, *rest], dict(names))
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
                    yield from self.ways([*inner, *rest], names)
                    return
                case ast.Try():
                    yield from self.ways([*node.body, *node.orelse, *node.finalbody, *rest], names)
                    return
                case _:
                    self._do(node, names)
        yield names, NOTHING

    def returned(self, function: str, known: Mapping[str, Any]) -> list[Any]:
        """The values that a function of the program returns on its ways, each once.

        Args:
            known: its arguments; others are slots.
        """
        if (node := self.functions.get(function)) is None:
            raise NotRead(f"{self.name}: no function {function}")
        if self._depth >= _MOST_CALLS:
            raise NotRead(f"{self.name}: functions call each other too deeply to be followed")
        args = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
        names = {**self.globals, **{arg: Slot(arg) for arg in args}, **known}
        self._depth += 1
        try:
            ways = list(islice(self.ways(node.body, names), _MOST_WAYS))
        except RecursionError as error:
            raise NotRead(f"{self.name}: {function} is too deep to be followed") from error
        finally:
            self._depth -= 1
        values: list[Any] = []
        for _, value in ways:
            if value is not NOTHING and value not in values:
                values.append(value)
        return values

    def ends(self, function: str) -> list[Names]:
        """Yield the names at the end of each path through a function of the program."""
        node = self.functions[function]
        return [names for names, _ in islice(self.ways(node.body, dict(self.globals)), _MOST_WAYS)]

    def value(self, node: ast.AST, names: Mapping[str, Any]) -> Any:
        """Return the value of an expression; raises NotRead."""
        self._spend(node)
        try:
            return self._within(self._value(node, names))
        except NotRead as error:
            raise NotRead(
                str(error) if str(error).startswith(self.name) else self._at(node, str(error))
            ) from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
            raise NotRead(self._at(node, f"no value ({error})")) from error
        except (RecursionError, MemoryError) as error:
            raise NotRead(self._at(node, "too deep or too long to be followed")) from error

    def _value(self, node: ast.AST, names: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return there(names.get(name, Slot(name)))
            case ast.Attribute(value=of, attr=attr):
                return self._attribute(of, attr, names)
            case ast.Subscript(value=of, slice=key):
                return self._part(self.value(of, names), key, names)
            case ast.JoinedStr(values=parts):
                return text_of([self.value(part, names) for part in parts])
            case ast.FormattedValue(value=of, format_spec=None):
                return self.value(of, names)
            case ast.List(elts=each) | ast.Tuple(elts=each) | ast.Set(elts=each):
                return _as_kind(node, self._each(each, names))
            case ast.Dict(keys=keys, values=values):
                return self._dict(keys, values, names)
            case ast.BinOp(left=left, op=op, right=right):
                return combined(op, self.value(left, names), self.value(right, names))
            case ast.UnaryOp(op=ast.USub() | ast.Not() as op, operand=of):
                value = plain(self.value(of, names))
                return -value if isinstance(op, ast.USub) else not value
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return compares(op, plain(self.value(left, names)), plain(self.value(right, names)))
            case ast.BoolOp(op=op, values=sides):
                return self._either(isinstance(op, ast.Or), sides, names)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(orelse if self._holds(test, names) is False else body, names)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return _as_kind(node, self._all(node.elt, node.generators, names))
            case ast.DictComp(key=key, value=value, generators=of):
                pair = ast.copy_location(ast.Tuple([key, value], ast.Load()), node)
                return dict(self._all(pair, of, names))
            case ast.Call():
                return self._called(node, names)
        raise NotRead("a value is made in a way that is not followed")

    def _attribute(self, of: ast.expr, attr: str, names: Mapping[str, Any]) -> Any:
        base = self.value(of, names)
        if isinstance(base, dict):
            return there(base[attr])
        if not isinstance(base, Slot):
            raise NotRead(f"no attribute {attr}")
        if f"self.{attr}" in names and base.name in ("self", "cls"):
            return there(names[f"self.{attr}"])
        if base.name in ("self", "cls", *self.classes) and attr in self._of_self:
            value = self.value(self._of_self[attr], self.globals)
            return value if is_plain(value) else Slot(attr)
        return (
            self.globals[attr]
            if base.name in names.get("import", ()) and attr in self.globals
            else Slot(attr)
        )

    def _part(self, base: Any, key: ast.expr, names: Mapping[str, Any]) -> Any:
        if isinstance(key, ast.Slice):
            if isinstance(base, Slot) and key.lower is None and key.step is None:
                return base
            ends = (each and plain(self.value(each, names)) for each in (key.lower, key.upper, key.step))
            return base[slice(*ends)]
        index = self.value(key, names)
        if isinstance(base, Slot):
            return Slot(index) if isinstance(index, str) else base
        if not is_plain(index):  # a dictionary's value under an unknown key
            return Slot(index.name) if isinstance(index, Slot) else Slot("")
        return there(base[index])

    def _each(self, nodes: Iterable[ast.expr], names: Mapping[str, Any]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                of = self.value(node.value, names)
                values += [Slot(of.name, "")] if isinstance(of, Slot) else list(of)
            else:
                values.append(self.value(node, names))
        return values

    def _dict(
        self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr], names: Mapping[str, Any]
    ) -> dict[Any, Any]:
        """Return a dictionary; an entry whose value cannot be read is lost, and the others are kept."""
        of: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                of |= self.value(value, names)
            else:
                of[plain(self.value(key, names))] = self._or_lost(value, names)
        return of

    def _either(self, is_or: bool, sides: Sequence[ast.expr], names: Mapping[str, Any]) -> Any:
        value: Any = None
        for side in sides:
            value = self.value(side, names)
            if not is_plain(value) or bool(value) == is_or:
                return value
        return value

    def _all(self, elt: ast.expr, of: Sequence[ast.comprehension], names: Mapping[str, Any]) -> Any:
        """Return a comprehension's values, or the slot whose parts it leaves unchanged."""
        first, *more = of
        every = self.value(first.iter, names)
        if isinstance(every, Slot):
            target = first.target.id if isinstance(first.target, ast.Name) else ""
            inner = self.value(elt, {**names, target: Slot("")})
            if more or not (isinstance(inner, Slot) and inner.name in ("", "value", "name")):
                raise NotRead("a list is joined in a way that is not followed")
            return every
        values: list[Any] = []
        if len(every) > MOST_PARTS:
            raise NotRead("a list is too long to be followed")
        for each in every:
            inside = {**names}
            self._assign(first.target, each, inside)
            if all(self._holds(test, inside) is not False for test in first.ifs):
                values += self._all(elt, more, inside) if more else [self.value(elt, inside)]
        return values

    def _called(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        match node.func:
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in ("dedent", "cleandoc"):
                return indented(self._each(node.args, names)[0], name)
            case ast.Name(id="filter"):
                return self.value(node.args[1], names)
            case ast.Name(id=name) if name in self.classes:
                return self.record(self.classes[name], node, names)
            case ast.Name(id=name) if name in _PLAIN and name not in self.functions:
                args = self._each(node.args, names)
                as_it_is = name in ("str", "list", "tuple") and args and isinstance(args[0], Slot | Composed)
                return args[0] if as_it_is else _PLAIN[name](*args, **self._keywords(node, names))
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if (
                name in self.functions
            ):
                return self._inside(name, node, names)
            case ast.Attribute(value=of, attr=name):
                return self._method(self.value(of, names), name, node, names)
        raise NotRead(f"{ast.unparse(node.func)[:60]}() is not followed")

    def _method(self, base: Any, name: str, node: ast.Call, names: Mapping[str, Any]) -> Any:
        args, more = self._each(node.args, names), self._keywords(node, names)
        if name == "join" and isinstance(base, str):
            return joined(base, args[0])
        if name == "format" and isinstance(base, str):
            return formatted(base, args, more)
        if name == "replace" and isinstance(base, str | Composed):
            return replaced(base, *args[:2])
        if name in _STRIPS and isinstance(base, Composed | Slot):
            return stripped(base, name)
        if name in _OF_TEXT and isinstance(base, str):
            return getattr(base, name)(*map(plain, args))
        if name in _OF_DICT and isinstance(base, dict):
            value = getattr(base, name)(*args)
            return there(value) if name == "get" else list(value)
        if isinstance(base, Slot) and name == "get" and isinstance(args[0], str):
            return Slot(args[0])
        if isinstance(base, Slot) and not args and name not in _OF_TEXT and base.name not in _OF_MACHINE:
            return Slot(name)
        raise NotRead(f"{ast.unparse(node.func)[:60]}() is not followed")

    def _keywords(self, node: ast.Call, names: Mapping[str, Any]) -> dict[str, Any]:
        more: dict[str, Any] = {}
        for each in node.keywords:
            value = self._or_lost(each.value, names)
            if each.arg is None:
                more |= value if isinstance(value, dict) else {}
            else:
                more[each.arg] = value
        return more

    def record(self, of: ast.ClassDef | None, node: ast.Call, names: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object of a class as a dictionary of its fields, which also name positional arguments."""
        fields, defaults = self.fields(of)
        given = dict(zip(fields, (self._or_lost(each, names) for each in node.args), strict=False))
        return {**{n: self._or_lost(d, self.globals) for n, d in defaults.items()}, **given,
                **self._keywords(node, names)}  # fmt: skip

    def fields(self, of: ast.ClassDef | None) -> tuple[list[str], dict[str, ast.expr]]:
        """Return the fields of a class, and the literal defaults."""
        if of is None:
            return [], {}
        annotated = [e for e in of.body if isinstance(e, ast.AnnAssign) and isinstance(e.target, ast.Name)]
        fields = [each.target.id for each in annotated if isinstance(each.target, ast.Name)]
        defaults = {f: each.value for f, each in zip(fields, annotated, strict=True) if each.value}
        makes = [e for e in of.body if isinstance(e, ast.FunctionDef) and e.name == "__init__"]
        if not fields and makes:
            args = makes[0].args.args[1:]
            fields = [each.arg for each in args]
            own = makes[0].args.defaults
            defaults = dict(zip(fields[len(fields) - len(own) :], own, strict=True))
        return fields, {f: value for f, value in defaults.items() if not isinstance(value, ast.Call)}

    def _inside(self, name: str, node: ast.Call, names: Mapping[str, Any]) -> Any:
        """Return the value of a call to a function of the program: its text with the most slots."""
        function = self.functions[name]
        args = [each.arg for each in function.args.args]
        args = args[1:] if args[:1] in (["self"], ["cls"]) else args
        given = dict(zip(args, self._each(node.args, names), strict=False)) | self._keywords(node, names)
        values = [value for value in self.returned(name, given) if not isinstance(value, Lost)]
        if not values:
            raise NotRead(f"what {name}() returns is not followed")
        return max(values, key=n_slots)

    def _do(self, node: ast.stmt, names: Names) -> None:
        """Change the names as a statement does."""
        for call in (each for each in ast.walk(node) if isinstance(each, ast.Call) and each.args):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "encode":
                names["encode()"] = self._or_lost(call.args[0], names)
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, self._or_lost(value, names), names)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._or_lost(value, names), names)
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
                old = ast.copy_location(_as_read(target), node)
                both = ast.copy_location(ast.BinOp(old, op, value), node)
                self._assign(target, self._or_lost(both, names), names)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) as call):
                if name in names and attr in _ADDS:
                    names[name] = self._added(call, attr, names[name], names)
            case ast.For(target=target, iter=every, body=body):
                self._round(target, every, body, names)
            case ast.Import(names=modules):
                names["import"] = (*names.get("import", ()), *(m.asname or m.name for m in modules))
            case ast.ImportFrom(names=imported):
                names.update({m.asname: names[m.name] for m in imported if m.asname and m.name in names})
            case ast.stmt() if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._lose(node, names)

    def _assign(self, target: ast.expr, value: Any, names: Names) -> None:
        match target:
            case ast.Name(id=name):
                names[name] = value
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                names[f"self.{name}"] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                values = list(value) if isinstance(value, list | tuple) else []
                for part, each in zip(
                    parts, values + [Lost("it is not followed")] * len(parts), strict=False
                ):
                    self._assign(part, each, names)
            case ast.Subscript(value=ast.Name(id=name), slice=key) if isinstance(names.get(name), dict):
                of = self._or_lost(key, names)
                names[name] = {**names[name], of: value} if is_plain(of) else Lost(self._at(target, "a key"))

    def _added(self, call: ast.Call, attr: str, old: Any, names: Names) -> Any:
        try:
            args = self._each(call.args, names)
            if isinstance(old, list) and attr == "append":
                return self._within([*old, args[0]])
            if isinstance(old, list) and attr == "extend":
                return self._within(combined(ast.Add(), old, args[0]))
            if isinstance(old, list) and attr == "insert":
                return self._within([*old[: args[0]], args[1], *old[args[0] :]])
            if isinstance(old, dict) and attr == "update":
                return self._within(old | (args[0] if args else {}) | self._keywords(call, names))
        except (NotRead, TypeError, IndexError) as error:
            return Lost(str(error))
        return old if isinstance(old, Slot | Lost) else Lost(self._at(call, f"{attr}() is not followed"))

    def _round(self, target: ast.expr, every: ast.expr, body: Sequence[ast.stmt], names: Names) -> None:
        """Run a loop over known values, one path per round; the names that another loop assigns are lost."""
        of = self._or_lost(every, names)
        leaves = any(isinstance(e, ast.Break | ast.Return) for node in body for e in ast.walk(node))
        if leaves or not isinstance(of, list | tuple | dict) or len(of) > MOST_PARTS:
            for node in body:
                self._lose(node, names)
            return
        for each in of:
            self._assign(target, each, names)
            end, _ = next(self.ways(body, dict(names)), (names, None))
            names.update(end)

    def _lose(self, node: ast.AST, names: Names) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                names[each.id] = Lost(self._at(node, f"{each.id} is made in a way that is not followed"))
            match each:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if attr in _ADDS:
                    if name in names:
                        names[name] = Lost(self._at(each, f"{name} is made in a way that is not followed"))

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

    def _keep_attribute(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name | ast.Attribute):
                    name = target.id if isinstance(target, ast.Name) else target.attr
                    self._of_self.setdefault(name, node.value)

    def _within(self, value: Any) -> Any:
        """Return the value; raises NotRead if it is too long for a program, as nested lists can be."""
        if weight(value, self._weights) > LARGEST:
            raise NotRead("a text or list is too long to be followed")
        return value

    def _spend(self, node: ast.AST) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise NotRead(self._at(node, "the program is too long to be followed"))

    def _at(self, node: ast.AST, what: str) -> str:
        return f"{self.name}, line {getattr(node, 'lineno', 0)}: {what}"


def _as_condition(node: ast.stmt) -> ast.stmt:
    """Return ``x = a if c else b`` as an if statement; any other statement unchanged."""
    value = getattr(node, "value", None)
    if not (isinstance(node, ast.Assign | ast.Return | ast.AugAssign) and isinstance(value, ast.IfExp)):
        return node
    both = []
    for branch in (value.body, value.orelse):
        fields = {name: of for name, of in ast.iter_fields(node) if name != "value"}
        both.append(ast.copy_location(type(node)(**fields, value=branch), node))
    return ast.copy_location(ast.If(value.test, [both[0]], [both[1]]), node)


def _as_kind(node: ast.AST, values: Any) -> Any:
    if isinstance(node, ast.Tuple):
        return tuple(values)
    return unique(values) if isinstance(node, ast.Set | ast.SetComp) else values


def _as_read(target: ast.Name | ast.Attribute) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return ast.Attribute(target.value, target.attr, ast.Load())
