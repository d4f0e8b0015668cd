"""The tasks of the spectral flow: thin wrappers that join warehouse, engines and the pure parts.

What crosses the border: the warehouse's rows in, Parquet parts and metric rows out. No connection is held
while a model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version

import numpy as np
import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks import progress
from tasks import steps as shared
from tasks.engines import load, prompting
from tasks.engines.specs import EngineSpec
from tasks.evaluations.spectral import rows, scores
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.requests import Question, Study, Unit, build_study, plan_units
from tasks.identity import digest
from tasks.steps import Run, cohort, store_part
from warehouse import (
    Warehouse,
    missing_units,
    read_answers,
)

LOGPROBS, SIMILARITY = "item_logprob", "country_similarity"
CONSTANT_MODELS = ("null:uniform-by-domain", "null:always-LH")

LEADERBOARD = "SELECT * FROM leaderboard_spectral WHERE config_hash = ? ORDER BY is_null, macro_f1 DESC"


def build(params: SpectralParams) -> Study:
    """Choose countries, questions and items from the warehouse's reference data."""
    warehouse = Warehouse.open()
    questions = "SELECT * FROM question JOIN domain USING (domain)"
    return build_study(
        params,
        warehouse.query("SELECT country, name FROM country").to_dicts(),
        warehouse.query(questions).to_dicts(),
        warehouse.query("SELECT item_list, item, countries FROM current_item").to_dicts(),
    )


def run_id(study: Study, spec: EngineSpec) -> str:
    """A run is a value: the same configuration, engine and code version are the same run."""
    parts = [study.config_hash(), spec.hash(), prompting.BOUNDARY_RULE, version("culturescope")]
    return digest(parts)


def plan(study: Study, spec: EngineSpec) -> list[Unit]:
    """What is still to be scored: every request's countries without a registered answer."""
    warehouse = Warehouse.open()
    by_hash = {study.request_hash(q, spec.hash(), prompting.BOUNDARY_RULE): q for q in study.questions}
    wanted = pl.DataFrame(
        [(h, c) for h in by_hash for c in study.countries],
        schema={"request_hash": pl.String, "unit": pl.String},
        orient="row",
    )
    if study.params.refresh:
        todo = wanted
    else:
        with warehouse.read() as connection:
            todo = missing_units(connection, LOGPROBS, wanted)
    missing = todo.group_by("request_hash").agg("unit")
    countries = dict(zip(missing["request_hash"], missing["unit"], strict=True))
    size = study.params.countries_per_part
    return [u for h, q in by_hash.items() for u in plan_units(q, h, countries.get(h, []), size)]


@task(cache_policy=NO_CACHE, name="start run", task_run_name="start {spec.name}")
def start_run(study: Study, spec: EngineSpec) -> Run:
    """Write down what is going to be measured, before anything is."""
    run = (run_id(study, spec), spec.name)
    _save_run(study, run, spec)
    return run


@task(cache_policy=NO_CACHE, name="load model", task_run_name="load {spec.name}")
def load_model(spec: EngineSpec) -> None:
    """Load the engine once; the scoring tasks find it in this process."""
    load.scorer(spec, Warehouse.open().home / "models")


@task(cache_policy=NO_CACHE, name="score", task_run_name="{unit.question.question} × {unit.part}")
def score_unit(study: Study, spec: EngineSpec, run: Run, unit: Unit, label: str, total: int) -> None:
    """Score every item of one question for some countries, and store it as a part."""
    warehouse = Warehouse.open()
    engine = load.scorer(spec, warehouse.home / "models")
    items = study.lists[unit.question.item_list].items
    framed = engine.frame([unit.question.prompt(study.countries[c]) for c in unit.countries])
    continuations = [framed.lead + item for item in items]
    logprobs = engine.score(framed.prefixes, continuations, lambda n: progress.report(label, n, total))
    n_tokens = engine.count_tokens(framed.prefixes[0], continuations)
    frame = pl.DataFrame(
        {
            "country": [c for c in unit.countries for _ in items],
            "item": list(items) * len(unit.countries),
            "logprob": logprobs.ravel(),
            "n_tokens": np.tile(n_tokens, len(unit.countries)),
        }
    ).with_columns(
        request_hash=pl.lit(unit.request_hash),
        run_id=pl.lit(run[0]),
        model=pl.lit(run[1]),
        domain=pl.lit(unit.question.domain),
        question=pl.lit(unit.question.question),
    )
    store_part(LOGPROBS, unit.part, frame, study.params.refresh)


@task(cache_policy=NO_CACHE, name="score metrics")
def score_metrics(study: Study, scored: Sequence[Run]) -> None:
    """Make the metric rows of every finished model of this configuration, and of the null models.

    All models, because categories are relative to medians over them. The lock keeps two flows of one
    configuration from each leaving the other out.
    """
    warehouse = Warehouse.open()
    with cohort(study.config_hash(), scored) as runs:
        if not runs:
            return
        own, shuffled = {}, {}
        for model, run in runs.items():
            engine_requests = _requests(warehouse, run)
            answers = partial(_answers, warehouse, study, engine_requests)
            own[model] = scores.score_model(study, answers)
            shuffled[f"null:shuffled({model})"] = scores.score_model(
                study, partial(_shuffled, study, answers)
            )
            progress.report("metrics", 1, len(runs))
            _write_similarity(study, (run, model), own[model])
        lookup = {"null:list-frequency": scores.score_model(study, lambda q: scores.from_list(study, q))}
        everyone = own | shuffled | lookup
        split = rows.splits(everyone, against=own)
        tables = {model: rows.model_rows(study, s, split[model]) for model, s in everyone.items()}
        tables |= {model: rows.constant_rows(study, model) for model in CONSTANT_MODELS}
        _save(study, tables, runs)


@task(cache_policy=NO_CACHE, name="show leaderboard")
def show_leaderboard(config_hash: str) -> None:
    """Attach the leaderboard to the flow run, for the Prefect UI."""
    columns = "model, macro_f1, ci_low, ci_high, null_macro_f1, rank_spearman, reference_mass, coverage"
    table = Warehouse.open().query(LEADERBOARD, [config_hash]).select(columns.split(", "))
    shared.show_leaderboard("spectral", config_hash, table)


def _answers(
    warehouse: Warehouse, study: Study, requests: dict[str, str], question: Question
) -> scores.Answers | str:
    """One question's stored log-probabilities as a matrix, countries and items in the study's order."""
    items = study.lists[question.item_list].items
    columns = ("country", "item", "logprob", "n_tokens")
    request = requests[question.question]
    frame = read_answers(warehouse, LOGPROBS, request, list(study.countries), columns)
    frame = frame.sort("country", "item")
    if frame.height != len(items) * len(study.countries):
        return f"{frame.height} of {len(items) * len(study.countries)} log-probabilities are stored"
    shape = (len(study.countries), len(items))
    n_tokens = frame["n_tokens"].to_numpy().reshape(shape)[0].astype(np.int64)
    return scores.Answers(frame["logprob"].to_numpy().astype(np.float64).reshape(shape), n_tokens)


def _shuffled(
    study: Study, answers: partial[scores.Answers | str], question: Question
) -> scores.Answers | str:
    found = answers(question)
    return found if isinstance(found, str) else scores.shuffled(study, found, question)


def _requests(warehouse: Warehouse, run: str) -> dict[str, str]:
    """question -> request_hash of a run."""
    return dict(
        warehouse.query("SELECT question, request_hash FROM run_request WHERE run_id = ?", [run]).rows()
    )


def _write_similarity(study: Study, run: Run, score: scores.ModelScore) -> None:
    """Store the upper triangle of each domain's mean cosine matrix."""
    codes = list(study.countries)
    upper = np.triu_indices(len(codes), k=1)
    frames = [
        pl.DataFrame(
            {
                "country_a": [codes[i] for i in upper[0]],
                "country_b": [codes[i] for i in upper[1]],
                "similarity": matrix[upper],
            }
        ).with_columns(
            domain=pl.lit(domain), request_hash=pl.lit(run[0]), run_id=pl.lit(run[0]), model=pl.lit(run[1])
        )
        for domain, matrix in scores.domain_similarity(score).items()
    ]
    if frames:
        part = digest([run[0], sorted(score.questions)], 32)
        store_part(SIMILARITY, part, pl.concat(frames), replace=True)


def _save(study: Study, tables: dict[str, list[rows.Metric]], runs: dict[str, str]) -> None:
    """Store all rows, those of the null models under runs of their own."""
    null_runs = {
        m: digest([study.config_hash(), m, version("culturescope")]) for m in tables if m not in runs
    }
    for model, run in null_runs.items():
        _save_run(study, (run, model), None)
    shared.save_numbers(tables, runs | null_runs)


def _save_run(study: Study, run: Run, spec: EngineSpec | None) -> None:
    requests = None
    if spec:
        requests = pl.DataFrame(
            [
                (study.request_hash(q, spec.hash(), prompting.BOUNDARY_RULE), q.domain, q.question)
                for q in study.questions
            ],
            schema={"request_hash": pl.String, "domain": pl.String, "question": pl.String},
            orient="row",
        )
    lists = {name: items.hash for name, items in study.lists.items()}
    shared.save("spectral", study, run, spec, requests, prompting.BOUNDARY_RULE, lists)
