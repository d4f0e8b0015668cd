"""Reads stored answers and related files from the user's folder; lists choices that the paper leaves open."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, FiniteFloat

from tasks.data import TableError
from tasks.data.text import text
from tasks.evaluations.worldwise.params import MINILM
from tasks.packs.published import (
    Lower,
    PublishedRow,
    Text,
    read_all,
    read_rows,
    skipped_note,
)
from tasks.papers.reproduction import TRIED, Files, Options, SourceFiles, by_name, renamed_field, tried_field
from tasks.papers.values import Pieces
from tasks.papers.worldwise.program import CONFIG, EVALUATOR, SCENARIOS, CloneProgram
from tasks.parsing import parse_json

SOURCES = by_name(
    SourceFiles(
        "answers",
        (
            "results*.json", "*answers*.json", "*responses*.json",
            "results*.csv", "*answers*.csv", "*responses*.csv",
        ),
        "JSON list of records, or CSV of the same columns: scenario_id, model, culture (baseline or a "
        "country), run_num, raw_response, explanation, decision, top_values, parse_success, stereotype; "
        "optionally scenario_category and cultural_alignment",
    ),
    SourceFiles(
        "scenarios",
        ("*scenario*.csv",),
        "CSV: scenario, dimension (its primary one); also category, text",
        is_ours=True,
    ),
    SourceFiles(
        "exemplars",
        ("*exemplar*.csv",),
        "CSV: dimension, pole (high or low), text",
        is_ours=True,
    ),
    SourceFiles(
        "phrases",
        ("*phrase*.txt", "*stereotype*.txt", "*phrase*.csv", "*stereotype*.csv"),
        "stereotype phrases: a text file with one per line, or CSV with the column phrase",
        is_ours=True,
    ),
    SourceFiles(
        "profiles",
        ("*profile*.csv",),
        "CSV: profile, country (code), dimension, score, framework; default: section 7.4",
        is_ours=True,
    ),
    SourceFiles("values", ("*values*.csv",), "CSV: value, label, for --values listed", is_ours=True),
    CONFIG,
    SCENARIOS,
    EVALUATOR,
)  # fmt: skip

T = TypeVar("T")
NO_EMBEDDER = "none"
Order = Literal[
    "program", "explanation-decision-values", "explanation-values-decision", "values-explanation-decision"
]
REPEATED = "{} records repeat scenario, model, culture and run of an earlier one: all are counted"


def _values(cell: Any) -> Any:
    """Return a list, which may be stored as a text in a data frame."""
    if not isinstance(cell, str):
        return cell
    for parse in (parse_json, ast.literal_eval):
        try:
            return parse(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return [part.strip() for part in cell.split(";")]


class WorldwiseOptions(Options):
    """Choices that lead from stored answers to the numbers, the authors' program's first. Values of a list
    are tried in order until a cell's digits are met.
    """

    answers: str | None = Field(
        None, description="name of the file of answers if there are several; default: the last by name"
    )
    names: dict[str, str] = renamed_field()
    order: list[Order] = tried_field(
        [
            "program",
            "explanation-decision-values",
            "values-explanation-decision",
            "explanation-values-decision",
        ],
        "order of the parts of the embedded text; program: as evaluator.py composes it",
    )
    values_times: list[Annotated[int, Field(ge=0, le=9)]] = Field(
        [1, 3],
        min_length=1,
        json_schema_extra=TRIED,
        description="number of times the values are repeated in the embedded text",
    )
    scores: list[Literal["computed", "stored"]] = tried_field(
        ["computed", "stored"],
        "alignment and stereotype of an answer: computed here, or stored with it",
    )
    errors: list[Literal["answers", "profiles"]] = tried_field(
        ["answers", "profiles"],
        "errors in section 4.3: of single answers, or of the mean score of each culture on each dimension",
    )
    values: Literal["all", "listed"] = Field(
        "all", description="values counted: all values that answers name, or only values on the list"
    )
    targets: str = Field(
        "seed_bucketed", description="target profile; seed_bucketed: the targets of section 7.4"
    )
    embedder: str = Field(
        MINILM, description=f"{MINILM}, a sentence-transformers model's id or folder, or {NO_EMBEDDER}"
    )
    seed: int = Field(0, ge=0, description="seed of the relabellings behind the null of shifts")


class StoredAnswer(PublishedRow):
    """A record in the format of WorldWiseAI's program."""

    scenario_id: Text
    model: Text
    culture: Text
    run_num: int = 0
    raw_response: str = ""
    explanation: str = ""
    decision: str = ""
    top_values: Annotated[tuple[str, ...], BeforeValidator(_values)] = ()
    parse_success: bool = True
    stereotype: float | None = Field(None, allow_inf_nan=False)
    cultural_alignment: float | None = Field(None, allow_inf_nan=False)
    scenario_category: str = ""


class StoredScenario(PublishedRow):
    """A scenario of existing answers; it needs few columns, as nothing is sent."""

    scenario: Text
    dimension: Text
    category: str = ""
    text: str = ""


class StoredExemplar(PublishedRow):
    """A statement at one end of a dimension."""

    dimension: Text
    pole: Annotated[Literal["high", "low"], Lower]
    text: Text


class StoredTarget(PublishedRow):
    """A culture's target on one dimension."""

    profile: Text
    country: Text
    dimension: Text
    score: FiniteFloat
    framework: Text


class StoredValue(PublishedRow):
    """A value that answers may name."""

    value: Text
    label: Text


TABLES: dict[str, type[PublishedRow]] = {
    "scenarios": StoredScenario, "exemplars": StoredExemplar, "profiles": StoredTarget, "values": StoredValue,
}  # fmt: skip


@dataclass(frozen=True)
class WorldwiseFiles:
    """Contents of the folder; None for a missing file."""

    answers: tuple[StoredAnswer, ...] | None
    scenarios: list[dict[str, Any]] | None
    exemplars: list[dict[str, Any]] | None
    phrases: list[str] | None
    profiles: list[dict[str, Any]] | None
    values: list[dict[str, Any]] | None
    embedded: Pieces = ()
    """Pieces of the embedded text as the program composes it."""


def complete(stored: WorldwiseFiles, options: WorldwiseOptions) -> WorldwiseOptions:
    """Return the options, without the order "program" if there is no program to read it from."""
    if stored.embedded:
        return options
    orders = [order for order in options.order if order != "program"]
    return options.model_copy(update={"order": orders or ["explanation-decision-values"]})


def read(files: Files, options: WorldwiseOptions) -> tuple[WorldwiseFiles, Sequence[str]]:
    """Read all files of the folder. Raises ValueError, which names the file and its fault."""
    notes: list[str] = []
    answers = _answers(files["answers"], options.answers, notes)
    program = CloneProgram(files)
    program_rows: dict[str, list[dict[str, Any]]] = {
        "scenarios": program.scenarios(),
        "exemplars": program.exemplars(),
        "profiles": program.targets(),
        "values": [{"value": label, "label": label} for label in program.values()],
    }
    rows = {
        name: _rows_of(partial(_table, row=row, notes=notes), files[name], program_rows[name], notes)
        for name, row in TABLES.items()
    }
    phrases = _rows_of(_phrases, files["phrases"], program.phrases(), notes)
    return WorldwiseFiles(answers, phrases=phrases, embedded=program.embedded(), **rows), [
        *notes,
        *program.faults,
    ]


def _answers(paths: Sequence[Path], chosen: str | None, notes: list[str]) -> tuple[StoredAnswer, ...] | None:
    if chosen is not None:
        paths_of_name = [path for path in paths if path.name == chosen]
        if not paths_of_name:
            known = ", ".join(path.name for path in paths) or "none"
            raise ValueError(f"--answers: unknown file {chosen!r}; known: {known}")
        paths = paths_of_name
    if not paths:
        return None
    path, valid, dropped = _newest(paths, notes)
    if len(paths) > 1:
        notes.append(f"{len(paths)} files of answers: {path.name} is read; --answers selects another")
    notes += dropped
    keys = Counter((a.scenario_id, a.model, a.culture, a.run_num) for a in valid)
    if n_repeated := len(valid) - len(keys):
        notes.append(f"{path.name}: {REPEATED.format(n_repeated)}")
    return tuple(valid)


def _newest(paths: Sequence[Path], notes: list[str]) -> tuple[Path, list[StoredAnswer], list[str]]:
    """Return the last file by name that has answers, its answers, and notes on what is left out. CSV files
    beside the files are tried last.
    """
    newest = sorted(paths, key=lambda path: (path.name, path), reverse=True)
    csv_paths = [path.with_suffix(".csv") for path in newest]
    candidates = [*newest, *(path for path in csv_paths if path.is_file() and path not in newest)]
    for path in candidates:
        try:
            return path, *read_all([path], StoredAnswer)
        except TableError as error:
            if path is candidates[-1]:
                raise
            notes.append(skipped_note(path, error))
    raise TableError("no file of answers")


def _rows_of(
    reader: Callable[[Path], list[T]], paths: Sequence[Path], program_rows: list[T], notes: list[str]
) -> list[T] | None:
    """Return the rows of the last file, or the program's if the file is of another kind or missing."""
    if not paths:
        return program_rows or None
    if len(paths) > 1:
        notes.append(f"{len(paths)} files of that kind: {paths[-1].name} is read")
    try:
        rows = reader(paths[-1])
        if program_rows:
            notes.append(
                f"{paths[-1].name} is read instead of the program: move it away if it is another kind of file"
            )
        return rows
    except ValueError as error:
        if not program_rows:
            raise
        notes.append(f"{paths[-1].name} is skipped, the program is read: {error}")
        return program_rows


def _table(path: Path, row: type[PublishedRow], notes: list[str]) -> list[dict[str, Any]]:
    rows, dropped = read_all([path], row)
    notes += dropped
    return [row.model_dump() for row in rows]


def _phrases(path: Path) -> list[str]:
    if path.suffix == ".csv":
        phrases = [str(row.get("phrase") or "").strip() for row in read_rows(path)]
    else:
        phrases = [line.strip() for line in text(path).splitlines()]
    phrases = [phrase for phrase in phrases if phrase]
    if not phrases:
        raise TableError(f"{path}: no phrases; write one per line, or a column phrase")
    return phrases
