"""Samples for people to read: prompts, completions and scores. Values; pure.

An evaluation makes samples from its study and the stored answers (``Evaluation.samples``); ``deployments``
writes them for a viewer. Models' texts are unchanged in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.engines.protocols import Message
from tasks.loop.prompts import Completion, CompletionsById, Prompt, Prompts


@dataclass(frozen=True)
class Score:
    """A sample's score by arithmetic or a judge.

    Attributes:
        value: a number, or a verdict's name; None if unscored, with the reason in ``explanation``.
        answer: the answer that was parsed from the output.
        explanation: a judge's reason, or the reason why the sample is unscored.
        judge: name of the judge's engine; "" for arithmetic.
        grading: the judge's prompt and completion.
        metadata: further fields, as JSON.
    """

    value: float | str | None
    answer: str | None = None
    explanation: str | None = None
    judge: str = ""
    grading: Sequence[Message] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: float | bool | None, reason: str | None = None, **more: Any) -> Score:
        """Return the score of a number; None or NaN is unscored, with the reason."""
        if value is None or value != value:
            return cls(None, explanation=reason or "unscored", **more)
        return cls(float(value), **more)


@dataclass(frozen=True)
class Sample:
    """One prompt of a study, or one conversation, with a model's output and scores.

    Attributes:
        id: unique within a run.
        input: the messages sent; of several turns, the first ones.
        output: the model's last text, or its probabilities in words; "" if nothing is stored.
        target: the right output, or several right ones.
        choices: the options to choose from.
        transcript: all messages of a conversation; empty if these are ``input`` and ``output``.
        finish_reason: as in ``Generation``; "" without a completion.
        tokens: of prompts and of completions, as far as they are known.
        scores: name -> score.
        metadata: subject and groups of the sample, as JSON.
        roles: role -> names of the other engines that took part.
    """

    id: str
    input: Sequence[Message]
    output: str
    target: str | Sequence[str] = ""
    choices: Sequence[str] = ()
    transcript: Sequence[Message] = ()
    finish_reason: str = ""
    tokens: tuple[int, int] = (0, 0)
    scores: Mapping[str, Score] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    roles: Mapping[str, Sequence[str]] = field(default_factory=dict)


def question(text: str) -> list[Message]:
    """Return a text that a model continues, as a single message."""
    return [{"role": "user", "content": text}]


def listed(items: Sequence[tuple[str, float]], unit: str) -> str:
    """Return items with their numbers as a text, one per line."""
    return "\n".join(f"{place:>2}. {item}  {value:.4g}" for place, (item, value) in enumerate(items, 1)) + (
        f"\n({unit})" if items else ""
    )


def sample(name: str, prompt: Prompt, completion: Completion | None, **more: Any) -> Sample:
    """Return the sample of a prompt and its completion, if there is one; more: further fields of the sample.

    The options' log-probabilities are in its metadata.
    """
    if completion is None:
        return Sample(name, prompt.conversation, "", **more)
    if completion.option_logprobs:
        more["metadata"] = {**more.get("metadata", {}), "option_logprobs": dict(completion.option_logprobs)}
    tokens = (completion.prompt_tokens, completion.completion_tokens)
    return Sample(
        name,
        prompt.conversation,
        completion.text,
        finish_reason=completion.finish_reason,
        tokens=tokens,
        **more,
    )


def graded(prompt: Prompt, completion: Completion | None) -> list[Message]:
    """Return a judge's prompt and completion as messages."""
    reply: list[Message] = [] if completion is None else [{"role": "assistant", "content": completion.text}]
    return [*prompt.conversation, *reply]


def plain(request: Prompts, stored: CompletionsById, name: str, engines: Sequence[str]) -> Iterator[Sample]:
    """Yield every prompt of a request with a completion, without scores.

    Args:
        name: prefix of the samples' ids. engines: names of the engines, unless the role is candidate.
    """
    metadata = {"topic": request.topic, "label": request.label, "role": request.role}
    for unit, prompt in request.by_id.items():
        if completion := stored.get(unit):
            roles = {} if request.role == "candidate" else {request.role: engines}
            yield sample(f"{name}:{unit}", prompt, completion, metadata=metadata, roles=roles)
