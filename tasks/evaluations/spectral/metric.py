"""ER and SR of a question with their replicates, rounded as they are compared. Pure."""

from __future__ import annotations

import numpy as np

from tasks.evaluations.spectral.scores import FloatArray, QuestionScore


def er_columns(q: QuestionScore) -> FloatArray:
    """[1 + r] ER and its replicates, rounded."""
    return _rounded(q.er, q.er_replicates)


def sr_columns(q: QuestionScore) -> FloatArray:
    """[1 + r] SR and its replicates, rounded."""
    return _rounded(q.sr, q.sr_replicates)


def _rounded(estimate: float, replicates: FloatArray) -> FloatArray:
    """Estimate and replicates to 34 bits, some 10 digits: what differs by rounding alone is a tie."""
    mantissa, exponent = np.frexp(np.concatenate([[estimate], replicates]))
    rounded: FloatArray = np.ldexp(np.round(np.ldexp(mantissa, 34)), exponent - 34)
    return rounded
