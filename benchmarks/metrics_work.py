"""The spectral metrics of one model at full size, on made-up answers."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.requests import ItemList, Question, Study
from tasks.evaluations.spectral.scores import score_question
from tasks.metrics.bootstrap import bootstrap_indices
from tasks.metrics.distributions import softmax

N_COUNTRIES = 170
LISTED = 3  # countries that an item is listed with

Replicates = tuple[list[float], list[float]]


def score_questions(matrices: int, items: int, resamples: int, repeats: int) -> dict[str, Any]:
    """Seconds with and without the bootstrap, on one thread as in the flow.

    The replicates of the first matrix come back, to be compared with the peer's.
    """
    study, question, answers = _study(items), _question(), _answers(matrices, items)
    drawn = bootstrap_indices(N_COUNTRIES, resamples, 0)
    whole, plain = [], []
    with threadpool_limits(1):
        for _ in range(repeats):
            start = time.perf_counter()
            scores = [score_question(study, question, h, drawn) for h in answers]
            middle = time.perf_counter()
            for h in answers:
                score_question(study, question, h, drawn[:0])
            whole.append(middle - start)
            plain.append(time.perf_counter() - middle)
    first = scores[0]
    return {
        "seconds": median(whole),
        "plain_seconds": median(plain),
        "replicates": [first.er_replicates.tolist(), first.sr_replicates.tolist()],
    }


def naive_bootstrap(matrices: int, items: int, resamples: int) -> dict[str, Any]:
    """The same spectra and intervals as one would write them down, on one thread too."""
    answers = _answers(matrices, items)
    drawn = bootstrap_indices(N_COUNTRIES, resamples, 0)
    with threadpool_limits(1):
        start = time.perf_counter()
        replicates = [_naive(h, drawn) for h in answers]
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "replicates": replicates[0]}


def _naive(h: NDArray[np.float64], drawn: NDArray[np.intp]) -> Replicates:
    """Equations 1 and 2 for the whole matrix and each resample, one call of eigvalsh each."""
    unit = h / np.linalg.norm(h, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.linalg.eigvalsh(similarity)
    ranks, ratios = [], []
    for rows in drawn:
        values = np.linalg.eigvalsh(similarity[np.ix_(rows, rows)])
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


def _study(items: int) -> Study:
    """A study of one list whose items are each listed with a few countries."""
    codes = [f"C{i:03d}" for i in range(N_COUNTRIES)]
    listed = tuple(frozenset(codes[(i + step) % N_COUNTRIES] for step in range(LISTED)) for i in range(items))
    lists = {"made_up": ItemList("made_up", tuple(f"item {i}" for i in range(items)), listed)}
    return Study(
        SpectralParams.model_validate({"models": ["none"]}), {c: c for c in codes}, (_question(),), lists, ""
    )


def _question() -> Question:
    return Question("made_up-1", "made_up", 1, "{country}", "", "made_up", 1.0, "LH")
