"""Measures whether simulator and judges can replace people. Pure. The method follows "Measuring meta-cultural
competency", 5.2. People rate conversations from 1 to 5 without knowing the recommender; judges have graded
the same conversations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from tasks.judging.validation import spearman
from tasks.metrics.agreement import (
    OppositeOrder,
    krippendorff_alpha,
    krippendorff_alpha_interval,
    opposite_order,
)
from tasks.metrics.intervals import CORRELATION, SHARE, jackknife, mean_interval
from tasks.metrics.types import FloatArray, IntArray, Interval

SCALE = (1.0, 5.0)
JUDGED = ("apr", "interaction")
"""Dimensions that judges and people rate; people also rate the simulated user ("persona")."""
MIN_MODELS = 3

NO_PAIR = "no person rated two conversations that judges graded"
NO_ORDER = "in every pair, people or judges see no difference"
FEW_MODELS = f"fewer than {MIN_MODELS} models, or they do not differ"
ONE_RATER = "no conversation was rated by two people, or all ratings are equal"
ONE_PLACE = "no conversation was seen in both places"


class ConversationRating(NamedTuple):
    """One person's rating of one conversation on one dimension.

    Attributes:
        is_first: whether it came first on the page. grade: the judges' grade; None for persona, and if judges
            gave none.
    """

    rater: str
    conversation: str
    model: str
    persona: str
    dimension: str
    value: float
    is_first: bool
    grade: float | None


@dataclass(frozen=True)
class ValidationRow:
    """One number of the validation. null_value: score of judges that know nothing; n: see
    ``validation_rows``.
    """

    dimension: str
    metric: str
    value: float | None
    unscored_reason: str | None
    ci_low: float | None
    ci_high: float | None
    null_value: float | None
    n: int
    n_unscored: int


def validation_rows(ratings: Sequence[ConversationRating]) -> list[ValidationRow]:
    """Return every number of every rated dimension, independent of the order of the ratings. ``mean``: mean
    rating, 1 to 5 (n ratings). ``order_effect``: for conversations seen in both places, mean as the first
    less mean as the second, -4 to 4; 0 without an effect (n conversations). ``krippendorff_alpha_ordinal``:
    agreement among people (n conversations with two ratings). For ``JUDGED`` also: ``opposite``, ``tied``,
    ``misaligned`` and ``cohen_kappa`` of the pairs that one person rated (``metrics.agreement``; n pairs),
    and ``spearman_models`` of the models' mean ratings and grades (n models). Intervals leave out persona
    after persona.
    """
    rows: list[ValidationRow] = []
    for dimension in ("persona", *JUDGED):
        if own := sorted(r for r in ratings if r.dimension == dimension):
            rows += _of_people(dimension, own)
            rows += _of_judges(dimension, own) if dimension in JUDGED else ()
    return rows


def _of_people(dimension: str, own: Sequence[ConversationRating]) -> Iterator[ValidationRow]:
    values, personas = np.array([r.value for r in own]), np.array([r.persona for r in own])
    mean = float(np.mean(values))
    yield _row(dimension, "mean", mean, len(own), interval=mean_interval(values, personas, SCALE))
    placed: dict[str, dict[bool, list[float]]] = defaultdict(lambda: {True: [], False: []})
    for rating in own:
        placed[rating.conversation][rating.is_first].append(rating.value)
    both = {name: by for name, by in placed.items() if by[True] and by[False]}
    effects = [float(np.mean(by[True]) - np.mean(by[False])) for by in both.values()]
    of_persona = {r.conversation: r.persona for r in own}
    ends = mean_interval(effects, [of_persona[name] for name in both], (-4.0, 4.0)) if effects else None
    effect = float(np.mean(effects)) if effects else None
    yield _row(dimension, "order_effect", effect, len(effects), ONE_PLACE, ends)
    known = {(r.conversation, r.rater): r.value for r in own}
    raters = sorted({r.rater for r in own})
    table = np.array([[known.get((talk, rater), np.nan) for rater in raters] for talk in sorted(placed)])
    n_shared = int((np.count_nonzero(~np.isnan(table), axis=1) > 1).sum())
    alpha = krippendorff_alpha(table, "ordinal")
    ends = krippendorff_alpha_interval(table, "ordinal") if alpha is not None else None
    yield _row(dimension, "krippendorff_alpha_ordinal", alpha, n_shared, ONE_RATER, ends)


def _of_judges(dimension: str, own: Sequence[ConversationRating]) -> Iterator[ValidationRow]:
    graded = [r for r in own if r.grade is not None]
    people, grades = np.array([(r.value, r.grade) for r in graded], dtype=np.float64).reshape(-1, 2).T
    raters, personas, models = np.array([(r.rater, r.persona, r.model) for r in graded]).reshape(-1, 3).T
    lost = len(own) - len(graded)

    def order(places: IntArray) -> OppositeOrder | None:
        return opposite_order(people[places], grades[places], raters[places])

    def of_pairs(read: Callable[[OppositeOrder], float | None], places: IntArray) -> float | None:
        counted = order(places)
        return None if counted is None else read(counted)

    whole = order(np.arange(len(graded)))
    why = NO_ORDER if whole else NO_PAIR
    for metric, read, bounds, null in _PAIRS:
        value, null_value = (read(whole), null and null(whole)) if whole else (None, None)
        ends = jackknife(partial(of_pairs, read), personas, bounds)
        yield _row(dimension, metric, value, whole.n if whole else 0, why, ends, null_value, lost)

    def ranks(places: IntArray) -> float | None:
        return _model_ranks(people[places], grades[places], models[places])

    ends, n_models = jackknife(ranks, personas, CORRELATION), len(set(models.tolist()))
    rho = ranks(np.arange(len(graded)))
    yield _row(dimension, "spearman_models", rho, n_models, FEW_MODELS, ends, 0.0, lost)


_Read = Callable[[OppositeOrder], float | None]
_PAIRS: Sequence[tuple[str, _Read, tuple[float, float], _Read | None]] = (
    ("opposite", lambda o: o.opposite, SHARE, lambda o: 0.5),
    ("tied", lambda o: o.tied, SHARE, None),
    ("misaligned", lambda o: (o.opposite or 0.0) * (1 - o.tied), SHARE, lambda o: 0.5 * (1 - o.tied)),
    ("cohen_kappa", lambda o: o.kappa, CORRELATION, lambda o: 0.0),
)  # fmt: skip
"""Metric of pairs, its function, its range, and its value by chance."""


def _model_ranks(people: FloatArray, grades: FloatArray, models: np.ndarray) -> float | None:
    """Return Spearman's rho of the models' means; None for fewer than three models or equal means."""
    names = np.unique(models)
    if names.size < MIN_MODELS:
        return None
    means = [[float(np.mean(side[models == name])) for name in names] for side in (people, grades)]
    return spearman(np.array(means[0]), np.array(means[1]))


def _row(
    dimension: str, metric: str, value: float | None, n: int, reason: str = "",
    interval: Interval = None, null_value: float | None = None, n_unscored: int = 0,
) -> ValidationRow:  # fmt: skip
    low, high = interval or (None, None)
    why = reason if value is None else None
    return ValidationRow(dimension, metric, value, why, low, high, null_value, n, n_unscored)
