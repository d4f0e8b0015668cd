"""Interfaces of models, and their errors.

A ``Scorer`` reads probabilities, a ``Generator`` writes text, an ``Embedder`` gives vectors. Engines
(``packed_trie``, ``vllm``, ``openai`` …) implement one or more; evaluations know only these protocols.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Message = Mapping[str, str]
"""``{"role": "system" | "user" | "assistant", "content": "..."}``"""

RAW = "text"
"""The role of raw text that is continued without a template; its conversation has no other message.

Engines that serve only chats refuse it.
"""

Conversations = Sequence[Sequence[Message]]


def is_continued(conversation: Sequence[Message]) -> bool:
    """Return whether the completion continues a text unchanged: raw text, or the assistant's last message."""
    return conversation[0]["role"] == RAW or conversation[-1]["role"] == "assistant"


Schema = Mapping[str, Any] | None
"""A JSON schema for an answer; None: free text."""

Progress = Callable[[int], None]
"""Called with the number of (prefix, continuation) pairs just scored, or of texts embedded or generated."""


class EngineError(RuntimeError):
    """An error of a model or its engine that the user can fix; the message says how."""


class Lost(NamedTuple):
    """A unit that an engine could not answer, after all tries; the others go on.

    Attributes:
        reason: for people, one line. is_paid: whether the server may charge for it.
    """

    reason: str
    is_paid: bool = False


class Unfinished(EngineError):  # noqa: N818 - "raise Unfinished" says it all
    """Part of a call has no answer. ``done`` holds the answers, which are paid for, ``lost`` single losses.

    If every unit is in one of both, the engine works on; otherwise it failed, and the message says why.
    """

    def __init__(self, message: str, done: Any = None, lost: Any = None) -> None:
        """Keep the answers.

        Args:
            done: place -> generation, or for a ``Request`` the units and their rows.
            lost: place -> ``Lost``, or for a ``Request`` unit -> ``Lost``.
        """
        super().__init__(message)
        self.done: Any = done
        self.lost: Any = {} if lost is None else lost


@dataclass(frozen=True)
class Framed:
    """Questions as prompts of a model (see ``prompting``).

    Attributes:
        prefixes: text before the item, one per question.
        lead: text between prefix and item: "" after a chat header, " " after "Answer:".
        style: "chat" or "base".
    """

    prefixes: list[str]
    lead: str
    style: str


Ability = Literal["score", "candidates", "generate", "published", "imported", "embed"]
"""Ability that an engine must have. "embed" is for embedders, which have no spec; "imported" answers lie in a
log, and no engine gives them."""


@runtime_checkable
class Scorer(Protocol):
    """Scores texts by their log-probabilities."""

    def frame(self, questions: Sequence[str]) -> Framed:
        """Return questions as prompts, by the chat template or with the base model's completion cue."""
        ...

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Return the natural-log probability of each continuation after each prefix.

        Returns:
            float32 [n_prefixes, n_continuations], each the sum over the continuation's tokens of
            log p(token | prefix, tokens before it), without an end token; range (-inf, 0]. Order and batching
            of the arguments have no effect beyond the rounding of the dtype.
        """
        ...

    def score_each(
        self,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        progress: Progress | None = None,
    ) -> list[NDArray[np.float32]]:
        """Return ``score`` of each prefix's own continuations: float32 [n_continuations] each, in order."""
        ...

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> NDArray[np.int64]:
        """Return [n_continuations] numbers of tokens of the continuations after this prefix."""
        ...


Context = str | Sequence[Message]
"""Text before a continuation: raw text, or a conversation that the model's chat template renders. If its last
message is the assistant's, that message is left open."""


class TextPair(NamedTuple):
    """A context and one continuation of it, without any text between them."""

    context: Context
    continuation: str


@dataclass(frozen=True)
class PairScores:
    """The scores of n pairs, in order.

    Attributes:
        logprob: float32 [n] natural log of the continuation's probability, summed over its tokens.
        is_greedy: bool [n] whether each of its tokens is the most probable one.
        n_tokens: int64 [n] number of tokens of the continuation.
        n_cut: int64 [n] number of tokens cut off at the beginning of the context, if it is too long.
    """

    logprob: NDArray[np.float32]
    is_greedy: NDArray[np.bool_]
    n_tokens: NDArray[np.int64]
    n_cut: NDArray[np.int64]


@runtime_checkable
class PairScorer(Protocol):
    """Scores continuations of unchanged contexts, without a cue; only conversations get a template."""

    def score_pairs(self, pairs: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """Return the score of every pair, tokenised by ``pairs``; order and batching have no effect."""
        ...


@dataclass(frozen=True)
class Cloze:
    """One template over many subjects: sentences with a blank for candidates.

    Attributes:
        before: text before the blank, one per subject, without the space before the blank.
        lead: that space, or "" in languages without spaces.
        after: text after the blank, the same for all; "" if the blank ends the sentence.
        tail: the template's text right before the blank, which is the end of every ``before``. Candidates
            are tokenised after it, so that their tokens do not depend on the subjects.
        is_cut: whether the sentence ends at the blank for models that read from left to right.
        is_own: whether such a model scores a candidate's later tokens after its own text (``local.own_text``)
            and not after the candidate's tokens before them. Needs ``is_cut``.
    """

    before: tuple[str, ...]
    lead: str
    after: str
    tail: str
    is_cut: bool = False
    is_own: bool = False


@dataclass(frozen=True)
class CandidateScores:
    """The scores of candidates in a blank. Each engine's docstring defines the scored tokens.

    Attributes:
        logprob: float32 [n_subjects, n_candidates] sum over the scored tokens of log p, natural log.
        probability: float32 [n_subjects, n_candidates] mean over the scored tokens of p, in [0, 1]
            (equation 2 of FmLAMA).
        n_tokens: [n_candidates] number of scored tokens.
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
        """Return the score of every candidate in every sentence; order and batching have no effect."""
        ...


@dataclass(frozen=True)
class Sampling:
    """Sampling of text. Temperature 0 is greedy; at others, the seed makes the text repeatable."""

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


def _each(values: list[T], n: int, name: str) -> list[T]:
    if len(values) != n:
        raise ValueError(f"{len(values)} {name} for {n} conversations: give one, or one for each")
    return values


MAX_ALTERNATIVES = 20
"""Most alternatives that OpenAI gives, and vLLM by default."""


@dataclass(frozen=True)
class TokenAlternatives:
    """The token at one position of an answer, and its alternatives.

    Attributes:
        text: of the generated token. The tokens' texts spell the answer except for outer space; if several
            tokens make one character, only the last one has it and the others have "".
        logprobs: text -> natural-log probability, of the generated token and the most probable ones; tokens
            with the same text are pooled. They are the model's own, before temperature and top_p. Under a
            schema, vLLM first removes forbidden tokens, so they are shares of the permitted ones.
    """

    text: str
    logprobs: Mapping[str, float]

    @classmethod
    def of(cls, text: str, pairs: Iterable[tuple[str, float]]) -> TokenAlternatives:
        """Return the alternatives at a position, pooled by text. text: of the generated token."""
        logprobs: dict[str, float] = {}
        for other, logprob in pairs:
            if logprob > -math.inf:  # otherwise the token was forbidden
                logprobs[other] = float(np.logaddexp(logprobs.get(other, -math.inf), logprob))
        return cls(text, logprobs)


@dataclass(frozen=True)
class Generation:
    """One completion of an engine.

    Attributes:
        finish_reason: "stop", "length" or an engine's word for a refusal.
        completion_tokens: thinking included.
        seed: the seed that was sent.
        tokens: alternatives, if they were requested and the engine has them, else ().
        thinking_tokens: of the completion's; None if the engine does not tell.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    seed: int = 0
    tokens: tuple[TokenAlternatives, ...] = ()
    thinking_tokens: int | None = field(default=None, compare=False)

    @classmethod
    def cut_off(cls, prompt_tokens: int = 0, seed: int = 0) -> Generation:
        """Return the outcome of a prompt longer than the model's context: an empty text."""
        return cls("", "length", prompt_tokens, 0, seed)


@runtime_checkable
class Generator(Protocol):
    """Generates text."""

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Return one completion per conversation, in order; with a schema the text is JSON valid under it.

        Conversations with equal seeds share the engine's random numbers, so their texts are not independent.
        For independent texts, give each conversation its own seed.

        Args:
            samplings, schemas: one per conversation, or one for all.
            alternatives: number of most probable tokens to return at each position, up to MAX_ALTERNATIVES;
                0: none. One number per conversation, or one for all. It does not change the texts.
            progress: called by engines that return completions one by one; engines that return all at once do
                not call it.
        """
        ...


@dataclass(frozen=True)
class Embedded:
    """The vectors of n texts, in order.

    Attributes:
        vectors: float32 [n, d], without NaN. A row of zeros means that the text has no vector.
        n_tokens: int64 [n] number of tokens of each whole text, special ones included; for word vectors,
            words.
        truncated: bool [n] whether the text is longer than the model reads, so that its end was left out.
    """

    vectors: NDArray[np.float32]
    n_tokens: NDArray[np.int64]
    truncated: NDArray[np.bool_]


class Embedder(Protocol):
    """Computes vectors of texts whose cosines measure similarity. Vectors need not have length 1."""

    @property
    def name(self) -> str:
        """The vectors' name in hashes: the content of the model, or its commit, and no path or name."""
        ...

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Embedded:
        """Return the vectors of all texts; a row depends only on its own text, within 1e-5."""
        ...


class Jobs(Protocol):
    """An engine's notes, kept for later runs, on the jobs that it has sent for one request."""

    @property
    def folder(self) -> Path:
        """A folder on this machine for the temporary files of a call."""

    def locked(self) -> AbstractContextManager[Jobs]:
        """Hold a lock against runs with the same request; yields a writer that fails if the lock is lost."""

    def notes(self) -> Mapping[str, tuple[str, float]]:
        """Return (content, age) by name: seconds if the writer may still run, else infinity."""

    def write(self, name: str, text: str) -> None:
        """Write a note durably; it replaces a note of the same name."""

    def delete(self, name: str) -> None:
        """Delete a note if it exists."""

    def place(self, name: str) -> str:
        """Return the place of a note, for people who want to delete it."""
