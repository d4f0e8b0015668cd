"""Connects the worldwise evaluation to the loop: prompts for the model, then vectors of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Shared, Tables
from tasks.evaluations.worldwise.answers import answer_frame, samples
from tasks.evaluations.worldwise.model_rows import cross_model_rows, model_rows
from tasks.evaluations.worldwise.pack import PACK
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.read import (
    Space,
    WorldwiseAnswers,
    answer_texts,
    build_space,
    completed,
    fixed_texts,
    read,
    read_completions,
)
from tasks.evaluations.worldwise.rows import null_models, null_rows
from tasks.evaluations.worldwise.study import WorldwiseStudy, build_study
from tasks.loop.requests import Engine, Request

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


def study(
    params: WorldwiseParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]
) -> WorldwiseStudy:
    """Build the study from rows of the warehouse. Raises what ``build_materials`` raises."""
    return build_study(params, tables, engines[params.embedder].hash)


def ask(study: WorldwiseStudy, completions: Completions) -> list[Request[Any]]:
    """Return the requests of every prompt, then the vectors of the answers that can be read so far."""
    texts = answer_texts(study, read_completions(study, completed(study, completions)))
    return [*study.requests, *([study.vectors_of(texts, "answers")] if texts else [])]


def ask_shared(study: WorldwiseStudy, completions: Completions) -> list[Request[Any]]:
    """Return the requests for the vectors of texts that do not depend on the model."""
    return [study.vectors_of(fixed_texts(study), "scenarios and exemplars")]


def read_shared(study: WorldwiseStudy, completions: Completions) -> Space:
    """Return the dimensions and scenarios as vectors."""
    return build_space(study, completions(study.vectors_of(fixed_texts(study), "scenarios and exemplars")))


def make_rows(study: WorldwiseStudy, cohort: Cohort[WorldwiseAnswers], space: Space) -> Tables:
    """Return rows of the models and the null models, and a table of every answer. A model is compared with
    the cohort's models only, so its rows do not depend on other models of the run.
    """
    members = {model: answers.scored.alignment for model, answers in cohort.against.items()}
    compared = dict(cross_model_rows(study, members)) if members else {}
    for model, answers in cohort.models.items():
        if model not in members:
            both = members | {model: answers.scored.alignment}
            compared[model] = cross_model_rows(study, both)[model]
    metrics = {
        model: [*model_rows(study, space, answers.scored), *compared[model]]
        for model, answers in cohort.models.items()
    }
    nulls = null_models(study, space)
    metrics |= {name: null_rows(study, space, placed) for name, placed in nulls.items()}
    details = {
        model: [Detail("worldwise_answer", answer_frame(study, answers))]
        for model, answers in cohort.models.items()
    }
    return Tables(metrics, details)


EVALUATION = Evaluation(
    "worldwise", WorldwiseParams, TABLES, study, ask, read, make_rows,
    engines=lambda params: {params.embedder: "embedder"},
    shared=Shared(ask_shared, read_shared),
    samples=lambda study, completions: samples(
        study, read(study, completions, read_shared(study, completions))
    ),
    size=lambda study: (
        f"{study.shape[0] - 1} cultures and no persona, {study.shape[1]} scenarios, "
        f"{study.shape[2]} repetitions"
    ),
    pack=PACK,
    whole="its nulls are made of the model's own answers",
)  # fmt: skip
