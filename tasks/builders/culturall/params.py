"""Parameters of the flows that build CulturALL: forms in the UI and options of the commands."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, JsonValue

from tasks.builders.study import BuildParams

Technique = Literal["long_tail", "more_context", "less_context", "composition"]
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)

PAPER = {"accepted": 0.75, "revised": 0.081, "rejected": 0.169, "easy": 0.18, "medium": 0.268, "hard": 0.552}
"""Shares of reviewed and of published items in Lin et al. (2026, sections 2.4.3 and 2.5)."""
PAPER_ITEMS = 2610


_ENGINES: dict[str, JsonValue] = {"panel": "Engines"}
"""Panel of a field in the command line's help."""
_WRITER = "model that writes: a catalogue name, Hugging Face id or local folder"


class Measured(BuildParams):
    """Parameters of a stage whose drafts are measured."""

    solvers: list[str] = Field(
        [],
        json_schema_extra=_ENGINES,
        description="three or more models that measure a draft's difficulty; empty: not measured",
    )
    judges: list[str] = Field(
        [], description="models that judge the answers; empty: answers are only matched"
    )
    answer_max_tokens: int = Field(
        4096, ge=8, description="most tokens of a solver's answer, thinking included"
    )


class CreateParams(Measured):
    """Parameters of stages 1 and 2 and of the measurement in stage 3: sources, writing model and solvers."""

    model: str | None = Field(
        None, description="model that writes: a catalogue name, Hugging Face id or local folder"
    )
    topics: str | None = Field(
        None,
        description="file of topics, descriptions and examples (.xlsx, .csv); empty: the 16 topics alone",
    )
    examples: int = Field(
        0, ge=0, description="examples that the model adds to each topic; it also proposes merges"
    )
    datasets: list[str] = Field(
        [],
        description="files of questions with their answers, to be rewritten (.csv, .json, .jsonl, .parquet)",
    )
    pages: list[str] = Field(
        [], description="folders of .txt, .md and .html files, or files of excerpts with the column text"
    )
    written: list[str] = Field([], description="files of items that people wrote, with the column author")
    language: str | None = Field(
        None, description="ISO 639-1 language of sources without one; empty: detected"
    )
    region: str | None = Field(None, description="ISO 3166-1 country of sources without one")
    n: int | None = Field(
        None, ge=1, description="number of sources to draft; a larger number includes those of a smaller one"
    )


class ElevateParams(Measured):
    """Parameters of stage 3: easy drafts are made harder, then wait for people."""

    model: str = Field(json_schema_extra=_ENGINES, description=_WRITER)
    queue: str = Field("elevate.csv", description="CSV file for the reviewers; it must not exist yet")
    techniques: list[Technique] = Field(
        list(TECHNIQUES), min_length=1, description="ways to make a draft harder, taken in turn"
    )
    n: int | None = Field(None, ge=1, description="easy drafts to work on; empty: all")


class ReleaseParams(BuildParams):
    """Parameters of stage 4: labels, translations, checks, review queue, version of the accepted items."""

    temperature: float = Field(
        0.0, ge=0, le=2, description="most tokens of the model that labels and translates"
    )
    model: str | None = Field(
        None,
        json_schema_extra=_ENGINES,
        description="model that labels and translates; empty: only stored labels are used",
    )
    embedder: str = Field(
        "embedded:all-minilm-l6-v2",
        description="embedder that finds duplicates by meaning, in English; empty: only by wording",
    )
    same_wording: float = Field(
        85.0,
        ge=0,
        le=100,
        description="least similarity of wording (0 to 100) of two drafts that count as one",
    )
    same_meaning: float = Field(
        0.88, gt=0, le=1, description="least cosine of the English texts of two drafts that count as one"
    )
    leave_out: Literal["solved_by_all", "easy", "nothing"] = Field(
        "solved_by_all",
        description=(
            "items too easy to publish: solved by all settings, as in Lin et al. (2026); easy: also those "
            "that two of three or more settings solve; or nothing"
        ),
    )
    settings: int = Field(
        15,
        ge=1,
        description="number of settings (solvers) that must have answered a draft before it can be left out",
    )
    queue: str = Field("review.csv", description="CSV file for the reviewers; it must not exist yet")
    out: str | None = Field(
        None, description="new folder for items and dataset card; empty: only the warehouse"
    )
