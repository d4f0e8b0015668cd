"""How hard an item is: by how many other models solve it. Pure, on arrays."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from tasks.metrics.types import FloatArray

LEVELS = ("easy", "medium", "hard")
LEAST_MODELS = 3
"""As many as Lin et al. (2026, section 2.3.1) measure drafts with."""

_FROM = MappingProxyType({"easy": 10 / 15, "medium": 5 / 15})
_HARD, _UNKNOWN = "hard", ""


def levels(solved: FloatArray) -> NDArray[np.str_]:
    """Difficulty of each item, "" where fewer than ``LEAST_MODELS`` answered it.

    As in Lin et al. (2026, section 2.5), by the share of models that solve it: easy from 10 of 15 on, medium
    from 5 of 15, else hard. Give the other models' rows alone when a model's own accuracy by difficulty is
    wanted: else it defines what is hard for itself.

    Args:
        solved: models x items: 1 right, 0 wrong, NaN not scored.
    """
    answered = (~np.isnan(solved)).sum(axis=0)
    share = np.nansum(solved, axis=0) / np.maximum(answered, 1)
    # Counts, not shares, decide: 10 of 15 must not fall to rounding.
    named = np.where(share >= _FROM["easy"] - 1e-9, "easy", np.where(share >= _FROM["medium"] - 1e-9, "medium", _HARD))
    return np.where(answered >= LEAST_MODELS, named, _UNKNOWN)


def published_level(solved: int) -> str:
    """Difficulty by how many of the 15 published settings solve an item."""
    return "easy" if solved >= 10 else "medium" if solved >= 5 else _HARD
