"""From a rubric and its inputs to what the judge reads. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tasks.engines.protocols import Message
from tasks.judging.rubric import Rubric, template
from tasks.judging.untrusted import DATA_NOTE, as_data


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
    messages: list[Message] = [_message("system", f"{rubric.system.strip()}\n\n{DATA_NOTE}")]
    for example in rubric.examples:
        answer = {key: marked.model_dump() for key, marked in example.answer.items()}
        messages.append(_message("user", _question(rubric, example.inputs)))
        messages.append(_message("assistant", json.dumps(answer, ensure_ascii=False)))
    messages.append(_message("user", _question(rubric, inputs)))
    return messages


def _question(rubric: Rubric, inputs: Mapping[str, object]) -> str:
    data = {name: as_data(value, rubric.max_chars) for name, value in inputs.items()}
    return template(rubric.user).render(data).strip()


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}
