"""Several verdicts on one thing as one: samples of a judge, several judges, several phrasings. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean, stdev


@dataclass(frozen=True)
class Vote:
    """One answer of one judge. ``verdict`` and ``score`` are None where it was unscored.

    Attributes:
        judge, phrasing: who was asked, and in which wording; several votes of one pair are samples.
        score: in [0, 1], the verdict's value or the graded score.
    """

    judge: str
    phrasing: str
    verdict: str | None
    score: float | None


@dataclass(frozen=True)
class Ensemble:
    """What votes say together.

    Attributes:
        mean: in [0, 1]; None where no vote is scored.
        sd: standard deviation over votes (ddof 1), the disagreement of scores; None for fewer than two.
        verdict: the commonest one; None where unscored or where two are equally common.
        off_majority: share of votes with another verdict than the commonest, in [0, 1); 0: all agree.
        n_scored, n_unscored: votes with and without a score.
    """

    mean: float | None
    sd: float | None
    verdict: str | None
    off_majority: float | None
    n_scored: int
    n_unscored: int


def combine(votes: Sequence[Vote]) -> Ensemble:
    """Mean and disagreement of votes on one thing; does not depend on their order.

    The mean is taken over samples, then phrasings, then judges, so that a judge whose samples were partly
    unreadable weighs as much as the others. Unscored votes are counted, and no opinion.

    Raises:
        ValueError: no votes, or a vote has only one of verdict and score.
    """
    if not votes:
        raise ValueError("an ensemble needs a vote")
    for vote in votes:
        if (vote.verdict is None) != (vote.score is None):
            raise ValueError(f"a vote has verdict and score, or neither: {vote}")
    scored = sorted(
        (vote.judge, vote.phrasing, vote.score, vote.verdict)
        for vote in votes
        if vote.score is not None and vote.verdict is not None
    )
    if not scored:
        return Ensemble(None, None, None, None, 0, len(votes))
    mean = fmean(
        fmean(fmean(score for _, _, score, _ in samples) for _, samples in groupby(of_judge, lambda v: v[1]))
        for _, of_judge in groupby(scored, lambda v: v[0])
    )
    scores = [score for _, _, score, _ in scored]
    (verdict, most), *others = Counter(verdict for *_, verdict in scored).most_common(2)
    tied = any(count == most for _, count in others)
    return Ensemble(
        mean,
        stdev(scores) if len(scores) > 1 else None,
        None if tied else verdict,
        1 - most / len(scored),
        len(scored),
        len(votes) - len(scored),
    )
