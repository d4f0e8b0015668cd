"""What judges said of answers, as rows of part kind ``verdict``: the same for every evaluation. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from tasks.judging.prompts import Opinion
from tasks.loop.requests import Engine


class VerdictRow(NamedTuple):
    """One verdict, or the reason why there is none.

    Attributes:
        judge, judge_hash: name of the judge and hash of its engine.
        rubric: name and hash: "coverage 0123456789abcdef".
        item, item_text: what the answer is about, and how the judge saw it, for people to read: line by line,
            with what is to be taken as right.
        group_name: what results are grouped by: the country, or an origin.
        judged: which answer about the item, or which part of it; no two rows of a part share item and judged.
        verdict, reason: of the rubric's menu; None: none was read.
        value: of the verdict, in [0, 1]; None where unscored.
        graded: in [0, 1]; None where the engine gives no probabilities.
        disagreement: standard deviation over several votes on the same answer; None for fewer than two.
        unscored_reason: None where there is a verdict.
        judged_text: the text that was judged, as the judge saw it; None where there was none. People rate
            what has one (``audit``).
    """

    judge: str
    judge_hash: str
    rubric: str
    item: str
    item_text: str
    group_name: str
    judged: str
    verdict: str | None = None
    reason: str | None = None
    value: float | None = None
    graded: float | None = None
    disagreement: float | None = None
    unscored_reason: str | None = None
    judged_text: str | None = None


def verdict_row(
    judge: Engine, rubric: str, opinion: Opinion, *, item: str, item_text: str, group_name: str, judged: str,
    text: str,
) -> VerdictRow:  # fmt: skip
    """What a judge said, as a row; `rubric` and `text` (the text that was judged) as the judge had them."""
    verdict = opinion.verdict
    return VerdictRow(
        judge.name,
        judge.hash,
        rubric,
        item,
        item_text,
        group_name,
        judged,
        verdict.verdict,
        verdict.reason,
        verdict.value,
        opinion.graded,
        unscored_reason=verdict.unscored_reason,
        judged_text=text,
    )


_NUMBERS = ("value", "graded", "disagreement")
SCHEMA = pl.Schema({name: pl.Float64() if name in _NUMBERS else pl.String() for name in VerdictRow._fields})


def verdict_frame(rows: Iterable[VerdictRow]) -> pl.DataFrame:
    """The rows as a table, in their order; what is unknown is null."""
    return pl.DataFrame(list(rows), schema=SCHEMA, orient="row")
