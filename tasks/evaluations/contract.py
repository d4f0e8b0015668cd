"""The contract of an evaluation; everything else is the loop's (``flows/evaluation.py``). Typed, pure.

An evaluation is a study and four functions on it. ``ask`` is called again and again: each time it returns
every request that the completions so far make possible, including answered requests. So prompts to judges,
turns of a dialogue and votes are further rounds, and resuming costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar, cast

import polars as pl
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tasks.evaluations.about import About
from tasks.identity import checked_name, digest
from tasks.loop.requests import CANDIDATE, Engine, Later, Request, Role
from tasks.loop.rows import Metric
from tasks.loop.samples import Sample
from tasks.loop.until import Rule
from tasks.packs.shape import Rows as Rows
from tasks.packs.shape import Shape

FIRST = "first"
"""The cohort of the models of a configuration's first finished run."""


class Params(BaseModel):
    """Parameters of every evaluation: fields of the UI form and options of the command line."""

    model_config = ConfigDict(extra="forbid")

    models: list[str] = Field(min_length=1, description="catalogue names, Hugging Face ids or local folders")
    occasion: str = Field(
        "",
        description=(
            "name of a re-evaluation, such as 2026-w48: all prompts are sent again, and old answers are "
            "kept; {date}, {week} and {time} stand for the run's scheduled time. Empty: stored answers are "
            "reused"
        ),
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None = Field(
        None, description="precision of models that run here; empty: the specs' own, mostly auto"
    )
    cohort: str = Field(
        FIRST,
        description="reference models for medians; a new name freezes this run's models; first: the models "
        "of the first finished run",
    )
    pack: list[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*(@[0-9a-f]{16})?$")]] = Field(
        [],
        description=(
            "packs of your own content to add (culturemeter pack list); their numbers are kept apart"
        ),
    )
    limit: int | None = Field(
        None,
        ge=1,
        description="number of items, spread over clusters; starts a separate configuration. Empty: all",
    )
    seed: int = Field(0, ge=0, description="seed of random choices")
    until: str = Field(
        "",
        description="send items at random and stop once enough is known: beyond-null, width 0.05, or "
        "separates MODEL; starts a separate configuration. Empty: all are sent",
    )
    profile: str = Field("custom", description="a label for the leaderboard; changes nothing")

    @model_validator(mode="before")
    @classmethod
    def _without_unset(cls, chosen: Any) -> Any:
        """Return the fields; unknown ones without a value are of runs stored before these fields went."""
        if not isinstance(chosen, dict) or cls.model_config["extra"] != "forbid":
            return chosen
        return {n: value for n, value in chosen.items() if n in cls.model_fields or value is not None}

    @field_validator("occasion", "cohort", "profile")
    @classmethod
    def _is_a_name(cls, name: str, info: ValidationInfo) -> str:
        return checked_name(name, str(info.field_name))

    @field_validator("until")
    @classmethod
    def _is_a_rule(cls, text: str) -> str:
        return str(Rule.parsed(text)) if text.strip() else ""

    def hashed(self, knobs: Set[str]) -> dict[str, Any]:
        """Return the parameters that are in a config_hash by value, by name."""
        return self.model_dump(include=set(knobs))

    @property
    def label(self) -> str:
        """Return the name of a run's options on leaderboards: the profile, the packs that were added, and the
        rule that ends it.
        """
        packs = ", ".join(name.partition("@")[0] for name in self.pack)
        own = f"{self.profile} + pack {packs}" if packs else self.profile
        return f"{own}, until {self.until}" if self.until else own


class GenerationParams(Params):
    """Parameters of an evaluation in which a model writes: a candidate, a judge or a simulator."""

    batch: int = Field(
        32, ge=1, description="prompts completed and stored together; a kill loses at most two such parts"
    )
    max_total_tokens: int | None = Field(
        None, ge=1, description="stop sending once a model's run has used this many tokens; empty: no limit"
    )
    max_usd: float | None = Field(
        None,
        gt=0,
        description=(
            "stop sending once a model's run has cost this much (US dollars; needs prices); empty: no limit"
        ),
    )
    max_lost: float = Field(
        0.1,
        ge=0,
        le=1,
        description="give a model or judge up once its server has lost more than this share of its answers "
        "after all retries; 1: never",
    )


class Study(Protocol):
    """The questions of an evaluation, independent of the model."""

    @property
    def params(self) -> Params:
        """The knobs."""

    @property
    def materials(self) -> Mapping[str, str]:
        """Return the hashes of the content by name: item lists, scenarios, items."""

    def config_hash(self) -> str:
        """Return the hash of the configuration within which models may be compared."""


def comparable(study: Study) -> str:
    """Return the config_hash of a study's rows.

    It differs from the study's own for another cohort or with packs, whose content is in the params by hash
    (``name@hash``).
    """
    own, params = study.config_hash(), study.params
    apart: list[Any] = [] if params.cohort == FIRST else [params.cohort]
    if params.pack:
        apart.append(sorted(pack.partition("@")[2] for pack in params.pack))
    return digest([own, *apart]) if apart else own


P = TypeVar("P", bound=Params)
S = TypeVar("S", bound=Study)
A = TypeVar("A")
T = TypeVar("T")

Reader = Callable[[str, str, Sequence[str], Sequence[str]], pl.DataFrame]
"""Reader: (part kind, request hash, units, columns) -> stored rows of these units"""


@dataclass(frozen=True)
class Completions:
    """Stored completions of one model's requests, read on first use.

    Attributes:
        candidate: the model that is evaluated; None for the study's own requests.
        engines: the study's other engines by name, on the occasion of the study.
        known: request hash -> unit -> decoded answer, for requests that are decoded unit by unit. Stored
            answers do not change, so a round reads only new ones. None: each call reads everything.
        lost: (request hash, unit) of answers that this run could not get and does not ask for again.
    """

    candidate: Engine | None
    engines: Mapping[str, Engine]
    read: Reader
    known: dict[str, dict[str, Any]] | None = None
    lost: Container[tuple[str, str]] = frozenset()

    def __call__(self, request: Request[T]) -> T:
        """Return a request's stored answers, decoded; unanswered units are missing."""
        name = request.hash(self.engine(request))
        if self.known is None or not request.by_unit:
            return request.decode(self.read(request.kind, name, request.units, request.columns))
        known, units = self.known.setdefault(name, {}), request.units
        if new := [unit for unit in units if unit not in known]:
            known |= cast(
                Mapping[str, Any], request.decode(self.read(request.kind, name, new, request.columns))
            )
        return cast(T, {unit: known[unit] for unit in units if unit in known})

    def answered(self, request: Request[Any]) -> set[str]:
        """Return the units of a request that have a stored answer."""
        name, unit = request.hash(self.engine(request)), request.columns[0]
        if self.known is not None and request.by_unit:
            self(request)
            return self.known[name].keys() & set(request.units)
        return set(self.read(request.kind, name, request.units, (unit,))[unit].to_list())

    def missing(self, request: Request[Any]) -> bool:
        """Return whether a unit of a request has no stored answer and is not lost."""
        name, open_units = request.hash(self.engine(request)), set(request.units) - self.answered(request)
        return any((name, unit) not in self.lost for unit in open_units)

    def engine(self, request: Request[Any]) -> Engine:
        """Return the engine that answers a request; requests about a candidate use its occasion."""
        if request.engine == CANDIDATE:
            assert self.candidate is not None, "a request of the study names its engine"
            return self.candidate
        engine = self.engines[request.engine]
        return replace(engine, occasion=self.candidate.occasion) if self.candidate else engine


@dataclass(frozen=True)
class Cohort(Generic[A]):
    """Models whose rows are made together.

    Attributes:
        models: name -> result of ``read``, for the models that need rows. against: frozen reference models
            for numbers that compare models, so that another model's run changes no row; they may be among
            ``models``. engines: the engines of all of these.
    """

    models: Mapping[str, A]
    against: Mapping[str, A]
    engines: Mapping[str, Engine]


@dataclass(frozen=True)
class Detail:
    """Rows of a part kind about one model, without provenance; they replace earlier rows of the same key.

    ``key`` distinguishes several details of one kind; a unit belongs to only one of them.
    """

    kind: str
    frame: pl.DataFrame
    key: str = ""


@dataclass(frozen=True)
class Tables:
    """Metric rows and detail tables of a cohort.

    Attributes:
        metrics: model -> its rows; a name that begins with ``null:`` is a null model's.
        details: model -> its detail tables.
    """

    metrics: Mapping[str, Sequence[Metric]]
    details: Mapping[str, Sequence[Detail]] = field(default_factory=dict)


@dataclass(frozen=True)
class Shared(Generic[S]):
    """Requests of a study that depend on no candidate: vectors of its texts, verdicts on null models.

    Attributes:
        ask: as ``Evaluation.ask``; every request names its engine. read: turns the completions into an
            argument of ``read`` and ``rows``.
    """

    ask: Callable[[S, Completions], Sequence[Request[Any]]]
    read: Callable[[S, Completions], Any]


@dataclass(frozen=True, eq=False)
class Evaluation(Generic[P, S, A]):
    """One evaluation, as the loop sees it.

    Attributes:
        name: the name of its folder, its flow and its rows.
        params: the type of its params.
        tables: name -> SELECT of the rows that ``study`` reads; $name stands for the param of that name.
        study: (params, rows of ``tables``, the other engines by name) -> study. Raises ValueError. ask:
            returns the requests that a model's completions so far make possible, each with its engine. read:
            parses a model's completions; unreadable or missing ones are unscored with a reason. Its third
            argument is the result of ``shared.read``, else None.
        rows: the cohort's metric rows and detail tables, null models included; the same third argument.
        engines: params -> the engines that take part beside candidates: a catalogue name, id or folder (an
            embedder's source) and its role.
        later: the most that further rounds may request about each model, for the plan.
        size: the study in words, for the plan.
        refused: why the rows cannot be computed, in one line, such as code that is not allowed; "": nothing.
        optional: roles that may be missing; rows that need them are unscored.
        compares: whether rows need a cohort; else no model waits for another's answers. samples: yields
            prompts, completions and verdicts for people to read, one by one to save memory. None: only
            prompts and completions are shown. pack: content that a user's pack may add to ``tables``; None:
            nothing. about: of an evaluation without files in deployments/; None: it is there.
        content: study -> what it was built from, as rows ``part_of`` and ``body``, stored by content with a
            run. restored: name and these rows -> the evaluation as it was. None: it is in the code, or packs.
        settled: params, and whether a server has the model of a name -> the params that the run is made with.
        whole: why all items have to be sent, in one line; "": a run may end early (``until.stoppable``).
    """

    name: str
    params: type[P]
    tables: Mapping[str, str]
    study: Callable[[P, Mapping[str, Rows], Mapping[str, Engine]], S]
    ask: Callable[[S, Completions], Sequence[Request[Any]]]
    read: Callable[[S, Completions, Any], A]
    rows: Callable[[S, Cohort[A], Any], Tables]
    engines: Callable[[P], Mapping[str, Role]] = lambda params: {}
    shared: Shared[S] | None = None
    later: Callable[[S], Iterable[Later]] = lambda study: ()
    size: Callable[[S], str] = lambda study: ""
    refused: Callable[[S], str] = lambda study: ""
    optional: tuple[Role, ...] = ("judge", "simulator")
    compares: bool = True
    samples: Callable[[S, Completions], Iterable[Sample]] | None = None
    pack: Shape | None = None
    about: About | None = None
    content: Callable[[S], Rows] | None = None
    restored: Callable[[str, Rows], Evaluation[Any, Any, Any]] | None = None
    settled: Callable[[P, Callable[[str], bool]], P] = lambda params, is_served: params
    whole: str = "it has more headlines than one mean over items, of scores within bounds"
