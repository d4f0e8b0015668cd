"""The study of an evaluation from a recipe: chosen items, its hash, and what each recipe defines. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import Field, create_model

from tasks.engines.protocols import Message
from tasks.evaluations.choosing import of_slices
from tasks.evaluations.contract import Completions, Detail, Params
from tasks.evaluations.recipe.definition import MetricPart, Recipe, Wording
from tasks.evaluations.recipe.items import Item, LoadedRecipe
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.identity import digest
from tasks.judging.controls import shuffled
from tasks.judging.panel import Opinions, Panel
from tasks.loop.requests import Engine, Later, Request
from tasks.loop.rows import Clustered, Metric, Slice, slices
from tasks.loop.samples import Sample
from tasks.loop.spread import spread
from tasks.metrics.types import BoolArray, FloatArray
from tasks.packs.prompts import rendered

SCORES_VERSION = 5
"""Version, part of config_hash; raise it whenever a change in reading or computing changes a number."""

Nulls = Mapping[str, FloatArray]
"""Null model, without ``null:`` -> its scores on each item, [items], or [items, ways] (``best_way``); NaN if
unscored"""

HEADLINE, EXCHANGED = "", "exchanged"
"""Conditions: unchanged items, and another item's answer or context."""

EARLIER = "a later turn is scored"

NO_OTHER = "no other item to exchange with"

KNOBS = {"temperature", "max_tokens", "judge_max_tokens", "seed", "nulls", "by", "orders", "repetitions"}
"""Params in config_hash by value; items are there by content, judges by their engines."""


_BY = (attrgetter("name"), attrgetter("cluster"))
"""An item's name and cluster, by which items are spread."""


@dataclass(frozen=True)
class RecipeAnswers:
    """One model's answers.

    Attributes:
        repeated: condition -> scores of each repetition. opinions: of texts, the judges'. written: the texts.
    """

    repeated: Mapping[str, Sequence[ConditionScores]]
    opinions: Opinions
    written: Any = None

    @cached_property
    def scores(self) -> dict[str, ConditionScores]:
        """Condition -> scores, averaged over repetitions."""
        return {condition: ConditionScores.over(each) for condition, each in self.repeated.items()}


@dataclass(frozen=True)
class RecipeStudy(Clustered):
    """All requests, independent of the model. Each recipe has a class of its own.

    Attributes:
        chosen: the items of the files that are asked, in the order of their names. items: the same, or once
            for each order of their options; all arrays have this order. panel: for a judged evaluation.
    """

    base: ClassVar[type[Params]] = Params

    params: Any
    loaded: LoadedRecipe
    chosen: tuple[Item, ...]
    items: tuple[Item, ...]
    panel: Panel | None = None

    @classmethod
    def knobs(cls, definition: Any) -> dict[str, Any]:
        """Return the params of this recipe: name -> (type, field)."""
        return {"batch": (int, Field(32, ge=1, description="items answered and stored together"))}

    @classmethod
    def settled(cls, definition: Any, params: Params, is_served: Callable[[str], bool]) -> Params:
        """Return the params that a run is made with (``Evaluation.settled``).

        Raises:
            ValueError: the models cannot answer this recipe.
        """
        return params

    @classmethod
    def of(cls, loaded: LoadedRecipe, params: Params, engines: Mapping[str, Engine]) -> Self:
        """Return the study of the chosen items.

        Raises:
            ValueError: a slice has no item, none is left, or a judge is named twice.
        """
        wanted = {column: getattr(params, column) for column in loaded.definition.slices}
        fitting = of_slices(loaded.items, wanted, lambda item, column: item.fields[column])
        chosen = tuple(spread(fitting, getattr(params, "limit", None), *_BY))
        return cls(params, loaded, chosen, chosen)

    def ask(self, completions: Completions) -> Sequence[Request[Any]]:
        """Return all requests that the completions make possible."""
        raise NotImplementedError

    def of_headline(self, items: Sequence[Item]) -> Self:
        """Return the study of some items, with what the headline needs and without controls."""
        definition = self.definition
        first = dict([next(iter(definition.conditions.items()))]) if definition.conditions else {}
        loaded = replace(self.loaded, definition=definition.model_copy(update={"conditions": first}))
        params = self.params.model_copy(update={"nulls": 0}) if hasattr(self.params, "nulls") else self.params
        return replace(self, params=params, loaded=loaded, items=tuple(items))

    def ask_headline(self, completions: Completions) -> Sequence[Request[Any]]:
        """Return the requests that the headline needs, of those of ``ask``."""
        return self.ask(completions)

    def whole_reason(self) -> str:
        """Return why the headline needs all items, in one line; "": it is a mean over them."""
        return "its number is a mean over clusters" if self.definition.average == "clusters" else ""

    def read(self, completions: Completions) -> RecipeAnswers:
        """Return a model's scores."""
        raise NotImplementedError

    def nulls(self, shared: Opinions) -> dict[str, Nulls]:
        """Return the null models' scores of each number.

        Args:
            shared: the judges' opinions of null models' texts.
        """
        raise NotImplementedError

    def prompt(self, item: Item, condition: str = HEADLINE) -> list[Message]:
        """Return what a model is sent first about an item, for people."""
        return self.conversation(item.fields, condition)

    def shown(self, item: Item, condition: str) -> str:
        """Return what a condition sends about an item, as one text for people."""
        then, sent = self.wordings[condition].then, self.prompt(item, condition)
        second = [f"then: {rendered(then, item.fields)}"] if then else []
        return "\n".join([*(message["content"] for message in sent), *second])

    def target(self, item: Item) -> str | None:
        """Return the right answer in words; None if there is none."""
        return None

    def samples(self, completions: Completions) -> Iterator[Sample]:
        """Yield every item's sample; controls and null models are in SQL (``item_answer``, ``verdict``)."""
        raise NotImplementedError

    def further_rows(self) -> Iterator[Metric]:
        """Yield rows of the recipe's own (``Recipe.shares``), the same for all models."""
        yield from ()

    def later(self) -> Iterable[Later]:
        """Return the most that further rounds may send about each model."""
        return ()

    def refused(self) -> str:
        """Return why the rows cannot be computed, such as code that is not allowed; "": nothing."""
        return ""

    def details(self, answers: RecipeAnswers) -> list[Detail]:
        """Return a model's detail tables beside the answers to the items."""
        return []

    def null_details(self, shared: Opinions) -> dict[str, list[Detail]]:
        """Return null model, without ``null:`` -> its detail tables, which are the same beside all models."""
        return {}

    @property
    def definition(self) -> Recipe:
        """Return the user's definition."""
        return self.loaded.definition

    @cached_property
    def wordings(self) -> Mapping[str, Wording]:
        """Condition -> what it sends; the first is the headline's."""
        first, *others = self.definition.wordings.items()
        return {HEADLINE: first[1], **dict(others)}

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions, that of the headline first."""
        return tuple(self.wordings)

    def label(self, condition: str) -> str:
        """Return a condition's name, for people and for SQL."""
        return condition or next(iter(self.definition.wordings))

    def conversation(self, fields: Mapping[str, str], condition: str = HEADLINE) -> list[Message]:
        """Return a condition's prompts, filled with cells; for a control those of the headline."""
        own = self.wordings.get(condition, self.wordings[HEADLINE])
        head: list[Message] = (
            [{"role": "system", "content": rendered(own.system, fields)}] if own.system else []
        )
        return [*head, {"role": "user", "content": rendered(own.prompt, fields)}]

    def worst(self, part: MetricPart | None = None) -> float:
        """Return a metric's worst value, which a lost answer gets; by default the headline's."""
        part = part or self.definition.metric
        return part.bounds[1] if part.direction == "lower" else part.bounds[0]

    def within(self, share: Any, part: MetricPart | None = None) -> Any:
        """Return shares in [0, 1] within a metric's bounds, by default the headline's."""
        low, high = (part or self.definition.metric).bounds
        return low + (high - low) * share

    def sample_id(self, item: Item, condition: str, repetition: int = 1) -> str:
        """Return the name of a sample, by which ``recipe_answer`` finds what was sent."""
        often = str(repetition) if repetition > 1 else ""
        return " / ".join(filter(None, (item.name, self.label(condition), often)))

    def metadata(self, item: Item) -> dict[str, str]:
        """Return an item's cluster and slices, for samples."""
        named = {column: item.fields[column] for column in self.definition.slices}
        return {"cluster": item.cluster, **named}

    def answer_frame(self, answers: RecipeAnswers, config: str) -> pl.DataFrame:
        """Return rows of ``item_answer``: one per item, condition, repetition and turn; null is missing."""
        n, texts_of = len(self.items), ("answer", "target", "unscored_reason", "lost")
        targets, frames = [self.target(item) for item in self.items], []
        for condition, repeated in answers.repeated.items():
            for repetition, of in enumerate(repeated, 1):
                turns: list[tuple[Any, ...]] = [(of.texts, of.values, of.reasons, of.lost)]
                if of.earlier:
                    lost = np.where(np.array(of.earlier) == "", of.lost, "")
                    turns.insert(0, (of.earlier, np.full(n, np.nan), np.full(n, EARLIER), lost))
                for turn, (texts, values, reasons, lost) in enumerate(turns, 1):
                    rows = {
                        "config_hash": [config] * n,
                        "condition": [self.label(condition)] * n,
                        "repetition": [repetition] * n,
                        "turn": [turn] * n,
                        "item": self.names.tolist(),
                        "cluster": self.clusters.tolist(),
                        "answer": [text or None for text in texts],
                        "target": targets,
                        "value": values,
                        "unscored_reason": [reason or None for reason in reasons],
                        "lost": [why or None for why in lost],
                    }
                    schema = dict.fromkeys(texts_of, pl.String)
                    frames.append(pl.DataFrame(rows, schema_overrides=schema))
        return pl.concat(frames).with_columns(pl.col("value").fill_nan(None))

    def slices(self) -> Iterator[tuple[Slice, BoolArray]]:
        """Return every slice with its items, the overall one first."""
        columns = {name: [item.fields[name] for item in self.items] for name in self.definition.slices}
        return slices(columns, len(self.items))

    @cached_property
    def by_name(self) -> Mapping[str, Item]:
        """Return the items by name."""
        return {item.name: item for item in self.items}

    @cached_property
    def drawn(self) -> BoolArray:
        """Return [items] whose null answers are judged: ``nulls`` of them, spread over clusters."""
        chosen = {item.name for item in spread(self.items, getattr(self.params, "nulls", None), *_BY)}
        return np.array([item.name in chosen for item in self.items])

    @cached_property
    def others(self) -> Mapping[str, str]:
        """Return another item for each item: the next of another cluster and kind in a fixed random ring.

        Both have the same value of ``within``. Items without another one are left out.
        """
        within, kind = getattr(self.definition, "within", ""), getattr(self.definition, "kind", "")
        rings: dict[str, dict[str, str]] = {}
        for item in self.items:
            rings.setdefault(item.fields[within] if within else "", {})[item.name] = item.name
        kinds = [frozenset({("kind", item.fields[kind])} if kind else ()) for item in self.items]
        families = {i.name: own | {i.cluster} for i, own in zip(self.items, kinds, strict=True)}
        swapped = (shuffled(ring, families, self.loaded.name) for ring in rings.values())
        return {name: other for of_ring in swapped for name, other in of_ring.items()}

    @cached_property
    def materials(self) -> dict[str, str]:
        """Implement ``contract.Study``."""
        return {"item": digest([[item.name, item.cluster, dict(item.fields)] for item in self.items])}

    def config_hash(self) -> str:
        """Implement ``contract.Study``."""
        knobs = self.params.hashed((KNOBS | self.loaded.knobs) & type(self.params).model_fields.keys())
        if knobs.get("repetitions") == 1:  # hashes of studies without any are those of before
            del knobs["repetitions"]
        judges = sorted(engine.hash for engine in self.panel.judges.values()) if self.panel else []
        return digest(
            [self.loaded.name, "recipe", SCORES_VERSION, self.loaded.hash, knobs, self.materials, judges]
        )


def params_of(
    study: type[RecipeStudy], loaded: LoadedRecipe, more: Mapping[str, Any] | None = None
) -> type[Params]:
    """Return an evaluation's parameters from its definition, after further ones of its own."""
    definition = loaded.definition
    knobs: dict[str, Any] = dict(more or {}) | {
        column: (list[str], Field([], description=f"{column} of the items to be asked; empty: all"))
        for column in definition.slices
    }
    of_limit = "number of items, spread over clusters; empty: all"
    knobs["limit"] = (int | None, Field(None, ge=1, description=of_limit))
    knobs |= study.knobs(definition)
    name = "".join(part.capitalize() for part in loaded.name.split("_")) + "Params"
    kind: type[Params] = create_model(name, __base__=study.base, __doc__=definition.title, **knobs)
    return kind
