"""Golden levels: the seed's "single cue", "multiple cues" and "four or more cues"."""

from __future__ import annotations

import pytest

from tasks.evaluations.cure.specnorm.specificity import specificity


@pytest.mark.parametrize(
    ("n", "level"), [(1, "low"), (2, "medium"), (3, "medium"), (4, "high"), (5, "high"), (7, "high")]
)
def test_levels(n: int, level: str) -> None:
    assert specificity(n) == level


def test_no_cue_has_no_level() -> None:
    with pytest.raises(ValueError, match="from one cue on, got 0"):
        specificity(0)
