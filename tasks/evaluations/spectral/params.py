"""The typed knobs of the spectral evaluation: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tasks.evaluations.contract import GenerationParams

SCORES_VERSION = 6
"""Part of config_hash; raise it whenever the arithmetic in ``scores`` or ``tasks.metrics`` changes a number.
"""

SAMPLING_VERSION = 1
"""Part of config_hash where answers are sampled; raise it whenever an answer may count as another item."""


LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"
"""Pattern of the codes of languages (BCP 47)."""


class SpectralParams(GenerationParams):
    """Models to measure and questions to send.

    Changing any field but models, occasion, dtype, part size and profile starts a new leaderboard.
    """

    countries: list[str] | None = Field(None, description="ISO alpha-2 codes or names; empty: all 170")
    domains: list[str] | None = Field(None, description="domains of Table 1 or of packs; empty: all")
    variants: list[Literal[1, 2, 3]] = Field([1, 2, 3], description="phrasings of each domain's question")
    languages: list[Annotated[str, Field(pattern=LANGUAGE)]] | None = Field(
        None,
        description="languages of the questions, compared with one another: en, es, fr, de, pt, ru, ar, hi, "
        "zh, ja, sw, tr, and those of packs; all have the same countries and items. Empty: English",
    )
    human: str | None = Field(
        None,
        description="study of people (culturemeter people) whose ranking is the ground truth: STUDY for "
        "the last pull, or STUDY:SNAPSHOT; empty: table 1 of the paper",
    )
    max_items: int | None = Field(
        None, ge=2, description="number of items per list, in a fixed random choice; empty: all"
    )
    normalisation: Literal["sum", "per_token", "per_byte"] = Field(
        "sum", description="log-probability of an item: the sum over its tokens (the paper), or its mean"
    )
    half_samples: int = Field(
        200,
        ge=20,
        le=10_000,
        description="half-samples of the countries, for intervals of categories and ranks",
    )
    countries_per_part: int = Field(
        34, ge=1, description="countries stored together; a killed run loses at most this many"
    )
    elicit: Literal["logprobs", "sampling", "constrained"] | None = Field(
        None,
        description="where distributions come from: log-probabilities of the list's items (the paper), or "
        "answers that the model writes, several for each country: sampling takes free text, and constrained "
        "takes structured outputs, which name one item of the list. Empty: sampling where no model gives "
        "log-probabilities",
    )
    draws: int = Field(
        10, ge=5, le=100, description="answers for each country and question, if they are sampled"
    )
    tries: int = Field(
        3,
        ge=1,
        le=100,
        description="most answers sent for a country and question, as a multiple of draws: those that name "
        "no item of the list are sent again",
    )
    temperature: float = Field(1.0, gt=0, le=2, description="temperature of sampled answers")
    max_tokens: int = Field(32, ge=4, description="limit of a sampled answer in free text")
