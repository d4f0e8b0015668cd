"""Made-up judged explanations in a real warehouse, and people's ratings of them."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from tasks.judging.audit import JudgedAnswer
from tasks.judging.verdicts import VerdictRow, verdict_frame
from warehouse import Run, Warehouse, finish_run, register_parts, save_run, write_part

METRICS = {"normad": "coverage", "culturebank": "coherence", "specnorm": "specificity", "casa": "connotation"}
STORED = "SELECT judge, dimension, metric, value, n FROM judge_validation ORDER BY ALL"

JudgeSamples = Sequence[tuple[str | None, float | None]]
"""A judge's samples: verdict and graded score."""

Judgements = Mapping[str, Mapping[str, Mapping[str, JudgeSamples]]]
"""Benchmark -> item -> judge -> its samples."""

# The six items of the golden test: the judge's verdict and graded score, and the ratings of Ana and Ben.
GOLDEN = [("YES", 0.9), ("YES", 0.8), ("NO", 0.1), ("YES", 0.6), ("NO", 0.2), ("NO", 0.4)]
ANA, BEN = ("yes", "1", "no", "0", "no", "yes"), ("yes", "yes", "no", "yes", "0", "")


def named(benchmark: str, n: int) -> list[str]:
    """Return the names of n items of a benchmark."""
    return [f"{benchmark}-{number}" for number in range(n)]


def explanation(model: str, item: str, edition: str = "") -> str:
    return f"In {model}'s words{edition}: {item} follows from a norm."


def store(
    warehouse: Warehouse,
    judgements: Judgements,
    model: str = "m1",
    config: str = "c1",
    edition: str = "",
    rerun: str = "",
    status: Literal["finished", "failed"] = "finished",
) -> None:
    """Store a run of a model with the verdicts on its explanations and on shuffled ones."""
    parts: dict[tuple[str, str], list[VerdictRow]] = defaultdict(list)
    for benchmark, items in judgements.items():
        rubric = f"{METRICS[benchmark]} 0123456789abcdef"
        for item, by_judge in items.items():
            for judge, samples in by_judge.items():
                about = (judge, f"hash of {judge}", rubric, item, f"Norm: that of {item}", "NO")
                for sample, (verdict, graded) in enumerate(samples):
                    real = _verdict((*about, f"real:{sample}"), verdict, graded)
                    # The opposite verdict, so that a mix-up of explanations and nulls changes numbers.
                    opposite = "NO" if verdict == "YES" else "YES"
                    null = _verdict((*about, f"shuffled:{sample}"), opposite, 1 - (graded or 0))
                    parts[judge, rubric] += [
                        real._replace(judged_text=explanation(model, item, edition)),
                        null._replace(judged_text="another's explanation"),
                    ]
    frames = [verdict_frame(rows) for rows in parts.values()]
    store_run(warehouse, "cure", model, f"{config}-{model}{rerun}", config, frames, status)


def store_run(
    warehouse: Warehouse, evaluation: str, model: str, run_id: str, config: str,
    verdicts: Sequence[pl.DataFrame], status: Literal["finished", "failed"] = "finished",
) -> None:  # fmt: skip
    """Store a run of an evaluation with these parts of verdicts."""
    with warehouse.write() as connection:
        save_run(connection, _run(run_id, evaluation, model, config))
        for number, verdict in enumerate(verdicts):
            part = f"{run_id}-{number}"
            own = {"request_hash": part, "run_id": run_id, "model": model}
            frame = verdict.with_columns(**{name: pl.lit(cell) for name, cell in own.items()})
            register_parts(connection, [write_part(warehouse.home, "verdict", part, frame)])
        finish_run(connection, run_id, status)


def _run(run_id: str, evaluation: str, model: str, config: str) -> Run:
    is_null = model.startswith("null:")
    engine = f"engine of {model}"
    return Run(run_id, evaluation, model, is_null, "test", config, engine, {}, {}, {}, "none", "v")


def _verdict(
    about: tuple[str, str, str, str, str, str, str], verdict: str | None, graded: float | None
) -> VerdictRow:
    value = None if verdict is None else float(verdict == "YES")
    reason = None if verdict else "the judge left this key out"
    return VerdictRow(*about, verdict, None, value, graded, None, reason)


def one_judge(items: Sequence[str], samples: JudgeSamples = GOLDEN, judge: str = "fake-b") -> dict[str, Any]:
    return {item: {judge: [sample]} for item, sample in zip(items, samples, strict=True)}


def code(item: str, benchmark: str = "normad", model: str = "m1", edition: str = "") -> str:
    """Return the code of an explanation in the annotators' file."""
    return JudgedAnswer(model, METRICS[benchmark], item, "", "", explanation(model, item, edition)).code


def rated(
    path: Path,
    items: Sequence[str],
    by_annotator: Mapping[str, Sequence[str]],
    benchmark: str = "normad",
    model: str = "m1",
    edition: str = "",
) -> Path:
    """Write a file of ratings as annotators hand it in, one line per rating."""
    lines = ["item,annotator,dimension,rating"]
    for annotator, ratings in by_annotator.items():
        for item, rating in zip(items, ratings, strict=True):
            name = code(item, benchmark, model, edition)
            lines.append(f"{name},{annotator},{METRICS[benchmark]},{rating}")
    path.write_text("\n".join(lines) + "\n")
    return path


def audited(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
