"""The study of an evaluation from a recipe: chosen items, judges, and its hash. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from pydantic import Field, create_model

from tasks.evaluations.choosing import of_slices
from tasks.evaluations.contract import GenerationParams, Params
from tasks.evaluations.recipe.checks import options_are_shown
from tasks.evaluations.recipe.definition import (
    GIVEN,
    LETTER,
    ROOM,
    ROTATED,
    Choice,
    Judged,
    Recipe,
    TextRecipe,
)
from tasks.evaluations.recipe.items import Item, LoadedRecipe, rotations
from tasks.identity import digest
from tasks.judging.panel import Panel, judges_by_name
from tasks.loop.requests import Engine
from tasks.loop.rows import Clustered, Slice, slices
from tasks.metrics.types import BoolArray

SCORES_VERSION = 4
"""Version, part of config_hash; raise it whenever a change in reading or computing changes a number."""

NULLS_JUDGED = 100
"""Number of items whose null answers are judged too, chosen by simulation for cure."""

CHOICES_AT_ONCE = 128
"""Questions of a choice: what those of one call begin with is run once."""

KNOBS = {"temperature", "max_tokens", "judge_max_tokens", "seed", "nulls", "by", "orders"}
"""Params in config_hash by value; items are there by content, judges by their engines."""


def params_of(loaded: LoadedRecipe, more: Mapping[str, Any] | None = None) -> type[Params]:
    """Return an evaluation's parameters from its definition, after further ones of its own."""
    definition = loaded.definition
    knobs: dict[str, Any] = dict(more or {}) | {
        column: (list[str], Field([], description=f"{column} of the items to be asked; empty: all"))
        for column in definition.slices
    }
    knobs["limit"] = (
        int | None,
        Field(None, ge=1, description="number of items, spread over clusters; empty: all"),
    )
    writes = isinstance(definition, TextRecipe | Choice)
    if isinstance(definition, TextRecipe | Choice):
        of_answer = "most tokens of an answer and its thinking; an answer that is cut off is wrong"
        knobs["max_tokens"] = (int, Field(definition.max_tokens, ge=1, description=of_answer))
        knobs["temperature"] = (float, Field(0.0, ge=0, le=2, description="temperature of the candidates"))
    if isinstance(definition, Choice):
        turned = "given: options in the file's order; rotated: once for each option in the first place"
        knobs["orders"] = (
            cast(Any, Choice.model_fields["orders"].annotation), Field(definition.orders, description=turned)
        )  # fmt: skip
        how = "logprob: the likeliest option counts; letter: the one whose letter is written"
        stored = "items that are answered and stored together"
        knobs["batch"] = (int, Field(CHOICES_AT_ONCE, ge=1, description=stored))
        knobs["by"] = (cast(Any, Choice.model_fields["by"].annotation), Field(definition.by, description=how))
    if isinstance(definition, Judged):
        judged = "models that judge answers; several: their mean; empty: nothing is scored"
        knobs["judges"] = (list[str], Field([], description=judged))
        knobs["judge_max_tokens"] = (int, Field(ROOM, ge=16, description="most tokens of a judge's answer"))
        drawn = "number of items whose null answers are judged too"
        knobs["nulls"] = (int, Field(NULLS_JUDGED, ge=0, description=drawn))
    batch = (int, Field(32, ge=1, description="items answered and stored together"))
    base = GenerationParams if writes else Params
    if not writes:
        knobs["batch"] = batch
    name = "".join(part.capitalize() for part in loaded.name.split("_")) + "Params"
    kind: type[Params] = create_model(name, __base__=base, __doc__=definition.title, **knobs)
    return kind


HEADLINE = ""
"""The condition with unchanged items."""


@dataclass(frozen=True)
class RecipeStudy(Clustered):
    """All requests, independent of the model.

    Attributes:
        chosen: the items of the files that are asked, in the order of their names. items: the same, or once
            for each order of their options; all arrays have this order. panel: for a judged evaluation.
    """

    params: Params
    loaded: LoadedRecipe
    chosen: tuple[Item, ...]
    items: tuple[Item, ...]
    panel: Panel | None = None
    computed: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    """Cache of prompts and the like, which every round reads."""

    @property
    def definition(self) -> Recipe:
        """Return the user's definition."""
        return self.loaded.definition

    def slices(self) -> Iterator[tuple[Slice, BoolArray]]:
        """Return every slice with its items, the overall one first."""
        columns = {name: [item.fields[name] for item in self.items] for name in self.definition.slices}
        return slices(columns, len(self.items))

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the cached value of a key, or make it now."""
        if key not in self.computed:
            self.computed[key] = make()
        return self.computed[key]

    @cached_property
    def drawn(self) -> BoolArray:
        """Return [items] whose null answers are judged: ``nulls`` of them, spread over clusters."""
        chosen = {item.name for item in spread(self.items, getattr(self.params, "nulls", None))}
        return np.array([item.name in chosen for item in self.items])

    @cached_property
    def others(self) -> Mapping[str, str]:
        """Return another item for each item: the next of another cluster and kind in a fixed random ring.

        Both have the same value of ``within``. Items without another one are left out.
        """
        within, kind = getattr(self.definition, "within", ""), getattr(self.definition, "kind", "")
        rings: dict[str, list[Item]] = {}
        for item in sorted(self.items, key=lambda item: digest([self.loaded.name, item.name])):
            rings.setdefault(item.fields[within] if within else "", []).append(item)
        names: dict[str, str] = {}
        for ring in rings.values():
            clusters = [(item.cluster, item.fields[kind] if kind else None) for item in ring]
            if len({cluster for cluster, _ in clusters}) < 2 or (kind and len({k for _, k in clusters}) < 2):
                continue
            for place, (item, (cluster, own)) in enumerate(zip(ring, clusters, strict=True)):
                steps = ((place + step) % len(ring) for step in range(1, len(ring)))
                fits = (p for p in steps if clusters[p][0] != cluster and (not kind or clusters[p][1] != own))
                if (other := next(fits, None)) is not None:
                    names[item.name] = ring[other].name
        return names

    @cached_property
    def materials(self) -> dict[str, str]:
        """Implement ``contract.Study``."""
        return {"item": digest([[item.name, item.cluster, dict(item.fields)] for item in self.items])}

    def config_hash(self) -> str:
        """Implement ``contract.Study``."""
        knobs = self.params.hashed((KNOBS | self.loaded.knobs) & type(self.params).model_fields.keys())
        judges = sorted(engine.hash for engine in self.panel.judges.values()) if self.panel else []
        return digest(
            [self.loaded.name, "recipe", SCORES_VERSION, self.loaded.hash, knobs, self.materials, judges]
        )


def build_study(loaded: LoadedRecipe, params: Params, engines: Mapping[str, Engine]) -> RecipeStudy:
    """Choose the items.

    Raises:
        ValueError: a slice has no item, none is left, or a judge is named twice.
    """
    wanted = {column: getattr(params, column) for column in loaded.definition.slices}
    fitting = of_slices(loaded.items, wanted, lambda item, column: item.fields[column])
    items = chosen = spread(fitting, getattr(params, "limit", None))
    if getattr(params, "orders", GIVEN) == ROTATED:
        items = tuple(turned for item in items for turned in rotations(cast(Choice, loaded.definition), item))
    if getattr(params, "by", "") == LETTER and not options_are_shown(loaded.definition):
        raise ValueError("--by letter: the prompt does not show {{ choices }}: add {{ choices }} to it")
    return RecipeStudy(params, loaded, chosen, items, _panel(loaded, params, engines))


def _panel(loaded: LoadedRecipe, params: Params, engines: Mapping[str, Engine]) -> Panel | None:
    definition = loaded.definition
    if not isinstance(definition, Judged) or loaded.rubric is None:
        return None
    judges, knobs = judges_by_name(getattr(params, "judges"), engines), cast(Any, params)  # noqa: B009
    return Panel(judges, "answers", knobs.batch, definition.judged, loaded.rubric, knobs.judge_max_tokens)


def spread(items: Sequence[Item], n: int | None) -> tuple[Item, ...]:
    """Return at most n items by name: one of each cluster, then a second, in the order of a hash.

    The items' order has no effect; a larger n returns the same items and more.
    """
    if n is None or n >= len(items):
        return tuple(items)
    taken: dict[str, int] = {}
    ranked = []
    for item in sorted(items, key=lambda item: digest([item.name])):
        taken[item.cluster] = taken.get(item.cluster, 0) + 1
        ranked.append((taken[item.cluster], digest([item.name]), item))
    return tuple(sorted((item for *_, item in sorted(ranked, key=lambda r: r[:2])[:n]), key=lambda i: i.name))
