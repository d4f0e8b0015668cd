"""From log-probabilities of items to a probability distribution over the list."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics._arrays import as_table, row_label
from tasks.metrics.types import FloatArray


def softmax(logprobs: ArrayLike, *, names: Sequence[str] | None = None) -> FloatArray:
    """Each row's probability distribution over the items.

    logprobs: n x t natural logarithms (nats), rows = countries, columns = items; -inf means "impossible" and
    becomes exactly 0. Returns n x t float64 in [0, 1], every row summing to 1; float32 input is computed in
    float64. Raises ValueError for a NaN, for +inf, and for a row that is -inf throughout, naming the row.

    Source: "Measuring Meta-Cultural Competency" (2025), section 3.3: "softmax over all item log
    probabilities".
    """
    table = as_table(logprobs, names)
    peak = table.max(axis=1, keepdims=True)
    # max() carries NaN and +inf, and is -inf only for a row without any possible item.
    bad = np.flatnonzero(~np.isfinite(peak[:, 0]))
    if bad.size:
        raise ValueError(
            f"{row_label(int(bad[0]), names)} of the log-probabilities has the maximum {peak[bad[0], 0]}: "
            f"a distribution needs one finite value at least, and no NaN or +inf ({bad.size} such rows)"
        )
    weights: FloatArray = np.exp(table - peak)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def normalise(logprob_sums: ArrayLike, lengths: ArrayLike) -> FloatArray:
    """Mean log-probability per token or per byte: a variant, the sum being the default.

    logprob_sums: n x t nats, summed over each item's tokens; lengths: t counts of tokens or bytes, 1 or more.
    Returns n x t float64 in nats per token or byte. Higher is likelier; long items are no longer penalised.
    Raises ValueError where a length is below 1, naming the column.
    """
    table = as_table(logprob_sums, None)
    counts = np.asarray(lengths, dtype=np.float64)
    if counts.shape != table.shape[1:]:
        raise ValueError(f"{table.shape[1]} items need as many lengths, got shape {counts.shape}")
    bad = np.flatnonzero(~(counts >= 1))
    if bad.size:
        raise ValueError(
            f"column {bad[0]} has length {counts[bad[0]]}: an item has one token or byte at least"
        )
    return table / counts
