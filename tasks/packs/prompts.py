"""Renders users' prompts: Jinja2 templates over the cells of a row, in a sandbox, without loops. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from jinja2 import StrictUndefined, Template, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

_SANDBOX = ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)

_ALLOWED = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.If, nodes.CondExpr,
    nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Filter, nodes.Test,
)  # fmt: skip
_DEEPEST = 50
"""Largest number of nested conditions, filters and brackets; deeper templates overflow the parser."""
_TOO_DEEP = f"it is nested more than {_DEEPEST} deep"
_FILTERS = frozenset({"capitalize", "default", "first", "last", "lower", "title", "trim", "upper"})
"""Allowed filters.

None makes a text much longer than its input, so a template's length bounds its time and memory.
"""


def fields_of(template: str) -> set[str]:
    """Return the names that a template uses.

    Raises:
        TemplateError: the text is not a Jinja2 template.
        ValueError: it has more than names, conditions and allowed filters.
    """
    try:
        tree = _SANDBOX.parse(template)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    for node in _nodes(tree):
        if not isinstance(node, _ALLOWED):
            raise ValueError(f"line {node.lineno}: {type(node).__name__.lower()} is not allowed in a prompt")
        if isinstance(node, nodes.Filter) and node.name not in _FILTERS:
            known = ", ".join(sorted(_FILTERS))
            raise ValueError(f"line {node.lineno}: unknown filter {node.name!r}; known: {known}")
    return meta.find_undeclared_variables(tree)


_BRACES = re.compile(r"\{\{|\}\}|\{(\w+)\}|[{}]")
_FORMATTED = re.compile(r"\{\{\s*(?:([\"'])[^\"'{}]*\1\s*:|[\w-]+[\s(]+(?!(?:if|or|and|not|is|in)\b)\w)")
"""Two braces around words, or around a quoted key: a brace of the text in Python's ``str.format``."""


def from_format(text: str, names: Collection[str]) -> str | None:
    """Return the Jinja2 template of a text in the form of Python's ``str.format``, in which papers print
    prompts: "{persona}" is a field, and "{{" is a brace; None for a text that is not in this form.

    names: the fields that are known; other names between single braces stay as they are.
    """
    fields = set(re.findall(r"(?<!\{)\{(\w+)\}(?!\})", text)) & set(names)
    if not fields and not _FORMATTED.search(text):
        return None
    literal = {"{": "{{ '{' }}", "}": "{{ '}' }}"}

    def converted(match: re.Match[str]) -> str:
        if match[1] is None:
            return literal[match[0][0]]
        return f"{{{{ {match[1]} }}}}" if match[1] in names else f"{literal['{']}{match[1]}{literal['}']}"

    return _BRACES.sub(converted, text)


def _nodes(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Yield every node; raises ValueError if they are nested too deeply."""
    level: list[nodes.Node] = [tree]
    for _ in range(_DEEPEST):
        yield from level
        level = [child for node in level for child in node.iter_child_nodes()]
        if not level:
            return
    raise ValueError(_TOO_DEEP)


def rendered(template: str, fields: Mapping[str, str]) -> str:
    """Return the filled template without spaces around it."""
    return _compiled(template).render(fields).strip()


@lru_cache(maxsize=64)
def _compiled(template: str) -> Template:
    return _SANDBOX.from_string(template)
