"""How specific an item is, by the number of its cues (seed 001, Benchmark 1)."""

from __future__ import annotations

from typing import Literal

Specificity = Literal["low", "medium", "high"]


def specificity(n_cues: int) -> Specificity:
    """low: one cue; medium: two or three; high: four or more.

    Raises:
        ValueError: no cue: such a statement is no seed of SpecNorm.
    """
    if n_cues < 1:
        raise ValueError(f"specificity is defined from one cue on, got {n_cues}")
    return "low" if n_cues == 1 else "medium" if n_cues < 4 else "high"
