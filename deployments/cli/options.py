"""Make command-line options from the fields of a pydantic model, so that every option is defined once.

A field ``max_items`` becomes the option ``--max-items`` with the field's type, choices, default and
description. pydantic reads the texts as given, so that the command line and the form of the Prefect UI
refuse the same values with the same messages.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from tasks.parsing import plain

WHAT, HOW_MUCH, ENGINES, RUN = "What is measured", "How much", "Engines", "Run and output"

_PANELS = {
    "models": ENGINES,
    "dtype": ENGINES,
    "occasion": RUN,
    "cohort": RUN,
    "seed": HOW_MUCH,
    "until": HOW_MUCH,
}
_OF_ENGINES = ("judge", "simulator", "embedder", "word_vectors", "temperature", "max_tokens")
"""Name parts of fields that go under the heading Engines."""


def parameters(
    model: type[BaseModel], profiles: Mapping[str, Mapping[str, Any]], leave_out: Iterable[str] = ()
) -> list[inspect.Parameter]:
    """Return one option per field for the signature of a typer command; inherited fields come last.

    Args:
        profiles: name -> values that replace the defaults; the help shows both.
        leave_out: fields that have options of their own.
    """
    fields = sorted(model.model_fields.items(), key=lambda item: item[0] not in model.__annotations__)
    return [
        _parameter(name, field, {label: values[name] for label, values in profiles.items() if name in values})
        for name, field in fields
        if name not in leave_out
    ]


def place(parameter: inspect.Parameter) -> int:
    """Return the position of an option's heading in the help."""
    _, declared = get_args(parameter.annotation)
    panels = (WHAT, HOW_MUCH, ENGINES, RUN)
    return panels.index(declared.rich_help_panel) if declared.rich_help_panel in panels else -1


def values(model: type[BaseModel], texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the command line's texts in the types of ``model``; raises ValueError for broken mappings."""
    fields = model.model_fields
    return {name: _value(name, fields[name], text) for name, text in texts.items() if text is not None}


def validated(model: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Return the model with these values; raises ValueError that names each wrong option."""
    try:
        return model(**values)
    except ValidationError as error:
        fields = getattr(model, "model_fields", {})
        raise ValueError("; ".join(dict.fromkeys(_complaint(e, fields) for e in error.errors()))) from error


def option(field: str) -> str:
    """Return the option's name for a field."""
    return "--" + field.replace("_", "-")


def split(texts: Iterable[str]) -> list[str]:
    """Return the parts of comma-separated texts; the path of an existing file stays whole."""
    parts = (text.split(",") if not os.path.exists(text) else [text] for text in texts)
    return [part.strip() for some in parts for part in some if part.strip()]


def _complaint(error: Any, fields: Mapping[str, FieldInfo]) -> str:
    """Return one of pydantic's errors as a line: option, what was expected, and the value given."""
    message = plain(str(error["msg"]))
    if not error["loc"]:
        return message
    name = str(error["loc"][0])
    if error["type"] == "string_pattern_mismatch" and name in fields:
        return f"{option(name)}: {error['input']!r} is none of {fields[name].description}"
    was = f", not {error['input']!r}" if isinstance(error["input"], str | int | float) else ""
    return f"{option(name)}: {message}{was}"


def _parameter(name: str, field: FieldInfo, by_profile: Mapping[str, Any]) -> inspect.Parameter:
    kind = _bare_type(field.annotation)
    settings: dict[str, Any] = {
        "help": (field.description or "") + _defaults(field, by_profile),
        "rich_help_panel": _panel(name, kind, field),
        "show_default": False,
    }
    annotation: Any = str | None
    declared = option(name)
    if kind is bool:
        annotation, declared = bool | None, f"{declared}/--no-{declared[2:]}"
    else:
        settings["metavar"] = _metavar(kind)
        if choices := _choices(kind):
            settings["autocompletion"] = lambda: choices
        if get_origin(kind) in (list, dict):
            annotation = list[str] | None
    annotation = Annotated[annotation, typer.Option(declared, **settings)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _value(name: str, field: FieldInfo, raw: Any) -> Any:
    """Return a value for pydantic, which itself reads numbers from texts."""
    kind = _bare_type(field.annotation)
    if kind is bool:
        return raw
    if get_origin(kind) is dict:
        return _mapping(name, kind, raw)
    if get_origin(kind) is list:
        (element,) = get_args(kind)
        parts = [_scalar(element, part) for part in split(raw)]
        return parts if parts or not _takes_none(field) else None
    return None if raw == "" and _takes_none(field) else _scalar(kind, raw)


def _scalar(kind: Any, text: str) -> Any:
    """Return the choice that a text names (it may be a number), else the text."""
    choices = get_args(_bare_type(kind)) if get_origin(_bare_type(kind)) is Literal else ()
    return next((choice for choice in choices if str(choice) == text), text)


def _mapping(name: str, kind: Any, entries: Sequence[str]) -> dict[str, Any]:
    """Return the mapping of entries KEY=VALUE; a key may be repeated if its value is a list."""
    _, value_kind = get_args(kind)
    lists = get_origin(_bare_type(value_kind)) is list
    mapping: dict[str, Any] = {}
    for entry in entries:
        key, equals, value = entry.partition("=")
        if not (key and equals and value):
            raise ValueError(f"{option(name)} {entry}: write it as {_metavar(kind)}")
        if lists:
            mapping.setdefault(key, []).append(value)
        elif key in mapping:
            raise ValueError(f"{option(name)}: {key} is given twice")
        else:
            mapping[key] = value
    return mapping


def _bare_type(annotation: Any) -> Any:
    """Return a type without ``Annotated`` and without ``| None``."""
    if get_origin(annotation) is Annotated:
        return _bare_type(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return _bare_type(kinds[0]) if len(kinds) == 1 else str
    return annotation


def _takes_none(field: FieldInfo) -> bool:
    return NoneType in get_args(field.annotation)


def _choices(kind: Any) -> list[str]:
    """Return the choices of a value or of a list's elements; empty: any value."""
    if get_origin(kind) is list:
        return _choices(_bare_type(get_args(kind)[0]))
    return [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []


def _metavar(kind: Any) -> str:
    """Return a value as the help writes it: [a|b], INTEGER, TEXT,… or KEY=TEXT."""
    kind = _bare_type(kind)
    if get_origin(kind) is list:
        return f"{_metavar(get_args(kind)[0])},…"
    if get_origin(kind) is dict:
        key, value = (_bare_type(part) for part in get_args(kind))
        value = _bare_type(get_args(value)[0]) if get_origin(value) is list else value
        return f"{_metavar(key) if _choices(key) else 'KEY'}={_metavar(value)}"
    if choices := _choices(kind):
        return f"[{'|'.join(choices)}]"
    return {int: "INTEGER", float: "NUMBER"}.get(kind, "TEXT")


def _panel(name: str, kind: Any, field: FieldInfo) -> str:
    """Return an option's heading in the help; a field may set it in ``json_schema_extra``."""
    extra = field.json_schema_extra
    if panel := (extra.get("panel") if isinstance(extra, dict) else None) or _PANELS.get(name):
        return str(panel)
    if any(part in name for part in _OF_ENGINES):
        return ENGINES
    return HOW_MUCH if kind in (int, float) else WHAT


def _defaults(field: FieldInfo, by_profile: Mapping[str, Any]) -> str:
    """Return the default and the values that profiles set, in brackets; empty if there are none."""
    default = field.get_default(call_default_factory=True) if not field.is_required() else None
    defaults = {"default": default} if default not in (None, "", [], {}) else {}
    defaults |= by_profile
    return (
        f" ({'; '.join(f'{label} {short(value)}' for label, value in defaults.items())})" if defaults else ""
    )


def short(value: Any) -> str:
    """Return a default as written on the command line; for a long list, its length."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 40 or isinstance(value, str) else f"{len(value)} values"
