"""The typed knobs of the explication evaluation: the form in the Prefect UI and the options of the CLI."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tasks.evaluations.contract import GenerationParams

SCORES_VERSION = 2
"""Raised whenever how a conversation is read, counted or averaged changes a number: part of config_hash."""

Condition = Literal["control", "treatment"]
CONDITIONS: tuple[Condition, ...] = ("control", "treatment")
"""Without and with the reminder that preferences are individual, in the order of every table."""


class ExplicationParams(GenerationParams):
    """Models to talk with, personas, tasks and judges.

    Changing any field but models, occasion, dtype, batch, budgets and profile starts a new leaderboard: they
    are in config_hash, personas, tasks and rubrics by content, simulator and judges by engine.
    """

    tasks: list[str] = Field(
        ["breakfast"],
        min_length=1,
        description="breakfast, gift, celebration, those of packs, or TOML files of your own",
    )
    conditions: list[Condition] = Field(
        list(CONDITIONS),
        min_length=1,
        description="control, and treatment: reminded that preferences are individual",
    )
    personas: list[str] | None = Field(None, description="who talks with the models; empty: all")
    max_personas: int | None = Field(
        None, ge=1, description="so many of them, a fixed choice spread over cuisines; empty: all"
    )
    personas_file: str | None = Field(
        None, description="JSON file or folder with personas of your own instead of the shipped ones"
    )
    repetitions: int = Field(10, ge=1, le=100, description="of every conversation; each has seeds of its own")
    simulator: str = Field("smollm2-135m-vllm", description="model that plays the personas")
    judges: list[str] = Field(
        [], description="models that judge conversations; empty: none is judged. Several: their mean"
    )
    temperature: float = Field(1.0, ge=0, le=2, description="of the candidates' and the simulator's sampling")
    max_turns: int = Field(
        40, ge=1, le=200, description="of both sides together: a safeguard; what it ends is not graded"
    )
    max_tokens: int = Field(4096, ge=32, description="of a candidate's turn, its reasoning included")
    simulator_max_tokens: int = Field(
        4096, ge=16, description="of a simulated user's turn, its reasoning included"
    )
    conversation_tokens: int | None = Field(
        None, ge=1, description="end a conversation that has used so many, sent and written; empty: no limit"
    )
    judge_max_tokens: int = Field(4096, ge=32, description="of a judge's answer, its reasoning included")
    seed: int = Field(0, ge=0, description="from which every turn's is derived; and of sign flips")
