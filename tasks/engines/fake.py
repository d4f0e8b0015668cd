"""An engine without a model, for tests.

Log-probabilities come from a stable hash, and longer texts are less likely. Generations are valid under their
schema. The option ``delay`` (seconds per call) leaves time to kill a run.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from tasks.engines import prompting
from tasks.engines.protocols import (
    Alternatives,
    CandidateScores,
    Cloze,
    Conversations,
    EngineError,
    Framed,
    Generation,
    PairScores,
    Progress,
    Samplings,
    Schemas,
    TextPair,
    TokenAlternatives,
    each,
    each_number,
    each_schema,
)
from tasks.engines.specs import EngineSpec

_TOKEN = re.compile(r"\w+|\W")
_LABEL = re.compile(r"^#([^:\n]+):", re.MULTILINE)


class FakeOptions(BaseModel):
    """Fields of ``spec.options`` for kind "fake"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    delay: float = Field(default=0.0, ge=0, description="seconds per call of score and generate")
    memory_gib: float = Field(
        default=0.0, ge=0, description="size of the engine in the memory that engines share"
    )


class FakeEngine:
    """Deterministic ``Scorer`` and ``Generator`` in the base style; tokens are words."""

    def __init__(self, spec: EngineSpec) -> None:
        """Read the options; raises ``EngineError`` if one is unknown or wrong."""
        self.spec = spec
        self.options = spec.read_options(FakeOptions)

    def frame(self, questions: Sequence[str]) -> Framed:
        """Implement ``Scorer.frame``."""
        return Framed([q + prompting.COMPLETION_CUE for q in questions], " ", "base")

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> NDArray[np.int64]:
        """Implement ``Scorer.count_tokens``; the number of words, at least one."""
        return np.array([max(1, len(c.split())) for c in continuations], dtype=np.int64)

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Implement ``Scorer.score``: about -5 nats per word, ± 1 by the item and ± 2 by item and prefix."""
        time.sleep(self.options.delay)
        words = self.count_tokens("", continuations)
        by_item = np.array([_unit(self.spec.model, c) for c in continuations])
        scores = np.empty((len(prefixes), len(continuations)), dtype=np.float32)
        for i, prefix in enumerate(prefixes):
            by_pair = np.array([_unit(self.spec.model, prefix, c) for c in continuations])
            scores[i] = -5.0 * words + (2 * by_item - 1) + (4 * by_pair - 2)
            if progress:
                progress(len(continuations))
        return scores

    def score_each(
        self,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        progress: Progress | None = None,
    ) -> list[NDArray[np.float32]]:
        """Implement ``Scorer.score_each``; each list by ``score``."""
        pairs = zip(prefixes, continuations, strict=True)
        return [self.score([prefix], texts, progress)[0] for prefix, texts in pairs]

    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Implement ``CandidateScorer.score_candidates``: ``score`` of the text from the blank on."""
        rests = prompting.fill(cloze, candidates)
        logprob = self.score(cloze.before, rests, progress)
        n_tokens = self.count_tokens("", rests)
        return CandidateScores(logprob, np.exp(logprob / n_tokens, dtype=np.float32), n_tokens)

    def score_pairs(self, pairs: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """Implement ``PairScorer.score_pairs``: each pair by ``score``; greedy above -5 nats per word."""
        contexts = [c if isinstance(c, str) else json.dumps([dict(m) for m in c]) for c, _ in pairs]
        logprob = np.array(
            [self.score([c], [pair.continuation])[0, 0] for c, pair in zip(contexts, pairs, strict=True)],
            dtype=np.float32,
        )
        words = self.count_tokens("", [pair.continuation for pair in pairs])
        if progress:
            progress(len(pairs))
        return PairScores(logprob, logprob > -5.0 * words, words, np.zeros(len(pairs), dtype=np.int64))

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Implement ``Generator.generate``; the text depends on the conversation, the model and the seed.

        In the third turn it fills in the form of the system prompt (lines ``#Label: …``). Alternatives are
        the words of the schema's enums; the generated word is the most probable one.
        """
        time.sleep(self.options.delay)
        answers = []
        n = len(conversations)
        own = zip(
            conversations,
            each(samplings, n),
            each_schema(schemas, n),
            each_number(alternatives, n),
            strict=True,
        )
        for conversation, sampling, schema, number in own:
            transcript = json.dumps([dict(m) for m in conversation], sort_keys=True)
            key = f"{self.spec.model}|{sampling.seed}|{transcript}"
            text = f"Answer {_number(key) % 10_000}."
            if form := _form(conversation):
                text = "\n".join(f"#{label}: {text}" for label in form)
            if schema is not None:
                text = json.dumps(_instance(schema, schema, key))
            words = sum(len(m["content"].split()) for m in conversation)
            tokens = _tokens(text, _menu(schema), number, key) if number else ()
            answers.append(Generation(text, "stop", words, len(text.split()), sampling.seed, tokens))
        return answers

    def close(self) -> None:
        """Do nothing: there is no memory to free."""


def _form(conversation: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the labels of the form in the first message after two turns; before that, none."""
    n_turns = sum(message["role"] == "assistant" for message in conversation)
    return _LABEL.findall(conversation[0]["content"]) if n_turns >= 2 else []


def _number(*parts: str) -> int:
    """Return a 64-bit hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b("\x1f".join(parts).encode(), digest_size=8).digest())


def _unit(*parts: str) -> float:
    """Return a hash in [0, 1)."""
    return _number(*parts) / 2**64


def _menu(schema: Any) -> list[str]:
    """Return the words in all enums of a schema, each once."""
    parts: Sequence[Any] = schema if isinstance(schema, list) else ()
    words: list[str] = []
    if isinstance(schema, Mapping):
        parts = list(schema.values())
        words = [word for text in schema.get("enum", ()) for word in re.findall(r"\w+", str(text))]
    return list(dict.fromkeys(words + [word for part in parts for word in _menu(part)]))


def _tokens(text: str, menu: Sequence[str], n: int, key: str) -> tuple[TokenAlternatives, ...]:
    """Return words and single other characters as tokens; a menu's words are alternatives to each other."""
    tokens = []
    for place, written in enumerate(_TOKEN.findall(text)):
        others = [word for word in menu if word != written] if written in menu else []
        weights = {w: _unit(key, str(place), w) for w in others[: n - 1]} | {written: 1.0}
        total = sum(weights.values())
        tokens.append(TokenAlternatives(written, {w: math.log(weights[w] / total) for w in sorted(weights)}))
    return tuple(tokens)


def _instance(schema: Mapping[str, Any], root: Mapping[str, Any], key: str) -> Any:
    """Return a value valid under the parts of JSON Schema that our own schemas use.

    Raises:
        EngineError: the schema's type is unknown here.
    """
    if "$ref" in schema:
        return _instance(root["$defs"][schema["$ref"].rsplit("/", 1)[-1]], root, key)
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return _instance(schema[choice][_number(key) % len(schema[choice])], root, key)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][_number(key) % len(schema["enum"])]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            return {name: _instance(part, root, f"{key}.{name}") for name, part in fields.items()}
        case "array":
            n = max(1, schema.get("minItems", 1))
            return [_instance(schema["items"], root, f"{key}[{i}]") for i in range(n)]
        case "string":
            return f"text {_number(key) % 1000}".ljust(schema.get("minLength", 0), ".")
        case "integer" | "number" as kind:
            low = schema.get("minimum", 0)
            high = schema.get("maximum", low + 10)
            return (
                low + _number(key) % (high - low + 1)
                if kind == "integer"
                else low + _unit(key) * (high - low)
            )
        case "boolean":
            return _number(key) % 2 == 0
        case "null":
            return None
    raise EngineError(f"the fake engine cannot make a value for the schema {json.dumps(dict(schema))}")
