"""Stages 1 to 3 at the border of warehouse and engines: topics, drafts, how hard they are, harder versions.

Each stage asks what has no stored answer, and stores its rows in one transaction: killed anywhere, the same
command goes on from there. Outside of a flow every function is a plain call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tasks.builders import steps as generation
from tasks.builders.culturall import measure, prompts, review, sources, topics
from tasks.builders.culturall.drafts import Job, draft_row, elevation_job, item_of, source_job, written_rows
from tasks.builders.culturall.params import CreateParams, ElevateParams, Measured, Stage
from tasks.engines import load
from tasks.engines.protocols import Sampling
from tasks.evaluations.culturall.read import calls
from tasks.identity import digest
from tasks.loop import steps as shared
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.requests import Engine
from tasks.packs.published import read_rows
from warehouse import Warehouse, culturall_build, finish_run, now

NAME = "build_culturall"

STATES = """
SELECT d.*, s.* EXCLUDE (draft, language, origin)
FROM culturall_draft AS d JOIN culturall_draft_state AS s USING (draft)
"""
LANGUAGES = "SELECT code, item FROM current_item WHERE item_list = 'languages' AND code IS NOT NULL"
USABLE = "SELECT DISTINCT source_hash FROM culturall_draft WHERE len(faults) = 0"

Row = dict[str, Any]


@dataclass(frozen=True)
class Desk:
    """A model at work on one stage: it is asked, and what it wrote is stored under one run."""

    stage: str
    params: Stage
    engine: Engine
    sampling: Sampling
    meter: Meter

    @cached_property
    def request_hash(self) -> str:
        """Engine and sampling."""
        return Prompts(prompts=(), sampling=self.sampling).hash(self.engine)

    @cached_property
    def config_hash(self) -> str:
        """What is asked, whoever is asked."""
        return digest(
            [NAME, self.stage, prompts.PROMPT_HASH, self.sampling.max_tokens, self.sampling.temperature]
        )

    @cached_property
    def run_id(self) -> str:
        """A run is a value: the same stage, wording, engine and code version are the same run."""
        return digest([self.config_hash, self.engine.hash, version("culturescope")])

    @property
    def origin(self) -> Row:
        """Provenance of what it wrote."""
        return {
            "author": self.engine.name,
            "author_kind": "model",
            "prompt_hash": prompts.PROMPT_HASH,
            "request_hash": self.request_hash,
            "run_id": self.run_id,
        }

    def left(self, asked: Sequence[Prompt]) -> Plan:
        """What of these has no stored answer."""
        return generation.plan(asked, self.engine, self.sampling, self.params.batch)

    def complete(self, asked: Sequence[Prompt]) -> list[Completion]:
        """Every completion, in order; only what has none is sent.

        Raises:
            EngineError: the model failed, or a budget was reached; all earlier batches are stored.
        """
        if not asked:
            return []
        generation.start(
            self.run_id,
            NAME,
            self.engine,
            self.params.model_dump(),
            config_hash=self.config_hash,
            materials={"prompts": prompts.PROMPT_HASH},
            asked=[(self.request_hash, "culturall", self.stage)],
        )
        run, label = (self.run_id, self.engine.name), f"{self.stage} {self.engine.name}"
        return generation.complete(
            asked, self.engine, self.sampling, run, label, self.params.batch, self.meter
        )

    def by_id(self, asked: Sequence[Prompt]) -> dict[str, Completion]:
        """The same by prompt."""
        return dict(zip([prompt.id for prompt in asked], self.complete(asked), strict=True))

    def finish(self) -> None:
        """Mark its run as finished."""
        with Warehouse.open().write() as connection:
            finish_run(connection, self.run_id)


def desk(
    stage: str, params: Stage, model: str, meter: Meter | None = None, sampling: Sampling | None = None
) -> Desk:
    """A model by name; raises EngineError if there is none, or if it cannot write.

    Args:
        meter: of the run, None where nothing is asked. sampling: default that of the params.
    """
    meter = meter or meter_of(params)
    own = Sampling(params.temperature, max_tokens=params.max_tokens, seed=params.seed)
    spec = shared.spec_of(model)
    load.check_ability(spec, "generate")
    return Desk(stage, params, Engine.of(spec), sampling or own, meter)


def meter_of(params: Stage) -> Meter:
    """What counts all that a run uses, whichever model it asks."""
    return Meter(Budget(params.max_total_tokens, params.max_usd))


def sourced(params: CreateParams) -> tuple[list[Job], list[Row], Mapping[str, int]]:
    """What is to be drafted by the model, what people wrote, and how many rows were left out, by reason.

    A source that has a usable draft is not drafted again.

    Raises:
        ValueError: a file cannot be read, or has no row that fits.
    """
    warehouse = Warehouse.open()
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
        rows, bad = written_rows(file, read_rows(file))
        people += rows
        dropped.update(bad)
    usable = set(warehouse.query(USABLE)["source_hash"])
    names, guide = language_names(), topics.guide(topics_of(params))
    chosen = sources.chosen([*questions.sources, *excerpts.sources], params.n, params.seed)
    jobs = [source_job(source, guide, names) for source in chosen if source.hash not in usable]
    return jobs, people, dict(sorted(dropped.items()))


def topics_of(params: CreateParams) -> list[sources.Topic]:
    """The topics of the file, or the sixteen; raises ValueError for a file that is no topic list."""
    return sources.load_topics(read_rows(params.topics) if params.topics else [])


def propose_topics(params: CreateParams, meter: Meter) -> None:
    """Stage 1: store the topics with their examples, and what the model proposes to merge and adds."""
    listed = topics_of(params)
    rows = topics.given_rows(listed, params.topics or "prompts.toml")
    if params.model and params.examples:
        writer = desk("topics", params, params.model, meter)
        asked = topics.asked(listed, params.examples)
        completions = writer.complete(list(asked.values()))
        rows += [
            {**row, **writer.origin}
            for (topic, prompt), completion in zip(asked.items(), completions, strict=True)
            for row in topics.proposed_rows(topic, listed, prompt, completion)
        ]
        writer.finish()
    culturall_build.add(Warehouse.open(), "culturall_topic", timed(rows, "made_at"))


def create(params: CreateParams, meter: Meter) -> None:
    """Stage 2: what people wrote, and a draft of every source that has none."""
    jobs, people, _ = sourced(params)
    culturall_build.add(Warehouse.open(), "culturall_draft", timed(people, "made_at"))
    if params.model and jobs:
        _draft(desk("create", params, params.model, meter), jobs)


def easy(params: ElevateParams) -> list[Job]:
    """What is asked of the writing model: each measured draft that is not hard, with the technique whose
    turn it is; a composition takes another draft of the language, if there is one."""
    live, todo = to_elevate()
    names = language_names()
    jobs = []
    for n, row in enumerate(sorted(todo, key=lambda row: digest([params.seed, row["draft"]]))[: params.n]):
        technique = params.techniques[n % len(params.techniques)]
        others = [o for o in live if o["language"] == row["language"] and o["draft"] != row["draft"]]
        partner = min(others, key=lambda o: digest([row["draft"], o["draft"]]), default=None)
        if technique == "composition" and partner is None:
            technique = "more_context"
        job = elevation_job(
            row,
            partner if technique == "composition" else None,
            technique,
            names.get(row["language"]) or row["language"],
        )
        jobs.append(job)
    return jobs


def to_elevate() -> tuple[list[Row], list[Row]]:
    """Drafts in use, and of these the measured ones that are not hard and have no harder version yet."""
    rows = Warehouse.open().query(STATES).sort("draft").to_dicts()
    live = [row for row in rows if row["status"] in ("drafted", "review_waits", "accepted", "too_easy")]
    elevated = {row["parent"] for row in rows if row["origin"] == "elevation" and not row["faults"]}
    return live, [row for row in live if row["is_hard"] is False and row["draft"] not in elevated]


def elevations() -> list[Row]:
    """Harder versions that wait for people to say whether they take their parents' places."""
    return Warehouse.open().query(f"{STATES} WHERE status = 'elevation_waits' ORDER BY draft").to_dicts()


def elevate(params: ElevateParams, meter: Meter) -> int:
    """Stage 3: have easy drafts made harder, and queue the proposals for people; returns how many wait."""
    _draft(desk("elevate", params, params.model, meter), easy(params))
    rows = elevations()
    if rows:
        review.QUEUE.write(Path(params.queue), [review.queue_row(row, "elevate", []) for row in rows])
    return len(rows)


def measure_drafts(params: Measured, meter: Meter) -> None:
    """Stage 3: have the solvers answer what they have not answered of the drafts in use, and judges judge."""
    warehouse = Warehouse.open()
    judges = {name: Engine.of(shared.spec_of(name)) for name in params.judges}
    rows = warehouse.query(
        f"{STATES} WHERE status IN ('drafted', 'review_waits', 'accepted', 'revised')"
    ).to_dicts()
    measured = set(warehouse.query("SELECT draft, engine_hash, judges FROM culturall_measure").rows())
    together = "|".join(sorted(judge.hash for judge in judges.values()))

    def judged(request: Prompts) -> Mapping[str, Completion]:
        return desk("judge", params, request.engine, meter, request.sampling).by_id(request.prompts)

    for solver in params.solvers:
        engine = Engine.of(shared.spec_of(solver))
        todo = [item_of(row) for row in rows if (row["draft"], engine.hash, together) not in measured]
        if not todo:
            continue
        study = measure.study_of(todo, params, judges)
        asked = study.request(measure.NATIVE)
        seat = desk("solve", params, solver, meter, asked.sampling)
        by_key = measure.answered(study, seat.by_id(asked.prompts))
        said = study.panel.read(calls(study, by_key), judged)
        same = {"engine_hash": engine.hash, "model": engine.name}
        same |= {"request_hash": seat.request_hash, "run_id": seat.run_id}
        answers = [row | same for row in measure.measure_rows(study, by_key, said)]
        culturall_build.add(warehouse, "culturall_measure", timed(answers, "measured_at"))
        seat.finish()


def timed(rows: Sequence[Mapping[str, Any]], column: str) -> list[Row]:
    """The rows with the time of now in a column."""
    return [{**row, column: now()} for row in rows]


def language_names() -> dict[str, str]:
    """ISO 639 code -> name in English."""
    return dict(Warehouse.open().query(LANGUAGES).rows())


def _draft(writer: Desk, jobs: Sequence[Job]) -> None:
    """Have every job written, and store the drafts with their faults."""
    completions = writer.complete([job.prompt for job in jobs])
    rows = [
        {**draft_row(job, completion), **writer.origin, "draft": job.draft(writer.request_hash)}
        | {"response_item": job.prompt.id}
        for job, completion in zip(jobs, completions, strict=True)
    ]
    culturall_build.add(Warehouse.open(), "culturall_draft", timed(rows, "made_at"))
    if jobs:
        writer.finish()
