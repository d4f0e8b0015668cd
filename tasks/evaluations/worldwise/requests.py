"""The samples of the study: who is asked what, in which form, how often, under which hashes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.worldwise.materials import Culture, Materials, Scenario, build_materials
from tasks.evaluations.worldwise.params import SCORES_VERSION, WorldwiseParams
from tasks.evaluations.worldwise.user_files import Row
from tasks.identity import digest
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.texts import Texts

DECISIONS = ("A", "B", "Decline")
N_VALUES = 3
TOPIC = "worldwise"

Key = tuple[str, str, int]
"""(culture, scenario, repetition)"""

KNOBS = {
    "repetitions", "answer_format", "temperature", "max_tokens", "values_weight", "order", "decision",
    "embedder", "stereotype_rule", "half_samples", "seed", "reproduce",
}  # fmt: skip
"""What of the params is in config_hash as it stands; cultures, targets and files are by their content."""

_AS_JSON = (
    'Answer with one JSON object: "decision" (A, B or Decline), "value_1", "value_2", "value_3" and '
    '"explanation".'
)
_AS_TEXT = (
    "Answer in exactly this form:\nDECISION: A, B or Decline\nTOP_VALUES: first, second, third\n"
    "EXPLANATION: …"
)


class Sample(NamedTuple):
    """Which culture, scenario and repetition, and what is sent."""

    key: Key
    prompt: Prompt


@dataclass(frozen=True)
class Study:
    """All that is asked, independent of the model."""

    params: WorldwiseParams
    content: Materials

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""
        wording = self.samples[0].prompt.conversation
        knobs = self.params.hashed(KNOBS)
        return digest(["worldwise", SCORES_VERSION, knobs, self.content.hash, wording])

    @property
    def materials(self) -> dict[str, str]:
        """The hash of the content."""
        return {"materials": self.content.hash}

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cultures (with the baseline), scenarios and repetitions: the shape of all arrays of answers."""
        m = self.content
        return len(m.cultures), len(m.scenarios), self.params.repetitions

    @property
    def n_samples(self) -> int:
        """How many answers there are to be had of each model."""
        cultures, scenarios, repetitions = self.shape
        return cultures * scenarios * repetitions

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """All samples, repetition by repetition, so that what was asked when a budget ends is whole."""
        m, as_json = self.content, self.as_json
        schema = answer_schema(m.labels) if as_json else None
        conversations = {
            (culture.culture, scenario.scenario): conversation(scenario, culture, m.labels, as_json)
            for culture in m.cultures
            for scenario in m.scenarios
        }
        return tuple(
            Sample((*about, r), Prompt(sent, schema, sample=f"repetition {r}" if self.is_sampled else ""))
            for r in range(self.params.repetitions)
            for about, sent in conversations.items()
        )

    @cached_property
    def requests(self) -> tuple[Prompts, ...]:
        """What a model is sent, a request per repetition; greedy repetitions, which are equal, once."""
        p = self.params
        return tuple(
            Prompts(
                topic=TOPIC,
                label=f"repetition {repetition + 1}",
                batch=p.batch,
                prompts=[sample.prompt for sample in self.samples if sample.key[2] == repetition],
                sampling=Sampling(temperature=p.temperature, max_tokens=p.max_tokens),
            )
            for repetition in range(p.repetitions if self.is_sampled else 1)
        )

    @property
    def is_sampled(self) -> bool:
        """Whether repetitions differ."""
        return self.params.temperature > 0

    def vectors_of(self, texts: Sequence[str], label: str) -> Texts:
        """The request for the vectors of some texts."""
        return Texts(role="embedder", engine=self.params.embedder, topic=TOPIC, label=label, texts=texts)

    @property
    def as_json(self) -> bool:
        """Whether answers are JSON objects."""
        return self.params.answer_format == "json"


def build_study(params: WorldwiseParams, rows: Mapping[str, Sequence[Row]]) -> Study:
    """See ``build_materials``."""
    return Study(params, build_materials(params, rows))


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


def answer_schema(labels: Sequence[str]) -> dict[str, Any]:
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
