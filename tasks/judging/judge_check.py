"""Does the judge do its work? Shares of gold answers that it accepts, and of null ones that it refuses. Pure.

A text is accepted if its score is 0.5 or more: the graded score, or the verdict's value where the engine
gives no probabilities. Of several votes on one text it is their mean. A judge that refuses everything refuses
all null texts too: read these shares beside the scores of the real ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tasks.metric_rows import Metric, Slice, scored, unscored
from tasks.metrics.types import FloatArray
from tasks.metrics.value_shift import wilson_interval

ACCEPTED_FROM = 0.5
"""The least score with which a text is accepted."""


def refusals(source: str, where: Slice, scores: Iterable[float | None], reason: str) -> Metric:
    """``judge_<source>_refused``: the share of these null texts that the judge does not accept.

    Args:
        source: of the texts: ``null_texts.NULLS``.
        scores: one for each text, in [0, 1]; None or NaN where unscored.
        reason: why there is no share, should none be scored.
    """
    is_accepted = _accepted(scores)
    return _share(f"judge_{source}_refused", where, 1 - is_accepted, reason)


def acceptances(where: Slice, scores: Iterable[float | None], reason: str) -> Metric:
    """``judge_gold_accepted``: the share of these gold answers that the judge accepts; see ``refusals``."""
    return _share("judge_gold_accepted", where, _accepted(scores), reason)


def _accepted(scores: Iterable[float | None]) -> FloatArray:
    """1 for what is accepted, 0 for what is not, NaN for what is unscored."""
    known = np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
    return np.where(np.isnan(known), np.nan, known >= ACCEPTED_FROM)


def _share(metric: str, where: Slice, hits: FloatArray, reason: str) -> Metric:
    """The share of 1 with its Wilson interval; NaN is unscored."""
    known = hits[~np.isnan(hits)]
    if not known.size:
        return unscored(metric, where, reason, hits.size)
    interval = wilson_interval(int(known.sum()), known.size)
    return scored(metric, where, float(known.mean()), (known.size, hits.size - known.size), interval)
