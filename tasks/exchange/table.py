"""Plain tables of scores: CSV, Parquet, JSON Lines, Excel; columns are named on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.data.errors import TableError
from tasks.data.reading import ENDINGS, table
from tasks.exchange.records import (
    EMPTY,
    LONGEST_LABEL,
    MISSING,
    NOT_A_NUMBER,
    Log,
    LoggedModel,
    LoggedSample,
    LogHeader,
    label,
    metric_of,
    number,
    same_item,
    same_items,
    sound,
)
from tasks.identity import digest

HARNESS = "table"
KNOWN = ("model", "item", "score", "task", "prompt", "output", "target")
"""Roles of columns; the first three are needed."""


@dataclass(frozen=True)
class Mapped:
    """Which column has which role; a role that is not named is the column of that name, if there is one.

    Attributes:
        columns: role -> column. task: the task's name, where no column has it.
    """

    columns: Mapping[str, str]
    task: str = ""


def is_table(path: Path) -> bool:
    """Return whether a file's ending is one of a table."""
    return path.suffix.casefold() in ENDINGS


def logs(path: Path, mapped: Mapped) -> Iterator[Log]:
    """Yield a log for each task and model of a table.

    Raises:
        TableError: a column is missing, or a row has no model or item, or repeats another.
    """
    rows = table(path)
    header = list(dict.fromkeys(name for row in rows for name in row.cells))
    columns = {role: mapped.columns.get(role, role) for role in KNOWN}
    for role, column in columns.items():
        if column not in header and (role in mapped.columns or role in KNOWN[:3]):
            what = f"no column {column!r} for the {role}; it has: {', '.join(map(str, header[:20]))}"
            raise TableError(what, f"name it with --{role} COLUMN", file=str(path))
    metric = metric_of(label(columns["score"]))
    samples: dict[tuple[str, str], dict[str, LoggedSample]] = {}
    for row in rows:
        cells = {role: row.cells.get(column) for role, column in columns.items()}
        if cells["output"] is None and columns["output"] in header:
            cells["output"] = ""  # an empty cell of a column of outputs
        name, item = _text(cells["model"]), _text(cells["item"])
        if not name or not item:
            raise TableError(
                f"no {'item' if name else 'model'}", "fill it in", place=row.place, file=str(path)
            )
        task = label(_text(cells["task"]) or mapped.task or path.stem)
        own = samples.setdefault((task, name), {})
        sample = _sample(
            item, cells, {k: v for k, v in row.cells.items() if k not in columns.values()}, metric.name
        )
        if (before := own.setdefault(item, sample)) is not sample and before != sample:
            what = f"the item {item[:60]!r} of {name[:60]!r} is there twice, with different values"
            raise TableError(what, "keep one, or give them two names", place=row.place, file=str(path))
    of_task: dict[str, dict[str, LoggedSample]] = {}  # each item with the last model's sample of it
    for (task, _), own in samples.items():
        of_task.setdefault(task, {}).update(own)
    for (task, name), own in sorted(samples.items()):
        every = of_task[task]
        listed = [*own.values(), *(_missing(every[item]) for item in sorted(every.keys() - own.keys()))]
        yield Log(
            LogHeader(
                file=str(path),
                harness=HARNESS,
                harness_version="",
                date="",
                task=task,
                version="",
                model=LoggedModel(name.rpartition("/")[2] or name, name),
                metrics=(metric,),
                n=len(own),
            ),
            lambda listed=listed: iter(listed),  # type: ignore[misc]
        )


def _sample(item: str, cells: Mapping[str, Any], rest: Mapping[str, Any], metric: str) -> LoggedSample:
    value, prompt, output, target = (cells[role] for role in ("score", "prompt", "output", "target"))
    score = _number(value)
    question, answered = _text(prompt), _text(output)
    targets = [_text(target)] if _text(target) else []
    return LoggedSample(
        id=item,
        item=item if len(item) <= LONGEST_LABEL and item == label(item, "") else digest([item]),
        prompt=[{"role": "user", "content": question}] if question else [],
        output=answered,
        scores={} if score is None else {metric: score},
        also=_also(question, targets),
        target=targets,
        answer=answered or None,
        lost=EMPTY if output is not None and not answered.strip() else "",
        unscored="" if score is not None else "no score" if value in (None, "") else NOT_A_NUMBER,
        finish_reason="stop" if answered else "",
        fields=rest,
    )


def _also(question: str, target: list[str]) -> list[str]:
    return list(
        dict.fromkeys([*same_items([question], target), *([same_item(question, target)] if question else [])])
    )


def _missing(other: LoggedSample) -> LoggedSample:
    """Return the record of an item that a model has no row of, from another model's."""
    return LoggedSample(
        other.id,
        other.item,
        other.prompt,
        "",
        {},
        other.also,
        target=other.target,
        lost=MISSING,
        unscored=MISSING,
        fields=other.fields,
    )


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        plain = value.strip().casefold()
        if plain in ("true", "false", "yes", "no"):
            return float(plain in ("true", "yes"))
        try:
            return number(float(plain.removesuffix("%"))) if not plain.endswith("%") else None
        except ValueError:
            return None
    return number(value)


def _text(value: Any) -> str:
    return sound(value).strip() if isinstance(value, str | int | float | bool) and value == value else ""
