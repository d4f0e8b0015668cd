"""Conversations in, answers out: each is asked once ever of an engine under one sampling, then read back.

What crosses the border: conversations and their schemas in, Parquet parts of kind ``response`` and the
answers out. A killed run loses at most the batch under way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks import progress
from tasks.engines import load
from tasks.engines.protocols import Generation, Generator, Message, Sampling
from tasks.engines.specs import EngineSpec
from tasks.generation.budget import Budget, Meter, at_most
from tasks.identity import digest
from tasks.steps import Run, store_part
from warehouse import Warehouse, missing_units, read_answers

RESPONSES = "response"
ANSWER = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "seed")


@dataclass(frozen=True)
class Ask:
    """One conversation, and the JSON schema that its answer has to keep to (None: free text)."""

    conversation: Sequence[Message]
    schema: Mapping[str, Any] | None = None

    @property
    def item(self) -> str:
        """Identifies what is asked."""
        return digest([[dict(m) for m in self.conversation], self.schema], 32)


def request_of(spec: EngineSpec, sampling: Sampling) -> str:
    """Identifies the engine and how it samples; conversations are its units."""
    return digest(["generate", spec.hash(), asdict(sampling)])


def missing(asks: Sequence[Ask], spec: EngineSpec, sampling: Sampling) -> list[Ask]:
    """Those that have no stored answer, each once."""
    request, by_item = request_of(spec, sampling), {ask.item: ask for ask in asks}
    wanted = pl.DataFrame(
        {"request_hash": [request] * len(by_item), "unit": list(by_item)},
        schema={"request_hash": pl.String, "unit": pl.String},
    )
    with Warehouse.open().read() as connection:
        return [by_item[item] for item in sorted(missing_units(connection, RESPONSES, wanted)["unit"])]


@task(cache_policy=NO_CACHE, name="generate", task_run_name="{label}")
def answers(
    asks: Sequence[Ask],
    spec: EngineSpec,
    sampling: Sampling,
    run: Run,
    label: str,
    batch: int = 16,
    meter: Meter | None = None,
) -> list[Generation]:
    """Every answer, in order; only what is missing is asked, and no engine is loaded if nothing is.

    Args:
        run: who asks first, and so whom a stored answer names.
        label: of the progress.
        batch: conversations that are asked and stored together: a part.
        meter: counts what is newly asked, over all calls that it is given to, and stops them in time.

    Raises:
        BudgetReached: the next batch may use more than the meter's budget has left.
        EngineError: the engine cannot be loaded, or failed. Either way all earlier batches are stored.
    """
    todo = missing(asks, spec, sampling)
    meter = meter or Meter(Budget())
    engine: Generator | None = None
    for start in range(0, len(todo), batch):
        some = todo[start : start + batch]
        most = [at_most(ask.conversation, ask.schema, sampling) for ask in some]
        meter.check(spec, most)
        engine = engine or load.generator(spec, Warehouse.open().home / "models")
        made = _generate(some, engine, sampling)
        _store(some, made, spec, sampling, run)
        meter.add(spec, most, made)
        progress.report(label, len(some), len(todo))
    return _stored([ask.item for ask in asks], request_of(spec, sampling))


def _stored(items: Sequence[str], request: str) -> list[Generation]:
    """The answers of conversations that all have one."""
    frame = read_answers(Warehouse.open(), RESPONSES, request, sorted(set(items)), ("item", *ANSWER))
    found = {item: Generation(*fields) for item, *fields in frame.rows()}
    return [found[item] for item in items]


def _generate(asks: Sequence[Ask], engine: Generator, sampling: Sampling) -> list[Generation]:
    """One call of the engine for each schema that occurs."""
    by_schema: dict[str, list[int]] = {}
    for row, ask in enumerate(asks):
        by_schema.setdefault(json.dumps(ask.schema, sort_keys=True), []).append(row)
    found: dict[int, Generation] = {}
    for rows in by_schema.values():
        conversations = [asks[row].conversation for row in rows]
        found |= dict(zip(rows, engine.generate(conversations, sampling, asks[rows[0]].schema), strict=True))
    return [found[row] for row in range(len(asks))]


def _store(
    asks: Sequence[Ask], made: Sequence[Generation], spec: EngineSpec, sampling: Sampling, run: Run
) -> None:
    request = request_of(spec, sampling)
    frame = pl.DataFrame(
        {
            "item": [ask.item for ask in asks],
            "conversation": [
                json.dumps([dict(m) for m in ask.conversation], ensure_ascii=False) for ask in asks
            ],
            "text": [g.text for g in made],
            "finish_reason": [g.finish_reason for g in made],
            "prompt_tokens": [g.prompt_tokens for g in made],
            "completion_tokens": [g.completion_tokens for g in made],
            "seed": [g.seed for g in made],
        }
    ).with_columns(request_hash=pl.lit(request), run_id=pl.lit(run[0]), model=pl.lit(spec.name))
    part = digest([request, sorted(ask.item for ask in asks)], 32)
    store_part(RESPONSES, part, frame, replace=False)
