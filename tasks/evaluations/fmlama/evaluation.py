"""Connects FmLAMA to the loop: it scores candidates in blanks, then judges mark some top predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Shared, Tables
from tasks.evaluations.fmlama.judge import (
    JudgedDish,
    Marks,
    judge_prompts,
    mean_marks,
    read_marks,
    verdict_rows,
)
from tasks.evaluations.fmlama.pack import PACK
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.published import (
    is_published,
    predicted_dishes,
    published_requests,
    score_published,
)
from tasks.evaluations.fmlama.read import (
    Cosines,
    Expected,
    ProbeScore,
    common_ingredients,
    expectations,
    judged_dishes,
    prediction_rows,
    score_model,
    stored_scores,
)
from tasks.evaluations.fmlama.rows import Baselines, best_baseline, mes_rows, model_rows
from tasks.evaluations.fmlama.samples import samples
from tasks.evaluations.fmlama.study import FmlamaStudy, Probe, Template, build_study, judging, ranking
from tasks.judging.panel import USUAL_VERDICT, judges_by_name
from tasks.judging.verdicts import verdict_frame
from tasks.loop.requests import Engine, Later, Request, Role
from tasks.loop.rows import Metric
from tasks.loop.texts import Texts
from tasks.metrics.similarity import cosine_matrix
from tasks.metrics.types import FloatArray
from tasks.packs.wording import templates

COMMON, COMMON_OF_ORIGIN = "null:common", "null:common-of-origin"
"""The baselines: the most common ingredients of all dishes, or of the dish's origin."""

NO_VECTORS = "the word vectors could not be read"

ENGLISH_VECTORS = "embedded:"
"""Word vectors that begin so know English only."""

MarksByJudge = Mapping[str, list[Marks]]
"""Name of a judge in the params -> its marks of each judged dish."""

CandidateList = tuple[str, tuple[str, ...]]
"""Language and candidates; conditions share them."""

TABLES = {
    "dish": "SELECT * FROM fmlama_dish WHERE dish_set = $dish_set",
    "template": "SELECT * FROM template WHERE evaluation = 'fmlama'",
    "origin_group": "SELECT * FROM origin_group",
}


@dataclass(frozen=True)
class FmlamaAnswers:
    """One model's scores under every condition, and the judges' marks, or the reason why there are none."""

    scores: list[ProbeScore]
    marks: MarksByJudge | str


@dataclass(frozen=True)
class Yardsticks:
    """Reference values for every model.

    Attributes:
        cosines, expected: cosines and values expected by chance, by condition.
        nulls: the baselines' own answers, by name.
        best: average precision of each condition's best baseline.
    """

    cosines: Cosines
    expected: Mapping[str, Expected]
    nulls: Mapping[str, FmlamaAnswers]
    best: Baselines


def engines(params: FmlamaParams) -> dict[str, Role]:
    """Return the judges' engines, and the engine of each language's word vectors."""
    vectors: dict[str, Role] = {
        source: "embedder" for language in params.languages if (source := _source(params, language))
    }
    return vectors | dict.fromkeys(params.judges, "judge")


def study(params: FmlamaParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> FmlamaStudy:
    """Return the study; see ``build_study``."""
    judges = judges_by_name(params.judges, engines)
    own, dishes = templates(tables), tables["dish"]
    vectors = sorted(engine.hash for engine in engines.values() if engine.kind == "embedder")
    return build_study(params, dishes, tables["template"], tables["origin_group"], judges, own, vectors)


def ask(study: FmlamaStudy, completions: Completions) -> list[Request[Any]]:
    """Return the requests of every wording, then the judges' prompts, which need the first wording's
    answers. For published predictions, return only the request that reads them.
    """
    requests: list[Request[Any]]
    if is_published(completions):
        requests = [*published_requests(study)]
    else:
        requests = [ranking(study, probe, t) for probe in study.probes for t in probe.templates]
    predictions = predicted_dishes(study, completions) if study.judges else []
    if isinstance(predictions, str):
        return requests
    return [
        *requests,
        *judging(
            study, judge_prompts(study.rubric, _with_predictions(predictions), study.params.direct_matches)
        ),
    ]


def ask_shared(study: FmlamaStudy, completions: Completions) -> list[Request[Any]]:
    """Return the requests for vectors of every language's candidates, and the judges' prompts about the
    baselines.
    """
    vectors = [request for request in _vectors(study).values() if not isinstance(request, str)]
    nulls = [dish for of_origin in (False, True) for dish in _null_predictions(study, of_origin)]
    return [*vectors, *judging(study, judge_prompts(study.rubric, nulls, study.params.direct_matches))]


def read(study: FmlamaStudy, completions: Completions, shared: Yardsticks) -> FmlamaAnswers:
    """Return precision, similarity and errors of every dish; a wording with missing answers is unscored."""

    def answers(probe: Probe, template: Template) -> dict[str, FloatArray] | str:
        return stored_scores(study, completions, probe, template)

    if is_published(completions):
        own = score_published(study, completions, shared.expected, shared.cosines)
    else:
        own = score_model(study, shared.expected, answers, shared.cosines)
    predictions = predicted_dishes(study, completions) if study.judges else []
    return FmlamaAnswers(own, _marks(study, completions, predictions))


def read_shared(study: FmlamaStudy, completions: Completions) -> Yardsticks:
    """Return cosines, values expected by chance, and the baselines' answers."""
    of_list = {each: _cosines(completions, request) for each, request in _vectors(study).items()}
    cosines = {probe.condition.slug: of_list[_list(probe)] for probe in study.probes}
    expected = {probe.condition.slug: expectations(probe, cosines) for probe in study.probes}
    nulls = {
        name: FmlamaAnswers(
            score_model(study, expected, common_ingredients(study, of_origin), cosines),
            _marks(study, completions, _null_predictions(study, of_origin)),
        )
        for name, of_origin in ((COMMON, False), (COMMON_OF_ORIGIN, True))
    }
    best = best_baseline([null.scores for null in nulls.values()])
    return Yardsticks(cosines, expected, nulls, best)


def make_rows(study: FmlamaStudy, cohort: Cohort[FmlamaAnswers], shared: Yardsticks) -> Tables:
    """Return rows and tables of the models and the baselines; no row compares models."""
    against = {COMMON: None, COMMON_OF_ORIGIN: shared.nulls[COMMON].marks}
    own = shared.nulls[COMMON_OF_ORIGIN].marks
    metrics: dict[str, list[Metric]] = {}
    details: dict[str, list[Detail]] = {}
    for model, answers in (dict(shared.nulls) | dict(cohort.models)).items():
        metrics[model] = model_rows(study, answers.scores, shared.best)
        details[model] = [Detail("prediction", prediction_rows(answers.scores))]
        if study.judges:
            marks, null = _together(answers.marks), _together(against.get(model, own))
            metrics[model] += mes_rows(study, marks or [], null)
            details[model] += _verdicts(study, answers.marks)
    return Tables(metrics, details)


def later(study: FmlamaStudy) -> Iterator[Later]:
    """Yield upper bounds of the judges' prompts about one model, with the longest candidates as
    predictions.
    """
    if not study.judges:
        return
    probe = study.judged_probe
    longest = sorted(probe.candidates, key=lambda candidate: -len(candidate.encode()))
    dishes = [
        JudgedDish(dish.url, name, dish.group, dish.ingredients, tuple(longest[: len(dish.ingredients)]))
        for dish, name in zip(probe.dishes, probe.names, strict=True)
    ]
    for request in judging(study, judge_prompts(study.rubric, dishes)):
        most = request.at_most(request.units)
        tokens = max(each.prompt_tokens + each.completion_tokens for each in most)
        prompt = sum(each.prompt_tokens for each in most) / len(most)
        yield Later("judge", request.engine, len(dishes), tokens, usual=(len(dishes), prompt, USUAL_VERDICT))


def size(study: FmlamaStudy) -> str:
    """Return the numbers of dishes, conditions and scored candidates, in words."""
    n_dishes = len({dish.url for probe in study.probes for dish in probe.dishes})
    return f"{n_dishes} dishes, {len(study.probes)} conditions, {study.n_pairs:,} candidates in sentences"


def _null_predictions(study: FmlamaStudy, of_origin: bool) -> list[JudgedDish]:
    """Return a baseline's predictions for the judged dishes; none without a judge."""
    if not study.judges:
        return []
    probe = study.probes[0]
    table = common_ingredients(study, of_origin)(probe, probe.templates[0])
    assert isinstance(table, np.ndarray)
    return judged_dishes(study.judged_probe, table[study.judged])


def _marks(
    study: FmlamaStudy, completions: Completions, predictions: Iterable[JudgedDish] | str
) -> MarksByJudge | str:
    """Return the stored marks that each judge gave some predictions."""
    if isinstance(predictions, str):
        return predictions
    predictions = list(predictions)
    prompts = judge_prompts(study.rubric, _with_predictions(predictions), study.params.direct_matches)
    lacking = [Marks(dish, ()) for dish in predictions if not dish.predicted]
    requests = {request.engine: completions(request) for request in judging(study, prompts)}
    return {
        judge: [*read_marks(study.rubric, prompts, requests.get(judge, {})), *lacking]
        for judge in (study.judges if prompts else ())
    }


def _with_predictions(dishes: Iterable[JudgedDish]) -> list[JudgedDish]:
    return [dish for dish in dishes if dish.predicted]


def _together(marks: MarksByJudge | str | None) -> list[Marks] | str | None:
    """Return the combined marks of all judges."""
    if marks is None or isinstance(marks, str):
        return marks
    return mean_marks(list(marks.values())) if marks else []


def _verdicts(study: FmlamaStudy, marks: MarksByJudge | str) -> Iterator[Detail]:
    """Yield a table of each judge's verdicts."""
    for judge, own in {}.items() if isinstance(marks, str) else marks.items():
        engine = study.judges[judge]
        key = engine.name if len(study.judges) > 1 else ""
        yield Detail("verdict", verdict_frame(verdict_rows(engine, study.rubric, own)), key)


def _cosines(completions: Completions, request: Texts | str) -> FloatArray | str:
    """Return the cosines of every two candidates, or the reason why there are none."""
    if isinstance(request, str):
        return request
    try:
        return cosine_matrix(completions(request).vectors)
    except KeyError:
        return NO_VECTORS


def _source(params: FmlamaParams, language: str) -> str | None:
    """Return the source of a language's word vectors, or None."""
    if params.word_vectors.startswith(ENGLISH_VECTORS) and language != "en":
        return None
    return params.word_vectors.replace("{language}", language)


def _list(probe: Probe) -> CandidateList:
    return probe.condition.main, probe.candidates


def _vectors(study: FmlamaStudy) -> dict[CandidateList, Texts | str]:
    """Return, for every list of candidates, the request for its vectors or the reason why there is none."""
    requests: dict[CandidateList, Texts | str] = {}
    for language, candidates in dict.fromkeys(map(_list, study.probes)):
        source = _source(study.params, language)
        requests[language, candidates] = (
            Texts(
                role="embedder",
                engine=source,
                topic=language,
                label=f"ingredients in {language}",
                texts=candidates,
            )
            if source
            else f"no word vectors for {language!r}: set word_vectors to fastText files"
        )
    return requests


EVALUATION = Evaluation(
    "fmlama", FmlamaParams, TABLES, study, ask, read, make_rows,
    engines=engines,
    shared=Shared(ask_shared, read_shared),
    later=later,
    size=size,
    samples=samples,
    optional=("judge", "embedder"),
    compares=False,
    pack=PACK,
    whole="it ranks dishes, which are no sample",
)  # fmt: skip
