"""Builds of data sets as studies: the loop that runs, resumes and bills evaluations also runs their stages.

A stage reads tables, lists the prompts that can be sent now, and turns the completions into rows of the
build's own tables instead of metric rows. Pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions, Evaluation, GenerationParams, Tables
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Request, Role

S = TypeVar("S", bound="BuildStudy")
A = TypeVar("A")


class BuildParams(BaseModel):
    """Parameters of every build: fields of the UI form and options of the command line."""

    model_config = ConfigDict(extra="forbid")

    seed: int = Field(0, ge=0, description="seed of random choices and of the sampling")
    temperature: float = Field(0.7, ge=0, le=2, description="temperature of the model that writes")
    max_tokens: int = Field(
        768, ge=64, description="maximum tokens of a draft, label or translation; a longer one is cut off"
    )
    batch: int = Field(
        8, ge=1, description="completions stored together; a killed run loses at most this many"
    )
    max_total_tokens: int | None = Field(
        None, ge=1, description="stop sending once the run has used this many tokens; empty: no limit"
    )
    max_usd: float | None = Field(
        None,
        gt=0,
        description=(
            "stop sending once the run has cost this much (US dollars; needs prices); empty: no limit"
        ),
    )
    profile: str = Field("custom", description="a label stored in the table run; changes nothing else")


class StudyParams(GenerationParams):
    """A build's params and those that the loop expects of every study."""

    model_config = ConfigDict(extra="allow")

    models: list[str] = Field([])


@dataclass(frozen=True)
class BuildStudy(ABC):
    """One stage of a build: its requests, and the rows made from the completions."""

    topic: ClassVar[str]
    """Topic of all requests, a column in the warehouse."""
    stage: ClassVar[str]

    knobs: Any

    @cached_property
    def params(self) -> StudyParams:
        """Implement ``contract.Study``."""
        return StudyParams.model_validate(self.knobs.model_dump())

    @property
    def sampling(self) -> Sampling:
        """Return the sampling of the writing model."""
        return Sampling(self.knobs.temperature, max_tokens=self.knobs.max_tokens, seed=self.knobs.seed)

    def request(self, prompts: Sequence[Prompt] = ()) -> Prompts:
        """Return a request with these prompts to the stage's model; its hash ignores the prompts."""
        return Prompts(
            topic=self.topic,
            label=self.stage,
            batch=self.knobs.batch,
            prompts=prompts,
            sampling=self.sampling,
        )

    @property
    @abstractmethod
    def materials(self) -> Mapping[str, str]: ...

    @abstractmethod
    def config_hash(self) -> str: ...

    @abstractmethod
    def prompts(self, completions: Completions) -> Sequence[Prompt]:
        """Return all prompts that can be sent to the stage's model now."""

    def ask(self, completions: Completions) -> Sequence[Request[Any]]:
        """Implement ``contract.Evaluation``."""
        return [self.request(self.prompts(completions))]

    def replies(self, completions: Completions) -> Mapping[str, Completion]:
        """Return the completion of each prompt, by the prompt's id."""
        return completions(self.request(self.prompts(completions)))

    @abstractmethod
    def read(self, completions: Completions) -> Any:
        """Return the part of a model's completions that the stage's ``save`` stores."""


def _ask(study: BuildStudy, completions: Completions) -> Sequence[Request[Any]]:
    return study.ask(completions)


def _read(study: BuildStudy, completions: Completions, shared: None) -> Any:
    return study.read(completions)


def _no_rows(study: BuildStudy, cohort: Any, shared: None) -> Tables:
    return Tables({})


@dataclass(frozen=True, eq=False, kw_only=True)
class BuildStage(Evaluation[Any, S, A]):
    """One stage of a build for the loop; if a model fails, only its own rows are lost.

    Attributes:
        save: stores the rows; called with the study, the result of ``read`` by model, and the run_id by
            model.
        models: returns the models named in the params: catalogue names, ids or folders.
        role: role of the models.
    """

    save: Callable[[S, Mapping[str, A], Mapping[str, str]], None]
    models: Callable[[Any], Sequence[str]] = lambda params: [params.model] if params.model else []
    role: Role = "candidate"
    ask: Callable[[S, Completions], Sequence[Request[Any]]] = _ask
    read: Callable[[S, Completions, Any], A] = _read
    rows: Callable[..., Tables] = _no_rows
    optional: tuple[Role, ...] = ()
