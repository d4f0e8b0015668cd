"""The typed knobs of the explication evaluation: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from tasks.evaluations.contract import GenerationParams
from tasks.judging.rubric import JudgeStyle, can_reason

SCORES_VERSION = 9
"""Part of config_hash; raise it whenever reading, counting or averaging changes a number."""

Condition = Literal["control", "treatment"]
CONDITIONS: tuple[Condition, ...] = ("control", "treatment")
"""Conditions without and with the reminder that preferences are individual, in the order of every table."""


class ExplicationParams(GenerationParams):
    """Models to talk with, personas, tasks and judges.

    Changing any field but models, occasion, dtype, batch, budgets and profile starts a new leaderboard: they
    are in config_hash: personas, tasks and rubrics by content, simulator and judges by engine.
    """

    tasks: list[str] = Field(
        ["breakfast"],
        min_length=1,
        description="breakfast, gift, celebration, a pack's tasks, or paths of your own TOML files",
    )
    conditions: list[Condition] = Field(
        list(CONDITIONS),
        min_length=1,
        description="control, and treatment (the recommender is reminded that preferences are individual)",
    )
    personas: list[str] | None = Field(None, description="personas who talk with the models; empty: all")
    max_personas: int | None = Field(
        None, ge=1, description="number of personas, in a fixed choice spread over cuisines; empty: all"
    )
    personas_file: str | None = Field(
        None, description="JSON file or folder with your own personas, used instead of the shipped ones"
    )
    repetitions: int = Field(
        10, ge=1, le=100, description="number of repetitions of every conversation, each with its own seeds"
    )
    simulator: str = Field("smollm2-135m-vllm", description="model that plays the personas")
    judges: list[str] = Field(
        [], description="models that judge conversations; empty: none is judged. Several: their mean"
    )
    temperature: float = Field(1.0, ge=0, le=2, description="temperature of the candidates and the simulator")
    max_turns: int = Field(
        40,
        ge=0,
        le=200,
        description="most turns of both sides together, as a safeguard; a conversation that this limit "
        "ends is not graded. 0: none up to 1,000, where a conversation counts as endless",
    )
    max_tokens: int = Field(4096, ge=32, description="most tokens of a candidate's turn, reasoning included")
    simulator_max_tokens: int = Field(
        4096, ge=16, description="most tokens of a simulated user's turn, reasoning included"
    )
    conversation_tokens: int | None = Field(
        None,
        ge=1,
        description="end a conversation that has used this many tokens, sent and written; empty: no limit",
    )
    judge_max_tokens: int = Field(
        4096, ge=32, description="most tokens of a judge's answer, reasoning included"
    )
    judge_style: JudgeStyle = Field(
        "direct",
        description="direct: judges give verdicts and their reasons; reasoned: they weigh the conversation "
        "in free text and then give their scores, including an overall score",
    )
    seed: int = Field(0, ge=0, description="seed of every turn and of sign flips")

    @model_validator(mode="after")
    def _judges_can_reason(self) -> Self:
        return can_reason(self, self.judge_style, self.judge_max_tokens)
