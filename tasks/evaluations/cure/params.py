"""The typed knobs of the cure evaluation: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from tasks.data import hub
from tasks.evaluations.contract import GenerationParams
from tasks.judging.rubric import JudgeStyle, can_reason

SCORES_VERSION = 8
"""Raised whenever the arithmetic in ``scores`` or ``tasks.metrics``, or a constant of ``answers``, changes a
number: part of config_hash."""

Benchmark = Literal["normad", "casa", "culturebank", "specnorm"]
Mode = Literal["thin", "thick"]

BENCHMARKS: tuple[Benchmark, ...] = ("normad", "casa", "culturebank", "specnorm")
"""Benchmarks in the order of every table."""

MODES: tuple[Mode, ...] = ("thin", "thick")

BENCHMARK = r"^(normad|casa|culturebank|specnorm)(-[a-z0-9][a-z0-9_]*)?$"
"""Name of a published benchmark, or of a pack's benchmark, which begins with the name of its published model.
"""


def _known(benchmark: str) -> str:
    """Replace pydantic's pattern error with the known names."""
    if not re.match(BENCHMARK, benchmark):
        shipped = "'normad', 'casa', 'culturebank' or 'specnorm'"
        raise ValueError(f"Input should be {shipped}, or one of a pack, such as 'normad-alps'")
    return benchmark


def kind_of(benchmark: str) -> str:
    """Return the published benchmark whose labels, prompts and rubric a benchmark uses: its name's
    beginning.
    """
    return benchmark.partition("-")[0]


METRICS: Mapping[str, str] = {
    "normad": "coverage", "casa": "connotation", "culturebank": "coherence", "specnorm": "specificity",
}  # fmt: skip
"""Benchmark -> the metric of its explanations."""


def metric_of(benchmark: str) -> str:
    """Return the metric of a benchmark's explanations; packs are included."""
    return METRICS[kind_of(benchmark)]


Paths = Annotated[
    list[hub.Pinned], BeforeValidator(lambda paths: [paths] if isinstance(paths, str) else paths)
]
"""One path, or a list of paths, since CASA is published as pairs of files."""


class CureParams(GenerationParams):
    """Models to evaluate, items to send and judges to use.

    Changing any field but models, occasion, dtype, batch, budgets and profile starts a new leaderboard: they
    are in config_hash: files, items and nulls by their content, judges by their engines."""

    benchmarks: list[
        Annotated[str, AfterValidator(_known), Field(json_schema_extra={"pattern": BENCHMARK})]
    ] = Field(
        list(BENCHMARKS),
        min_length=1,
        description="normad, casa, culturebank, specnorm, or a pack's benchmark, such as normad-alps",
    )
    modes: list[Mode] = Field(
        list(MODES),
        min_length=1,
        description="thin: only the label; thick: also an explanation, which is judged",
    )
    judges: list[str] = Field(
        [], description="models that judge explanations; empty: none is judged. Several: their mean"
    )
    countries: list[str] | None = Field(
        None, description="only items of these countries: ISO alpha-2 codes or names; empty: all items"
    )
    items_per_benchmark: int | None = Field(
        None,
        ge=1,
        description="items of each benchmark: a fixed random draw of whole pairs and stories, so it may "
        "exceed this slightly; empty: all",
    )
    nulls: int | None = Field(
        100,
        ge=1,
        description="items of each benchmark whose null explanations are judged: a fixed random draw of "
        "whole pairs and stories; empty: all",
    )
    files: dict[Benchmark, Paths] = Field(
        {},
        description="published files (or Hugging Face dataset ids) of a benchmark, instead of its shipped "
        "sample; casa needs its adhere and violate files",
    )
    judge_samples: int = Field(
        3,
        ge=1,
        le=30,
        description="votes per judge on an explanation's specificity; votes alternate between phrasings of "
        "the question",
    )
    temperature: float = Field(0.0, ge=0, le=2, description="temperature of the candidates")
    max_tokens: int = Field(
        4096,
        ge=32,
        description="most tokens of an answer, thinking included; an explanation that is cut off scores 0",
    )
    judge_max_tokens: int = Field(
        4096, ge=32, description="most tokens of a judge's answer, thinking included"
    )
    judge_style: JudgeStyle = Field(
        "direct",
        description="direct: judges give a verdict and its reason; reasoned: they weigh it in free text and "
        "then give a score from 0 to 1",
    )
    seed: int = Field(
        0, ge=0, description="seed of the candidates' sampling, of sign flips and of groups of resamples"
    )

    @model_validator(mode="after")
    def _judges_can_reason(self) -> Self:
        return can_reason(self, self.judge_style, self.judge_max_tokens)
