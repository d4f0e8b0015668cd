"""The tasks of the fmlama flow: thin wrappers that join warehouse, engines and the pure parts.

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
from threadpoolctl import threadpool_limits

from tasks import progress
from tasks import steps as shared
from tasks.engines import load
from tasks.engines.embedders import load_embedder
from tasks.engines.prompting import candidate_rule
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec
from tasks.evaluations.fmlama import rows, scores
from tasks.evaluations.fmlama.judge.steps import Marks, judge_run, judged_by, mes_rows
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.predictions import prediction_rows
from tasks.evaluations.fmlama.requests import Probe, Study, Unit, build_study, plan_units, request_hash
from tasks.evaluations.fmlama.scores import FloatArray
from tasks.evaluations.fmlama.templates import Template
from tasks.identity import digest
from tasks.metrics.similarity import cosine_matrix
from tasks.steps import Run, store_part
from warehouse import (
    Warehouse,
    missing_units,
    read_answers,
)

SCORES, PREDICTIONS = "candidate_score", "prediction"

COMMON, COMMON_OF_ORIGIN = "null:common", "null:common-of-origin"
"""The baselines: the most common ingredients of all dishes, or of the dish's origin."""

LEADERBOARD = "SELECT * FROM leaderboard_fmlama WHERE config_hash = ? ORDER BY is_null, map DESC"

ENGLISH_VECTORS = "embedded:"
"""Word vectors that begin so know English only."""


def build(params: FmlamaParams) -> Study:
    """Choose dishes and templates from the warehouse."""
    warehouse = Warehouse.open()
    dishes = "SELECT * FROM fmlama_dish WHERE dish_set = ?"
    templates = "SELECT * FROM template WHERE evaluation = 'fmlama'"
    return build_study(
        params,
        warehouse.query(dishes, [params.dish_set]).to_dicts(),
        warehouse.query(templates).to_dicts(),
        warehouse.query("SELECT * FROM origin_group").to_dicts(),
        judged_by(params.judge) if params.judge else None,
    )


def run_id(study: Study, spec: EngineSpec) -> str:
    """A run is a value: the same configuration, engine and code version are the same run."""
    return digest([study.config_hash(), spec.hash(), candidate_rule(spec.kind), version("culturescope")])


def plan(study: Study, spec: EngineSpec) -> list[Unit]:
    """What is still to be scored: every request's sentences without a registered answer."""
    by_hash = {
        request_hash(probe, template, spec.hash(), candidate_rule(spec.kind)): (probe, template)
        for probe in study.probes
        for template in probe.templates
    }
    wanted = pl.DataFrame(
        [(h, prompt) for h, (p, t) in by_hash.items() for prompt in sorted(set(p.prompts(t)))],
        schema={"request_hash": pl.String, "unit": pl.String},
        orient="row",
    )
    todo = wanted
    if not study.params.refresh:
        with Warehouse.open().read() as connection:
            todo = missing_units(connection, SCORES, wanted)
    missing = dict(todo.group_by("request_hash").agg("unit").rows())
    size = study.params.dishes_per_part
    return [u for h, (p, t) in by_hash.items() for u in plan_units(p, t, h, missing.get(h, []), size)]


@task(cache_policy=NO_CACHE, name="start run", task_run_name="start {spec.name}")
def start_run(study: Study, spec: EngineSpec) -> Run:
    """Write down what is going to be measured, before anything is."""
    run = (run_id(study, spec), spec.name)
    requests = pl.DataFrame(
        [
            (request_hash(p, t, spec.hash(), candidate_rule(spec.kind)), p.condition.slug, t.template)
            for p in study.probes
            for t in p.templates
        ],
        schema={"request_hash": pl.String, "domain": pl.String, "question": pl.String},
        orient="row",
    )
    rule = candidate_rule(spec.kind)
    shared.save("fmlama", study, run, spec, requests, rule, _candidate_lists(study))
    return run


@task(cache_policy=NO_CACHE, name="load model", task_run_name="load {spec.name}")
def load_model(spec: EngineSpec) -> None:
    """Load the engine once; the scoring tasks find it in this process."""
    load.candidate_scorer(spec, Warehouse.open().home / "models")


@task(cache_policy=NO_CACHE, name="score", task_run_name="{unit.template.template} × {unit.part}")
def score_unit(spec: EngineSpec, run: Run, unit: Unit, label: str, total: int, replace: bool) -> None:
    """Score every candidate in some sentences, and store them as a part.

    A candidate that the model cannot spell (NaN) is left out.

    Raises:
        EngineError: the model can spell none of them.
    """
    engine = load.candidate_scorer(spec, Warehouse.open().home / "models")
    candidates = unit.probe.candidates
    found = engine.score_candidates(unit.cloze, candidates, lambda n: progress.report(label, n, total))
    frame = pl.DataFrame(
        {
            "prompt": np.repeat(np.array(unit.prompts, dtype=object), len(candidates)),
            "candidate": list(candidates) * len(unit.prompts),
            "logprob": found.logprob.ravel(),
            "probability": found.probability.ravel(),
            "n_tokens": np.tile(found.n_tokens, len(unit.prompts)),
        },
        schema_overrides={"prompt": pl.String},
    ).filter(pl.col("logprob").is_not_nan())
    if frame.is_empty():
        language = unit.probe.condition.main
        raise EngineError(f"it can spell none of the candidates in {language!r}: leave that language out")
    columns = {"request_hash": unit.request_hash, "run_id": run[0], "model": run[1]}
    columns |= {"template": unit.template.template}
    frame = frame.with_columns(**{name: pl.lit(value) for name, value in columns.items()})
    store_part(SCORES, unit.part, frame, replace)


@task(cache_policy=NO_CACHE, name="score metrics")
def score_metrics(study: Study, scored: Sequence[tuple[Run, EngineSpec]]) -> None:
    """Make the metric rows and predictions of these models, and of the baselines."""
    vectors = cosines(study)
    expected = {p.condition.slug: scores.expectations(p, vectors) for p in study.probes}
    score = partial(scores.score_model, study, expected, cosines=vectors)
    nulls = {
        (digest([study.config_hash(), name, version("culturescope")]), name): score(
            scores.common_ingredients(study, of_origin)
        )
        for name, of_origin in ((COMMON, False), (COMMON_OF_ORIGIN, True))
    }
    baselines = rows.best_baseline(list(nulls.values()))
    marks: Marks | None = None
    for run, found in nulls.items():
        shared.save("fmlama", study, run, None, item_lists=_candidate_lists(study))
        marks = _finish(study, run, found, baselines, marks) or marks
    for run, spec in scored:
        with threadpool_limits(1):
            found = score(partial(_answers, study, spec))
        _finish(study, run, found, baselines, marks)
        progress.report("metrics", 1, len(scored))


@task(cache_policy=NO_CACHE, name="show leaderboard")
def show_leaderboard(config_hash: str) -> None:
    """Attach the leaderboard to the flow run, for the Prefect UI."""
    columns = "model, main_language, subject_language, country_mentioned, map, map_sd, ci_low, ci_high"
    wanted = [*columns.split(", "), "null_map", "map_gain", "mws", "map_cv"]
    table = Warehouse.open().query(LEADERBOARD, [config_hash]).select(wanted)
    shared.show_leaderboard("fmlama", config_hash, table)


def cosines(study: Study) -> dict[str, FloatArray | str]:
    """condition slug -> cosines of its candidates, or why there are none."""
    cache = Warehouse.open().home / "models"
    made: dict[tuple[str, tuple[str, ...]], FloatArray | str] = {}
    for probe in study.probes:
        language, key = probe.condition.main, (probe.condition.main, probe.candidates)
        if key in made:
            continue
        if study.params.word_vectors.startswith(ENGLISH_VECTORS) and language != "en":
            made[key] = f"no word vectors for {language!r}: set word_vectors to fastText files"
            continue
        embedder = load_embedder(study.params.word_vectors.replace("{language}", language), cache)
        made[key] = cosine_matrix(embedder.embed(probe.candidates).vectors)
    return {p.condition.slug: made[p.condition.main, p.candidates] for p in study.probes}


def _answers(study: Study, spec: EngineSpec, probe: Probe, template: Template) -> FloatArray | str:
    """[dishes, candidates] stored scores of one template, pooled; NaN for an unspellable candidate."""
    request = request_hash(probe, template, spec.hash(), candidate_rule(spec.kind))
    prompts = probe.prompts(template)
    columns = ("prompt", "candidate", "logprob", "probability", "n_tokens")
    frame = read_answers(Warehouse.open(), SCORES, request, prompts, columns)
    lacking = set(prompts) - set(frame["prompt"].unique())
    if lacking:
        return f"{len(lacking)} of {len(set(prompts))} sentences have no answer"
    order = sorted(set(prompts))
    row = frame["prompt"].replace_strict(order, range(len(order)), return_dtype=pl.Int64).to_numpy()
    n = len(probe.candidates)
    column = frame["candidate"].replace_strict(probe.candidates, range(n), return_dtype=pl.Int64).to_numpy()
    logprob, probability, n_tokens = (frame[name].to_numpy() for name in columns[2:])
    table = np.full((len(order), n), np.nan)
    table[row, column] = scores.pooled(logprob, probability, n_tokens, study.params.pooling)
    place = {prompt: i for i, prompt in enumerate(order)}
    return table[[place[prompt] for prompt in prompts]]


def _finish(
    study: Study,
    run: Run,
    found: Sequence[scores.ProbeScore],
    baselines: rows.Baselines,
    null: Marks | None,
) -> Marks | None:
    """Store predictions and verdicts, then all metric rows in one transaction; returns the verdicts."""
    predictions = prediction_rows(found)
    if not predictions.is_empty():
        ids = {"request_hash": run[0], "run_id": run[0], "model": run[1]}
        frame = predictions.with_columns(**{name: pl.lit(value) for name, value in ids.items()})
        store_part(PREDICTIONS, digest([run[0], study.config_hash()], 32), frame, replace=True)
    metrics = rows.model_rows(study, found, baselines)
    marks = None
    if study.params.judge:
        marks = judge_run(study, run, found[0]) if found[0].templates else []
        metrics += mes_rows(study, found[0], marks, null)
    shared.save_numbers({run[1]: metrics}, {run[1]: run[0]})
    return marks


def _candidate_lists(study: Study) -> dict[str, str]:
    """condition -> hash of its candidates."""
    return {p.condition.slug: digest(p.candidates) for p in study.probes}
