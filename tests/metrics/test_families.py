"""Every family of tests in the product can reject at its shipped size, or says that it cannot.

A permutation test has a smallest p-value, and Holm's correction multiplies it by the size of the family.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tasks.evaluations.explication.rows import COMPARED
from tasks.evaluations.fmlama.about import ABOUT
from tasks.metrics.agreement import least_spearman_p, spearman_test
from tasks.metrics.comparison import (
    LEVEL,
    holm_or_reason,
    least_holm,
    least_signed_rank_p,
    paired_test,
)
from tasks.metrics.intervals import least_flip_p, sign_flip_p_two_sided

ROOT = Path(__file__).resolve().parents[2]
HOLMS = {
    "flows/comparison.py": "t tests, which have no smallest p; drift and the overview read it",
    "tasks/metrics/ranks.py": "all pairs of a board, by the same t tests",
    "deployments/show/overview.py": "agreement of evaluations",
    "tasks/evaluations/explication/report.py": "pairs of models",
    "tasks/evaluations/explication/meta.py": "correlations, and differences of correlations",
    "tasks/evaluations/explication/rows.py": "treatment",
    "tasks/evaluations/fmlama/rows.py": "country gain by origin",
    "tasks/evaluations/spectral/across.py": "gains by country, by t tests over wordings: no smallest p",
    "tasks/evaluations/recipe/rows.py": "conditions against the first, by t tests: no smallest p",
}
"""File that adjusts p-values -> what for. A new file needs a line here and in `SIZES`."""
PAPER_MODELS, PAPER_PERSONAS = 6, 10
PERSONAS = 30
SIZES = {
    "pairs of the paper's models": [least_flip_p(PAPER_PERSONAS)] * math.comb(PAPER_MODELS, 2),
    "pairs of 20 models over the shipped personas": [least_flip_p(PERSONAS)] * math.comb(20, 2),
    "treatment, APR": [least_flip_p(PAPER_PERSONAS)],
    "treatment, the other numbers": [least_flip_p(PAPER_PERSONAS)] * (len(COMPARED) - 1),
    "correlations with four evaluations' two headlines": [least_spearman_p(PAPER_MODELS)] * 8,
    "difference of correlations, one benchmark of facts": [least_flip_p(PAPER_MODELS)],
    "agreement of the six shipped evaluations": [least_spearman_p(6)] * math.comb(6, 2),
    "country gain, full (100 dishes and more)": [least_signed_rank_p(100)] * 14,
    "compare, drift, the overview and conditions of recipes (t tests)": [0.0] * 1_000,
    "own-language advantage of 170 countries (t tests)": [0.0] * 170,
    "rank sets of 50 models (t tests)": [0.0] * math.comb(50, 2),
}
"""Family at its shipped size -> the smallest p of each test."""
TOO_SMALL = {
    "two benchmarks of facts for the paper's models": ([least_flip_p(6)] * 2, "6 models"),
    "pairs of three models over six personas": ([least_flip_p(6)] * 3, "6 personas"),
    "correlations of four models": ([least_spearman_p(4)], "4 models"),
    "country gain in the profile demo": ([least_signed_rank_p(6)] * 14, "6 dishes"),
}


def _adjusting() -> Iterator[str]:
    """Yield the files of the product that call Holm's correction."""
    for folder in ("tasks", "flows", "deployments", "warehouse", "culturemeter"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            called = {
                node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                for node in ast.walk(tree)
                if isinstance(node, ast.Call)
            }
            if called & {"holm", "holm_or_reason", "multipletests"}:
                yield str(file.relative_to(ROOT))


def test_every_adjustment_in_the_product_is_known() -> None:
    assert set(_adjusting()) - {"tasks/metrics/comparison.py"} == set(HOLMS)


def test_the_sizes_are_those_that_ship() -> None:
    personas = (ROOT / "warehouse/reference/explication_persona.csv").read_text(encoding="utf-8")
    assert len(personas.splitlines()) - 1 == PERSONAS
    demo = ABOUT.profiles["demo"]
    assert demo["max_dishes_per_origin"] == 6


@pytest.mark.parametrize("family", SIZES)
def test_a_family_can_reject_at_its_shipped_size(family: str) -> None:
    floors = SIZES[family]
    assert least_holm(floors) < LEVEL
    outcomes = holm_or_reason(floors, floors, [family] * len(floors))
    assert all(reason is None for _, reason in outcomes)


@pytest.mark.parametrize("family", TOO_SMALL)
def test_a_family_that_cannot_reject_says_so(family: str) -> None:
    floors, size = TOO_SMALL[family]
    assert least_holm(floors) >= LEVEL
    for p, reason in holm_or_reason(floors, floors, [size] * len(floors)):
        assert p is None
        assert str(reason).startswith(f"cannot reject with {size}: the smallest p adjusted for ")


def test_a_test_outside_the_family_has_neither_p_nor_reason() -> None:
    assert holm_or_reason([None, 0.01], [1.0, 0.0], ["", ""]) == [(None, None), (0.01, None)]
    assert holm_or_reason([], [], []) == []
    assert least_holm([]) == 1.0


@pytest.mark.parametrize("n", [3, 6, 10, 14, 15, 30])
def test_the_smallest_p_is_reached_when_all_differ_one_way(n: int) -> None:
    values = np.arange(1.0, n + 1)
    assert sign_flip_p_two_sided(values) == pytest.approx(least_flip_p(n))
    if n <= 8:
        test = spearman_test(values, values)
        assert test is not None
        assert test[1] == pytest.approx(least_spearman_p(n))
    p = paired_test(values, np.zeros(n)).p_value
    assert (p or 1.0) == pytest.approx(least_signed_rank_p(n))


@pytest.mark.parametrize(("models", "personas"), [(3, 8), (6, 10), (12, 12)])
def test_all_pairs_keep_the_level_and_each_against_the_best_does_not(models: int, personas: int) -> None:
    generator, studies = np.random.default_rng(0), 600
    pairs = list(combinations(range(models), 2))
    first, second = np.array(pairs).T
    bits = (np.arange(2**personas)[:, None] >> np.arange(personas)) & 1
    flips = 1.0 - 2 * bits
    n_pairs = n_best = 0
    for _ in range(studies):
        noise = generator.normal(6, 1.2, (personas, 1)) + generator.normal(0, 1.3, (personas, models))
        grades = np.clip(np.round(2 * noise) / 2, 1, 10)  # equal models, grades in halves
        gaps = grades[:, first] - grades[:, second]
        p = np.minimum(1, 2 * (flips @ gaps >= np.abs(gaps.sum(axis=0)) - 1e-9).mean(axis=0))
        n_pairs += p.min() * len(pairs) < LEVEL
        with_best = (np.array(pairs) == grades.mean(axis=0).argmax()).any(axis=1)
        n_best += p[with_best].min() * (models - 1) < LEVEL
    assert n_pairs / studies <= LEVEL
    assert n_best >= n_pairs
    if models == 12:
        assert n_best / studies > LEVEL
