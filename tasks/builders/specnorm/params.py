"""The typed knobs of the flow build_specnorm: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

TARGET_ITEMS, TARGET_COUNTRIES, TARGET_YES_SHARE = 3766, 145, 0.65
"""What SpecNorm has (Vo and Koyejo 2025, Benchmark 1)."""


class SpecnormParams(BaseModel):
    """Which seeds are drafted, by which model, and where the drafts wait for a review."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(description="who writes: a catalogue name, Hugging Face id or local folder")
    seeds: list[str] = Field(
        [],
        description="files (CSV, JSON, JSONL, Parquet) of statements, countries and demographics; empty: "
        "the table specnorm_seed",
    )
    n: int = Field(40, ge=1, description="seeds to choose; those of a smaller number are among them")
    seed: int = Field(0, ge=0, description="of the choice among equal seeds, and of the sampling")
    yes_share: float = Field(
        TARGET_YES_SHARE, ge=0, le=1, description="share of drafts that are asked for the answer yes"
    )
    queue: str = Field("queue.csv", description="CSV file for the reviewers; it must not be there yet")
    temperature: float = Field(0.7, ge=0, le=2, description="of the sampling")
    max_tokens: int = Field(512, ge=64, description="of a draft; a longer one is cut off and rejected")
    batch: int = Field(8, ge=1, description="drafts asked and stored together, so lost at most by a kill")
    max_total_tokens: int | None = Field(
        None, ge=1, description="ask no more once the run has used this many tokens; empty: no limit"
    )
    max_usd: float | None = Field(
        None, gt=0, description="ask no more once the run has cost this much; needs prices; empty: no limit"
    )
    profile: str = Field("custom", description="a label for the table run; changes nothing")
