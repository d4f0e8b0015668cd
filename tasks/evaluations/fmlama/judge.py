"""Makes the judge's prompts about a model's top predictions, and reads its verdicts. Pure.

A model judges in place of people for the Manual Evaluation Score (Zhou et al. 2025, equations 9 and 10). A
prompt has one dish and its l best predictions, where l is the number of reference ingredients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean

from tasks.engines.protocols import Sampling
from tasks.judging.rubric import Rubric, judge_prompt, load_rubric, shorten
from tasks.judging.verdicts import UNANSWERED, Opinion, Verdict, VerdictRow, read_opinions, verdict_row
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine

MES_RUBRIC = Path(__file__).parent / "rubrics" / "mes.toml"
SAMPLING = Sampling(temperature=0.0, max_tokens=4096)


@cache
def rubric() -> Rubric:
    """Return the rubric of MES."""
    return load_rubric(MES_RUBRIC)


@dataclass(frozen=True)
class JudgedDish:
    """A dish with one model's predictions, best first, at least l = len(reference) of them."""

    url: str
    name: str
    origin: str
    reference: tuple[str, ...]
    predicted: tuple[str, ...]


@dataclass(frozen=True)
class JudgePrompt:
    """The judge's prompt about a dish; ``keys`` are its top-l predictions in the order of the prompt."""

    dish: JudgedDish
    keys: tuple[str, ...]
    prompt: Prompt


@dataclass(frozen=True)
class Marks:
    """The judge's verdicts on a dish's top-l predictions, in their order."""

    dish: JudgedDish
    verdicts: tuple[Verdict, ...]

    @property
    def is_answered(self) -> bool:
        """Whether the judge wrote anything, readable or not."""
        return any(verdict.unscored_reason != UNANSWERED for verdict in self.verdicts)


def judge_prompts(rubric: Rubric, dishes: Iterable[JudgedDish]) -> list[JudgePrompt]:
    """Return one prompt per dish.

    Raises:
        ValueError: a dish has no reference ingredients, or fewer predictions than those.
    """
    return [_prompt(rubric, dish) for dish in dishes]


def read_marks(
    rubric: Rubric, prompts: Sequence[JudgePrompt], completions: Mapping[str, Completion]
) -> list[Marks]:
    """Return the verdicts on every dish; a prediction without an answer is unscored, with the reason."""
    opinions = [read_opinions(completions.get(each.prompt.id), each.keys, rubric) for each in prompts]
    return [
        Marks(each.dish, tuple(replace(opinion.verdict, value=opinion.score) for opinion in of_dish))
        for each, of_dish in zip(prompts, opinions, strict=True)
    ]


def mean_marks(by_judge: Sequence[Sequence[Marks]]) -> list[Marks]:
    """Combine several judges' marks: each prediction gets the mean of their values and the commonest verdict.

    A prediction without a verdict of some judge has none, since the mean of the others could be higher; the
    marks of a single judge are unchanged.
    """
    if len(by_judge) == 1:
        return list(by_judge[0])
    return [
        Marks(
            each[0].dish, tuple(_mean(verdicts) for verdicts in zip(*(m.verdicts for m in each), strict=True))
        )
        for each in zip(*by_judge, strict=True)
    ]


def _mean(verdicts: Sequence[Verdict]) -> Verdict:
    known = [verdict for verdict in verdicts if verdict.value is not None]
    if len(known) < len(verdicts):
        lost = [verdict for verdict in verdicts if verdict.value is None]
        return min(lost, key=lambda verdict: verdict.unscored_reason == UNANSWERED)
    commonest = Counter(verdict.verdict for verdict in known).most_common(1)[0][0]
    value = fmean(verdict.value for verdict in known if verdict.value is not None)
    return Verdict(known[0].key, commonest, None, value, None)


def verdict_rows(judge: Engine, rubric: Rubric, marks: Sequence[Marks]) -> Iterator[VerdictRow]:
    """Return one row per prediction that the judge answered: one vote each, of which only the word
    is read.
    """
    for each in (marked for marked in marks if marked.is_answered):
        for verdict in each.verdicts:
            yield verdict_row(
                judge,
                f"{rubric.name} {rubric.hash()}",
                Opinion(verdict),
                item=each.dish.url,
                item_text=f"Dish: {each.dish.name}\nReference ingredients: {', '.join(each.dish.reference)}",
                group_name=each.dish.origin,
                judged=verdict.key,
                text=verdict.key,
            )


def _prompt(rubric: Rubric, dish: JudgedDish) -> JudgePrompt:
    n = len(dish.reference)
    if not 0 < n <= len(dish.predicted):
        raise ValueError(
            f"dish {dish.name!r} ({dish.url}) has {n} reference ingredients and {len(dish.predicted)} "
            "predictions; MES needs at least one ingredient, and as many predictions as ingredients"
        )
    keys = tuple(shorten(text, rubric.max_chars) for text in dish.predicted[:n])
    fields = {"dish": dish.name, "origin": dish.origin, "reference": dish.reference, "predicted": keys}
    inputs = {name: fields[name] for name in rubric.inputs}
    return JudgePrompt(dish, keys, judge_prompt(rubric, inputs, keys, with_probabilities=False))
