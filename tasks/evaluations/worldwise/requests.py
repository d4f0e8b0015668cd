"""The samples of the study: who is asked what, how often, under which hashes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.embedding.texts import Texts
from tasks.engines.protocols import Sampling
from tasks.evaluations.worldwise import questions
from tasks.evaluations.worldwise.cultures import Culture
from tasks.evaluations.worldwise.materials import Materials, Scenario, build_materials
from tasks.evaluations.worldwise.params import SCORES_VERSION, WorldwiseParams
from tasks.evaluations.worldwise.user_files import Row
from tasks.generation.prompts import Prompt, Prompts
from tasks.identity import digest

TOPIC = "worldwise"

Key = tuple[str, str, int]
"""(culture, scenario, repetition)"""

KNOBS = {
    "repetitions", "answer_format", "temperature", "max_tokens", "values_weight", "order", "decision",
    "embedder", "stereotype_rule", "bootstrap", "seed",
}  # fmt: skip
"""What of the params is in config_hash as it stands; cultures, targets and files are by their content."""


@dataclass(frozen=True)
class Sample:
    """A scenario, a persona, a repetition, and what is sent; repetitions share the prompt."""

    culture: Culture
    scenario: Scenario
    repetition: int
    prompt: Prompt

    @property
    def key(self) -> Key:
        """What identifies the sample within its study."""
        return self.culture.culture, self.scenario.scenario, self.repetition


@dataclass(frozen=True)
class Study:
    """All that is asked, independent of the model."""

    params: WorldwiseParams
    content: Materials

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""
        wording = self.samples[0].prompt.conversation
        knobs = self.params.model_dump(include=KNOBS)
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
        schema = questions.schema(m.labels) if as_json else None
        prompts = [
            (culture, scenario, Prompt(questions.conversation(scenario, culture, m.labels, as_json), schema))
            for culture in m.cultures
            for scenario in m.scenarios
        ]
        return tuple(
            Sample(culture, scenario, repetition, prompt)
            for repetition in range(self.params.repetitions)
            for culture, scenario, prompt in prompts
        )

    @cached_property
    def requests(self) -> tuple[Prompts, ...]:
        """What a model is asked: a request per repetition."""
        prompts = [sample.prompt for sample in self.samples if sample.repetition == 0]
        return tuple(
            Prompts(
                topic=TOPIC,
                label=f"repetition {repetition + 1}",
                batch=self.params.batch,
                prompts=prompts,
                sampling=self.sampling(repetition),
            )
            for repetition in range(self.params.repetitions)
        )

    def sampling(self, repetition: int) -> Sampling:
        """How a repetition is drawn: its number is the seed."""
        p = self.params
        return Sampling(temperature=p.temperature, max_tokens=p.max_tokens, seed=repetition)

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
