"""Requests for completions of prompts, as values: their hashes, and how stored completions are decoded. Pure.

A prompt is a conversation with a schema. Its id is the unit; engine and sampling belong to the request. So
every later run that sends the same prompt finds its completion.

Sampled prompts are independent: with equal seeds an engine would use the same random numbers for two prompts
and correlate their completions, so each prompt has its own seed. Greedy prompts need none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import polars as pl

from tasks.engines.protocols import (
    MAX_ALTERNATIVES,
    Ability,
    EngineError,
    Generation,
    Generator,
    Lost,
    Message,
    Sampling,
    Unfinished,
)
from tasks.identity import digest
from tasks.loop.budget import at_most
from tasks.loop.requests import Engine, Request
from tasks.loop.written import option_logprobs, without_reasoning


@dataclass(frozen=True)
class Prompt:
    """One conversation, and the JSON schema of its completion (None: free text).

    Attributes:
        options: the options of the completion's JSON field ``field`` or, if that is "", of its first word
            (``written.option_logprobs``). They are not sent; the completion gets their probabilities.
        sample: names an independent draw, such as a conversation or a repetition: equal prompts with
            different samples get different seeds. "" if equal prompts may share a completion, as greedy ones
            do.
    """

    conversation: Sequence[Message]
    schema: Mapping[str, Any] | None = None
    options: Sequence[str] = ()
    field: str = ""
    sample: str = ""

    @cached_property
    def id(self) -> str:
        """A hash of conversation, schema, options and sample."""
        parts: list[Any] = [[dict(m) for m in self.conversation], self.schema]
        parts += [sorted(self.options), self.field] if self.options else []
        parts += [{"sample": self.sample}] if self.sample else []
        return digest(parts, 32)


@dataclass(frozen=True)
class Completion:
    """A stored completion.

    Attributes:
        text: the answer; the stored text may have reasoning before it (``written``).
        finish_reason: "stop", "length" or an engine's word for a refusal.
        option_logprobs: option -> natural-log probability; None if the prompt has no options, the completion
            has no such field, or the engine gives no probabilities.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int = 0
    option_logprobs: Mapping[str, float] | None = None


ROW: dict[str, pl.DataType] = {
    **dict.fromkeys(("item", "conversation", "schema", "sampling", "text", "finish_reason"), pl.String()),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "seed"), pl.Int64()),
    "option_logprobs": pl.String(),
}
"""Columns of a part of ``Prompts``."""

T = TypeVar("T")

CompletionsById = Mapping[str, Completion]
"""Prompt id -> completion; prompts without a completion are missing."""


@dataclass(frozen=True, kw_only=True)
class Prompts(Request[CompletionsById]):
    """Prompts for one engine under one sampling.

    Attributes:
        sampling: of all prompts; above temperature 0 each prompt's seed is derived from its seed.
        unread: prompt id and completion -> why the evaluation reads nothing in it, None if it does. Without
            it, a completion is read if it has a field of the prompt's schema.
    """

    kind: ClassVar[str] = "response"
    ability: ClassVar[Ability] = "generate"
    joins: ClassVar[bool] = True
    by_unit: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = (
        "item", "text", "finish_reason", "prompt_tokens", "completion_tokens", "seed", "option_logprobs",
    )  # fmt: skip

    prompts: Sequence[Prompt]
    sampling: Sampling
    unread: Callable[[str, Completion], str | None] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def by_id(self) -> Mapping[str, Prompt]:
        """Id -> prompt."""
        return {prompt.id: prompt for prompt in self.prompts}

    @property
    def units(self) -> Sequence[str]:
        """Ids of the prompts, each once."""
        return list(self.by_id)

    def identity(self, engine: Engine) -> list[Any]:
        per_prompt = {"seeds": "per prompt"} if self.sampling.temperature > 0 else {}
        return ["generate", engine.hash, asdict(self.sampling) | per_prompt]

    def sampling_of(self, unit: str) -> Sampling:
        """Return the sampling of one prompt, with its own seed unless it is greedy."""
        if self.sampling.temperature > 0:
            return replace(self.sampling, seed=prompt_seed(self.sampling.seed, unit))
        return self.sampling

    def at_most(self, units: Sequence[str]) -> list[Generation]:
        prompts = [self.by_id[unit] for unit in units]
        return [at_most(prompt.conversation, prompt.schema, self.sampling) for prompt in prompts]

    def used(self, frame: pl.DataFrame) -> list[Generation]:
        columns = ("text", "finish_reason", "prompt_tokens", "completion_tokens", "seed")
        return [Generation(*row) for row in frame.select(columns).rows()]

    def compute(
        self, engine: Generator, units: Sequence[str], progress: Callable[[int], None]
    ) -> pl.DataFrame:
        """Implement ``Request.compute``; one row per prompt."""
        try:
            ((_, frame),) = _completed([(self, units)], engine, progress)
        except Unfinished as error:
            raise Unfinished(str(error), error.done[0], error.lost[0]) from error
        return frame

    @classmethod
    def compute_together(
        cls, pieces: Sequence[tuple[Self, Sequence[str]]], engine: Any, progress: Callable[[int], None]
    ) -> list[tuple[Sequence[str], pl.DataFrame]]:
        """Implement ``Request.compute_together``; one call of the engine."""
        alone = super().compute_together
        return alone(pieces, engine, progress) if len(pieces) == 1 else _completed(pieces, engine, progress)

    def decode(self, frame: pl.DataFrame) -> CompletionsById:
        return completions(frame)


def completions(frame: pl.DataFrame) -> dict[str, Completion]:
    """Return the completions in rows of kind ``response``, without reasoning, by prompt id."""
    by_id: dict[str, Completion] = {}
    for row in frame.select(Prompts.columns).to_dicts():
        prompt, logprobs = row.pop("item"), row.pop("option_logprobs")
        row["text"] = without_reasoning(row["text"])
        by_id[prompt] = Completion(**row, option_logprobs=json.loads(logprobs) if logprobs else None)
    return by_id


def prompt_seed(seed: int, prompt: str) -> int:
    """Return the seed of one sampled prompt in [0, 2**31), which every API accepts; uniformly distributed.

    seed: of the request. prompt: id of the prompt.
    """
    return int(digest([seed, prompt], 8), 16) >> 1


def _completed(
    pieces: Sequence[tuple[Prompts, Sequence[str]]], engine: Generator, progress: Callable[[int], None]
) -> list[tuple[Sequence[str], pl.DataFrame]]:
    """Return the ids and rows of each piece, whose prompts are all sent in one call of the engine."""
    sent = [(request, unit, request.by_id[unit]) for request, units in pieces for unit in units]
    reported, failure = 0, None

    def report(n: int) -> None:
        nonlocal reported
        reported += n
        progress(n)

    written: Mapping[int, Generation]
    lost: Mapping[int, Lost] = {}
    try:
        answers = engine.generate(
            [prompt.conversation for *_, prompt in sent],
            [request.sampling_of(unit) for request, unit, _ in sent],
            _one_if_same([prompt.schema for *_, prompt in sent]),
            _one_if_same([MAX_ALTERNATIVES if prompt.options else 0 for *_, prompt in sent]),
            report,
        )
        written = dict(zip(range(len(sent)), answers, strict=True))
    except Unfinished as error:
        written, lost = error.done or {}, error.lost
        if not (written or lost):  # ``Unfinished`` would need rows
            raise EngineError(str(error)) from None
        failure = error
    progress(max(0, len(written) + len(lost) - reported))
    answered: list[tuple[Sequence[str], pl.DataFrame]] = []
    losses: list[dict[str, Lost]] = []
    start = 0
    for _, units in pieces:
        own = range(start, start + len(units))
        places = [place for place in own if place in written]
        losses.append({sent[place][1]: lost[place] for place in own if place in lost})
        start += len(units)
        frame = _rows([sent[place] for place in places], [written[place] for place in places])
        answered.append(([sent[place][1] for place in places], frame))
    if failure:
        raise Unfinished(str(failure), answered, losses)
    return answered


def _rows(sent: Sequence[tuple[Prompts, str, Prompt]], generations: Sequence[Generation]) -> pl.DataFrame:
    """Return rows of a part, one per prompt."""
    prompts = [prompt for *_, prompt in sent]
    conversations = [[dict(m) for m in prompt.conversation] for prompt in prompts]
    return pl.DataFrame(
        {
            "item": [prompt.id for prompt in prompts],
            "conversation": [_json(conversation) for conversation in conversations],
            "schema": [None if prompt.schema is None else _json(prompt.schema) for prompt in prompts],
            "sampling": [_json(asdict(request.sampling_of(unit))) for request, unit, _ in sent],
            "text": [g.text for g in generations],
            "finish_reason": [g.finish_reason for g in generations],
            "prompt_tokens": [g.prompt_tokens for g in generations],
            "completion_tokens": [g.completion_tokens for g in generations],
            "seed": [g.seed for g in generations],
            "option_logprobs": [_options(p, g) for p, g in zip(prompts, generations, strict=True)],
        },
        schema=ROW,
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _one_if_same(values: list[T]) -> T | list[T]:
    """Return the common value if all are equal, else the list."""
    return values[0] if all(value is values[0] or value == values[0] for value in values) else values


def _options(prompt: Prompt, generation: Generation) -> str | None:
    """Return the options' log-probabilities as JSON, or None."""
    if not prompt.options:
        return None
    logprobs = option_logprobs(generation.tokens, generation.text, prompt.options, prompt.field)
    return None if logprobs is None else _json(logprobs)
