"""Parameters of the flow build_specnorm, and SpecNorm's size. Few imports: commands load this first."""

from __future__ import annotations

from pydantic import Field

from tasks.builders.study import BuildParams
from tasks.data import hub

TARGET_ITEMS, TARGET_COUNTRIES, TARGET_YES_SHARE = 3766, 145, 0.65
"""Number of items and countries in SpecNorm, and its share of yes (Vo and Koyejo 2025, Benchmark 1)."""


class SpecnormParams(BuildParams):
    """Parameters: seeds, writing model and review file."""

    model: str = Field(description="model that writes: a catalogue name, Hugging Face id or local folder")
    seeds: list[hub.Pinned] = Field(
        [],
        description="files of statements with country and demographics (.csv, .json, .jsonl, .parquet); "
        "empty: the table specnorm_seed",
    )
    n: int = Field(
        40, ge=1, description="number of seeds; a larger number includes the seeds of a smaller one"
    )
    yes_share: float = Field(
        TARGET_YES_SHARE, ge=0, le=1, description="share of drafts with yes as the requested answer"
    )
    queue: str = Field("queue.csv", description="CSV file for the reviewers; it must not exist yet")
    max_tokens: int = Field(
        512, ge=64, description="maximum tokens of a draft; a longer one is cut off and rejected"
    )
