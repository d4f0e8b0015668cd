"""The Manual Evaluation Score: a judge marks the top-l predictions (seed 002, equations 9 and 10). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tasks.engines.protocols import Message
from tasks.judging.conversation import conversation
from tasks.judging.rubric import Rubric
from tasks.judging.untrusted import shorten
from tasks.judging.verdicts import Verdict, answer_schema

MES_RUBRIC = Path(__file__).parent / "rubrics" / "mes.toml"

MAYBE = "Maybe"


@dataclass(frozen=True)
class JudgedDish:
    """A dish with one model's predictions for it, best first; there are at least l = len(reference)."""

    url: str
    name: str
    origin: str
    reference: tuple[str, ...]
    predicted: tuple[str, ...]


@dataclass(frozen=True)
class JudgeRequest:
    """One question to the judge. ``keys`` are the top-l predictions in order, as the judge sees them."""

    dish: JudgedDish
    keys: tuple[str, ...]
    conversation: list[Message]
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class DishScore:
    """S of one dish (equation 9) over the predictions that have a verdict.

    Attributes:
        value: share of Correct, in [0, 1]; None where no prediction has a verdict.
        maybe: share of Maybe, in [0, 1]; value + maybe is at most 1.
    """

    value: float | None
    maybe: float | None
    n_scored: int
    n_unscored: int


@dataclass(frozen=True)
class Mes:
    """MES of a group of dishes (equation 10) over the dishes that have a score.

    Attributes:
        value: mean of the dishes' values, in [0, 1], higher is better; None where no dish has a score.
        maybe: mean of the dishes' shares of Maybe.
        n_scored, n_unscored: dishes.
        n_predictions_unscored: predictions without a verdict, over all dishes.
    """

    value: float | None
    maybe: float | None
    n_scored: int
    n_unscored: int
    n_predictions_unscored: int


def requests(rubric: Rubric, dishes: Iterable[JudgedDish]) -> list[JudgeRequest]:
    """What to ask the judge, one question a dish: its l best predictions, l being the size of the reference.

    Raises:
        ValueError: a dish has no reference ingredients, or fewer predictions than those.
    """
    return [_request(rubric, dish) for dish in dishes]


def dish_score(verdicts: Sequence[Verdict]) -> DishScore:
    """S = (1/l) * sum of M(p) over the top-l predictions p (equation 9); M is 1 for Correct, else 0.

    A prediction without a verdict is neither right nor wrong: it leaves the sum and l, and is counted.
    """
    values = [v.value for v in verdicts if v.value is not None]
    maybes = [v.verdict == MAYBE for v in verdicts if v.value is not None]
    n_unscored = len(verdicts) - len(values)
    if not values:
        return DishScore(None, None, 0, n_unscored)
    return DishScore(fmean(values), fmean(maybes), len(values), n_unscored)


def mes(scores: Sequence[DishScore]) -> Mes:
    """MES = (1/|G|) * sum of S over the dishes of a group G (equation 10), such as one origin's.

    Every dish counts the same, whatever its number of ingredients. The paper prints 100 times this.
    """
    values = [s.value for s in scores if s.value is not None]
    maybes = [s.maybe for s in scores if s.maybe is not None]
    n_predictions_unscored = sum(s.n_unscored for s in scores)
    if not values:
        return Mes(None, None, 0, len(scores), n_predictions_unscored)
    return Mes(fmean(values), fmean(maybes), len(values), len(scores) - len(values), n_predictions_unscored)


def _request(rubric: Rubric, dish: JudgedDish) -> JudgeRequest:
    n = len(dish.reference)
    if not 0 < n <= len(dish.predicted):
        raise ValueError(
            f"dish {dish.name!r} ({dish.url}) has {n} reference ingredients and {len(dish.predicted)} "
            "predictions; MES needs at least one ingredient, and as many predictions as ingredients"
        )
    keys = tuple(shorten(text, rubric.max_chars) for text in dish.predicted[:n])
    inputs = {"dish": dish.name, "origin": dish.origin, "reference": dish.reference, "predicted": keys}
    return JudgeRequest(dish, keys, conversation(rubric, inputs), answer_schema(rubric, keys))
