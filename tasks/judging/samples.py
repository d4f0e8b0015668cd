"""Verdicts as scores of the samples that people read. Pure.

A score is the number that the evaluation takes: graded where the judge's engine gives probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from tasks.judging.prompts import Opinion
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine
from tasks.loop.samples import Score, graded


def score_name(rubric: str, judge: Engine, *detail: str) -> str:
    """What a verdict is called among a sample's scores: "coverage shuffled (gemma3-270m)"."""
    return f"{' '.join([rubric, *detail])} ({judge.name})"


def verdict_score(judge: Engine, opinion: Opinion, prompt: Prompt, completion: Completion | None) -> Score:
    """What a judge said, with what it was sent and wrote."""
    verdict = opinion.verdict
    known: dict[str, Any] = {
        "verdict": verdict.verdict,
        "reason": verdict.reason,
        "value": verdict.value,
        "graded": opinion.graded,
    }
    return Score.of(
        opinion.score,
        verdict.unscored_reason,
        answer=verdict.verdict,
        by=judge.name,
        grading=graded(prompt, completion),
        metadata={name: value for name, value in known.items() if value is not None},
    )


def verdict_scores(
    judge: Engine,
    opinions: Sequence[Opinion],
    prompt: Prompt,
    completion: Completion | None,
    scale: Callable[[float], float] = float,
) -> Score:
    """What a judge said of several things in one answer: the mean of its scores, a line for each of them.

    Args:
        scale: from a verdict's value in [0, 1] to the number that the evaluation takes.
    """
    read = [(each.verdict, None if each.score is None else scale(each.score)) for each in opinions]
    known = [value for _, value in read if value is not None]
    lines = [
        f"{verdict.key}: "
        + (
            f"{verdict.verdict}{f' ({verdict.reason})' if verdict.reason else ''}"
            if value is not None
            else f"unscored, {verdict.unscored_reason}"
        )
        for verdict, value in read
    ]
    values = {verdict.key: value for verdict, value in read}
    return Score(
        fmean(known) if known else None,
        explanation="\n".join(lines),
        by=judge.name,
        grading=graded(prompt, completion),
        metadata={"values": values},
    )
