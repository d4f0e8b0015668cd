"""Figures: seconds for the metrics of one model at full size, on made-up answers: spectral's and FmLAMA's."""

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
"""Countries that an item is listed with."""
DIMENSIONS = 384
REFERENCE_BONUS = 2.0
"""Standard deviations by which a reference ingredient is ahead."""

Replicates = tuple[list[float], list[float]]


def metrics(sizes: Sizes) -> None:
    """Time the metrics with subsets for the intervals, without them, and with one eigvalsh a subset in plain
    numpy.
    """
    amount = {"matrices": sizes.matrices, "items": sizes.matrix_items, "subsets": sizes.resamples}
    ours = measure(score_questions, repeats=sizes.repeats, **amount)
    naive = measure(naive_subsets, **amount)
    apart = max(
        abs(a - b) / abs(b)
        for mine, theirs in zip(ours["replicates"], naive["replicates"], strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )
    met = "met" if ours["seconds"] < BAR_S else "missed"
    show(
        f"score_question {ours['seconds']:.2f} s {peak(ours)}, without subsets "
        f"{ours['plain_seconds']:.2f} s · naive numpy {naive['seconds']:.2f} s {peak(naive)} — "
        f"{sizes.matrices} matrices 170 x {sizes.matrix_items:,}, {sizes.resamples} half-samples and the "
        f"jackknife, one thread; bar {BAR_S:.0f} s: {met}",
        f"score_question vs naive numpy: {naive['seconds'] / ours['seconds']:.1f} x "
        f"(half-samples agree within {apart:.0e} relative); the subsets take "
        f"{1 - ours['plain_seconds'] / ours['seconds']:.0%} of the time",
    )


def score_questions(matrices: int, items: int, subsets: int, repeats: int) -> Result:
    """Seconds with and without the subsets of countries, on one thread as in the flow.

    The half-samples of the first matrix come back, to be compared with the peer's.
    """
    study, question, answers = _study(items, subsets), _question(), _answers(matrices, items)
    drawn = country_subsets(study)
    none = (drawn[0][:0], drawn[1][:0])
    whole, plain = [], []
    with threadpool_limits(1):
        for _ in range(repeats):
            start = time.perf_counter()
            scores = [score_question(study, question, h, drawn) for h in answers]
            middle = time.perf_counter()
            for h in answers:
                score_question(study, question, h, none)
            whole.append(middle - start)
            plain.append(time.perf_counter() - middle)
    first = scores[0]
    return {
        "seconds": median(whole),
        "plain_seconds": median(plain),
        "replicates": [first.er_halves.tolist(), first.sr_halves.tolist()],
    }


def naive_subsets(matrices: int, items: int, subsets: int) -> Result:
    """Compute the same spectra and intervals in the obvious way, on one thread too."""
    answers = _answers(matrices, items)
    halves, left_out = country_subsets(_study(items, subsets))
    with threadpool_limits(1):
        start = time.perf_counter()
        replicates = [[_naive(h, of_kind) for of_kind in (halves, left_out)] for h in answers]
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "replicates": replicates[0][0]}


def _naive(h: NDArray[np.float64], subsets: Iterable[NDArray[np.intp]]) -> Replicates:
    """Equations 1 and 2 for the whole matrix and each subset, one call of eigvalsh each."""
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
    """Distributions that share a core, as models' answers do."""
    rng = np.random.Generator(np.random.PCG64(0))
    distributions = []
    for _ in range(matrices):
        core = rng.normal(-20, 4, size=items)
        distributions.append(softmax(core + rng.normal(0, 2, size=(N_COUNTRIES, items))))
    return distributions


def _study(items: int, subsets: int) -> SpectralStudy:
    """A study of one list whose items are each listed with a few countries."""
    codes = [f"C{i:03d}" for i in range(N_COUNTRIES)]
    listed = tuple(frozenset(codes[(i + step) % N_COUNTRIES] for step in range(LISTED)) for i in range(items))
    lists = {"made_up": ItemList("made_up", tuple(f"item {i}" for i in range(items)), listed)}
    params = SpectralParams.model_validate({"models": ["none"], "half_samples": subsets})
    return SpectralStudy(params, {code: code for code in codes}, (_question(),), lists, "")


def _question() -> SpectralQuestion:
    return SpectralQuestion("made_up-1", "made_up", 1, "{country}", "", "made_up", 1.0, "LH")


def probing_metrics(sizes: Sizes) -> None:
    """Print the time for scoring and rows of one model, and for what all models share."""
    ours = measure(fmlama_metrics, repeats=sizes.repeats)
    show(
        f"fmlama metrics {ours['seconds']:.2f} s {peak(ours)} — {ours['n_pairs']:,} pairs (1,549 dishes x "
        f"873 candidates x 10 templates), {ours['rows']} rows, one thread; bar {PROBING_BAR_S:.0f} s: "
        f"{'met' if ours['seconds'] < PROBING_BAR_S else 'missed'}",
        f"expectations and both baselines, once for all models: {ours['shared_seconds']:.2f} s",
    )


def fmlama_metrics(repeats: int) -> Result:
    """Seconds of scoring and rows of one model, and apart from them of what all models share.

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
        expected = {p.condition.slug: expectations(p, cosines) for p in study.probes}
        common = [common_ingredients(study, of_origin) for of_origin in (False, True)]
        nulls = [score_model(study, expected, null, cosines) for null in common]
        baselines = rows.best_baseline(nulls)
        shared = time.perf_counter() - start
        for _ in range(repeats):
            start = time.perf_counter()
            score = score_model(study, expected, answers, cosines)
            model_rows = rows.model_rows(study, score, baselines)
            seconds.append(time.perf_counter() - start)
    figures = {"seconds": median(seconds), "shared_seconds": shared}
    return figures | {"n_pairs": study.n_pairs, "rows": len(model_rows)}


def _probe_answers(study: FmlamaStudy) -> ScoreTables:
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
