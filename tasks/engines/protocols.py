"""Interfaces of models, and their errors.

A ``Scorer`` reads probabilities, a ``Generator`` writes text, an ``Embedder`` gives vectors. Engines
(``packed_trie``, ``vllm``, ``openai`` …) implement one or more; evaluations know only these protocols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Message = Mapping[str, str]
"""``{"role": "system" | "user" | "assistant", "content": "..."}``"""

RAW = "text"
"""The role of raw text that is continued without a template; it is the only message of its conversation.

Engines that serve only chats refuse it.
"""

Conversations = Sequence[Sequence[Message]]


def is_continued(conversation: Sequence[Message]) -> bool:
    """Whether a text is to be continued unchanged: raw text, or the assistant's unfinished message."""
    return conversation[0]["role"] == RAW or conversation[-1]["role"] == "assistant"


Schema = Mapping[str, Any] | None
"""A JSON schema for an answer; None: free text."""

Progress = Callable[[int], None]
"""Called with the number of (prefix, continuation) pairs just scored, or of texts embedded or written."""


class EngineError(RuntimeError):
    """An error of a model or its engine that the user can mend; the message says how."""


class Unfinished(EngineError):  # noqa: N818 - "raise Unfinished" says it all
    """Part of a call failed. ``done`` holds the answers so far, which are paid for."""

    def __init__(self, message: str, done: Any = None) -> None:
        """done: of ``Generator.generate`` place -> answer, of ``Request.answer`` the units and their rows."""
        super().__init__(message)
        self.done = done


@dataclass(frozen=True)
class Framed:
    """Questions as the model sees them (see ``prompting``).

    Attributes:
        prefixes: text before the item, one per question. lead: text between prefix and item: "" after a chat
            header, " " after "Answer:".
        style: "chat" or "base".
    """

    prefixes: list[str]
    lead: str
    style: str


@runtime_checkable
class Scorer(Protocol):
    """Gives log-probabilities of texts."""

    def frame(self, questions: Sequence[str]) -> Framed:
        """Turn questions into prompts: by the chat template, or the base model's completion cue."""
        ...

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Natural-log probability of each continuation after each prefix.

        Returns:
            float32 [n_prefixes, n_continuations], each the sum over the continuation's tokens of
            log p(token | prefix, tokens before it); no end token. Range (-inf, 0]. Does not depend on the
            order or batching of either argument beyond the rounding of the dtype.
        """
        ...

    def score_each(
        self,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        progress: Progress | None = None,
    ) -> list[NDArray[np.float32]]:
        """``score`` of each prefix's own continuations: float32 [n_continuations] of each, in their order."""
        ...

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> NDArray[np.int64]:
        """[n_continuations] tokens that each continuation has after this prefix."""
        ...


Context = str | Sequence[Message]
"""Text that a continuation follows: raw text, or a conversation that the model's chat template renders.
One whose last message is the assistant's is left open there."""


class TextPair(NamedTuple):
    """A context and one continuation of it, without any text between them."""

    context: Context
    continuation: str


@dataclass(frozen=True)
class PairScores:
    """The scores of n pairs, in their order.

    Attributes:
        logprob: float32 [n] natural log of the continuation's probability, summed over its tokens.
        is_greedy: bool [n] whether each of its tokens is the most probable one.
        n_tokens: int64 [n] tokens of the continuation.
        n_cut: int64 [n] tokens at the beginning of the context that the model could not hold.
    """

    logprob: NDArray[np.float32]
    is_greedy: NDArray[np.bool_]
    n_tokens: NDArray[np.int64]
    n_cut: NDArray[np.int64]


@runtime_checkable
class PairScorer(Protocol):
    """Scores continuations of contexts as they are: no completion cue, no template unless asked for."""

    def score_pairs(self, pairs: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """Score every pair, tokenised as ``pairs`` says; does not depend on their order or batching."""
        ...


@dataclass(frozen=True)
class Cloze:
    """One template over many subjects: sentences with a blank that candidates fill.

    Attributes:
        before: text before the blank, one a subject, without the space that separates it from the blank.
        lead: that space, or "" in languages that write none.
        after: text after the blank, the same for all; "" where the blank ends the sentence.
        tail: the template's text right before the blank, with which every ``before`` ends. Candidates
            are tokenised after it, so that their tokens do not depend on the subjects.
        is_cut: whether the sentence ends at the blank for models that read from left to right.
    """

    before: tuple[str, ...]
    lead: str
    after: str
    tail: str
    is_cut: bool = False


@dataclass(frozen=True)
class CandidateScores:
    """The scores of candidates in a blank. The engine's docstring says which tokens are scored.

    Attributes:
        logprob: float32 [n_subjects, n_candidates] sum over the scored tokens of log p, natural log.
        probability: float32 [n_subjects, n_candidates] mean over the scored tokens of p, in [0, 1]
            (equation 2 of FmLAMA).
        n_tokens: [n_candidates] how many tokens are scored.
    """

    logprob: NDArray[np.float32]
    probability: NDArray[np.float32]
    n_tokens: NDArray[np.int64]


@runtime_checkable
class CandidateScorer(Protocol):
    """Scores candidates in a blank."""

    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Score every candidate in every sentence; does not depend on the order or batching of either."""
        ...


@dataclass(frozen=True)
class Sampling:
    """Sampling of text. Temperature 0 is greedy; the seed makes other temperatures repeatable."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    seed: int = 0
    stop: tuple[str, ...] = ()


Samplings = Sampling | Sequence[Sampling]
"""One per conversation, in order, or one for all."""


Schemas = Schema | Sequence[Schema]
"""One per conversation, in order, or one for all."""

Alternatives = int | Sequence[int]
"""One number per conversation, in order, or one for all."""


def each(samplings: Samplings, n: int) -> list[Sampling]:
    """Return one sampling per conversation; raises ValueError if their numbers differ."""
    return _each([samplings] * n if isinstance(samplings, Sampling) else list(samplings), n, "samplings")


def each_schema(schemas: Schemas, n: int) -> list[Schema]:
    """Return one schema per conversation; raises ValueError if their numbers differ."""
    is_one = schemas is None or isinstance(schemas, Mapping)
    return _each([schemas] * n if is_one else list(schemas), n, "schemas")  # type: ignore[list-item, arg-type]


def each_number(alternatives: Alternatives, n: int) -> list[int]:
    """Return the number of alternatives per conversation; raises ValueError if their numbers differ."""
    is_one = isinstance(alternatives, int)
    return _each([alternatives] * n if is_one else list(alternatives), n, "numbers of alternatives")  # type: ignore[list-item, arg-type]


T = TypeVar("T")


def _each(own: list[T], n: int, what: str) -> list[T]:
    if len(own) != n:
        raise ValueError(f"{len(own)} {what} for {n} conversations: give one, or one for each")
    return own


MAX_ALTERNATIVES = 20
"""Most alternatives that OpenAI gives, and vLLM by default."""


@dataclass(frozen=True)
class TokenAlternatives:
    """The token at one position of an answer, and its alternatives.

    Attributes:
        text: of the token as written. Those of an answer make up its text, but for outer space; a
            tokenizer that splits characters gives "" for all but the last of a character's tokens.
        logprobs: text to natural-log probability, of the written token and the most probable ones; tokens of
            the same text are pooled. They are the model's own, before temperature and top_p. Under a schema,
            vLLM first removes forbidden tokens, so they are shares of the permitted ones.
    """

    text: str
    logprobs: Mapping[str, float]

    @classmethod
    def of(cls, written: str, known: Iterable[tuple[str, float]]) -> TokenAlternatives:
        """Pool (text, log-probability) of all tokens known at a position, the written one among them."""
        logprobs: dict[str, float] = {}
        for text, logprob in known:
            if logprob > -math.inf:  # else it was forbidden
                logprobs[text] = float(np.logaddexp(logprobs.get(text, -math.inf), logprob))
        return cls(written, logprobs)


@dataclass(frozen=True)
class Generation:
    """One completion, as an engine wrote it.

    Attributes:
        finish_reason: "stop", "length" or an engine's word for a refusal. seed: the seed that was sent.
        tokens: given if alternatives were requested and the engine has them, else ().
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int = 0
    tokens: tuple[TokenAlternatives, ...] = ()

    @classmethod
    def cut_off(cls, prompt_tokens: int = 0, seed: int = 0) -> Generation:
        """The outcome of a prompt longer than the model's context: nothing is written."""
        return cls("", "length", prompt_tokens, 0, seed)


@runtime_checkable
class Generator(Protocol):
    """Writes text."""

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """One answer a conversation, in order; with a schema the text is JSON valid under it.

        Conversations that are drawn with equal seeds share the engine's random numbers, so their texts are
        not independent; for independent texts, give each its own seed.

        Args:
            samplings, schemas: one per conversation, or one for all.
            alternatives: how many of the most probable tokens to give at each position, up to
                MAX_ALTERNATIVES; 0: none, and no ``tokens``. The texts do not depend on it. One number per
                conversation, or one for all.
            progress: called by engines whose answers come one by one, while others are awaited; engines that
                answer all at once leave it alone.
        """
        ...


@dataclass(frozen=True)
class Embedded:
    """The vectors of n texts, in their order.

    Attributes:
        vectors: float32 [n, d]. A row of zeros means that the text has no vector; no value is NaN.
        n_tokens: int64 [n] tokens of each whole text, special ones included; words for word vectors.
        truncated: bool [n]. The text is longer than the model reads, so its end was left out.
    """

    vectors: NDArray[np.float32]
    n_tokens: NDArray[np.int64]
    truncated: NDArray[np.bool_]


class Embedder(Protocol):
    """Gives texts vectors whose cosines measure likeness. Lengths are the model's own, not always 1."""

    @property
    def name(self) -> str:
        """Identifies the vectors in hashes: the model and its commit, or a name and a SHA-256 of content."""
        ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        """Embed all texts; a row depends on its own text only, within 1e-5."""
        ...


class Jobs(Protocol):
    """An engine's notes on the jobs that it has sent for one request, for later runs."""

    @property
    def folder(self) -> Path:
        """Return a folder of this machine for files that last as long as a call."""

    def locked(self) -> AbstractContextManager[Jobs]:
        """Make others that would send the same wait; yields a writer that fails if the lock is lost."""

    def notes(self) -> Mapping[str, tuple[str, float]]:
        """Return notes by name: content, and age in seconds if the writer may still run, else infinity."""

    def write(self, name: str, text: str) -> None:
        """Write a note durably, replacing the one of this name."""

    def delete(self, name: str) -> None:
        """Delete a note, if it is there."""

    def place(self, name: str) -> str:
        """Return the place of a note, for people who want to delete it."""
