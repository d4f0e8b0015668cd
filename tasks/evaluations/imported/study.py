"""The study of an imported log: items of a task, their groups, and the stored answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple

import polars as pl
from pydantic import Field

from tasks.engines.protocols import Ability
from tasks.evaluations.contract import Params, Rows
from tasks.identity import digest
from tasks.loop.positions import LETTERS, NO_ORDER, NUMBERS, Order, has_order, lettered
from tasks.loop.replies import normal
from tasks.loop.requests import Engine, Request
from tasks.loop.rows import Clustered, Slice, slices
from tasks.loop.samples import Sample
from tasks.metrics.intervals import SHARE, UNBOUNDED
from tasks.metrics.types import BoolArray
from tasks.parsing import parse_json

NAME = "imported"
SCORES_VERSION = 3
"""Version, part of config_hash; raise it whenever a change in reading or computing changes a number."""

KNOBS = {"harness", "task", "version", "task_settings", "metric", "direction", "scale", "cluster", "by"}
"""Params that are in config_hash by value; items are there by content."""

TASK = "task"
"""Slice of a task, beside which numbers are shown that others published of it."""

_AT_ONCE = 1000
"""Items in one row of stored content."""
NOT_RUN = "its answers come from logs, so nothing can be run: culturemeter import PATH takes logs"


def option_hash(option: str) -> str:
    """Return the hash by which an option's text is stored; options that differ in case are equal."""
    return digest([normal(option)], 8)


_LABELS = {option_hash(name): name for names in (*LETTERS, *NUMBERS) for name in names}


class ImportedParams(Params):
    """A task of another program, with nulls, clusters and intervals; ``culturemeter import`` fills it in."""

    harness: str = Field("", description="program that made the log")
    task: str = Field("", description="task in that program")
    version: str = Field("", description="version of the task")
    task_settings: dict[str, str] = Field(
        {}, description="settings of the task: shots, generation, prompt by hash"
    )
    metric: str = Field("", description="metric of the log that is the headline")
    direction: Literal["higher", "lower"] = Field(
        "higher", description="which values of the metric are better"
    )
    scale: Literal["hit", "share", "any"] = Field(
        "any", description="hit: an answer scores 1 or 0; share: from 0 to 1; any: a number"
    )
    cluster: str = Field("", description="field of the log whose values are the clusters; empty: the items")
    by: list[str] = Field([], description="fields of the log; results are broken down by their values")
    harness_version: str = Field("", description="version of the program")
    stated: list[str] = Field([], description="models that the user says are models known by another name")


class ImportedItem(NamedTuple):
    """One item.

    Attributes:
        name: the hash of its content. cluster: label shared by related items. slices: values of ``by``.
        target: right output in words, "" if there is not one. right: index of the right option, -1 if
            unknown. lengths: letters of each option. also: further hashes of the item (``same_item``).
        options: a hash of each option's text; () in logs that were imported before.
    """

    name: str
    cluster: str
    slices: tuple[str, ...]
    target: str
    right: int = -1
    lengths: tuple[int, ...] = ()
    also: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class ImportedAnswer(NamedTuple):
    """The scores of one answer.

    Attributes:
        values: metric -> number, the headline by the name that the params have for it.
        lost: why there is no answer, or "". unscored: why there is no number, or "". answer: in words, or "".
    """

    values: Mapping[str, float]
    lost: str
    unscored: str
    answer: str


@dataclass(frozen=True, kw_only=True)
class ImportedAnswers(Request[Mapping[str, ImportedAnswer]]):
    """The answers of a log; they are stored when it is imported, so nothing is ever sent."""

    kind: ClassVar[str] = "imported_answer"
    ability: ClassVar[Ability] = "imported"
    columns: ClassVar[tuple[str, ...]] = ("item", "scores", "lost", "unscored_reason", "answer")
    by_unit: ClassVar[bool] = True

    names: tuple[str, ...]
    content: str

    @property
    def units(self) -> Sequence[str]:
        """Names of the items."""
        return self.names

    def identity(self, engine: Engine) -> list[Any]:
        return [NAME, engine.hash, self.content]

    def compute(self, engine: Any, units: Sequence[str], progress: Callable[[int], None]) -> pl.DataFrame:
        raise ValueError(f"{NAME}: {NOT_RUN}")

    def decode(self, frame: pl.DataFrame) -> Mapping[str, ImportedAnswer]:
        """Implement ``Request.decode``."""
        return {
            item: ImportedAnswer(parse_json(scores), lost or "", unscored or "", answer or "")
            for item, scores, lost, unscored, answer in frame.select(self.columns).rows()
        }

    @staticmethod
    def frame(answers: Mapping[str, ImportedAnswer]) -> pl.DataFrame:
        """Return answers as rows of a part without provenance."""
        return pl.DataFrame(
            {
                "item": list(answers),
                "scores": [json.dumps(each.values, sort_keys=True) for each in answers.values()],
                "lost": [each.lost or None for each in answers.values()],
                "unscored_reason": [each.unscored or None for each in answers.values()],
                "answer": [each.answer or None for each in answers.values()],
            },
            schema_overrides=dict.fromkeys(("lost", "unscored_reason", "answer"), pl.String),
        )


@dataclass(frozen=True)
class ImportedStudy(Clustered):
    """The items of one task of one program.

    Attributes:
        items: in the order of their names; all arrays have this order.
        texts: model -> opens the stream of its samples, while a log is imported; empty afterwards.
    """

    params: ImportedParams
    items: tuple[ImportedItem, ...]
    texts: Mapping[str, Callable[[], Iterator[Sample]]] = field(default_factory=dict, compare=False)

    @property
    def bounds(self) -> tuple[float, float]:
        """Range of the headline."""
        return UNBOUNDED if self.params.scale == "any" else SHARE

    def slices(self) -> Iterator[tuple[Slice, BoolArray]]:
        """Yield every slice with its items: the overall one, the task, then the values of ``by``."""
        columns = {TASK: [self.params.task] * len(self.items)} | {
            name: [item.slices[place] for item in self.items] for place, name in enumerate(self.params.by)
        }
        return slices(columns, len(self.items))

    @cached_property
    def orders(self) -> Sequence[Order]:
        """Return each item's options in their order, or letters' where right outputs are letters."""
        items = self.items
        if not any(item.right >= 0 for item in items):
            return lettered([item.target for item in items])
        options = [item.options for item in items if item.right >= 0]
        names = [[_LABELS.get(option, option) for option in own] for own in options]
        if all(options) and not has_order(names):
            return [NO_ORDER] * len(items)
        return [Order((item.right,), len(item.lengths)) if item.right >= 0 else NO_ORDER for item in items]

    @cached_property
    def materials(self) -> dict[str, str]:
        """Implement ``contract.Study``."""
        return {"item": digest([item._replace(also=()) for item in self.items])}

    @cached_property
    def _config(self) -> str:
        return digest([NAME, SCORES_VERSION, self.params.hashed(KNOBS), self.materials])

    def config_hash(self) -> str:
        """Implement ``contract.Study``."""
        return self._config

    @cached_property
    def request(self) -> ImportedAnswers:
        """The request that has the log's answers."""
        return ImportedAnswers(
            topic=self.params.task,
            label=self.params.harness,
            batch=len(self.items),
            names=tuple(item.name for item in self.items),
            content=self.config_hash(),
        )


def content(study: ImportedStudy) -> Rows:
    """Return what a study was built from, as rows ``part_of`` and ``body``."""
    return [
        {"part_of": "item", "body": json.dumps(study.items[start : start + _AT_ONCE], ensure_ascii=False)}
        for start in range(0, len(study.items), _AT_ONCE)
    ]


def items_of(rows: Rows) -> tuple[ImportedItem, ...]:
    """Return the items of stored content."""
    return tuple(
        ImportedItem(name, cluster, tuple(values), target, right, *map(tuple, lists))
        for row in rows
        for name, cluster, values, target, right, *lists in parse_json(row["body"])
    )
