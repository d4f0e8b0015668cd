"""Prompts and their completions as samples that people read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tasks.engines.protocols import Message
from tasks.loop.prompts import Completion, Completions, Prompt, Prompts
from tasks.loop.samples import Sample


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
    """What a judge was sent, and what it wrote."""
    said: list[Message] = [] if completion is None else [{"role": "assistant", "content": completion.text}]
    return [*prompt.conversation, *said]


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
