"""Connects the spectral evaluation to the loop: each request scores a whole item list for one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Tables
from tasks.evaluations.spectral.across import across_rows, in_language
from tasks.evaluations.spectral.languages import Vocabulary, in_order
from tasks.evaluations.spectral.pack import PACK
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.read import (
    ModelScore,
    QuestionAnswers,
    domain_similarity,
    from_draws,
    from_list,
    score_model,
    score_with_copy,
)
from tasks.evaluations.spectral.rows import constant_rows, er_sr_of, model_rows, robustness_rows, splits
from tasks.evaluations.spectral.samples import samples
from tasks.evaluations.spectral.sampling import drawn_prompts
from tasks.evaluations.spectral.study import ENGLISH, SAMPLED, SpectralQuestion, SpectralStudy, build_study
from tasks.loop.items import ItemScores
from tasks.loop.requests import Engine, Request
from tasks.loop.rows import Metric

CONSTANT_MODELS = ("null:uniform-by-domain", "null:always-LH")

TABLES = {
    "country": "SELECT country, name FROM country",
    "question": "SELECT *, 80 AS human_n FROM question JOIN domain USING (domain)",  # section 3.2
    "item": "SELECT item_list, item, countries, aliases FROM current_item",
    "human": """
        SELECT * FROM human_domain WHERE study = split_part($human::VARCHAR, ':', 1)
            AND ($human::VARCHAR LIKE '%:' || snapshot OR $human::VARCHAR NOT LIKE '%:%')
        QUALIFY pulled_at = max(pulled_at) OVER ()
    """,
    "question_text": "SELECT * FROM question_text",
    "item_name": "SELECT * FROM item_name",
    "spoken": """
        SELECT country, first(language ORDER BY percent DESC, language) AS language FROM country_language
        WHERE status IN ('official', 'de_facto_official') GROUP BY country
    """,
}


@dataclass(frozen=True)
class SpectralAnswers:
    """One model's scores, and the scores of its answers after the countries are shuffled.

    others: language -> the same in it.
    """

    own: ModelScore
    shuffled: ModelScore
    others: Mapping[str, SpectralAnswers] = field(default_factory=dict)


def study(params: SpectralParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> SpectralStudy:
    """Return the study; see ``build_study`` and ``Vocabulary``."""
    rows = (tables["country"], tables["question"], tables["item"], tables["human"])
    languages = in_order(params.languages)
    if not languages:
        return build_study(params, *rows)
    if params.elicit in SAMPLED:
        raise ValueError(
            "languages are compared by log-probabilities, and these models write answers: leave `languages` "
            "out, or name models that run here"
        )
    vocabulary = Vocabulary(languages, tables["question_text"], tables["item_name"])
    spoken = {str(row["country"]): str(row["language"]) for row in tables["spoken"]}
    return vocabulary.studies(build_study(params, *rows, vocabulary.shared), spoken)


def request(study: SpectralStudy, question: SpectralQuestion) -> ItemScores:
    """Return the request for one question about all countries."""
    return ItemScores(
        topic=study.name_of(question.domain),
        label=study.name_of(question.question),
        batch=study.params.countries_per_part,
        questions={code: question.prompt(name) for code, name in study.countries.items()},
        items=study.lists[question.item_list].items,
        about=study.about(question),
        has_cue=study.language != ENGLISH,
    )


def ask(study: SpectralStudy, completions: Completions) -> Sequence[Request[Any]]:
    """Return the requests of every question; only sampled answers that name no item are asked for again."""
    if study.is_sampled:
        return [drawn_prompts(study, question, completions) for question in study.questions]
    return [request(each, question) for each in study.in_languages.values() for question in each.questions]


def settled(params: SpectralParams, is_served: Callable[[str], bool]) -> SpectralParams:
    """Return the params with answers sampled where no model gives log-probabilities and nobody chose.

    Beside models that give them, such a model is left out with the reason: numbers of both kinds are not
    comparable. Answers in free text are matched with whole lists.
    """
    if params.elicit is None and all(map(is_served, params.models)):
        params = params.model_copy(update={"elicit": "sampling"})
    whole = {"max_items": None} if params.elicit == "sampling" else {}
    return params.model_copy(update=whole)


def stored_answers(
    study: SpectralStudy, completions: Completions, question: SpectralQuestion
) -> QuestionAnswers | str:
    """Return a model's stored answers to a question, or the reason why there are none."""
    if study.is_sampled:
        return from_draws(study, completions, question)
    stored = completions(request(study, question))
    return stored if isinstance(stored, str) else QuestionAnswers(stored.logprobs, stored.n_tokens)


def read(study: SpectralStudy, completions: Completions, shared: Any) -> SpectralAnswers:
    """Compute the spectrum of every question; a question with missing answers is unscored."""

    def load(question: SpectralQuestion) -> QuestionAnswers | str:
        return stored_answers(study, completions, question)

    own, copy = score_with_copy(study, load)
    others = {code: read(other, completions, shared) for code, other in study.others.items()}
    return SpectralAnswers(own, copy, others)


def make_rows(study: SpectralStudy, cohort: Cohort[SpectralAnswers], shared: Any) -> Tables:
    """Return the rows of the models and their nulls: shuffled copies, a look-up in the lists, constant
    labels. Categories are relative to medians over the cohort.

    Rows of other languages are slices of their own, beside those of the study's.
    """
    metrics, scores = _of_language(study, cohort)
    in_languages = {model: {study.language: score} for model, score in scores.items()}
    for code, other in study.others.items():
        models = {model: answers.others[code] for model, answers in cohort.models.items()}
        against = {model: answers.others[code] for model, answers in cohort.against.items()}
        rows, scores_there = _of_language(other, Cohort(models, against, cohort.engines))
        for model, of_model in rows.items():
            metrics[model] += map(partial(in_language, code), of_model)
        for model, score in scores_there.items():
            in_languages[model][code] = score
    if study.others:
        for model, by_language in in_languages.items():
            metrics[model] += across_rows(study, by_language)
    similarity = {model: _similarity(study, answers.own) for model, answers in cohort.models.items()}
    return Tables(metrics, similarity)


def _of_language(
    study: SpectralStudy, cohort: Cohort[SpectralAnswers]
) -> tuple[dict[str, list[Metric]], dict[str, ModelScore]]:
    """Return the rows of every model and null model in one language, and the scores they are made of."""
    own = {model: answers.own for model, answers in cohort.models.items()}
    copies = {f"null:shuffled({model})": answers.shuffled for model, answers in cohort.models.items()}
    lookup = {"null:list-frequency": score_model(study, lambda q: from_list(study, q))}
    everyone = own | copies | lookup
    split = splits(everyone, against={model: answers.own for model, answers in cohort.against.items()})
    look_up = er_sr_of(lookup["null:list-frequency"])
    metrics = {model: model_rows(study, score, split[model], look_up) for model, score in everyone.items()}
    of_cohort = {model: answers.own.panel for model, answers in cohort.against.items()}
    for model, score in own.items() if not (study.is_sampled or study.is_other) else ():
        metrics[model] += robustness_rows(study, score, of_cohort)
    metrics |= {model: constant_rows(study, model) for model in CONSTANT_MODELS}
    return metrics, everyone


def _similarity(study: SpectralStudy, score: ModelScore) -> list[Detail]:
    """Return the upper triangle of each domain's mean cosine matrix."""
    codes = list(study.countries)
    first, second = np.triu_indices(len(codes), k=1)
    frames = [
        pl.DataFrame(
            {
                "domain": [domain] * len(first),
                "country_a": [codes[i] for i in first],
                "country_b": [codes[i] for i in second],
                "similarity": matrix[first, second],
            }
        )
        for domain, matrix in domain_similarity(score).items()
    ]
    frames = [frame.filter(pl.col("similarity").is_not_nan()) for frame in frames]
    return [Detail("country_similarity", pl.concat(frames))] if frames else []


def _size(study: SpectralStudy) -> str:
    """Return the study in words, and what its numbers compare with where answers are sampled."""
    size = f"{len(study.countries)} countries, {len(study.questions)} questions"
    if study.others or study.language != ENGLISH:
        counts = [f"{len(each.questions)} in {code}" for code, each in study.others.items()]
        return f"{', '.join([f'{size} in {study.language}', *counts])} (not checked by speakers)"
    if not study.is_sampled:
        return size
    kind = "constrained" if study.is_constrained else "written"
    return f"{size}, {study.params.draws} {kind} answers to each (only numbers of as many compare)"


EVALUATION = Evaluation(
    "spectral", SpectralParams, TABLES, study, ask, read, make_rows,
    samples=lambda study, completions: samples(study, completions, stored_answers),
    size=_size,
    pack=PACK, settled=settled,
    whole="its numbers compare all countries over all items, which are no sample",
)  # fmt: skip
