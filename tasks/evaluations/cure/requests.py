"""The samples of the study: which item is asked in which mode and words, under which hashes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import LABELS, Materials, Published, build_materials
from tasks.evaluations.cure.params import MODES, SCORES_VERSION, CureParams, kind_of
from tasks.evaluations.cure.rubrics import load_rubrics
from tasks.identity import digest
from tasks.judging.panel import Judges, judges_by_name
from tasks.judging.rubric import Rubric
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine
from tasks.packs.published import Row

FIELDS = {"thin": ("label",), "thick": ("label", "explanation")}
"""Mode -> the answer's fields, in order. The label is first in both: thin and thick then differ in what is
asked and not in where the label stands, and an explanation that is cut off does not take the label with it.
The price: an explanation gives reasons for a label that stands already."""

WORDS: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8")
)
"""Benchmark -> its part of every prompt, as ``prompts.toml`` says."""

Key = tuple[str, str, str]
"""(benchmark, mode, item)"""

KNOBS = {"judge_samples", "temperature", "max_tokens", "judge_max_tokens", "seed"}
"""What of the params is in config_hash as it stands; items, prompts, rubrics and judges are by content."""


JUDGED = "explanation"
"""What of its inputs a judge marks."""


@dataclass(frozen=True)
class Sample:
    """One item in one mode."""

    item: BenchmarkItem
    mode: str

    @property
    def key(self) -> Key:
        """What identifies the sample within its study."""
        return self.item.benchmark, self.mode, self.item.item

    @cached_property
    def prompt(self) -> Prompt:
        """What is sent."""
        return prompt_of(self.item, self.mode)


@dataclass(frozen=True)
class Study:
    """All that is asked, independent of the model.

    Attributes:
        chosen: the items.
        rubrics: benchmark -> the rubric of its metric, in one or several phrasings.
        judges: the name that the params give a judge -> its engine; none: nobody judges.
    """

    params: CureParams
    chosen: Materials
    rubrics: Mapping[str, tuple[Rubric, ...]]
    judges: Mapping[str, Engine]

    @property
    def materials(self) -> dict[str, str]:
        """Hash of the content of all items."""
        return {"materials": self.chosen.hash()}

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """In the order of every table."""
        return tuple(self.chosen.items)

    @property
    def modes(self) -> tuple[str, ...]:
        """Thin, then thick, where asked."""
        return tuple(mode for mode in MODES if mode in self.params.modes)

    def parts(self) -> list[tuple[str, str]]:
        """Benchmarks with each mode."""
        return [(benchmark, mode) for benchmark in self.benchmarks for mode in self.modes]

    def items(self, benchmark: str) -> tuple[BenchmarkItem, ...]:
        """A benchmark's items, by identifier: the order of all arrays."""
        return self.chosen.items[benchmark]

    def samples(self, benchmark: str, mode: str) -> Sequence[Sample]:
        """A benchmark's items in a mode."""
        return self._samples[benchmark, mode]

    def all_samples(self) -> Iterator[Sample]:
        """Every sample of the study."""
        for part in self.parts():
            yield from self.samples(*part)

    @cached_property
    def _samples(self) -> dict[tuple[str, str], list[Sample]]:
        """Kept, and with them their prompts: they are looked at in every round."""
        return {part: [Sample(item, part[1]) for item in self.items(part[0])] for part in self.parts()}

    def request(self, benchmark: str, mode: str) -> Prompts:
        """What candidates are asked of one benchmark in one mode."""
        p = self.params
        return Prompts(
            topic=benchmark,
            label=f"{benchmark} {mode}",
            batch=p.batch,
            prompts=[sample.prompt for sample in self.samples(benchmark, mode)],
            sampling=Sampling(temperature=p.temperature, max_tokens=p.max_tokens, seed=p.seed),
        )

    @property
    def panel(self) -> Judges[Any]:
        """The judges, who read explanations by each benchmark's rubric."""
        return Judges(self.judges, "explanations", self.params.batch)

    def rubric_id(self, benchmark: str) -> str:
        """The metric and what identifies its rubric in all its phrasings: "coverage 0123456789abcdef"."""
        rubrics = self.rubrics[benchmark]
        hashes = [rubric.hash() for rubric in rubrics]
        return f"{rubrics[0].name} {hashes[0] if len(hashes) == 1 else digest(hashes)}"

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""
        first = [self.samples(*part)[0].prompt for part in self.parts()]
        wording = [[prompt.conversation, prompt.schema] for prompt in first]
        judged = {b: self.rubric_id(b) for b in self.benchmarks} if self.judges else None
        knobs = self.params.hashed(KNOBS)
        judges = sorted(engine.hash for engine in self.judges.values())
        return digest(["cure", SCORES_VERSION, knobs, self.chosen.hash(), wording, judged, judges])


def build_study(
    params: CureParams,
    rows: Mapping[str, Sequence[Row]],
    published: Published,
    engines: Mapping[str, Engine],
) -> Study:
    """Choose the items and read the rubrics; see ``build_materials`` for rows and published.

    Args:
        engines: those of ``params.judges``, by the names given there.

    Raises:
        ValueError: a judge is named twice.
    """
    judges = judges_by_name(params.judges, engines)
    chosen = build_materials(params, rows, published)
    return Study(params, chosen, load_rubrics(chosen.items), judges)


def prompt_of(item: BenchmarkItem, mode: str) -> Prompt:
    """What a candidate is sent. In thin mode the labels' probabilities are wanted where the label stands; in
    thick mode text is read."""
    options = LABELS[kind_of(item.benchmark)] if mode == "thin" else ()
    field = "label" if options else ""
    return Prompt(conversation(item, mode), answer_schema(item.benchmark, mode), options, field)


def conversation(item: BenchmarkItem, mode: str) -> list[Message]:
    """The role as system message, then the item, the options and the form of the answer.

    It has what the prompts of Vo and Koyejo (2025, appendix A) have: a role that knows the country or group,
    the persona, the situation, the question and the options; and in thick mode what each benchmark's
    explanation has to name. Nothing but the question is shown: no gold, rule, cue or label.
    """
    words = WORDS[kind_of(item.benchmark)]
    where = {"country": item.extra.get("country_name", item.group), "group": item.group}
    asks = [f"Answer with {words['options']}."]
    form = 'Write one JSON object: "label" (your answer).'
    if mode == "thick":
        asks.append(f"Then explain it in two to four sentences. {words['explain'].format(**where)}")
        form = 'Write one JSON object: "label" (your answer), then "explanation".'
    parts = [*_shown(item, where), " ".join(asks), form]
    return [
        {"role": "system", "content": words["role"].format(**where)},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


def answer_schema(benchmark: str, mode: str) -> dict[str, Any]:
    """JSON schema of an answer, within what strict mode and xgrammar take."""
    fields = {
        "label": {"type": "string", "enum": list(LABELS[kind_of(benchmark)])},
        "explanation": {"type": "string"},
    }
    return {
        "type": "object",
        "properties": {name: fields[name] for name in FIELDS[mode]},
        "required": list(FIELDS[mode]),
        "additionalProperties": False,
    }


def _shown(item: BenchmarkItem, where: Mapping[str, str]) -> Sequence[str]:
    """Persona, situation and question, each under its name; a published text is the situation."""
    texts = item.extra
    question = texts.get("question") or WORDS[kind_of(item.benchmark)]["question"].format(**where)
    shown = {
        "Person": texts.get("persona"),
        "The user writes" if kind_of(item.benchmark) == "casa" else "Situation": situation(item),
        "Question": question,
    }
    return [f"{name}: {text}" for name, text in shown.items() if text]


def situation(item: BenchmarkItem) -> str:
    """What happens: published stories and queries are the whole question; "" where there is none."""
    return item.extra.get("situation") or ("" if "question" in item.extra else item.question)
