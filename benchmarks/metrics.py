"""Figures: seconds for one model's metrics at full size, of spectral and FmLAMA, on synthetic answers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from statistics import median

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks import inputs
from benchmarks.process import Result, measure, peak, show
from benchmarks.sizes import Sizes
from tasks.evaluations.fmlama import rows
from tasks.evaluations.fmlama.read import (
    ScoreTables,
    common_ingredients,
    expectations,
    score_model,
)
from tasks.evaluations.fmlama.study import FmlamaStudy, Probe, Template
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.read import country_subsets, score_question
from tasks.evaluations.spectral.study import ItemList, SpectralQuestion, SpectralStudy
from tasks.metrics.similarity import cosine_matrix
from tasks.metrics.spectral import softmax
from tasks.metrics.types import FloatArray

BAR_S, PROBING_BAR_S = 5.0, 10.0
N_COUNTRIES = 170
LISTED = 3
"""Number of countries that an item is listed with."""
DIMENSIONS = 384
REFERENCE_BONUS = 2.0
"""Advantage of a reference ingredient, in standard deviations."""

Replicates = tuple[list[float], list[float]]


def metrics(sizes: Sizes) -> None:
    """Print the seconds of the metrics, of those without subsets, and of an eigvalsh per subset in numpy."""
    amounts = {"matrices": sizes.matrices, "items": sizes.matrix_items, "subsets": sizes.resamples}
    ours = measure(score_questions, repeats=sizes.repeats, **amounts)
    naive = measure(naive_subsets, **amounts)
    difference = max(
        abs(a - b) / abs(b)
        for our_values, naive_values in zip(ours["replicates"], naive["replicates"], strict=True)
        for a, b in zip(our_values, naive_values, strict=True)
    )
    met = "met" if ours["seconds"] < BAR_S else "missed"
    show(
        f"score_question {ours['seconds']:.2f} s {peak(ours)}, without subsets "
        f"{ours['plain_seconds']:.2f} s · naive numpy {naive['seconds']:.2f} s {peak(naive)} — "
        f"{sizes.matrices} matrices 170 x {sizes.matrix_items:,}, {sizes.resamples} half-samples and the "
        f"jackknife, one thread; bar {BAR_S:.0f} s: {met}",
        f"score_question vs naive numpy: {naive['seconds'] / ours['seconds']:.1f} x "
        f"(half-samples agree within {difference:.0e} relative); the subsets take "
        f"{1 - ours['plain_seconds'] / ours['seconds']:.0%} of the time",
    )


def score_questions(matrices: int, items: int, subsets: int, repeats: int) -> Result:
    """Return the seconds with and without subsets of countries, on one thread as in the flow.

    The half-samples of the first matrix are also returned, for the comparison with plain numpy.
    """
    study, question, answers = _study(items, subsets), _question(), _answers(matrices, items)
    members = country_subsets(study)
    no_subsets = (members[0][:0], members[1][:0])
    all_seconds, plain_seconds = [], []
    with threadpool_limits(1):
        for _ in range(repeats):
            start = time.perf_counter()
            scores = [score_question(study, question, matrix, members) for matrix in answers]
            middle = time.perf_counter()
            for matrix in answers:
                score_question(study, question, matrix, no_subsets)
            all_seconds.append(middle - start)
            plain_seconds.append(time.perf_counter() - middle)
    first = scores[0]
    return {
        "seconds": median(all_seconds),
        "plain_seconds": median(plain_seconds),
        "replicates": [first.er_halves.tolist(), first.sr_halves.tolist()],
    }


def naive_subsets(matrices: int, items: int, subsets: int) -> Result:
    """Return the seconds of the same spectra in plain numpy, also on one thread."""
    answers = _answers(matrices, items)
    halves, left_out = country_subsets(_study(items, subsets))
    with threadpool_limits(1):
        start = time.perf_counter()
        replicates = [[_naive(matrix, members) for members in (halves, left_out)] for matrix in answers]
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "replicates": replicates[0][0]}


def _naive(h: NDArray[np.float64], subsets: Iterable[NDArray[np.intp]]) -> Replicates:
    """Return equations 1 and 2 for each subset, with a call of eigvalsh each and one for the whole matrix."""
    unit = h / np.linalg.norm(h, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.linalg.eigvalsh(similarity)
    ranks, ratios = [], []
    for subset in subsets:
        values = np.linalg.eigvalsh(similarity[np.ix_(subset, subset)])
        share = values[values > 1e-12] / values[values > 1e-12].sum()
        ranks.append(float(np.exp(-(share * np.log(share)).sum())))
        ratios.append(float(values[-1] / values[-2]))
    return ranks, ratios


def _answers(matrices: int, items: int) -> list[NDArray[np.float64]]:
    """Return distributions with a common core, like models' answers."""
    rng = np.random.Generator(np.random.PCG64(0))
    distributions = []
    for _ in range(matrices):
        core = rng.normal(-20, 4, size=items)
        distributions.append(softmax(core + rng.normal(0, 2, size=(N_COUNTRIES, items))))
    return distributions


def _study(items: int, subsets: int) -> SpectralStudy:
    """Return a study of one list, whose items are listed with a few countries each."""
    codes = [f"C{i:03d}" for i in range(N_COUNTRIES)]
    listed = tuple(frozenset(codes[(i + step) % N_COUNTRIES] for step in range(LISTED)) for i in range(items))
    lists = {"made_up": ItemList("made_up", tuple(f"item {i}" for i in range(items)), listed)}
    params = SpectralParams.model_validate({"models": ["none"], "half_samples": subsets})
    return SpectralStudy(params, {code: code for code in codes}, (_question(),), lists, "")


def _question() -> SpectralQuestion:
    return SpectralQuestion("made_up-1", "made_up", 1, "{country}", "", "made_up", 1.0, "LH")


def probing_metrics(sizes: Sizes) -> None:
    """Print the seconds of one model's scores and rows, and of the parts computed once for all models."""
    ours = measure(fmlama_metrics, repeats=sizes.repeats)
    show(
        f"fmlama metrics {ours['seconds']:.2f} s {peak(ours)} — {ours['n_pairs']:,} pairs (1,549 dishes x "
        f"873 candidates x 10 templates), {ours['rows']} rows, one thread; bar {PROBING_BAR_S:.0f} s: "
        f"{'met' if ours['seconds'] < PROBING_BAR_S else 'missed'}",
        f"expectations and both baselines, once for all models: {ours['shared_seconds']:.2f} s",
    )


def fmlama_metrics(repeats: int) -> Result:
    """Return the seconds of one model's scores and rows, and separately those of the shared parts.

    Shared are the expectations of a random ranking and the scores of the two baselines.
    """
    study = inputs.fmlama()
    answers = _probe_answers(study)
    rng = np.random.Generator(np.random.PCG64(0))
    vectors = cosine_matrix(rng.normal(size=(len(study.probes[0].candidates), DIMENSIONS)))
    cosines = {probe.condition.slug: vectors for probe in study.probes}
    seconds = []
    with threadpool_limits(1):
        start = time.perf_counter()
        expected = {probe.condition.slug: expectations(probe, cosines) for probe in study.probes}
        baseline_tables = [common_ingredients(study, of_origin) for of_origin in (False, True)]
        nulls = [score_model(study, expected, null, cosines) for null in baseline_tables]
        baselines = rows.best_baseline(nulls)
        shared_seconds = time.perf_counter() - start
        for _ in range(repeats):
            start = time.perf_counter()
            score = score_model(study, expected, answers, cosines)
            model_rows = rows.model_rows(study, score, baselines)
            seconds.append(time.perf_counter() - start)
    figures = {"seconds": median(seconds), "shared_seconds": shared_seconds}
    return figures | {"n_pairs": study.n_pairs, "rows": len(model_rows)}


def _probe_answers(study: FmlamaStudy) -> ScoreTables:
    """Return random probabilities in which references tend to lead, in float32 as when read from parts."""
    rng = np.random.Generator(np.random.PCG64(1))
    tables: dict[str, NDArray[np.float32]] = {}
    for probe in study.probes:
        for template in probe.templates:
            values = rng.normal(size=probe.relevant.shape) + REFERENCE_BONUS * probe.relevant
            tables[template.template] = (1 / (1 + np.exp(5 - values))).astype(np.float32)

    def answers(probe: Probe, template: Template) -> FloatArray:
        return tables[template.template].astype(np.float64)

    return answers
