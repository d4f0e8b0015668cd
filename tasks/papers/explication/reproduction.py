"""Reproduces section 5 of Measuring Meta-Cultural Competency (2025) from conversations in this project's
formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AliasChoices, BeforeValidator, Field

from tasks.judging.validation import spearman
from tasks.metrics.agreement import OppositeOrder, opposite_order
from tasks.packs.published import Lower, PublishedRow, Text, read_all
from tasks.papers.reproduction import (
    Files,
    Named,
    NoNumber,
    Numbers,
    Options,
    PrintedCell,
    RecomputedCell,
    Reproduction,
    SourceFiles,
    by_name,
    model_names,
    renamed_field,
)

SOURCES = by_name(
    SourceFiles(
        "conversations",
        ("*conversations*.jsonl", "*conversations*.json", "*conversations*.csv"),
        "one row per conversation: conversation (name), model, condition (control or treatment), persona, "
        "repetition, cuisine, and the judge's grades apr and int (1 to 10), instruction (1 to 5)",
        is_ours=True,
    ),
    SourceFiles(
        "ratings",
        ("*ratings*.jsonl", "*ratings*.json", "*ratings*.csv"),
        "one row per person and rated conversation: rater, conversation, persona, apr and int (1 to 5)",
        is_ours=True,
    ),
)
_FIELDS = {"APR": "apr", "INT": "int"}
NO_TEST = "the paper does not name the test"
NO_FILE = "no file has it"


class ExplicationReproduced(Options):
    """Choices that the paper leaves open."""

    names: dict[str, str] = renamed_field()


def _condition(cell: Any) -> Any:
    return "treatment" if cell in ("experiment", "experimental") else cell


Grade = Annotated[float | None, Field(None, allow_inf_nan=False)]


class Conversation(PublishedRow):
    """A conversation with the judge's grades; None for a missing grade."""

    conversation: Text
    model: Text
    condition: Annotated[Literal["control", "treatment"], BeforeValidator(_condition), Lower]
    persona: Text
    repetition: Text
    cuisine: str = ""
    apr: Grade = None
    interaction: Grade = Field(None, validation_alias=AliasChoices("int", "interaction"))
    instruction: Grade = None


class PublishedMarks(PublishedRow):
    """Marks of a person for a conversation."""

    rater: Text
    conversation: Text
    persona: Grade = None
    apr: Grade = None
    interaction: Grade = Field(None, validation_alias=AliasChoices("int", "interaction"))


@dataclass(frozen=True)
class ExplicationFiles:
    """Contents of the folder."""

    conversations: Sequence[Conversation]
    ratings: Sequence[PublishedMarks]


def read(files: Files, options: ExplicationReproduced) -> tuple[ExplicationFiles, Sequence[str]]:
    """Read all files of the folder. Raises ValueError, which names the file and its fault."""
    conversations, notes = read_all(files["conversations"], Conversation)
    ratings, rating_notes = read_all(files["ratings"], PublishedMarks)
    return ExplicationFiles(conversations, ratings), [*notes, *rating_notes]


class ExplicationNumbers(Numbers[ExplicationFiles, ExplicationReproduced]):
    """Counts, grades of the judge, and people's ratings of the same conversations."""

    def _number(self, cell: PrintedCell) -> RecomputedCell:
        if cell.table.startswith("5.2 Human"):
            return self._validated(cell)
        if not self.content.conversations:
            raise NoNumber(SOURCES["conversations"].missing)
        match cell.metric:
            case "instruction following":
                return self._instructed(cell.model)
            case "p-value":
                raise NoNumber(NO_TEST)
        return self._counted(cell)

    def further(self) -> Iterator[tuple[PrintedCell, RecomputedCell]]:
        """Yield figure 4: mean APR and INT of each model and condition; the null is the mean over
        all models.
        """
        for condition in ("control", "treatment"):
            conversations = [row for row in self.content.conversations if row.condition == condition]
            for metric in _FIELDS:
                null = _mean([_grade(row, metric) for row in conversations])
                for model in dict.fromkeys(row.model for row in conversations):
                    grades = [_grade(row, metric) for row in conversations if row.model == model]
                    cell = PrintedCell("Figure 4", self.names[model], {"condition": condition}, metric)
                    n = sum(grade is not None for grade in grades)
                    yield cell, RecomputedCell(_mean(grades), null=null, null_name="all models", n=n)

    @cached_property
    def known_names(self) -> Sequence[Named]:
        printed = {cell.model for cell in self.tools.printed if cell.model}
        return [Named("models", set(self.names.values()), printed)]

    @cached_property
    def names(self) -> dict[str, str]:
        """Return model in the files -> model in the paper."""
        printed = {cell.model for cell in self.tools.printed if cell.model}
        return model_names([row.model for row in self.content.conversations], printed, self.options.names)

    def _counted(self, cell: PrintedCell) -> RecomputedCell:
        rows = self.content.conversations
        match cell.metric:
            case "participants":
                values = {row.persona for row in rows}
            case "cuisines":
                values = {row.cuisine for row in rows} - {""}
            case "instruction-tuned models":
                values = {row.model for row in rows}
            case "repetitions":
                values = {row.repetition for row in rows}
            case "conversations":
                values = {row.conversation for row in rows}
            case "conversations of a model":
                return self._per_model(cell)
            case _:
                raise NoNumber(NO_FILE)
        if not values:
            raise NoNumber(f"no column has {cell.metric}")
        return RecomputedCell(float(len(values)), n=len(rows))

    def _per_model(self, cell: PrintedCell) -> RecomputedCell:
        condition = _condition(cell.parts.get("condition"))
        counts = {
            sum(
                row.model == model and condition in (None, row.condition)
                for row in self.content.conversations
            )
            for model in self.names
        }
        if len(counts) > 1:
            raise NoNumber(f"the models differ: {min(counts)} to {max(counts)} conversations")
        return RecomputedCell(float(counts.pop()), n=len(self.names))

    def _instructed(self, model: str) -> RecomputedCell:
        """Return a model's mean, or the lowest mean of the models that the paper does not name."""
        named = {cell.model for cell in self.tools.printed if cell.metric == "instruction following"}
        means = {
            name: _mean([row.instruction for row in self.content.conversations if row.model == label])
            for label, name in self.names.items()
        }
        models = {model} if model else set(means) - named
        values = [mean for name, mean in means.items() if mean is not None and name in models]
        if not values:
            raise NoNumber(f"no grade of instruction following{f' of {model}' if model else ''}")
        return RecomputedCell(min(values), n=len(values))

    def _validated(self, cell: PrintedCell) -> RecomputedCell:
        ratings = self.content.ratings
        if not ratings:
            raise NoNumber(SOURCES["ratings"].missing)
        match cell.metric:
            case "conversations":
                return RecomputedCell(float(len({row.conversation for row in ratings})), n=len(ratings))
            case "participants":
                return RecomputedCell(float(len({row.rater for row in ratings})), n=len(ratings))
            case "persona alignment":
                marks = [row.persona for row in ratings]
                if (mean := _mean(marks)) is None:
                    raise NoNumber("no mark of the persona")
                return RecomputedCell(mean, n=len(marks))
        dimension = cell.parts.get("dimension", "")
        if cell.metric.startswith("Spearman"):
            return self._ranked(dimension)
        order = self._order(dimension)
        if cell.metric == "Cohen's kappa":
            if order.kappa is None:
                raise NoNumber("people or the judge have no pair with a difference")
            return RecomputedCell(order.kappa, null=0.0, null_name="chance", n=order.n)
        share = 0.0 if order.opposite is None else order.opposite * (1 - order.tied)
        return RecomputedCell(
            100 * share, null=50 * (1 - order.tied), null_name="orders at random", n=order.n
        )

    def _pairs(self, dimension: str) -> list[tuple[str, str, float, float]]:
        """Return (rater, model, person's mark, judge's grade) of every conversation that has both."""
        if dimension not in _FIELDS:
            raise NoNumber("this number is not implemented")
        graded = {row.conversation: row for row in self.content.conversations}
        if not graded:
            raise NoNumber(SOURCES["conversations"].missing)
        pairs = []
        for row in self.content.ratings:
            conversation = graded.get(row.conversation)
            mark, grade = _grade(row, dimension), _grade(conversation, dimension) if conversation else None
            if conversation and mark is not None and grade is not None:
                pairs.append((row.rater, conversation.model, mark, grade))
        if not pairs:
            raise NoNumber("no rated conversation has a judge's grade")
        return pairs

    def _order(self, dimension: str) -> OppositeOrder:
        """Return how often the judge reverses people's order of pairs of one rater; ties count as aligned."""
        raters, _, marks, grades = zip(*self._pairs(dimension), strict=True)
        order = opposite_order(marks, grades, raters)
        if order is None:
            raise NoNumber("no person rated two conversations")
        return order

    def _ranked(self, dimension: str) -> RecomputedCell:
        pairs = self._pairs(dimension)
        models = sorted({model for _, model, *_ in pairs})
        people, judge = (
            [float(np.mean([pair[side] for pair in pairs if pair[1] == model])) for model in models]
            for side in (2, 3)
        )
        rho = spearman(np.array(people), np.array(judge))
        if rho is None:
            raise NoNumber("fewer than two models, or all have the same mean")
        return RecomputedCell(rho, null=0.0, null_name="chance", n=len(models))


def _grade(row: Conversation | PublishedMarks, metric: str) -> float | None:
    return row.apr if metric == "APR" else row.interaction


def _mean(values: Sequence[float | None]) -> float | None:
    graded = [value for value in values if value is not None]
    return float(np.mean(graded)) if graded else None


REPRODUCTION = Reproduction(
    title="Measuring Meta-Cultural Competency (2025), section 5: conversations and their validation.",
    sources=SOURCES,
    options=ExplicationReproduced,
    read=read,
    numbers=ExplicationNumbers,
    examples=("--table 5.2", "--names llama-1b=Llama-3.2-1B-it"),
    further=("Figure 4",),
)
