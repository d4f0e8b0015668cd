"""The typed knobs of the culturall evaluation: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.data import hub
from tasks.evaluations.contract import GenerationParams
from tasks.judging.rubric import JudgeStyle, can_reason

SCORES_VERSION = 9
"""Part of config_hash; raise it whenever reading, matching or the arithmetic of rows changes a number."""

Condition = Literal["native", "english", "question", "retrieval"]

CONDITIONS: tuple[Condition, ...] = ("native", "english", "question", "retrieval")
"""Conditions in the order of every table; ``accuracy`` without a suffix means the first."""


class CulturallParams(GenerationParams):
    """Models to evaluate, items to send and judges to use.

    Changing any field but models, occasion, dtype, batch, budgets and profile starts a new leaderboard: they
    are in config_hash, files and documents by their content, judges by their engines."""

    conditions: list[Condition] = Field(
        ["native", "english", "question"],
        min_length=1,
        description="native: as written; english: the translation; question: without the scenario, to show "
        "what the question alone gives away; retrieval: as written, with passages of your documents",
    )
    judges: list[str] = Field(
        [], description="models that judge answers; empty: answers are matched only. Several: their mean"
    )
    languages: list[str] = Field([], description="ISO 639-1 codes, such as zh,km; empty: all")
    regions: list[str] = Field([], description="ISO 3166-1 alpha-2 codes, such as CN,HK; empty: all")
    topics: list[str] = Field([], description="topics, such as Food,Heritage; empty: all")
    items_per_language: int | None = Field(
        None,
        ge=1,
        description="items per language, a fixed choice spread over regions and topics; empty: all",
    )
    file: hub.Pinned | None = Field(
        None,
        description="file of items in the published form (.xlsx, .csv, .tsv, .json, .jsonl, .parquet), used "
        "instead of the shipped ones",
    )
    documents: str | None = Field(
        None, description="folder of .txt and .md files with passages for the condition retrieval"
    )
    passages: int = Field(3, ge=1, le=20, description="passages shown per item in the condition retrieval")
    temperature: float = Field(0.0, ge=0, le=2, description="temperature of the candidates")
    max_tokens: int = Field(
        4096, ge=8, description="most tokens of an answer, thinking included; a cut-off answer is wrong"
    )
    judge_max_tokens: int = Field(
        4096, ge=16, description="most tokens of a judge's answer, thinking included"
    )
    judge_style: JudgeStyle = Field(
        "direct",
        description="direct: judges give a verdict and its reason; reasoned: they weigh it in free text and "
        "then give a score from 0 to 1",
    )
    seed: int = Field(0, ge=0, description="seed of the candidates' sampling")

    @model_validator(mode="after")
    def _judges_can_reason(self) -> Self:
        return can_reason(self, self.judge_style, self.judge_max_tokens)
