"""The rubrics by which explanations are judged: one metric per benchmark (Vo and Koyejo 2025, appendix B)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tasks.evaluations.cure.params import kind_of
from tasks.judging.rubric import Rubric, load_rubric

METRICS: Mapping[str, str] = {
    "normad": "coverage", "casa": "connotation", "culturebank": "coherence", "specnorm": "specificity",
}  # fmt: skip
"""Benchmark -> the metric of its explanations."""

_FOLDER = Path(__file__).parent


def metric_of(benchmark: str) -> str:
    """The metric of a benchmark's explanations, also of a pack's."""
    return METRICS[kind_of(benchmark)]


def load_rubrics(benchmarks: Iterable[str]) -> dict[str, tuple[Rubric, ...]]:
    """Benchmark -> its metric's rubric: ``<metric>.toml`` and further phrasings ``<metric>_<number>.toml``.

    Raises:
        RubricError: a file is broken.
    """
    return {
        benchmark: tuple(load_rubric(path) for path in sorted(_FOLDER.glob(f"{metric_of(benchmark)}*.toml")))
        for benchmark in benchmarks
    }
