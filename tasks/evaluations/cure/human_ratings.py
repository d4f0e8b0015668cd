"""Explanations that people rate: what they are shown, and the judges' scores under the same names. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.rubrics import METRICS, load_rubrics
from tasks.identity import digest
from tasks.judging.audit import Answer
from tasks.judging.ensemble import Vote, combine
from tasks.judging.rated import Judged
from tasks.judging.rubric import Rubric

Row = Mapping[str, Any]
"""An explanation: at least model, benchmark, item and explanation."""

HOW = "Rate yes or no, or from 0 (no) to 1 (yes) how far it holds."

_CUES = {"casa": "Symbol", "specnorm": "Subgroup"}
"""What a benchmark's cues are to people."""


def audit_answers(rows: Iterable[Row], items: Mapping[str, Sequence[BenchmarkItem]]) -> list[Answer]:
    """What people are shown of each explanation: what its judge was shown, in their words.

    Args:
        items: benchmark -> its items, as ``Materials`` has them.
    """
    known = {(item.benchmark, item.item): item for of_benchmark in items.values() for item in of_benchmark}
    criteria = {
        benchmark: {METRICS[benchmark]: _criteria(first)}
        for benchmark, (first, *_) in load_rubrics(items).items()
    }
    answers = []
    for row in rows:
        benchmark = row["benchmark"]
        shown = _question(known[benchmark, row["item"]])
        answers.append(
            Answer(row["model"], benchmark, _named(row), shown, row["explanation"], criteria[benchmark])
        )
    return answers


def code(row: Row) -> str:
    """The name of an explanation in the annotators' file: ``audit.Answer.code``."""
    return Answer(row["model"], row["benchmark"], _named(row), "", row["explanation"], {}).code


def judged(rows: Iterable[Row]) -> dict[str, list[Judged]]:
    """Judge -> its score of each explanation.

    Args:
        rows: one for each verdict: an explanation's columns, judge, verdict, value and graded. Several of one
            judge on one explanation are its samples: the commonest verdict counts (none, if two are equally
            common), and the mean of the graded scores.
    """
    samples: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        samples[row["judge"], METRICS[row["benchmark"]], code(row)].append(row)
    scores: dict[str, list[Judged]] = defaultdict(list)
    for (judge, dimension, item), said in samples.items():
        verdict = combine([Vote(judge, "", row["verdict"], row["value"]) for row in said]).verdict
        values = {row["verdict"]: row["value"] for row in said}
        grades = [row["graded"] for row in said if row["graded"] is not None]
        value = None if verdict is None else values[verdict]
        scores[judge].append(Judged(item, dimension, value, fmean(grades) if grades else None))
    return dict(scores)


def _named(row: Row) -> str:
    """The item with what was said of it: a rating holds for the words that people saw, and no others."""
    return f"{row['item']} {digest(row['explanation'])}"


def _question(item: BenchmarkItem) -> str:
    """The item as people see it, and the norm that an explanation of it is held against."""
    shown = {
        "Country": item.extra.get("country_name", ""),
        "Person": item.extra.get("persona", ""),
        "Question": item.question,
        _CUES.get(item.benchmark, ""): ", ".join(item.cues) if item.benchmark in _CUES else "",
        "Norm, to be taken as right": item.gold,
    }
    return "\n".join(f"{name}: {text}" for name, text in shown.items() if text)


def _criteria(rubric: Rubric) -> str:
    """The judge's own rules, but for the paragraph on how to write its answer."""
    rules = (text for text in rubric.system.strip().split("\n\n") if "JSON" not in text)
    return "\n\n".join([*rules, HOW])
