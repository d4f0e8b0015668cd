"""Samples that people read: prompts, completions and what was judged of them. Values; pure.

An evaluation makes samples of its study and of what is stored (``Evaluation.samples``), and ``deployments``
writes them for a viewer. What models wrote stands in them as it came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.engines.protocols import Message
from tasks.loop.prompts import Completion, Completions, Prompt, Prompts


@dataclass(frozen=True)
class Score:
    """A sample's score by arithmetic or a judge.

    Attributes:
        value: a number, or a word of a menu; None: unscored, and ``explanation`` says why.
        answer: what was read out of the output.
        explanation: in words: a judge's reason, or why the sample is unscored.
        by: name of the judge's engine; "": arithmetic.
        grading: what the judge was sent, and what it wrote.
        metadata: what else is known, as JSON.
    """

    value: float | str | None
    answer: str | None = None
    explanation: str | None = None
    by: str = ""
    grading: Sequence[Message] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, value: float | bool | None, reason: str | None = None, **more: Any) -> Score:
        """Return a score of a number that is None or NaN where it is unscored, with the reason."""
        if value is None or value != value:
            return cls(None, explanation=reason or "unscored", **more)
        return cls(float(value), **more)


@dataclass(frozen=True)
class Sample:
    """One thing that one model was asked.

    Attributes:
        id: unique within a run.
        input: the messages that were sent, the first ones where there are several turns.
        output: what the model wrote last, or what its probabilities come to, in words; "": nothing is stored.
        target: what would be right; several, if any of them is.
        choices: what it was to choose from.
        transcript: of a conversation all messages; empty: ``input`` and then ``output``.
        finish_reason: as of a ``Generation``; "": it wrote nothing.
        tokens: of prompts and completions, as far as they are known.
        scores: name -> what is said of it.
        metadata: what it is about and is grouped by, as JSON.
        roles: who took part beside the model: role -> names of engines.
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
    """A text that a model continues, as the one message that is sent."""
    return [{"role": "user", "content": text}]


def listed(items: Sequence[tuple[str, float]], unit: str) -> str:
    """Items with a number each, one a line, as an output in words."""
    return "\n".join(f"{place:>2}. {item}  {value:.4g}" for place, (item, value) in enumerate(items, 1)) + (
        f"\n({unit})" if items else ""
    )


def sample(name: str, prompt: Prompt, completion: Completion | None, **more: Any) -> Sample:
    """One prompt and what came back, if anything did; more: further fields of the sample.

    What the model thought of each option goes into the metadata.
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
    """Return a judge's prompt, and its text."""
    reply: list[Message] = [] if completion is None else [{"role": "assistant", "content": completion.text}]
    return [*prompt.conversation, *reply]


def plain(request: Prompts, stored: Completions, name: str, engines: Sequence[str]) -> Iterator[Sample]:
    """Every prompt of a request that is answered, without scores.

    Args:
        name: goes before each prompt's id. engines: who answered, unless it is the model that is evaluated.
    """
    about = {"topic": request.topic, "label": request.label, "role": request.role}
    for unit, prompt in request.by_id.items():
        if completion := stored.get(unit):
            roles = {} if request.role == "candidate" else {request.role: engines}
            yield sample(f"{name}:{unit}", prompt, completion, metadata=about, roles=roles)
