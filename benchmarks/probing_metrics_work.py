"""The fmlama metrics of one model at full size, on made-up scores."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks import fmlama
from tasks.evaluations.fmlama import rows, scores
from tasks.evaluations.fmlama.requests import Probe, Study
from tasks.evaluations.fmlama.scores import Answers, FloatArray
from tasks.evaluations.fmlama.templates import Template
from tasks.metrics.similarity import cosine_matrix

DIMENSIONS = 384
REFERENCE_BONUS = 2.0  # standard deviations that a reference ingredient is ahead


def probing_metrics(repeats: int) -> dict[str, Any]:
    """Seconds of scoring and rows of one model, and apart from them of what all models share.

    Shared are the expectations of a random ranking and the scores of the two baselines.
    """
    study = fmlama.study()
    answers = _answers(study)
    rng = np.random.Generator(np.random.PCG64(0))
    vectors = cosine_matrix(rng.normal(size=(len(study.probes[0].candidates), DIMENSIONS)))
    cosines = {probe.condition.slug: vectors for probe in study.probes}
    seconds = []
    with threadpool_limits(1):
        start = time.perf_counter()
        expected = {p.condition.slug: scores.expectations(p, cosines) for p in study.probes}
        common = [scores.common_ingredients(study, of_origin) for of_origin in (False, True)]
        nulls = [scores.score_model(study, expected, null, cosines) for null in common]
        baselines = rows.best_baseline(nulls)
        shared = time.perf_counter() - start
        for _ in range(repeats):
            start = time.perf_counter()
            score = scores.score_model(study, expected, answers, cosines)
            metrics = rows.model_rows(study, score, baselines)
            seconds.append(time.perf_counter() - start)
    figures = {"seconds": median(seconds), "shared_seconds": shared}
    return figures | {"n_pairs": study.n_pairs, "rows": len(metrics)}


def _answers(study: Study) -> Answers:
    """Random probabilities, in which references tend to be ahead; as they are read from parts, in float32."""
    rng = np.random.Generator(np.random.PCG64(1))
    tables: dict[str, NDArray[np.float32]] = {}
    for probe in study.probes:
        for template in probe.templates:
            values = rng.normal(size=probe.relevant.shape) + REFERENCE_BONUS * probe.relevant
            tables[template.template] = (1 / (1 + np.exp(5 - values))).astype(np.float32)

    def answers(probe: Probe, template: Template) -> FloatArray:
        return tables[template.template].astype(np.float64)

    return answers
