"""Macro-F1 under other choices than the headline's, from the same stored scores: a panel of robustness. Pure.

The choices are the normalisation of an item's log-probability, a correction for how probable an item is
without regard to the country, half of each item list, and the medians of the cohort without one of its
models. A score of the items without any country is not stored: the correction takes the mean over the
countries, which is the item's probability if all countries are asked equally often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tasks.evaluations.spectral.study import ItemList, SpectralQuestion
from tasks.identity import digest
from tasks.loop.rows import Metric, scored, unscored
from tasks.metrics import classification, spectral
from tasks.metrics.spectral import er_sr_category
from tasks.metrics.types import FloatArray, IntArray

LENGTHS = ("sum", "per_token", "per_byte")
PMI, HALF = "pmi", "half_list"
CHOICES = (*LENGTHS, PMI, HALF)
"""Choices about an item's score and the list; see ``spectra``."""

FEWEST_ITEMS = 4
"""Items of a list of which half is still a list."""

ALONE = "the cohort has no other model"
NOT_THERE = "the question has no score under this choice"


class Spectrum(NamedTuple):
    """Effective rank and spectral gap ratio of one question."""

    er: float
    sr: float


Spectra = Mapping[str, Spectrum]
"""Choice -> spectrum."""


def spectra(logprobs: FloatArray, n_tokens: IntArray, items: ItemList) -> dict[str, Spectrum]:
    """Return choice -> spectrum of one question.

    pmi: the distribution divided by its mean over countries, pointwise mutual information of item and
    country. half_list: the half of the items that ``max_items`` would keep, under the sum.

    Args:
        logprobs: [n, t] sums over tokens. n_tokens: [t].
    """
    n_bytes = [len(item.encode()) for item in items.items]
    own = {
        "sum": logprobs,
        "per_token": spectral.normalise(logprobs, n_tokens),
        "per_byte": spectral.normalise(logprobs, n_bytes),
        PMI: _corrected(logprobs),
    }
    if len(items.items) >= FEWEST_ITEMS:
        order = sorted(range(len(items.items)), key=lambda i: digest(items.items[i]))
        own[HALF] = logprobs[:, sorted(order[: len(order) // 2])]
    found = {}
    for choice, table in own.items():
        if np.isfinite(table.max(axis=1)).all():
            values = spectral.eigenvalues(spectral.softmax(table))
            found[choice] = Spectrum(spectral.effective_rank(values), spectral.spectral_gap_ratio(values))
    return found


def _corrected(logprobs: FloatArray) -> FloatArray:
    """Return log-probabilities over the list less the log of their mean over countries."""
    own = spectral.softmax(logprobs)
    mean = own.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((own > 0) & (mean > 0), np.log(own) - np.log(mean), -np.inf)


def panel_rows(
    questions: Mapping[str, SpectralQuestion],
    own: Mapping[str, Spectra],
    cohort: Mapping[str, Mapping[str, Spectra]],
    headline: str,
    nulls: float | None,
) -> Iterator[Metric]:
    """Yield macro-F1 under every choice, and with the medians of the cohort without each of its models.

    Args:
        questions: name -> question. own: a model's spectra by question. cohort: model -> its spectra by
            question.
        headline: the choice of the headline. nulls: what guessing scores.
    """
    pools = {choice: (choice, list(cohort)) for choice in CHOICES}
    pools |= {f"without {name}": (headline, [m for m in cohort if m != name]) for name in cohort}
    for label, (choice, models) in pools.items():
        where, n = ("choice", label), len(questions)
        pool = [s[choice] for m in models for s in cohort[m].values() if choice in s]
        mine = {name: own[name][choice] for name in questions if choice in own.get(name, {})}
        if not pool or not mine:
            reason = ALONE if mine and not models else NOT_THERE
            yield unscored("macro_f1_under", where, reason, n, nulls)
            continue
        medians = classification.lower_median(classification.rounded(pool))
        high = classification.rounded(list(mine.values())) > medians
        predicted = [er_sr_category(bool(er), bool(sr)) for er, sr in high]
        truth = [questions[name].human_category for name in mine]
        value = classification.macro_f1(truth, predicted)
        yield scored("macro_f1_under", where, value, (len(mine), n - len(mine)), None, nulls)
