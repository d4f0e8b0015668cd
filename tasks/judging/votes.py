"""Combines several votes on one thing: judges, wordings and samples. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, stdev


@dataclass(frozen=True)
class Vote:
    """One answer of one judge. ``verdict`` and ``score`` are None if it is unscored.

    Attributes:
        judge, phrasing: the judge and the wording; several votes of one pair are samples.
        score: in [0, 1], the verdict's value or the graded score.
    """

    judge: str
    phrasing: str
    verdict: str | None
    score: float | None


@dataclass(frozen=True)
class Ensemble:
    """The joint verdict of several votes.

    Attributes:
        mean: in [0, 1]; None if no vote is scored.
        sd: standard deviation over votes (ddof 1), the disagreement of scores; None for fewer than two.
        verdict: the commonest verdict; None if no vote is scored or two are equally common.
    """

    mean: float | None = None
    sd: float | None = None
    verdict: str | None = None


def combine(votes: Sequence[Vote]) -> Ensemble:
    """Return mean and disagreement of votes on one thing; their order has no effect.

    The mean is taken over samples, then phrasings, then judges, so that a judge with unreadable samples
    weighs as much as the others. Unscored votes are left out.
    """
    scored = sorted(
        (vote.judge, vote.phrasing, vote.score, vote.verdict)
        for vote in votes
        if vote.score is not None and vote.verdict is not None
    )
    if not scored:
        return Ensemble()
    mean = fmean(
        fmean(fmean(score for _, _, score, _ in samples) for _, samples in groupby(of_judge, lambda v: v[1]))
        for _, of_judge in groupby(scored, lambda v: v[0])
    )
    scores = [score for _, _, score, _ in scored]
    (verdict, most), *others = Counter(verdict for *_, verdict in scored).most_common(2)
    is_tied = any(count == most for _, count in others)
    return Ensemble(mean, stdev(scores) if len(scores) > 1 else None, None if is_tied else verdict)
