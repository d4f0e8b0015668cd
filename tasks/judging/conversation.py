"""From a rubric and its inputs to what the judge reads. Pure; ``prompts`` adds what its answer is held to."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.engines.protocols import Message
from tasks.judging.rubric import Rubric


def conversation(rubric: Rubric, inputs: Mapping[str, object]) -> list[Message]:
    """The rules, each example as a question with its answer, and the question.

    Args:
        inputs: a text or a sequence of texts for every name in ``rubric.inputs``. They reach the prompt only
            as delimited data (``untrusted``).

    Raises:
        ValueError: an input is missing or unknown.
        TypeError: an input is neither a text nor a sequence of texts.
    """
    if set(inputs) != set(rubric.inputs):
        raise ValueError(
            f"rubric {rubric.name!r} takes the inputs {sorted(rubric.inputs)}, got {sorted(inputs)}"
        )
    return [*rubric.beginning, {"role": "user", "content": rubric.question(inputs)}]
