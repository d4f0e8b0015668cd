"""How a scenario is asked, and what form the answer has to take. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tasks.engines.protocols import Message
from tasks.evaluations.worldwise.cultures import Culture
from tasks.evaluations.worldwise.materials import Scenario

DECISIONS = ("A", "B", "Decline")
N_VALUES = 3


def conversation(scenario: Scenario, culture: Culture, labels: Sequence[str], as_json: bool) -> list[Message]:
    """The persona as system message (none for the baseline), the dilemma as the question; values in the
    order given."""
    question = (
        f"{scenario.text}\n\nOption A: {scenario.option_a}\nOption B: {scenario.option_b}\n\n"
        "Decide as you would. You may decline to choose. Name the three values that guided you most, the "
        f"most important first, from this list only: {'; '.join(labels)}. Then explain your reasoning in two "
        f"or three sentences.\n\n{_AS_JSON if as_json else _AS_TEXT}"
    )
    persona: list[Message] = [{"role": "system", "content": culture.persona}] if culture.persona else []
    return [*persona, {"role": "user", "content": question}]


def schema(labels: Sequence[str]) -> dict[str, Any]:
    """JSON schema of an answer, within what strict mode and xgrammar take.

    Values come before the explanation, so that a long one cannot cut them off.
    """
    value = {"type": "string", "enum": list(labels)}
    return {
        "type": "object",
        "properties": {
            "decision": {"type": "string", "enum": list(DECISIONS)},
            "value_1": value,
            "value_2": value,
            "value_3": value,
            "explanation": {"type": "string"},
        },
        "required": ["decision", "value_1", "value_2", "value_3", "explanation"],
        "additionalProperties": False,
    }


_AS_JSON = (
    'Answer with one JSON object: "decision" (A, B or Decline), "value_1", "value_2", "value_3" and '
    '"explanation".'
)
_AS_TEXT = (
    "Answer in exactly this form:\nDECISION: A, B or Decline\nTOP_VALUES: first, second, third\n"
    "EXPLANATION: …"
)
