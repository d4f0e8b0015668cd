"""Does the judge do its work? Shares of gold answers that it accepts, and of null ones that it refuses. Pure.

A text is accepted if its score is 0.5 or more: the graded score, or the verdict's value where the engine
gives no probabilities. Of several votes on one text it is their mean. A judge that refuses everything refuses
all null texts too: read these shares beside the scores of the real ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.judging.prompts import Opinion
from tasks.loop.rows import Metric, Slice, mean_row
from tasks.metrics.intervals import SHARE
from tasks.metrics.types import FloatArray

GOLD = "gold"
"""The source of right texts, which a judge should accept."""

NOT_CHECKED = "no such text was judged"

ACCEPTED_FROM = 0.5
"""The least score with which a text is accepted."""


def refusals(
    source: str,
    where: Slice,
    scores: Iterable[float | None],
    reason: str,
    clusters: ArrayLike | None = None,
) -> Metric:
    """``judge_<source>_refused``: the share of these null texts that the judge does not accept.

    Args:
        source: of the texts: ``null_texts.NULLS``.
        scores: one for each text, in [0, 1]; None or NaN where unscored.
        reason: why there is no share, should none be scored.
        clusters: one label for each text, where several are about one thing; by default they are independent.
    """
    hits = 1 - _accepted(scores)
    return mean_row(f"judge_{source}_refused", where, hits, reason, clusters, SHARE)


def acceptances(
    where: Slice, scores: Iterable[float | None], reason: str, clusters: ArrayLike | None = None
) -> Metric:
    """``judge_gold_accepted``: the share of these gold answers that the judge accepts; see ``refusals``."""
    return mean_row("judge_gold_accepted", where, _accepted(scores), reason, clusters, SHARE)


def check_row(
    source: str, where: Slice, opinions: Sequence[Opinion], clusters: ArrayLike | None = None
) -> Metric:
    """What a judge said of all texts of a source, as the share that it takes as it should.

    Args:
        source: ``GOLD``, or one of ``null_texts.NULLS``.
    """
    scores = [opinion.score for opinion in opinions]
    reasons = (opinion.verdict.unscored_reason for opinion in opinions if opinion.score is None)
    reason = next(filter(None, reasons), NOT_CHECKED)
    if source == GOLD:
        return acceptances(where, scores, reason, clusters)
    return refusals(source, where, scores, reason, clusters)


def _accepted(scores: Iterable[float | None]) -> FloatArray:
    """1 for what is accepted, 0 for what is not, NaN for what is unscored."""
    known = np.array([np.nan if score is None else score for score in scores], dtype=np.float64)
    return np.where(np.isnan(known), np.nan, known >= ACCEPTED_FROM)
