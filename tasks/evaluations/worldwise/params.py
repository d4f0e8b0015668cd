"""The typed knobs of the worldwise evaluation: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tasks.evaluations.contract import GenerationParams

SCORES_VERSION = 6
"""Part of config_hash; raise it whenever the arithmetic of scores changes a number."""

MINILM = "embedded:all-minilm-l6-v2"


class WorldwiseParams(GenerationParams):
    """Models to evaluate, scenarios to send and personas to use.

    ``study.KNOBS`` enter config_hash by value; cultures, targets and scenarios by content; other fields
    not at all.
    """

    cultures: list[str] | None = Field(
        None,
        description="ISO codes or names; empty: all that have every target. The prompt without a "
        "persona is always included",
    )
    targets: str = Field(
        "hofstede_published",
        description="targets of the cultures: hofstede_published (0 to 100 rescaled linearly), "
        "hofstede_bucketed (mapped to the seven steps of WorldWiseAI 2024), seed_bucketed (the five "
        "countries of WorldWiseAI 2024), or a profile of a pack",
    )
    scenarios_per_dimension: int | None = Field(
        None, ge=1, description="number of scenarios per dimension, in a fixed random choice; empty: all"
    )
    multi_dimensional: bool = Field(
        True, description="also scenarios whose options differ on further dimensions"
    )
    repetitions: int = Field(
        3, ge=1, description="number of answers per scenario and persona, each sampled with its own seed"
    )
    answer_format: Literal["json", "text"] = Field(
        "json",
        description="json: constrained to a schema; text: lines DECISION, TOP_VALUES and EXPLANATION, "
        "which are parsed",
    )
    persona_language: Literal["en", "own"] = Field(
        "en",
        description="language of the persona prompt: English, or the culture's own where the table "
        "persona has it",
    )
    temperature: float = Field(
        0.7,
        ge=0,
        le=2,
        description="sampling temperature; at 0, repetitions would be equal, so each prompt is sent once",
    )
    max_tokens: int = Field(
        4096,
        ge=64,
        description="most tokens of an answer, reasoning included; a longer one is cut off",
    )
    values_weight: int = Field(
        1,
        ge=0,
        le=5,
        description="number of times the embedded text repeats the values (WorldWiseAI: 1 or 3)",
    )
    order: Literal["values-explanation-decision", "explanation-values-decision"] = Field(
        "values-explanation-decision",
        description="order of the parts that are embedded; the embedder does not read the end of a "
        "text that is too long",
    )
    decision: Literal["option", "letter"] = Field(
        "option",
        description="form of the decision that is embedded: the chosen option's text, or A, B or Decline",
    )
    embedder: str = Field(
        MINILM, description="embedded:all-minilm-l6-v2, or a sentence-transformers model's id or folder"
    )
    half_samples: int = Field(
        200,
        ge=20,
        le=10_000,
        description="half-samples of the scenarios, for shifts of values; also the number of "
        "permutations of personas",
    )
    stereotype_rule: Literal["off", "words", "substring", "program"] = Field(
        "off",
        description="rule for counting the phrases of the table stereotype (this project's list): words: "
        "every use as whole words; substring: as the paper WorldWiseAI 2024 describes; program: as its "
        "program does, over the whole response; off: not counted",
    )
    other_values: Literal["left_out", "counted"] = Field(
        "left_out",
        description="values that are not in the list: left out, or, as in WorldWiseAI 2024, counted by their "
        "own words, each of the first three as often as it is named",
    )
    unread: Literal["unscored", "zero"] = Field(
        "zero",
        description="alignment of an answer that is refused, empty, cut off or cannot be read: 0 as in "
        "WorldWiseAI 2024, so that a lost answer never raises a number, or none",
    )
    reproduce: bool = Field(
        False,
        description="test differences as WorldWiseAI 2024 does, with Student's t and one-way analysis of "
        "variance, which take answers as independent; otherwise tests use the means of scenarios",
    )
