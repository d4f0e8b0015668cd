"""The knobs of the idioms evaluation: the form in the Prefect UI and the options of the command line."""

from __future__ import annotations

from pydantic import Field

from tasks.evaluations.contract import GenerationParams


class IdiomsParams(GenerationParams):
    """What to ask of which models, and who judges."""

    languages: list[str] | None = Field(None, description="languages of the sayings; empty: all")
    judge: str = Field("smollm2-135m-vllm", description="model that says whether an answer gives the meaning")
    max_tokens: int = Field(64, ge=8, description="of a candidate's answer")
