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
from typing import Literal

from tasks.engines.protocols import Sampling
from tasks.judging.rubric import Rubric, judge_prompt, load_rubric, shorten
from tasks.judging.verdicts import UNANSWERED, Opinion, Verdict, VerdictRow, read_opinions, verdict_row
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine

MES_RUBRIC = Path(__file__).parent / "rubrics" / "mes.toml"
SAMPLING = Sampling(temperature=0.0, max_tokens=4096)
FURTHER_INPUTS = ("matched", "remaining")
"""Inputs of questions that packs bring: predictions that the reference lists, and the others."""
Direct = Literal["judged", "given"]


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
    """The judge's prompt about a dish.

    Attributes:
        keys: its top-l predictions. asked: those that the judge marks, in the order of the prompt; the others
            are ingredients of the reference, and Correct without a judge.
        prompt: is not sent if ``asked`` is empty.
    """

    dish: JudgedDish
    keys: tuple[str, ...]
    asked: tuple[str, ...]
    prompt: Prompt


@dataclass(frozen=True)
class Marks:
    """The verdicts on a dish's top-l predictions, in their order; those in ``given`` are no judge's."""

    dish: JudgedDish
    verdicts: tuple[Verdict, ...]
    given: frozenset[str] = frozenset()

    @property
    def is_answered(self) -> bool:
        """Whether the judge wrote anything, readable or not."""
        judged = (verdict for verdict in self.verdicts if verdict.key not in self.given)
        return any(verdict.unscored_reason != UNANSWERED for verdict in judged)


def judge_prompts(
    rubric: Rubric, dishes: Iterable[JudgedDish], direct: Direct = "judged"
) -> list[JudgePrompt]:
    """Return one prompt per dish.

    Args:
        direct: whether judges mark predictions that the reference lists, or these are given as Correct.

    Raises:
        ValueError: a dish has no reference ingredients, or fewer predictions than those.
    """
    return [_prompt(rubric, dish, direct) for dish in dishes]


def read_marks(
    rubric: Rubric, prompts: Sequence[JudgePrompt], completions: Mapping[str, Completion]
) -> list[Marks]:
    """Return the verdicts on every dish; a prediction without an answer is unscored, with the reason."""
    return [
        Marks(each.dish, tuple(_verdicts(rubric, each, completions)), frozenset(each.keys) - {*each.asked})
        for each in prompts
    ]


def _verdicts(rubric: Rubric, each: JudgePrompt, completions: Mapping[str, Completion]) -> Iterator[Verdict]:
    """Yield the verdicts on a dish's predictions, in their order."""
    completion = completions.get(each.prompt.id) if each.asked else None
    opinions = dict(zip(each.asked, read_opinions(completion, each.asked, rubric, each.prompt), strict=True))
    for key in each.keys:
        opinion = opinions.get(key)
        yield (
            replace(opinion.verdict, value=opinion.score)
            if opinion
            else Verdict(key, "Correct", "direct match", 1.0, None)
        )


def mean_marks(by_judge: Sequence[Sequence[Marks]]) -> list[Marks]:
    """Combine several judges' marks: each prediction gets the mean of their values and the commonest verdict.

    A prediction without a verdict of some judge has none, since the mean of the others could be higher; the
    marks of a single judge are unchanged.
    """
    if len(by_judge) == 1:
        return list(by_judge[0])
    return [
        Marks(
            each[0].dish,
            tuple(_mean(verdicts) for verdicts in zip(*(m.verdicts for m in each), strict=True)),
            each[0].given,
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
    """Yield one row per prediction that the judge answered: one vote each, of which only the word
    is read.
    """
    for each in (marked for marked in marks if marked.is_answered):
        for verdict in (v for v in each.verdicts if v.key not in each.given):
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


def _prompt(rubric: Rubric, dish: JudgedDish, direct: Direct) -> JudgePrompt:
    n = len(dish.reference)
    if not 0 < n <= len(dish.predicted):
        raise ValueError(
            f"dish {dish.name!r} ({dish.url}) has {n} reference ingredients and {len(dish.predicted)} "
            "predictions; MES needs at least one ingredient, and as many predictions as ingredients"
        )
    keys = tuple(shorten(text, rubric.max_chars) for text in dish.predicted[:n])
    asked = tuple(key for key in keys if direct == "judged" or key not in dish.reference)
    names_rest = "remaining" in rubric.inputs  # then all predictions may be named
    fields = {
        "dish": dish.name,
        "origin": dish.origin,
        "reference": dish.reference,
        "predicted": keys if names_rest else asked or keys,
        "matched": tuple(key for key in keys if key in dish.reference),
        "remaining": tuple(key for key in keys if key not in dish.reference),
    }
    inputs = {name: fields[name] for name in rubric.inputs}
    return JudgePrompt(
        dish, keys, asked, judge_prompt(rubric, inputs, asked or keys, with_probabilities=False)
    )
