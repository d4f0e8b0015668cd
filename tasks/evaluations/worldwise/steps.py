"""The tasks of the worldwise flow: thin wrappers that join warehouse, engines and the pure parts.

What crosses the border: the warehouse's rows in, Parquet parts and metric rows out. No connection is held
while a model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks import progress
from tasks import steps as shared
from tasks.embedding.steps import EMBEDDINGS, embed
from tasks.engines.embedders import embedder_name
from tasks.engines.specs import EngineSpec
from tasks.evaluations.worldwise import answer_rows, nulls, rows, scores
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.projections import Space, TextVectors, build_space, fixed_texts
from tasks.evaluations.worldwise.requests import Cell, Key, Study, build_study
from tasks.evaluations.worldwise.scores import Response, Scored
from tasks.evaluations.worldwise.user_files import Row, read_rows
from tasks.generation import steps as generation
from tasks.generation.budget import Budget, Meter
from tasks.generation.steps import RESPONSES, Ask, request_of
from tasks.identity import digest
from tasks.steps import Run
from warehouse import Warehouse

ANSWERS = "worldwise_answer"
PARTS = (RESPONSES, EMBEDDINGS, ANSWERS)
"""The kinds of parts that a run makes."""

TABLES = {
    "scenario": "SELECT * FROM scenario ORDER BY rowid",
    "exemplar": "SELECT * FROM exemplar ORDER BY rowid",
    "guiding_value": "SELECT * FROM guiding_value ORDER BY rowid",
    "culture_profile": "SELECT * FROM culture_profile ORDER BY rowid",
    "country": "SELECT country, name FROM country ORDER BY country",
    "country_name": "SELECT * FROM country_name ORDER BY country",
    "persona": "SELECT * FROM persona ORDER BY language",
    "stereotype": "SELECT * FROM stereotype ORDER BY rowid",
}
LEADERBOARD = """
SELECT model, alignment_gain, gain_low, gain_high, best_null, alignment, null_alignment, hofstede_mae,
    value_shift, stereotype_score, closest_culture, answered
FROM leaderboard_worldwise WHERE config_hash = ? ORDER BY is_null, alignment_gain DESC
"""
REQUESTS = "SELECT question, request_hash FROM run_request WHERE run_id = ?"


def build(params: WorldwiseParams) -> Study:
    """Scenarios, exemplars, values and cultures from the warehouse, or from the user's files instead.

    Raises:
        EngineError: there is no such embedder; said here, before anything is asked and paid for.
        UnknownName, ValueError: see ``build_study``.
    """
    embedder_name(params.embedder)
    warehouse = Warehouse.open()
    found: dict[str, Sequence[Row]] = {name: warehouse.query(sql).to_dicts() for name, sql in TABLES.items()}
    return build_study(params, found | _user_files(params))


def _user_files(params: WorldwiseParams) -> dict[str, Sequence[Row]]:
    files = {
        "scenario": params.scenarios_file,
        "exemplar": params.exemplars_file,
        "culture_profile": params.profiles_file,
        "guiding_value": params.values_file,
    }
    return {table: read_rows(path, table) for table, path in files.items() if path}


def run_id(study: Study, spec: EngineSpec) -> str:
    """A run is a value: the same configuration, engine and code version are the same run."""
    return digest([study.config_hash(), spec.hash(), version("culturescope")])


def asks(study: Study) -> list[list[Ask]]:
    """What is asked, a list for each repetition."""
    found: list[list[Ask]] = [[] for _ in range(study.params.repetitions)]
    schema = study.schema()
    for cell in study.cells():
        found[cell.repetition].append(Ask(study.conversation(cell), schema))
    return found


def meter(study: Study) -> Meter:
    """Counts what one model's run uses, and stops it in time."""
    return Meter(Budget(study.params.max_total_tokens, study.params.max_usd))


@task(cache_policy=NO_CACHE, name="start run", task_run_name="start {spec.name}")
def start_run(study: Study, spec: EngineSpec) -> Run:
    """Write down what is going to be measured, before anything is."""
    run = (run_id(study, spec), spec.name)
    requests = pl.DataFrame(
        [
            (request_of(spec, study.sampling(r)), "worldwise", _question(r))
            for r in range(study.params.repetitions)
        ],
        schema={"request_hash": pl.String, "domain": pl.String, "question": pl.String},
        orient="row",
    )
    shared.save("worldwise", study, run, spec, requests, item_lists={"materials": study.materials.hash()})
    return run


@task(cache_policy=NO_CACHE, name="score metrics")
def score_metrics(study: Study, answered: Sequence[Run]) -> None:
    """Make the metric rows of every model of this configuration, and of the null profiles.

    All models, because some rows compare them.
    """
    with shared.cohort(study.config_hash(), answered) as runs:
        if not runs:
            return
        null_runs = {
            name: digest([study.config_hash(), name, version("culturescope")]) for name in nulls.MODELS
        }
        for name, run in null_runs.items():
            shared.save("worldwise", study, (run, name), None)
        space = build_space(study, _vectors(fixed_texts(study), study, (run, name)))
        scored: dict[str, Scored] = {}
        for model, run in runs.items():
            scored[model] = _score_model(study, space, (run, model))
            progress.report("metrics", 1, len(runs))
        tables = {model: rows.model_rows(study, space, found) for model, found in scored.items()}
        alignments = {model: found.alignment for model, found in scored.items()}
        for model, compared in rows.cross_model_rows(study, alignments).items():
            tables[model] += compared
        profiles = rows.null_models(study, space)
        tables |= {name: rows.null_rows(study, space, found) for name, found in profiles.items()}
        shared.save_numbers(tables, runs | null_runs)


def show_leaderboard(config_hash: str) -> None:
    """Attach the leaderboard to the flow run, for the Prefect UI."""
    table = Warehouse.open().query(LEADERBOARD, [config_hash])
    shared.show_leaderboard("worldwise", config_hash, table)


def _score_model(study: Study, space: Space, run: Run) -> Scored:
    """Read a model's answers, embed and project them, and store each as a row."""
    items, responses = _responses(study, run)
    readings = scores.read_responses(study, responses)
    vectors = _vectors(scores.answer_texts(study, readings), study, run)
    found = scores.score_responses(study, responses, readings, vectors, space)
    frame = answer_rows.answer_frame(study, readings, found, items)
    ids = {"request_hash": run[0], "run_id": run[0], "model": run[1]}
    part = digest([run[0], study.config_hash()], 32)
    shared.store_part(ANSWERS, part, frame.with_columns(**{k: pl.lit(v) for k, v in ids.items()}), True)
    return found


def _responses(study: Study, run: Run) -> tuple[dict[Key, str], dict[Key, Response]]:
    """The stored answers of a run by cell, and the identity of each conversation."""
    warehouse = Warehouse.open()
    requests = dict(warehouse.query(REQUESTS, [run[0]]).rows())
    by_repetition: list[list[tuple[Cell, str]]] = [[] for _ in range(study.params.repetitions)]
    schema = study.schema()
    for cell in study.cells():
        item = Ask(study.conversation(cell), schema).item
        by_repetition[cell.repetition].append((cell, item))
    items: dict[Key, str] = {}
    found: dict[Key, Response] = {}
    for repetition, cells in enumerate(by_repetition):
        stored = generation.stored([item for _, item in cells], requests[_question(repetition)])
        for cell, item in cells:
            items[cell.key] = item
            if answer := stored.get(item):
                counts = (answer.prompt_tokens, answer.completion_tokens)
                found[cell.key] = Response(answer.text, answer.finish_reason, *counts)
    return items, found


def _vectors(texts: Sequence[str], study: Study, run: Run) -> TextVectors:
    found = embed(texts, study.params.embedder, run, f"embed {run[1]}")
    return TextVectors.of(texts, found.vectors, found.truncated)


def _question(repetition: int) -> str:
    """What the table run_request calls a repetition."""
    return f"repetition {repetition + 1}"
