"""The worldwise evaluation as the loop sees it: prompts to the model, then vectors of what it answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Shared, Tables
from tasks.evaluations.worldwise import rows
from tasks.evaluations.worldwise.answer_rows import answer_frame
from tasks.evaluations.worldwise.pack import PACK
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.requests import Study, build_study
from tasks.evaluations.worldwise.samples import samples
from tasks.evaluations.worldwise.scores import (
    Readings,
    Scored,
    Space,
    answer_texts,
    build_space,
    completed,
    fixed_texts,
    read_completions,
    score_answers,
)
from tasks.evaluations.worldwise.user_files import read_rows
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


@dataclass(frozen=True)
class Answers:
    """What one model answered, as it was read and as numbers."""

    readings: Readings
    scored: Scored


def study(params: WorldwiseParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> Study:
    """Scenarios, exemplars, values and cultures from the warehouse, or from the user's files instead.

    Raises:
        UnknownName, ValueError: see ``read_rows`` and ``build_materials``.
    """
    files = {
        "scenario": params.scenarios_file,
        "exemplar": params.exemplars_file,
        "culture_profile": params.profiles_file,
        "guiding_value": params.values_file,
    }
    own = {table: read_rows(path, table) for table, path in files.items() if path}
    if own and params.pack:
        raise ValueError("--pack adds to the shipped tables, which files replace: give one or the other")
    return build_study(params, {**tables, **own})


def ask(study: Study, completions: Completions) -> list[Request[Any]]:
    """Every prompt; then the vectors of the answers that can be read so far."""
    texts = answer_texts(study, read_completions(study, completed(study, completions)))
    return [*study.requests, *([study.vectors_of(texts, "answers")] if texts else [])]


def read(study: Study, completions: Completions, space: Space) -> Answers:
    """Every answer read and placed in the space; what cannot be is unscored with a reason."""
    done = completed(study, completions)
    readings = read_completions(study, done)
    embedded = completions(study.vectors_of(answer_texts(study, readings), "answers"))
    return Answers(readings, score_answers(study, done, readings, embedded, space))


def ask_shared(study: Study, completions: Completions) -> list[Request[Any]]:
    """The vectors of what is the same for all models."""
    return [study.vectors_of(fixed_texts(study), "scenarios and exemplars")]


def read_shared(study: Study, completions: Completions) -> Space:
    """The dimensions and the scenarios as vectors."""
    return build_space(study, completions(study.vectors_of(fixed_texts(study), "scenarios and exemplars")))


def make_rows(study: Study, cohort: Cohort[Answers], space: Space) -> Tables:
    """Rows of the models and of the null models, and every answer as a row.

    A model is compared with the cohort's, and with no other: its rows do not depend on who ran beside it.
    """
    members = {model: answers.scored.alignment for model, answers in cohort.against.items()}
    compared = dict(rows.cross_model_rows(study, members)) if members else {}
    for model, answers in cohort.models.items():
        if model not in members:
            both = members | {model: answers.scored.alignment}
            compared[model] = rows.cross_model_rows(study, both)[model]
    metrics = {
        model: [*rows.model_rows(study, space, answers.scored), *compared[model]]
        for model, answers in cohort.models.items()
    }
    nulls = rows.null_models(study, space)
    metrics |= {name: rows.null_rows(study, space, placed) for name, placed in nulls.items()}
    details = {
        model: [Detail("worldwise_answer", answer_frame(study, answers.readings, answers.scored))]
        for model, answers in cohort.models.items()
    }
    return Tables(metrics, details)


EVALUATION = Evaluation(
    "worldwise", WorldwiseParams, TABLES, study, ask, read, make_rows,
    engines=lambda params: {params.embedder: "embedder"},
    shared=Shared(ask_shared, read_shared),
    samples=lambda study, completions: samples(study, completions, read_shared(study, completions)),
    size=lambda study: (
        f"{study.shape[0] - 1} cultures and no persona, {study.shape[1]} scenarios, "
        f"{study.shape[2]} repetitions"
    ),
    pack=PACK,
)  # fmt: skip
