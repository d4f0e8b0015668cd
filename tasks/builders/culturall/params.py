"""Parameters of the flows that build CulturALL: forms in the UI and options of the commands."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, JsonValue

from tasks.builders.study import BuildParams
from tasks.data import hub

Technique = Literal["long_tail", "more_context", "less_context", "composition"]
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)

PAPER = {"accepted": 0.75, "revised": 0.081, "rejected": 0.169, "easy": 0.18, "medium": 0.268, "hard": 0.552}
"""Shares in Lin et al. (2026): of reviewed items by decision (section 2.4.3), and of published items by
difficulty (section 2.5)."""
PAPER_ITEMS = 2610
"""Number of items published by Lin et al. (2026)."""

_ENGINES: dict[str, JsonValue] = {"panel": "Engines"}
"""Panel of a field in the command line's help."""
_WRITER = "model that writes: a catalogue name, Hugging Face id or local folder"


class Measured(BuildParams):
    """Parameters of a stage that measures its drafts' difficulty."""

    solvers: list[str] = Field(
        [],
        json_schema_extra=_ENGINES,
        description="three or more models whose answers measure a draft's difficulty; empty: not measured",
    )
    judges: list[str] = Field(
        [], description="models that judge the answers; empty: answers are only compared with the gold answer"
    )
    answer_max_tokens: int = Field(
        4096, ge=8, description="maximum tokens of a solver's answer, thinking included"
    )


class CreateParams(Measured):
    """Parameters of stages 1 and 2 and of the measurement in stage 3: sources, writing model and solvers."""

    model: str | None = Field(
        None, description="model that writes: a catalogue name, Hugging Face id or local folder"
    )
    topics: hub.Pinned | None = Field(
        None,
        description=(
            "file of topics with descriptions and examples (.xlsx, .csv); empty: the 16 topics of the paper, "
            "without examples"
        ),
    )
    examples: int = Field(
        0,
        ge=0,
        description=(
            "number of examples that the model adds to each topic; from 1 on, it also proposes topic merges"
        ),
    )
    datasets: list[hub.Pinned] = Field(
        [],
        description="files of questions with answers to rewrite (.csv, .json, .jsonl, .parquet)",
    )
    pages: list[str] = Field(
        [], description="folders of .txt, .md and .html files, or files of excerpts with the column text"
    )
    written: list[hub.Pinned] = Field(
        [], description="files of items that people wrote, with the column author"
    )
    language: str | None = Field(
        None, description="language (ISO 639-1) of sources that name none; empty: detected"
    )
    region: str | None = Field(None, description="country (ISO 3166-1 alpha-2) of sources that name none")
    n: int | None = Field(
        None,
        ge=1,
        description="number of sources to draft from; a larger number includes the sources of a smaller one",
    )


class ElevateParams(Measured):
    """Parameters of stage 3: easy drafts are made harder, then wait for review."""

    model: str = Field(json_schema_extra=_ENGINES, description=_WRITER)
    queue: str = Field("elevate.csv", description="CSV file for the reviewers; it must not exist yet")
    techniques: list[Technique] = Field(
        list(TECHNIQUES), min_length=1, description="techniques to make a draft harder, used in turn"
    )
    n: int | None = Field(None, ge=1, description="number of easy drafts to make harder; empty: all")


class ReleaseParams(BuildParams):
    """Parameters of stage 4: labels, translations, checks, review queue, and a version of accepted items."""

    temperature: float = Field(
        0.0, ge=0, le=2, description="temperature of the model that labels and translates"
    )
    model: str | None = Field(
        None,
        json_schema_extra=_ENGINES,
        description="model that labels and translates; empty: only stored labels are used",
    )
    embedder: str = Field(
        "embedded:all-minilm-l6-v2",
        description="embedder that finds duplicates by the meaning of English texts; empty: only by wording",
    )
    same_wording: float = Field(
        85.0,
        ge=0,
        le=100,
        description="minimum similarity of wording (0 to 100) of two drafts that count as duplicates",
    )
    same_meaning: float = Field(
        0.88,
        gt=0,
        le=1,
        description="minimum cosine of the English texts of two drafts that count as duplicates",
    )
    leave_out: Literal["solved_by_all", "easy", "nothing"] = Field(
        "solved_by_all",
        description=(
            "items too easy to publish: solved_by_all (all settings solve them, as in Lin et al. 2026), "
            "easy (at least two thirds of the settings solve them), or nothing (all are published)"
        ),
    )
    settings: int = Field(
        15,
        ge=1,
        description="minimum number of settings (solvers) that must have answered a draft before it is "
        "left out as too easy",
    )
    queue: str = Field("review.csv", description="CSV file for the reviewers; it must not exist yet")
    out: str | None = Field(
        None,
        description="new folder for items and dataset card; empty: they are only stored in the warehouse",
    )
