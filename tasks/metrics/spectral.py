"""Distributions over items, and the spectrum of agreement among countries with its four categories.

Rows of H are countries, columns are items. Source: "Measuring Meta-Cultural Competency" (2025), section 3.1,
equations 1 and 2; effective rank is from Roy and Vetterli (2007), the gap ratio from Cultural Consensus
Theory (Romney et al. 1987).
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from tasks.metrics.types import Category, FloatArray, IntArray, as_table, row_label


def softmax(logprobs: ArrayLike, *, names: Sequence[str] | None = None) -> FloatArray:
    """Each row's probability distribution over the items.

    logprobs: n x t natural logarithms (nats), rows = countries, columns = items; -inf means "impossible" and
    becomes exactly 0. Returns n x t float64 in [0, 1], with rows that sum to 1; float32 input is computed in
    float64. Raises ValueError for a NaN, for +inf, and for a row of -inf only, naming the row.

    Source: "Measuring Meta-Cultural Competency" (2025), section 3.3: "softmax over all item log
    probabilities".
    """
    table = as_table(logprobs, names)
    peak = table.max(axis=1, keepdims=True)
    # max() passes on NaN and +inf, and is -inf only for a row without any possible item.
    bad = np.flatnonzero(~np.isfinite(peak[:, 0]))
    if bad.size:
        raise ValueError(
            f"{row_label(int(bad[0]), names)} of the log-probabilities has the maximum {peak[bad[0], 0]}: "
            f"a distribution needs at least one finite value, and no NaN or +inf ({bad.size} such rows)"
        )
    weights: FloatArray = np.exp(table - peak)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def normalise(logprob_sums: ArrayLike, lengths: ArrayLike) -> FloatArray:
    """Mean log-probability per token or byte, a variant of the default, which is the sum.

    logprob_sums: n x t nats, summed over each item's tokens; lengths: t numbers of tokens or bytes, 1 or
    more. Returns n x t float64 in nats per token or byte. Higher is likelier; long items are not penalised.
    Raises ValueError for a length below 1, naming the column.
    """
    table = as_table(logprob_sums, None)
    counts = np.asarray(lengths, dtype=np.float64)
    if counts.shape != table.shape[1:]:
        raise ValueError(f"give one length for each of {table.shape[1]} items, got shape {counts.shape}")
    bad = np.flatnonzero(~(counts >= 1))
    if bad.size:
        raise ValueError(
            f"column {bad[0]} has length {counts[bad[0]]}: an item has at least one token or byte"
        )
    return table / counts


# If lambda_2 is a smaller share of lambda_1 than this, the rounding of A leaves it at most 8 correct digits.
_NEARLY_COINCIDENT = 1e-6


def cosine_similarity(h: ArrayLike, *, names: Sequence[str] | None = None) -> FloatArray:
    """Cosine between every two countries' rows: A = D^-1 H H^T D^-1 (equation 1).

    h: n x t, any float type. Returns n x n float64, symmetric, diagonal exactly 1, range [-1, 1] ([0, 1] for
    distributions). 1: the same distribution up to scale; 0: no item in common. Raises ValueError for a row
    that is zero throughout or not finite, naming the row (and the country if `names` is given).
    """
    rows = _unit_rows(h, names)
    similarity: FloatArray = np.clip(rows @ rows.T, -1.0, 1.0)
    np.fill_diagonal(similarity, 1.0)
    return similarity


def eigenvalues(h: ArrayLike, *, names: Sequence[str] | None = None) -> FloatArray:
    """Eigenvalues of the cosine matrix of h, descending.

    h: n x t, any float type. Returns n float64 values, 0 or more, that sum to n. Rounding errors are returned
    as exactly 0: lambda_1 / lambda_2 is resolved up to about 1e23 for 170 countries and 1,000 items. Raises
    like `cosine_similarity`.

    An eigenvalue of A is the square of a singular value of the unit rows. With fewer items than countries the
    singular values are the smaller problem; if rows nearly coincide they are more accurate, because rounding
    in A (eps * lambda_1) exceeds a small lambda_2, while a singular value's error is eps * sigma_1.
    """
    rows = _unit_rows(h, names)
    n, t = rows.shape
    if t >= n:
        from_cosines = np.asarray(np.linalg.eigvalsh(rows @ rows.T), dtype=np.float64)[::-1]
        if n == 1 or from_cosines[1] > _NEARLY_COINCIDENT * from_cosines[0]:
            return _without_rounding_error(from_cosines)
    spectrum: FloatArray = np.zeros(n)
    singular = np.linalg.svd(rows, compute_uv=False)
    # Ten times the possible error of the decomposition and of the division to unit length.
    singular[singular <= 10 * max(n, t) * np.finfo(np.float64).eps * singular[0]] = 0.0
    spectrum[: min(n, t)] = singular**2
    return spectrum


def effective_rank(eigenvalues: ArrayLike) -> float:
    """Effective rank, the number of patterns of a domain: ER = exp(entropy of the eigenvalues' shares).

    eigenvalues: n non-negative values in any order (equation 2). Range [1, n], unit: number of equally strong
    patterns; higher is more plural. 1: all countries answer alike; n: no two countries share an item. Zero
    eigenvalues do not count. Raises ValueError if a value is negative or not finite, or none is positive.
    """
    spectrum = _checked_spectrum(eigenvalues)
    positive = spectrum[spectrum > 0]
    share = positive / positive.sum()
    rank = math.exp(-float(share @ np.log(share)))
    # Only rounding can leave the range.
    return min(max(rank, 1.0), float(positive.size))


def spectral_gap_ratio(eigenvalues: ArrayLike) -> float:
    """Spectral gap ratio, the strength of the shared pattern against the next one: SR = lambda_1 / lambda_2.

    eigenvalues: n >= 2 non-negative values in any order (equation 2). Range [1, inf]; higher is more
    consensus. 1: two equally strong patterns (also the identity); inf: lambda_2 is 0, all countries answer
    alike. Raises ValueError for fewer than two eigenvalues, or like `effective_rank`.
    """
    spectrum = _checked_spectrum(eigenvalues)
    if spectrum.size < 2:
        raise ValueError("a spectral gap needs at least two countries")
    first, second = spectrum[0], spectrum[1]
    return float(first / second) if second > 0 else math.inf


def spectra_of_subsets(similarity: FloatArray, subsets: Iterable[IntArray]) -> FloatArray:
    """Return ER and SR of subsets of the countries, for intervals.

    similarity: n x n cosines; subsets: r arrays of positions, each country at most once: a repeated country
    agrees with itself, which lowers ER. Returns r x 2: ER and SR, ranges [1, n] and [1, inf]. Such small
    matrices do not profit from BLAS threads: one (OPENBLAS_NUM_THREADS=1) is twice as fast as two.
    """
    spectra = (
        _without_rounding_error(
            np.asarray(np.linalg.eigvalsh(similarity[np.ix_(members, members)])[::-1], np.float64)
        )
        for members in subsets
    )
    numbers = [(effective_rank(values), spectral_gap_ratio(values)) for values in spectra]
    return np.array(numbers, dtype=np.float64).reshape(-1, 2)


def er_sr_category(er_high: bool, sr_high: bool) -> Category:
    """Return the domain's category: first letter effective rank, second spectral gap ratio (section 3.1.1).

    LH: few patterns, shared by all; HL: many patterns, few shared; HH: many patterns around a shared core;
    LL: few patterns that divide the countries into blocks.
    """
    if er_high:
        return "HH" if sr_high else "HL"
    return "LH" if sr_high else "LL"


def _unit_rows(h: ArrayLike, names: Sequence[str] | None) -> FloatArray:
    """Return the rows of h scaled to Euclidean length 1."""
    table = as_table(h, names)
    # Dividing by the largest entry first keeps the squares of tiny probabilities from vanishing.
    peak = np.abs(table).max(axis=1, keepdims=True)
    bad = np.flatnonzero(~((peak[:, 0] > 0) & np.isfinite(peak[:, 0])))
    if bad.size:
        fault = "is zero throughout" if peak[bad[0], 0] == 0 else "has a value that is not finite"
        label = row_label(int(bad[0]), names)
        raise ValueError(f"{label} {fault}: it has no direction to compare ({bad.size} such rows)")
    scaled = table / peak
    unit: FloatArray = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return unit


def _without_rounding_error(descending: FloatArray) -> FloatArray:
    """Return the eigenvalues, with those at or below n * eps * lambda_1 set to exactly 0."""
    floor = descending.size * np.finfo(np.float64).eps * descending[0]
    return np.where(descending > floor, descending, 0.0)


def _checked_spectrum(eigenvalues: ArrayLike) -> FloatArray:
    """Return the eigenvalues as float64, descending; else ValueError."""
    spectrum = np.asarray(eigenvalues, dtype=np.float64)
    if spectrum.ndim != 1 or not np.isfinite(spectrum).all() or (spectrum < 0).any():
        raise ValueError("eigenvalues must be a vector of finite values, none of them negative")
    if not (spectrum > 0).any():
        raise ValueError("no eigenvalue is positive, so there is no spectrum to measure")
    return np.sort(spectrum)[::-1]
