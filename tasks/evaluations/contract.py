"""The contract of an evaluation; everything else is the loop's (``flows/evaluation.py``). Typed, pure.

An evaluation is a study and four functions on it. ``ask`` is called again and again: each time it returns
every request that the completions so far make possible, those answered before included. So prompts to
judges, turns of a dialogue and votes are further rounds, and resuming costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Generic, Literal, Protocol, Self, TypeVar, cast

import polars as pl
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from tasks.identity import checked_name, digest
from tasks.loop.requests import CANDIDATE, Engine, Later, Request, Role
from tasks.loop.rows import Metric
from tasks.loop.samples import Sample
from tasks.packs.shape import Shape

Rows = Sequence[Mapping[str, Any]]
"""Rows of a table of the warehouse."""


HALF_SAMPLES, FORMER = "half_samples", "bootstrap"
"""The knob of evaluations with intervals by half-samples, and its name when all evaluations had it."""

FIRST = "first"
"""The cohort of the models of a configuration's first finished run."""


class Params(BaseModel):
    """The knobs that every evaluation has: fields of the UI form, and options of the command line."""

    model_config = ConfigDict(extra="forbid")

    models: list[str] = Field(min_length=1, description="catalogue names, Hugging Face ids or local folders")
    occasion: str = Field(
        "",
        description="name of a re-evaluation, such as 2026-w48: everything is asked anew, and what was there "
        "stays; {date}, {week} and {time} stand for when the run is due. Empty: what was answered is not "
        "asked again",
    )
    dtype: Literal["auto", "float32", "bfloat16", "float16"] | None = Field(
        None, description="precision of models that run here; empty: as their specs say, mostly auto"
    )
    cohort: str = Field(
        FIRST,
        description="reference models for medians; a new name freezes this run's models, first: those of the "
        "first finished run",
    )
    pack: list[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*(@[0-9a-f]{16})?$")]] = Field(
        [],
        description="packs of your own content that are added (culturescope pack list); their numbers stand "
        "apart",
    )
    limit: int | None = Field(
        None,
        ge=1,
        description="items in all, spread over what they are clustered by; the numbers are a configuration "
        "of their own. Empty: all",
    )
    seed: int = Field(0, ge=0, description="seed of random choices")
    profile: str = Field("custom", description="a label for the leaderboard; changes nothing")
    _formerly: dict[str, Any] = PrivateAttr(default_factory=dict)

    @field_validator("occasion", "cohort", "profile")
    @classmethod
    def _is_a_name(cls, name: str, info: ValidationInfo) -> str:
        return checked_name(name, str(info.field_name))

    @model_validator(mode="before")
    @classmethod
    def _of_then(cls, values: Any) -> Any:
        """``bootstrap`` taken for what it was: half-samples where there are any, else nothing."""
        if not isinstance(values, Mapping) or FORMER not in values:
            return values
        now = {knob: value for knob, value in values.items() if knob != FORMER}
        return {HALF_SAMPLES: values[FORMER], **now} if HALF_SAMPLES in cls.model_fields else now

    @classmethod
    def stored(cls, values: Mapping[str, Any]) -> Self:
        """The params that a run stored; ``hashed`` gives of them what it gave then."""
        params = cls(**values)
        params._formerly = {FORMER: values[FORMER]} if FORMER in values else {}
        return params

    def hashed(self, knobs: Set[str]) -> dict[str, Any]:
        """Those of the knobs that stand in a config_hash as they are, by name."""
        own = self.model_dump(include=set(knobs) - ({HALF_SAMPLES} if self._formerly else set()))
        return own | self._formerly

    @property
    def label(self) -> str:
        """Return the name of a run's options on leaderboards: the profile, and the packs that were added."""
        packs = ", ".join(name.partition("@")[0] for name in self.pack)
        return f"{self.profile} + pack {packs}" if packs else self.profile


class GenerationParams(Params):
    """Those of an evaluation in which a model writes: a candidate, a judge or a simulator."""

    batch: int = Field(
        32, ge=1, description="prompts completed and stored together; a kill loses two such parts at most"
    )
    max_total_tokens: int | None = Field(
        None, ge=1, description="stop sending once a model's run has used this many tokens; empty: no limit"
    )
    max_usd: float | None = Field(
        None,
        gt=0,
        description="stop sending once a model's run has cost this much (US dollars); needs "
        "prices; empty: no limit",
    )


class Study(Protocol):
    """The questions of an evaluation, independent of the model."""

    @property
    def params(self) -> Params:
        """The knobs."""

    @property
    def materials(self) -> Mapping[str, str]:
        """Name -> hash of what is asked about: item lists, scenarios, items."""

    def config_hash(self) -> str:
        """Identifies what may be compared across models."""


def comparable(study: Study) -> str:
    """The config_hash of a study's rows: its own, unless they are made against a cohort of another name or
    with packs, whose content stands in the params by hash (``name@hash``)."""
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
"""(part kind, request hash, units, columns) -> the stored rows of those units"""


@dataclass(frozen=True)
class Completions:
    """Stored completions of one model's requests, read when first looked at.

    Attributes:
        candidate: the model that is evaluated; None for the study's own requests.
        engines: the study's other engines by name, on the occasion of the study.
        known: request hash -> unit -> what was decoded before, of requests that are decoded unit by unit.
            Stored answers do not change, so a round reads what is new. None: each call reads everything.
    """

    candidate: Engine | None
    engines: Mapping[str, Engine]
    read: Reader
    known: dict[str, dict[str, Any]] | None = None

    def __call__(self, request: Request[T]) -> T:
        """The stored answers of a request, decoded; what is not answered is absent from them."""
        name = request.hash(self.engine(request))
        if self.known is None or not request.by_unit:
            return request.decode(self.read(request.kind, name, request.units, request.columns))
        known, units = self.known.setdefault(name, {}), request.units
        if new := [unit for unit in units if unit not in known]:
            known |= cast(
                Mapping[str, Any], request.decode(self.read(request.kind, name, new, request.columns))
            )
        return cast(T, {unit: known[unit] for unit in units if unit in known})

    def engine(self, request: Request[Any]) -> Engine:
        """Who answers a request; about a candidate everybody answers on its occasion."""
        if request.engine == CANDIDATE:
            assert self.candidate is not None, "a request of the study names its engine"
            return self.candidate
        engine = self.engines[request.engine]
        return replace(engine, occasion=self.candidate.occasion) if self.candidate else engine


@dataclass(frozen=True)
class Cohort(Generic[A]):
    """Models whose rows are made together.

    Attributes:
        models: name -> what ``read`` made of its completions; rows are wanted of these.
        against: the reference models for numbers that compare models. They are frozen, so that no row changes
            because somebody else ran; some of them may be among ``models``.
        engines: the engine of each of both.
    """

    models: Mapping[str, A]
    against: Mapping[str, A]
    engines: Mapping[str, Engine]


@dataclass(frozen=True)
class Detail:
    """Rows of a part kind about one model, without provenance; an earlier one of the same key is replaced.

    ``key`` tells several of one kind apart: a unit stands in one of them only if they have different keys.
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
    """Requests of a study that no model changes: vectors of its texts, verdicts on its null models.

    Attributes:
        ask: as ``Evaluation.ask``; every request names its engine.
        read: makes of the completions what ``read`` and ``rows`` are given.
    """

    ask: Callable[[S, Completions], Sequence[Request[Any]]]
    read: Callable[[S, Completions], Any]


@dataclass(frozen=True)
class Described:
    """An evaluation's own description, where it has no files in deployments/, flows/ and warehouse/.

    Attributes:
        title, models, examples, caption, judged: as of ``deployments.evaluations.Door``.
        profiles: name -> values of options, the smallest first.
        metrics: rows of the table metric, without the evaluation; headlines first.
        doubts: a difference to a control -> the headline that is doubted unless it is above 0.
        items: study -> rows of the table evaluation_item: item, cluster, content.
        page: what its page shows beside numbers.
        preview: two items as a model is asked them, and the null models, line by line.
        rubric: by which judges score; None: nobody judges.
        published: rows of the table recipe_published, without the evaluation.
        more: study -> rows of the table metric that it has beside ``metrics``.
    """

    title: str
    models: tuple[str, ...]
    profiles: Mapping[str, Mapping[str, Any]]
    examples: tuple[str, ...]
    caption: str
    judged: str
    metrics: Rows
    doubts: Mapping[str, str]
    items: Callable[[Any], Rows]
    page: Mapping[str, Any]
    preview: Sequence[str] = ()
    rubric: Any = None
    published: Rows = ()
    more: Callable[[Any], Rows] = lambda study: ()


@dataclass(frozen=True, eq=False)
class Evaluation(Generic[P, S, A]):
    """One evaluation, as the loop sees it.

    Attributes:
        name: of its folder, its flow and its rows.
        params: the type of its knobs.
        tables: name -> SELECT: what ``study`` reads of the warehouse; $name stands for the knob of that name.
        study: (params, rows of ``tables``, the other engines by name) -> what is asked. Raises ValueError.
        ask: what a model is to be asked as far as its completions go, and of whom.
        read: a model's completions, read; what could not be read or is missing is unscored with a reason.
            Its third argument is what ``shared.read`` made, else None.
        rows: the cohort's metric rows and detail tables, null models included; the same third argument.
        engines: params -> the engines that take part beside candidates: a catalogue name, id or folder (an
            embedder's source) and its role.
        later: what further rounds may ask about each model at most, for the plan.
        size: the study in words, for the plan.
        optional: roles without which a model still has rows: those that need them are unscored.
        compares: whether rows are made against a cohort; else no model waits for another's answers.
        samples: what a model was asked and answered, and what was said of it, for people to read: one by one,
            so that they are never all in memory. None: its prompts and completions alone are shown.
        pack: what a user's pack may add to ``tables``; None: nothing.
        described: of an evaluation from a recipe; None: files say all of it.
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
    optional: tuple[Role, ...] = ("judge", "simulator")
    compares: bool = True
    samples: Callable[[S, Completions], Iterable[Sample]] | None = None
    pack: Shape | None = None
    described: Described | None = None
