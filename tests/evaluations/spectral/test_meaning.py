"""Categories of synthetic countries and of the example pack follow from what their letters mean."""

from __future__ import annotations

import csv
from collections.abc import Mapping

import numpy as np
import pytest

from tasks.metrics.classification import lower_median
from tasks.metrics.spectral import effective_rank, eigenvalues, er_sr_category, spectral_gap_ratio
from tasks.metrics.types import FloatArray
from tests.conftest import REPOSITORY
from tests.evaluations.spectral.reference_patterns import most_have_their_own, of_lists

N = 60

# Each category of sections 3.1 and 3.1.1 of the paper, as distributions of N countries over items.
STRUCTURES: Mapping[str, FloatArray] = {
    "LH": np.ones((N, 1)),  # one pattern, which all share
    "LL": np.repeat(np.eye(3), N // 3, axis=0),  # clear groups that have nothing in common
    "HL": np.eye(N),  # each country on its own
    "HH": np.hstack([np.ones((N, 1)), np.eye(N)]),  # a core that all share, and something of their own
}


def category(rows: FloatArray) -> str:
    """Return the category by the meaning of its letters, without the median over other domains.

    First letter H: more patterns than half the countries. Second letter H: one pattern that most share.
    """
    return er_sr_category(most_have_their_own(rows), bool(eigenvalues(rows)[0] > len(rows) / 2))


def test_each_structure_of_the_paper_has_its_category() -> None:
    spectra = [eigenvalues(rows) for rows in STRUCTURES.values()]
    er = np.array([effective_rank(values) for values in spectra])
    sr = np.array([spectral_gap_ratio(values) for values in spectra])
    # By hand: 3 equal groups are 3 patterns of equal size. With a core every cosine is 1/2, so lambda
    # is 1/2 + N/2 once and 1/2 else.
    assert dict(zip(STRUCTURES, er, strict=True))["LL"] == pytest.approx(3)
    assert dict(zip(STRUCTURES, sr, strict=True)) == pytest.approx(
        {"LH": np.inf, "LL": 1, "HL": 1, "HH": N + 1}
    )
    split = zip(er > lower_median(er), sr > lower_median(sr), strict=True)
    assert [er_sr_category(bool(many), bool(shared)) for many, shared in split] == list(STRUCTURES)


def test_example_pack_has_the_category_of_its_item_list() -> None:
    example = REPOSITORY / "tasks" / "evaluations" / "spectral" / "example_pack"
    with (example / "item.csv").open(encoding="utf-8") as file:
        rows = of_lists(row["countries"] for row in csv.DictReader(file))
    with (example / "domain.csv").open(encoding="utf-8") as file:
        (domain,) = csv.DictReader(file)
    assert domain["human_category"] == category(rows) == "LL"
    # The second letter is the rank's half as well: the median of table 1 is 4.7, and low ranks are common.
    assert float(domain["human_score"]) > 4.7
