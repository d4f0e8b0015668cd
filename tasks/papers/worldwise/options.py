"""What WorldWiseAI (2024) leaves open, with its program's choices first: the flags of the command."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tasks.evaluations.worldwise.params import MINILM
from tasks.papers.reproduction import TRIED, Options, tried

NO_EMBEDDER = "none"
Order = Literal["explanation-decision-values", "explanation-values-decision", "values-explanation-decision"]


class WorldwiseOptions(Options):
    """How stored answers become numbers. Lists are tried in their order, until a cell's digits are met."""

    answers: str | None = Field(
        None, description="name of the file of answers, where there are several; empty: the last by name"
    )
    names: dict[str, str] = Field(
        {}, description="model in the files = model in the paper; others by equal name, or by its first word"
    )
    order: Order = Field("explanation-decision-values", description="of the embedded text")
    values_times: list[Annotated[int, Field(ge=0, le=9)]] = Field(
        [1, 3], min_length=1, json_schema_extra=TRIED, description="how often the values stand in it"
    )
    joined: Literal["spaces", "commas"] = Field("spaces", description="what stands between the values in it")
    decision: Literal["stored", "option"] = Field(
        "stored",
        description='of the decision: as stored ("Option A"), or that option\'s text, where there is one',
    )
    scores: list[Literal["computed", "stored"]] = tried(
        ["computed", "stored"],
        "alignment and stereotype of an answer: computed here, or those stored with it",
    )
    errors: list[Literal["answers", "profiles"]] = tried(
        ["answers", "profiles"],
        "errors in section 4.3: of single answers, or of the mean score of each culture on each dimension",
    )
    values: Literal["all", "listed"] = Field(
        "all", description="values counted: all that answers name, or those on the list alone"
    )
    over: Literal["answers", "models"] = Field(
        "answers", description="pooling: all models' answers together, or the mean of the models' numbers"
    )
    stereotype_text: Literal["response", "explanation"] = Field(
        "response",
        description="where stereotype phrases are counted: in the whole response, or in the explanation",
    )
    stereotype_rule: Literal["substring", "words"] = Field(
        "substring", description="how they are: anywhere in the text, each once, or as whole words, each use"
    )
    unparsed: Literal["left-out", "zero"] = Field(
        "left-out", description="alignment of an answer whose parsing failed"
    )
    ddof: Literal[0, 1] = Field(1, description="of standard deviations: divided by n, or by n - 1")
    targets: str = Field(
        "seed_bucketed", description="target profile: seed_bucketed are those of section 7.4"
    )
    embedder: str = Field(
        MINILM,
        description=f"{MINILM}, a sentence-transformers model's id or folder, or {NO_EMBEDDER}",
    )
    seed: int = Field(0, ge=0, description="of the relabellings behind the null of shifts")
