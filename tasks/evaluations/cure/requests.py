"""The cells of the study: which item is asked in which mode, under which hashes. Reads the rubric files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.cure import prompts
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem, Row
from tasks.evaluations.cure.materials import LABELS, Materials, Published, build_materials
from tasks.evaluations.cure.params import MODES, SCORES_VERSION, CureParams
from tasks.evaluations.cure.rubrics import load_rubrics
from tasks.identity import digest
from tasks.judging.rubric import Rubric

Key = tuple[str, str, str]
"""(benchmark, mode, item)"""

KNOBS = {"judge_samples", "temperature", "max_tokens", "judge_max_tokens", "bootstrap", "seed"}
"""What of the params is in config_hash as it stands; items, prompts, rubrics and judges are by content."""


@dataclass(frozen=True)
class Judge:
    """Who judges: the engine's name, the model in it (for its family), and the hash of its spec."""

    name: str
    model: str
    engine: str


@dataclass(frozen=True)
class Cell:
    """One answer to be had: an item in a mode."""

    item: BenchmarkItem
    mode: str

    @property
    def key(self) -> Key:
        """What identifies the cell within its study."""
        return self.item.benchmark, self.mode, self.item.item

    @property
    def conversation(self) -> list[Message]:
        """What is asked."""
        return prompts.conversation(self.item, self.mode)

    @property
    def schema(self) -> dict[str, Any]:
        """What the answer is held to."""
        return prompts.schema(self.item.benchmark, self.mode)

    @property
    def options(self) -> tuple[str, ...]:
        """Labels whose probabilities are wanted at ``field``; none in thick mode, where text is read."""
        return LABELS[self.item.benchmark] if self.mode == "thin" else ()

    @property
    def field(self) -> str:
        """Where the options stand in the answer."""
        return "label" if self.options else ""


@dataclass(frozen=True)
class Study:
    """All that is asked, independent of the model.

    Attributes:
        rubrics: benchmark -> the rubric of its metric, in one or several phrasings.
        judges: who judges explanations; none: nobody does.
    """

    params: CureParams
    materials: Materials
    rubrics: Mapping[str, tuple[Rubric, ...]]
    judges: tuple[Judge, ...]

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """In the order of every table."""
        return tuple(self.materials.items)

    @property
    def modes(self) -> tuple[str, ...]:
        """Thin, then thick, where asked."""
        return tuple(mode for mode in MODES if mode in self.params.modes)

    def parts(self) -> list[tuple[str, str]]:
        """Benchmarks with each mode."""
        return [(benchmark, mode) for benchmark in self.benchmarks for mode in self.modes]

    def items(self, benchmark: str) -> tuple[BenchmarkItem, ...]:
        """A benchmark's items, by identifier: the order of all arrays."""
        return self.materials.items[benchmark]

    def cells(self, benchmark: str, mode: str) -> list[Cell]:
        """A benchmark's items in a mode."""
        return [Cell(item, mode) for item in self.items(benchmark)]

    def all_cells(self) -> Iterator[Cell]:
        """Every cell of the study."""
        for benchmark, mode in self.parts():
            yield from self.cells(benchmark, mode)

    def sampling(self) -> Sampling:
        """How candidates answer."""
        p = self.params
        return Sampling(temperature=p.temperature, max_tokens=p.max_tokens, seed=p.seed)

    def rubric_id(self, benchmark: str) -> str:
        """The metric and what identifies its rubric in all its phrasings: "coverage 0123456789abcdef"."""
        rubrics = self.rubrics[benchmark]
        hashes = [rubric.hash() for rubric in rubrics]
        return f"{rubrics[0].name} {hashes[0] if len(hashes) == 1 else digest(hashes)}"

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""
        wording = [
            [cell.conversation, cell.schema]
            for cell in (self.cells(benchmark, mode)[0] for benchmark, mode in self.parts())
        ]
        judged = {b: self.rubric_id(b) for b in self.benchmarks} if self.judges else None
        knobs = self.params.model_dump(include=KNOBS)
        judges = sorted(judge.engine for judge in self.judges)
        return digest(["cure", SCORES_VERSION, knobs, self.materials.hash(), wording, judged, judges])


def build_study(
    params: CureParams,
    rows: Mapping[str, Sequence[Row]],
    published: Published,
    judges: Sequence[Judge],
) -> Study:
    """Choose the items and read the rubrics; see ``build_materials`` for the arguments.

    Raises:
        ValueError: a judge is given twice.
    """
    names = [judge.name for judge in judges]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"judges: {', '.join(twice)} is named twice: name each judge once")
    materials = build_materials(params, rows, published)
    return Study(params, materials, load_rubrics(materials.items), tuple(judges))
