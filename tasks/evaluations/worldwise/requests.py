"""The cells of the study: who is asked what, how often, under which hashes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.worldwise import questions
from tasks.evaluations.worldwise.cultures import Culture
from tasks.evaluations.worldwise.materials import Materials, Scenario, build_materials
from tasks.evaluations.worldwise.params import SCORES_VERSION, WorldwiseParams
from tasks.evaluations.worldwise.user_files import Row
from tasks.identity import digest

Key = tuple[str, str, int]
"""(culture, scenario, repetition)"""

KNOBS = {
    "repetitions", "answer_format", "temperature", "max_tokens", "values_weight", "order", "decision",
    "embedder", "stereotype_rule", "bootstrap", "seed",
}  # fmt: skip
"""What of the params is in config_hash as it stands; cultures, targets and files are by their content."""


@dataclass(frozen=True)
class Cell:
    """One answer to be had: a scenario, a persona, a repetition."""

    culture: Culture
    scenario: Scenario
    repetition: int

    @property
    def key(self) -> Key:
        """What identifies the cell within its study."""
        return self.culture.culture, self.scenario.scenario, self.repetition


@dataclass(frozen=True)
class Study:
    """All that is asked, independent of the model."""

    params: WorldwiseParams
    materials: Materials

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""
        wording = self.conversation(next(self.cells()))
        knobs = self.params.model_dump(include=KNOBS)
        return digest(["worldwise", SCORES_VERSION, knobs, self.materials.hash(), wording])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cultures (with the baseline), scenarios and repetitions: the shape of all arrays of answers."""
        m = self.materials
        return len(m.cultures), len(m.scenarios), self.params.repetitions

    @property
    def n_cells(self) -> int:
        """How many answers there are to be had of each model."""
        cultures, scenarios, repetitions = self.shape
        return cultures * scenarios * repetitions

    def cells(self) -> Iterator[Cell]:
        """All cells, repetition by repetition, so that what was asked when a budget ends is whole."""
        for repetition in range(self.params.repetitions):
            for culture in self.materials.cultures:
                for scenario in self.materials.scenarios:
                    yield Cell(culture, scenario, repetition)

    def conversation(self, cell: Cell) -> list[Message]:
        """What is asked."""
        return questions.conversation(cell.scenario, cell.culture, self.materials.labels, self.as_json)

    def schema(self) -> dict[str, Any] | None:
        """What the answer is held to; None for free text."""
        return questions.schema(self.materials.labels) if self.as_json else None

    def sampling(self, repetition: int) -> Sampling:
        """How a repetition is drawn: its number is the seed."""
        p = self.params
        return Sampling(temperature=p.temperature, max_tokens=p.max_tokens, seed=repetition)

    @property
    def as_json(self) -> bool:
        """Whether answers are JSON objects."""
        return self.params.answer_format == "json"


def build_study(params: WorldwiseParams, rows: Mapping[str, Sequence[Row]]) -> Study:
    """See ``build_materials``."""
    return Study(params, build_materials(params, rows))
