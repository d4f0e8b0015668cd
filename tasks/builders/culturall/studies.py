"""The stages of CulturALL as studies: topics, drafts, their difficulty, labels, and vectors for the checks.

After Lin et al. (2026, section 2). Pure, except that users' files are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tasks.builders.culturall import prompts, release, sources, topics
from tasks.builders.culturall.drafts import (
    CulturallJob,
    draft_row,
    elevation_job,
    item_of,
    source_job,
    written_rows,
)
from tasks.builders.culturall.params import CreateParams, ElevateParams, Measured, ReleaseParams
from tasks.builders.study import BuildStudy
from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions, Rows
from tasks.evaluations.culturall import evaluation
from tasks.evaluations.culturall.items import CulturallItem, ItemTexts, LoadedItems
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.read import CulturallAnswers, read
from tasks.evaluations.culturall.study import CulturallStudy as ConditionStudy
from tasks.identity import digest
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import read_fields
from tasks.loop.requests import Engine, Request
from tasks.loop.texts import Texts as EmbeddedTexts
from tasks.packs.published import read_rows

NAME = "build_culturall"
NATIVE = "native"

Row = dict[str, Any]
Tables = Mapping[str, Rows]
Engines = Mapping[str, Engine]


@dataclass(frozen=True)
class CulturallBuild(BuildStudy):
    """A stage whose completions become rows of one table.

    Attributes:
        own: rows of that table that are made without a model.
    """

    topic: ClassVar[str] = "culturall"
    table: ClassVar[str]
    own: Sequence[Row] = field(default=(), kw_only=True)

    @property
    def materials(self) -> dict[str, str]:
        return {"prompts": prompts.PROMPT_HASH}

    def config_hash(self) -> str:
        sampling = self.sampling
        return digest([NAME, self.stage, prompts.PROMPT_HASH, sampling.max_tokens, sampling.temperature])

    def origin(self, completions: Completions) -> Row:
        """Return the cells of a row that name its author, prompts and request."""
        engine = completions.candidate
        assert engine is not None
        return {
            "author": engine.name,
            "author_kind": "model",
            "prompt_hash": prompts.PROMPT_HASH,
            "request_hash": self.request().hash(engine),
        }


@dataclass(frozen=True)
class TopicStudy(CulturallBuild):
    """Stage 1: proposals of topics to merge, and of more examples of each topic."""

    stage: ClassVar[str] = "topics"
    table: ClassVar[str] = "culturall_topic"
    listed: Sequence[sources.Topic]
    by_topic: Mapping[str, Prompt]

    def prompts(self, completions: Completions) -> list[Prompt]:
        return list(self.by_topic.values())

    def read(self, completions: Completions) -> list[Row]:
        replies, origin = self.replies(completions), self.origin(completions)
        return [
            row | origin
            for topic, prompt in self.by_topic.items()
            for row in topics.proposed_rows(topic, self.listed, prompt, replies[prompt.id])
        ]


def topic_study(params: CreateParams, tables: Tables, engines: Engines) -> TopicStudy:
    """Return the listed topics and the prompts about them; raises ValueError for a file without topics."""
    listed = listed_topics(params)
    by_topic = topics.topic_prompts(listed, params.examples) if params.examples else {}
    rows = topics.listed_rows(listed, params.topics or "prompts.toml")
    return TopicStudy(params, listed, by_topic, own=rows)


def listed_topics(params: CreateParams) -> list[sources.Topic]:
    """Return the topics of the params' file, or the 16 topics of prompts.toml."""
    return sources.load_topics(read_rows(params.topics) if params.topics else [])


@dataclass(frozen=True)
class DraftStudy(CulturallBuild):
    """Stage 2: a draft of each source.

    Attributes:
        dropped: number of the files' rows left out, by reason.
    """

    stage: ClassVar[str] = "create"
    table: ClassVar[str] = "culturall_draft"
    jobs: Sequence[CulturallJob]
    dropped: Mapping[str, int] = field(default_factory=dict)

    def prompts(self, completions: Completions) -> list[Prompt]:
        return [job.prompt for job in self.jobs]

    def read(self, completions: Completions) -> list[Row]:
        replies, origin = self.replies(completions), self.origin(completions)
        return [
            {**draft_row(job, replies[job.prompt.id]), **origin, "draft": job.draft(origin["request_hash"])}
            | {"response_item": job.prompt.id}
            for job in self.jobs
        ]


def draft_study(params: CreateParams, tables: Tables, engines: Engines) -> DraftStudy:
    """Return the study of sources to draft, with people's drafts.

    A source with a usable draft is not drafted again.

    Raises:
        ValueError: a file cannot be read, or no row of it has the required columns.
    """
    pages = [
        excerpt
        for place in params.pages
        for excerpt in (
            sources.read_pages(place)
            if Path(place).is_dir()
            else sources.excerpt_rows(place, read_rows(place))
        )
    ]
    files = {file: read_rows(file) for file in params.datasets}
    questions = sources.load_datasets(files, params.language, params.region)
    excerpts = sources.load_excerpts(pages, params.language, params.region)
    dropped = Counter(questions.dropped) + Counter(excerpts.dropped)
    people: list[Row] = []
    for file in params.written:
        rows, left_out = written_rows(file, read_rows(file))
        people += rows
        dropped.update(left_out)
    usable = {row["source_hash"] for row in tables["usable"]}
    names, guide = language_names(tables), topics.guide(listed_topics(params))
    chosen = sources.chosen([*questions.sources, *excerpts.sources], params.n, params.seed)
    jobs = [source_job(source, guide, names) for source in chosen if source.hash not in usable]
    return DraftStudy(params, jobs, dict(sorted(dropped.items())), own=people)


@dataclass(frozen=True)
class ElevationStudy(DraftStudy):
    """Stage 3: a harder version of each easy draft."""

    stage: ClassVar[str] = "elevate"


def elevation_study(params: ElevateParams, tables: Tables, engines: Engines) -> ElevationStudy:
    """Return the study of measured drafts to make harder, the techniques in turn.

    A composition adds another draft of the language; if there is none, more_context is used.
    """
    usable, easy = to_elevate(tables["states"])
    names = language_names(tables)
    jobs = []
    for n, row in enumerate(sorted(easy, key=lambda row: digest([params.seed, row["draft"]]))[: params.n]):
        technique = params.techniques[n % len(params.techniques)]
        others = [
            other
            for other in usable
            if other["language"] == row["language"] and other["draft"] != row["draft"]
        ]
        partner = min(others, key=lambda other: digest([row["draft"], other["draft"]]), default=None)
        if technique == "composition" and partner is None:
            technique = "more_context"
        added = partner if technique == "composition" else None
        jobs.append(elevation_job(row, added, technique, names.get(row["language"]) or row["language"]))
    return ElevationStudy(params, jobs)


def to_elevate(states: Rows) -> tuple[list[Row], list[Row]]:
    """Return the drafts in use, and those of them that are measured, not hard, and not yet made harder."""
    rows = [dict(row) for row in states]
    usable = [row for row in rows if row["status"] in ("drafted", "review_waits", "accepted", "too_easy")]
    elevated = {row["parent"] for row in rows if row["origin"] == "elevation" and not row["faults"]}
    return usable, [row for row in usable if row["is_hard"] is False and row["draft"] not in elevated]


@dataclass(frozen=True)
class MeasureStudy(CulturallBuild):
    """Stage 3: the correct answers of solvers to drafts, with the evaluation's prompts and judges.

    So a later evaluation on the released items reuses the solvers' completions.

    Attributes:
        drafts: drafts in use.
        measured: draft, engine hash and judges of stored results.
        judges: engines by their names in the params.
    """

    stage: ClassVar[str] = "solve"
    table: ClassVar[str] = "culturall_measure"
    drafts: Sequence[CulturallItem]
    measured: frozenset[tuple[str, str, str]]
    judges: Engines
    _studies: dict[str, ConditionStudy] = field(default_factory=dict, compare=False, repr=False)

    @property
    def sampling(self) -> Sampling:
        return self._study("").request(NATIVE).sampling

    def prompts(self, completions: Completions) -> list[Prompt]:
        return list(self.condition_study(completions).prompts.values())

    def ask(self, completions: Completions) -> list[Prompts]:
        study = self.condition_study(completions)
        return evaluation.ask(study, completions) if study.items else []

    def read(self, completions: Completions) -> list[Row]:
        study, engine = self.condition_study(completions), completions.candidate
        assert engine is not None
        solver_cells = {"engine_hash": engine.hash, "model": engine.name}
        solver_cells["request_hash"] = study.request(NATIVE).hash(engine)
        return [row | solver_cells for row in measure_rows(study, read(study, completions))]

    def condition_study(self, completions: Completions) -> ConditionStudy:
        """Return the evaluation of one solver on the drafts that it has not answered."""
        assert completions.candidate is not None
        return self._study(completions.candidate.hash)

    def _study(self, solver: str) -> ConditionStudy:
        if solver not in self._studies:
            panel = "|".join(sorted(judge.hash for judge in self.judges.values()))
            unanswered = (item for item in self.drafts if (item.item, solver, panel) not in self.measured)
            loaded = LoadedItems(tuple(sorted(unanswered, key=lambda item: item.item)), {})
            knobs = {"max_tokens": self.knobs.answer_max_tokens, "batch": self.knobs.batch}
            params = {"models": ["solver"], "conditions": [NATIVE], "judges": list(self.judges), **knobs}
            self._studies[solver] = ConditionStudy(
                CulturallParams.model_validate(params), loaded, {}, self.judges
            )
        return self._studies[solver]


def measure_study(params: Measured, tables: Tables, engines: Engines) -> MeasureStudy:
    """Return the study of the drafts in use and the stored measurements of their difficulty."""
    measured = frozenset((row["draft"], row["engine_hash"], row["judges"]) for row in tables["measured"])
    drafts = [item_of(row) for row in tables["used"]]
    return MeasureStudy(params, drafts, measured, {name: engines[name] for name in params.judges})


def measure_rows(study: ConditionStudy, answers: CulturallAnswers) -> list[Row]:
    """Return one solver's rows of culturall_measure, without the columns that name the solver."""
    judges = "|".join(sorted(judge.hash for judge in study.judges.values()))
    rows = []
    for (condition, draft), answer in answers.by_key.items():
        verdict = answer.judged if study.judges else answer.matched
        unscored = None if verdict is not None else answer.unscored(bool(study.judges)) or "unscored"
        rows.append(
            {
                "draft": draft,
                "judges": judges,
                "text": answer.text,
                "matched": answer.matched,
                "judged": answer.judged,
                "is_right": verdict,
                "unscored_reason": unscored,
                "response_item": study.prompts[condition, draft].id,
            }
        )
    return rows


@dataclass(frozen=True)
class LabelStudy(CulturallBuild):
    """Stage 4: region, topic and content of each draft, and its texts translated to English and back."""

    stage: ClassVar[str] = "label"
    table: ClassVar[str] = "culturall_label"
    items: Sequence[CulturallItem]
    languages: Mapping[str, str]

    def prompts(self, completions: Completions) -> list[Prompt]:
        return [prompt for steps in self._steps(completions).values() for prompt in steps.values()]

    def read(self, completions: Completions) -> list[Row]:
        replies, origin = self.replies(completions), self.origin(completions)
        del origin["author_kind"]
        rows = []
        for draft, steps in self._steps(completions).items():
            by_step = {step: replies[prompt.id] for step, prompt in steps.items()}
            ids = {"response_items": [prompt.id for prompt in steps.values()]}
            rows.append(release.label_row(draft, by_step) | ids | origin)
        return rows

    def _steps(self, completions: Completions) -> dict[str, dict[str, Prompt]]:
        """Return the prompts that can be sent now, by draft and step.

        The prompt for translation back needs the English translation.
        """
        names = {item.item: self.languages.get(item.language, item.language) for item in self.items}
        steps = {item.item: {"label": prompts.label(item, names[item.item])} for item in self.items}
        foreign = [item for item in self.items if item.language != "en"]
        english = {
            item.item: prompts.translation(item.native, names[item.item], "English")
            for item in foreign
            if not item.english
        }
        replies = completions(self.request(list(english.values())))
        for item in foreign:
            texts = item.english
            if prompt := english.get(item.item):
                steps[item.item]["english"] = prompt
                texts = _texts(replies.get(prompt.id))
            if texts and all(texts[:3]):
                steps[item.item]["back"] = prompts.translation(texts, "English", names[item.item])
        return steps


def label_study(params: ReleaseParams, tables: Tables, engines: Engines) -> LabelStudy:
    """Return the study of drafts that may be published and have no label yet.

    Revisions are left out: their reviewers label them.
    """
    items = [item_of(row) for row in tables["unlabelled"] if row["origin"] != "revision"]
    return LabelStudy(params, items, language_names(tables))


@dataclass(frozen=True)
class CheckStudy(CulturallBuild):
    """Stage 4: vectors of the English texts, by which the checks find items of the same meaning.

    Attributes:
        rows: drafts that may be published, with their labels filled in.
        labels: rows of culturall_label by draft.
        spoken: languages of each region.
    """

    stage: ClassVar[str] = "embed"
    rows: Sequence[Row]
    labels: Mapping[str, Row]
    regions: Sequence[str]
    spoken: Mapping[str, Sequence[str]]
    engine: Engine | None

    @property
    def texts(self) -> list[str]:
        """Return the English texts in the order of the rows; "" where there is none."""
        return [release.english_text(item_of(row)) for row in self.rows]

    @property
    def materials(self) -> dict[str, str]:
        return {}

    def config_hash(self) -> str:
        return self._request().hash(self.engine) if self.engine else ""

    def prompts(self, completions: Completions) -> list[Prompt]:
        return []

    def ask(self, completions: Completions) -> list[Request[Any]]:
        return [self._request()]

    def read(self, completions: Completions) -> NDArray[np.float32]:
        """Return [rows, d] vectors; zeros where there is no text."""
        embedded, texts = completions(self._request()).vectors, self.texts
        vectors = np.zeros((len(texts), embedded.shape[1]), dtype=np.float32)
        vectors[[n for n, text in enumerate(texts) if text]] = embedded
        return vectors

    def _request(self) -> EmbeddedTexts:
        texts = [text for text in self.texts if text]
        return EmbeddedTexts(role="embedder", topic=self.topic, label=self.stage, texts=texts)


def check_study(params: ReleaseParams, tables: Tables, engines: Engines) -> CheckStudy:
    """Return the study of drafts that may be published, with the data for their checks."""
    labels = {row["draft"]: dict(row) for row in tables["labels"]}
    rows = [release.with_labels(row, labels.get(row["draft"])) for row in tables["open"]]
    regions = [row["region"] for row in tables["regions"]]
    spoken = {row["country"]: row["languages"] for row in tables["spoken"]}
    return CheckStudy(params, rows, labels, regions, spoken, engines.get(params.embedder))


def language_names(tables: Tables) -> dict[str, str]:
    """Return names of languages in English by ISO 639 code."""
    return {row["code"]: row["item"] for row in tables["languages"]}


def _texts(completion: Completion | None) -> ItemTexts:
    """Return the four texts of a translation, "" if missing."""
    fields = (read_fields(completion.text, ItemTexts._fields) if completion else None) or {}
    return ItemTexts(
        *(text if isinstance(text := fields.get(name), str) else "" for name in ItemTexts._fields)
    )
