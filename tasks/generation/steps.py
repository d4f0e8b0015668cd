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
from tasks.engines.protocols import MAX_ALTERNATIVES, Generation, Generator, Message, Sampling
from tasks.engines.specs import EngineSpec
from tasks.generation.budget import Budget, Meter, at_most
from tasks.generation.options import option_logprobs
from tasks.identity import digest
from tasks.steps import Run, store_part
from warehouse import Warehouse, missing_units, read_answers

RESPONSES = "response"
ANSWER = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "seed", "option_logprobs")


@dataclass(frozen=True)
class Ask:
    """One conversation, and the JSON schema that its answer has to keep to (None: free text).

    Attributes:
        options: what the answer may choose from, in the JSON field ``field``, or, if that is "", with its
            first word (``options.option_logprobs``). They are not sent; the answer then also says how
            probable each of them was.
    """

    conversation: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    options: Sequence[str] = ()
    field: str = ""

    @property
    def item(self) -> str:
        """Identifies what is asked, and what is stored of the answer."""
        asked = [[dict(m) for m in self.conversation], self.schema]
        return digest([*asked, sorted(self.options), self.field] if self.options else asked, 32)


@dataclass(frozen=True)
class Answer:
    """A stored answer. ``finish_reason`` is "stop", "length" or an engine's own word for a refusal.

    ``option_logprobs``: option to natural-log probability; None if the ask names no options, the answer has
    no such field, or the engine gives no probabilities.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int
    option_logprobs: Mapping[str, float] | None = None


def request_of(spec: EngineSpec, sampling: Sampling) -> str:
    """Identifies the engine and how it samples; conversations are its units."""
    return digest(["generate", spec.hash(), asdict(sampling)])


def missing(asks: Sequence[Ask], spec: EngineSpec, sampling: Sampling) -> list[Ask]:
    """Those that have no stored answer, each once."""
    items = {ask.item: ask for ask in asks}
    wanted = pl.DataFrame(
        {"request_hash": [request_of(spec, sampling)] * len(items), "unit": list(items)},
        schema={"request_hash": pl.String, "unit": pl.String},
    )
    with Warehouse.open().read() as connection:
        left = missing_units(connection, RESPONSES, wanted)["unit"]
    return _each_once([items[item] for item in left])


@task(cache_policy=NO_CACHE, name="generate", task_run_name="{label}")
def answers(
    asks: Sequence[Ask],
    spec: EngineSpec,
    sampling: Sampling,
    run: Run,
    label: str,
    batch: int = 16,
    meter: Meter | None = None,
    refresh: bool = False,
) -> list[Answer]:
    """Every answer, in order; only what is missing is asked, and no engine is loaded if nothing is.

    Args:
        run: who asks; a stored answer names whose it was.
        label: of the progress.
        batch: conversations that are asked and stored together: a part.
        meter: counts what is newly asked, over all calls that it is given to, and stops them in time.
        refresh: ask everything, each once, and replace what is stored, batch by batch. A killed refresh
            starts over.

    Raises:
        BudgetReached: the next batch may use more than the meter's budget has left.
        EngineError: the engine cannot be loaded, or failed. Either way all earlier batches are stored.
    """
    todo = _each_once(asks) if refresh else missing(asks, spec, sampling)
    meter = meter or Meter(Budget())
    engine: Generator | None = None
    for start in range(0, len(todo), batch):
        some = todo[start : start + batch]
        most = [at_most(ask.conversation, ask.schema, sampling) for ask in some]
        meter.check(spec, most)
        engine = engine or load.generator(spec, Warehouse.open().home / "models")
        made = _generate(some, engine, sampling)
        _store(some, made, spec, sampling, run, refresh)
        meter.add(spec, most, made)
        progress.report(label, len(some), len(todo))
    items = [ask.item for ask in asks]
    found = stored(items, request_of(spec, sampling))
    return [found[item] for item in items]


def _each_once(asks: Sequence[Ask]) -> list[Ask]:
    """Without repeats, in the order of their hashes, so that batches do not depend on the caller's order."""
    return [ask for _, ask in sorted({ask.item: ask for ask in asks}.items())]


def stored(items: Sequence[str], request: str) -> dict[str, Answer]:
    """item -> its answer to a request (``request_of``); items without one are left out."""
    frame = read_answers(Warehouse.open(), RESPONSES, request, sorted(set(items)), ("item", *ANSWER))
    found: dict[str, Answer] = {}
    for row in frame.to_dicts():
        item, logprobs = row.pop("item"), row.pop("option_logprobs")
        found[item] = Answer(**row, option_logprobs=json.loads(logprobs) if logprobs else None)
    return found


def _generate(asks: Sequence[Ask], engine: Generator, sampling: Sampling) -> list[Generation]:
    """One call of the engine for each schema that occurs, with options and without."""
    alike: dict[tuple[str, bool], list[int]] = {}
    for row, ask in enumerate(asks):
        alike.setdefault((json.dumps(ask.schema, sort_keys=True), bool(ask.options)), []).append(row)
    found: dict[int, Generation] = {}
    for (_, with_options), rows in alike.items():
        conversations = [asks[row].conversation for row in rows]
        alternatives = MAX_ALTERNATIVES if with_options else 0
        made = engine.generate(conversations, sampling, asks[rows[0]].schema, alternatives)
        found |= dict(zip(rows, made, strict=True))
    return [found[row] for row in range(len(asks))]


def _options(ask: Ask, made: Generation) -> str | None:
    """What is stored of the options' probabilities."""
    if not ask.options:
        return None
    found = option_logprobs(made.tokens, made.text, ask.options, ask.field)
    return None if found is None else json.dumps(found, ensure_ascii=False)


def _store(
    asks: Sequence[Ask],
    made: Sequence[Generation],
    spec: EngineSpec,
    sampling: Sampling,
    run: Run,
    replace: bool,
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
            "option_logprobs": [_options(ask, g) for ask, g in zip(asks, made, strict=True)],
        },
        schema_overrides={"option_logprobs": pl.String},
    ).with_columns(request_hash=pl.lit(request), run_id=pl.lit(run[0]), model=pl.lit(spec.name))
    part = digest([request, sorted(ask.item for ask in asks)], 32)
    store_part(RESPONSES, part, frame, replace=replace)
