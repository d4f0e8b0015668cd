"""The tasks of the cure flow: thin wrappers that join warehouse, engines and the pure parts.

What crosses the border: the warehouse's rows and published files in, Parquet parts and metric rows out. No
connection is held while a model works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version

import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks import progress
from tasks import steps as shared
from tasks.engines.protocols import Sampling
from tasks.engines.specs import EngineSpec
from tasks.evaluations.cure import judged, rows, scores
from tasks.evaluations.cure.answer_rows import answer_frame
from tasks.evaluations.cure.answers import Readings, Response, read_responses
from tasks.evaluations.cure.benchmarks.common import Row, read_rows
from tasks.evaluations.cure.judged import JudgeCall, JudgeKey, Opinion
from tasks.evaluations.cure.params import CureParams
from tasks.evaluations.cure.requests import Cell, Judge, Key, Study, build_study
from tasks.evaluations.cure.scores import Scored
from tasks.evaluations.cure.verdict_rows import verdict_frame
from tasks.generation import steps as generation
from tasks.generation.budget import Budget, Meter
from tasks.generation.steps import RESPONSES, Answer, Ask, request_of
from tasks.identity import digest
from tasks.steps import Run, spec_of
from warehouse import Warehouse

ANSWERS, VERDICTS = "cure_answer", "verdict"
PARTS = (RESPONSES, ANSWERS, VERDICTS)
"""The kinds of parts that a run makes."""

TABLES = {
    "cure_item": "SELECT * FROM cure_item ORDER BY benchmark, item",
    "country": "SELECT country, name FROM country ORDER BY country",
}
LEADERBOARD = """
SELECT model, benchmark, thin_em, thick_em, thin_f1_macro, thick_f1_macro, metric, value, null_value,
    explanation_gain, judge, validated
FROM leaderboard_cure WHERE config_hash = ? ORDER BY is_null, model, benchmark
"""
REQUEST = "SELECT request_hash FROM run_request WHERE run_id = ?"


def build(params: CureParams) -> Study:
    """Items from the warehouse, or from published files in their place; judges by their engines.

    Raises:
        ValueError: files are given of a benchmark that is not asked, or see ``build_study``.
    """
    unused = ", ".join(benchmark for benchmark in params.files if benchmark not in params.benchmarks)
    if unused:
        raise ValueError(
            f"files of {unused}, which is not among the benchmarks: add it there, or leave them out"
        )
    warehouse = Warehouse.open()
    found = {name: warehouse.query(sql).to_dicts() for name, sql in TABLES.items()}
    published: dict[str, dict[str, Sequence[Row]]] = {
        b: {path: read_rows(path) for path in paths} for b, paths in params.files.items()
    }
    judges = [Judge(spec.name, spec.model, spec.hash()) for spec in map(spec_of, params.judges)]
    return build_study(params, found, published, judges)


def run_id(study: Study, spec: EngineSpec) -> str:
    """A run is a value: the same configuration, engine and code version are the same run."""
    return digest([study.config_hash(), spec.hash(), version("culturescope")])


def asks(study: Study, benchmark: str, mode: str) -> list[Ask]:
    """What candidates are asked of one benchmark in one mode."""
    return [_ask(cell) for cell in study.cells(benchmark, mode)]


def meter(study: Study) -> Meter:
    """Counts what one model's run and its judges use, and stops them in time."""
    return Meter(Budget(study.params.max_total_tokens, study.params.max_usd))


@task(cache_policy=NO_CACHE, name="start run", task_run_name="start {spec.name}")
def start_run(study: Study, spec: EngineSpec) -> Run:
    """Write down what is going to be measured, before anything is."""
    run = (run_id(study, spec), spec.name)
    requests = pl.DataFrame(
        {"request_hash": [request_of(spec, study.sampling())], "domain": ["cure"], "question": ["answers"]}
    )
    shared.save("cure", study, run, spec, requests, item_lists={"materials": study.materials.hash()})
    return run


def judge_asks(study: Study, run: Run) -> dict[Sampling, list[Ask]]:
    """What each judge is asked about one model's explanations, by how it samples."""
    found: dict[Sampling, list[Ask]] = {}
    for call in judged.judge_calls(study, _readings(study, run)):
        found.setdefault(call.sampling, []).append(_ask(call))
    return found


@task(cache_policy=NO_CACHE, name="score metrics")
def score_metrics(study: Study, answered: Sequence[Run]) -> None:
    """Make the metric rows of every model of this configuration, and of the null models.

    All models, because coherence is taken at equal length over them.
    """
    with shared.cohort(study.config_hash(), answered) as runs:
        if not runs:
            return
        scored: dict[str, Scored] = {}
        for model, run in runs.items():
            scored[model] = _score_model(study, (run, model))
            progress.report("metrics", 1, len(runs))
        tables = rows.model_rows(study, scored, _engines(runs)) | rows.null_rows(study)
        for name in tables.keys() - runs.keys():
            runs[name] = digest([study.config_hash(), name, version("culturescope")])
            shared.save("cure", study, (runs[name], name), None)
        shared.save_numbers(tables, runs)


def show_leaderboard(config_hash: str) -> None:
    """Attach the leaderboard to the flow run, for the Prefect UI."""
    table = Warehouse.open().query(LEADERBOARD, [config_hash])
    shared.show_leaderboard("cure", config_hash, table)


def _ask(asked: Cell | JudgeCall) -> Ask:
    return Ask(asked.conversation, asked.schema, asked.options, asked.field)


def _readings(study: Study, run: Run) -> Readings:
    """The stored answers of a run, read."""
    request = Warehouse.open().query(REQUEST, [run[0]])["request_hash"][0]
    items = {cell.key: _ask(cell).item for cell in study.all_cells()}
    stored = generation.stored(list(items.values()), request)
    found: dict[Key, Response] = {
        key: _response(stored[item]) for key, item in items.items() if item in stored
    }
    return read_responses(study, found)


def _score_model(study: Study, run: Run) -> Scored:
    """Read a model's answers and the judges' verdicts, and store each as a row."""
    readings = _readings(study, run)
    calls = judged.judge_calls(study, readings)
    opinions: list[Opinion] = []
    for name in study.params.judges if calls else ():
        found = judged.opinions(spec_of(name).name, calls, _judgements(calls, spec_of(name)))
        _store_verdicts(study, run, found)
        opinions += found
    scored = scores.score_model(study, readings, opinions)
    part = digest([run[0], study.config_hash()], 32)
    shared.store_part(ANSWERS, part, _of_run(answer_frame(study, readings, scored), run), replace=True)
    return scored


def _judgements(calls: Sequence[JudgeCall], judge: EngineSpec) -> dict[JudgeKey, Response]:
    """A judge's stored answers."""
    by_sampling: dict[Sampling, list[tuple[JudgeKey, str]]] = {}
    for call in calls:
        by_sampling.setdefault(call.sampling, []).append((call.key, _ask(call).item))
    found: dict[JudgeKey, Response] = {}
    for sampling, items in by_sampling.items():
        stored = generation.stored([item for _, item in items], request_of(judge, sampling))
        found |= {key: _response(stored[item]) for key, item in items if item in stored}
    return found


def _store_verdicts(study: Study, run: Run, opinions: Sequence[Opinion]) -> None:
    """One part a benchmark."""
    for benchmark in study.benchmarks:
        frame = verdict_frame(study, benchmark, opinions)
        if not frame.is_empty():
            # Judges and benchmarks apart: items are the units, and their names may be the same.
            part = digest([run[0], opinions[0].judge, benchmark], 32)
            added = {"request_hash": pl.lit(part), "disagreement": pl.lit(None, pl.Float64)}
            shared.store_part(VERDICTS, part, _of_run(frame, run).with_columns(**added), replace=True)


def _of_run(frame: pl.DataFrame, run: Run) -> pl.DataFrame:
    ids = {"request_hash": run[0], "run_id": run[0], "model": run[1]}
    return frame.with_columns(**{name: pl.lit(value) for name, value in ids.items()})


def _response(answer: Answer) -> Response:
    return Response(
        answer.text,
        answer.finish_reason,
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.option_logprobs,
    )


def _engines(runs: Mapping[str, str]) -> dict[str, str]:
    """model -> what its engine runs, which tells its family."""
    query = "SELECT engine->>'model' AS engine FROM run WHERE run_id = ?"
    return {model: Warehouse.open().query(query, [run])["engine"][0] for model, run in runs.items()}
