"""The shipped personas, studies on them, and engines that are scripts, without a warehouse."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from tasks.engines.protocols import (
    Conversations,
    Generation,
    Message,
    Sampling,
    Samplings,
    Schema,
    Schemas,
    each,
    each_schema,
)
from tasks.evaluations.contract import Completions
from tasks.evaluations.explication.evaluation import EVALUATION
from tasks.evaluations.explication.materials import Persona, personas_of
from tasks.evaluations.explication.params import ExplicationParams
from tasks.evaluations.explication.study import ExplicationStudy
from tasks.loop.requests import Engine
from tests.conftest import REPOSITORY

Write = Callable[[Sequence[Message], Sampling, Schema], str]
"""Conversation, sampling and schema -> the text of a script."""

REFERENCE = REPOSITORY / "warehouse" / "reference"
DISHES = [
    {"item": "Bibimbap", "aliases": [], "countries": ["KR"], "ingredients": ["rice", "egg", "beef"]},
    {"item": "Falafel", "aliases": ["Ta'amiya"], "countries": ["EG", "DZ"], "ingredients": ["chickpea"]},
    {"item": "Bread", "aliases": [], "countries": ["FR"], "ingredients": ["wheat flour"]},
]


@cache
def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


PERSONAS: Mapping[str, Persona] = {
    p.persona: p for p in personas_of(rows_of(REFERENCE / "explication_persona.csv"), "shipped")
}

SIX = ["aisha-kano", "heena-ahmedabad", "jonas-lulea", "leila-lyon", "rogelio-oaxaca", "soonja-busan"]
"""The fewest personas with a test, of six cuisines."""


def engine(name: str) -> Engine:
    return Engine(name, "fake", name, name)


def study(**params: Any) -> ExplicationStudy:
    """Return a study of six personas; by default the simulator is "sim" and the judge "judge"."""
    usual = {"models": ["m"], "simulator": "sim", "judges": ["judge"], "repetitions": 2}
    usual |= {} if "personas_file" in params else {"personas": SIX}
    chosen = ExplicationParams(**usual | params)
    tables = {"persona": rows_of(REFERENCE / "explication_persona.csv"), "dish": DISHES}
    tables["country"] = [{"country": row["country"]} for row in rows_of(REFERENCE / "country.csv")]
    names = {chosen.simulator, *chosen.judges}
    return EVALUATION.study(chosen, tables, {name: engine(name) for name in names})


@dataclass
class Script:
    """A generator that is a function."""

    write: Write
    sent: list[tuple[Sequence[Message], int]] = field(default_factory=list)

    def generate(
        self, conversations: Conversations, samplings: Samplings, schemas: Schemas = None, *_: object
    ) -> list[Generation]:
        n = len(conversations)
        own = list(zip(conversations, each(samplings, n), each_schema(schemas, n), strict=True))
        self.sent += [(conversation, sampling.seed) for conversation, sampling, _ in own]
        return [Generation(self.write(c, s, schema), "stop", 9, 3, s.seed) for c, s, schema in own]


@dataclass
class Loop:
    """The rounds of ``flows/evaluation.py`` on a dictionary, which keeps completions between runs."""

    scripts: Mapping[str, Script]
    store: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def read(self, kind: str, name: str, units: Sequence[str], columns: Sequence[str]) -> pl.DataFrame:
        rows = [self.store[name, unit] for unit in units if (name, unit) in self.store]
        schema = {c: pl.String if c in ("item", "text", "finish_reason") else pl.Int64 for c in columns}
        schema["option_logprobs"] = pl.String
        return pl.DataFrame([{c: row.get(c) for c in columns} for row in rows], schema=schema)

    def run(self, study: ExplicationStudy, model: str = "m", batch: int = 1000, rounds: int = 100) -> Any:
        """Return the answers after this number of rounds. model: "" for the study's own conversations."""
        candidate = engine(model) if model else None
        names = {study.params.simulator, *study.params.judges}
        completions = Completions(candidate, {name: engine(name) for name in names}, self.read)
        for _ in range(rounds):
            left = 0
            for request in EVALUATION.ask(study, completions):
                who = completions.engine(request)
                name = request.hash(who)
                todo = [unit for unit in request.units if (name, unit) not in self.store]
                left += len(todo)
                for start in range(0, len(todo), batch):
                    units = todo[start : start + batch]
                    frame = request.compute(self.scripts[who.name], units, lambda n: None)
                    self.store |= {(name, row["item"]): row for row in frame.to_dicts()}
            if not left:
                break
        return EVALUATION.read(study, completions, None)
