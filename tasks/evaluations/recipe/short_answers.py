"""The recipe short_answer: texts compared with accepted answers, or scored by the user's Python. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field

from tasks.evaluations.recipe import own_score
from tasks.evaluations.recipe.definition import SHORT, Flaw, TextRecipe, several
from tasks.evaluations.recipe.items import Item
from tasks.evaluations.recipe.normal import STEPS, normalised, stands_in, steps_of
from tasks.evaluations.recipe.study import Nulls
from tasks.evaluations.recipe.texts import Asked, Said, TextStudy, Written
from tasks.judging.panel import Opinions
from tasks.judging.rubric import normal
from tasks.loop.positions import ABOUT, LABEL, UNMIXED, lettered, unmixed_rows
from tasks.loop.prompts import Completion
from tasks.loop.replies import no_text
from tasks.loop.rows import Metric
from tasks.metrics.types import BoolArray, FloatArray


def _known_steps(steps: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    if unknown := sorted({step for each in steps.values() for step in each} - STEPS.keys()):
        raise ValueError(f"unknown step {', '.join(unknown)}; known: {', '.join(sorted(STEPS))}")
    return steps


class ShortAnswer(TextRecipe):
    """Texts that are compared with accepted answers.

    Attributes:
        accepted: column with the accepted answers, separated by |. Needed unless there is a ``score``.
        score: Python file whose function ``score`` gives the scores in place of ``accepted`` (``own_score``);
            it runs only if the user allows it.
        weights: column with one number per accepted answer; the greatest scores 1, the others in proportion;
            "": every accepted answer scores 1.
        match: equals: the whole text is an accepted answer; contains: the text contains one as words.
        language: column with the language of an item's answers, for ``normalise``; "": none.
        normalise: language, or * for all others -> steps in order (``normal.STEPS``).
        within: as of ``Judged``.
        cut_off: wrong: a text cut off at max_tokens is a lost answer; scored: every text is scored as it is,
            line breaks included.
    """

    recipe = SHORT
    nulls = ("commonest", "other_answer")
    shares = ((UNMIXED, LABEL, "none", ABOUT),)

    accepted: str = ""
    score: str = ""
    weights: str = ""
    match: Literal["equals", "contains"] = "equals"
    language: str = ""
    normalise: Annotated[dict[str, tuple[str, ...]], AfterValidator(_known_steps)] = Field({})
    within: str = ""
    cut_off: Literal["wrong", "scored"] = "wrong"

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        own = {name: [getattr(self, name)] for name in ("accepted", "weights", "language", "within")}
        return {**super().columns, **own}

    @property
    def null_models(self) -> tuple[str, ...]:
        return (*(self.nulls if self.accepted else ()), *(("empty",) if self.score else ()))

    def right(self, fields: Mapping[str, str]) -> tuple[str, ...]:
        return several(fields[self.accepted]) if self.accepted else ()

    def template_flaws(self) -> Iterator[Flaw]:
        if not self.accepted and not self.score:
            todo = "write it: the column with the accepted answers; or a score in Python"
            yield Flaw("accepted", "it is missing", todo)
        for name in ("match", "normalise", "weights") if self.score else ():
            if name not in self.model_fields_set:
                continue
            yield Flaw(name, f"{self.score} gives the scores, so this is not read", "remove one of them")

    def shares_of(self, items: Sequence[Mapping[str, str]]) -> Sequence[tuple[str, str, str, str]]:
        """Return ``shares`` if right answers are letters of options, which may be unmixed."""
        firsts = [(self.right(fields) or ("",))[0] for fields in items]
        return self.shares if any(order.n for order in lettered(firsts)) else ()

    def weights_of(self, fields: Mapping[str, str]) -> tuple[float, ...]:
        """Return the score of each accepted answer: the greatest weight is 1."""
        if not self.weights:
            return (1.0,) * len(self.right(fields))
        weights = [float(weight) for weight in several(fields[self.weights])]
        return tuple(weight / max(weights) for weight in weights)

    def flaws(self, fields: Mapping[str, str]) -> Iterator[Flaw]:
        texts = self.right(fields)
        if not texts and self.accepted:
            yield Flaw(self.accepted, "it has no accepted answer", "write one")
        if not self.weights:
            return
        cell = fields[self.weights]
        try:
            weights = [float(weight) for weight in several(cell)]
        except ValueError:
            weights = []
        if len(weights) != len(texts) or not all(w > 0 and math.isfinite(w) for w in weights):
            what = f"{cell!r} is not {len(texts)} numbers above 0"
            yield Flaw(self.weights, what, "write as many as accepted answers")


class ShortAnswerStudy(TextStudy):
    """Texts that are compared with accepted answers."""

    definition: ShortAnswer

    def read_text(self, completion: Completion | None) -> Said:
        if self.definition.cut_off == "wrong":
            return super().read_text(completion)
        reason = no_text(completion)
        return Said(None, reason or "") if reason or completion is None else Said(completion.text)

    def score(self, item: Item, said: Said, source: str, opinions: Opinions) -> tuple[float | None, str]:
        if self.loaded.code:
            return own_score.scored(self.loaded.code, item.fields, said.turns, self.definition.metric.bounds)
        return self.credits(item, said.text or "")[0], ""

    def further_rows(self) -> Iterator[Metric]:
        """Yield ``positions.unmixed_rows`` where accepted answers are letters of options."""
        accepted = [self.definition.right(item.fields) for item in self.items]
        yield from unmixed_rows(self.slices(), lettered([own[0] if own else "" for own in accepted]))

    def refused(self) -> str:
        file = self.definition.score
        return own_score.refused(self.loaded.name, file) if file else ""

    def credits(self, item: Item, text: str) -> tuple[float, ...]:
        """Return a text's scores on an item, within their bounds: the headline, then each of ``also``.

        NaN where the score in Python gives none.
        """
        if self.loaded.code:
            value = self.score(item, Said(text), "", {})[0]
            return (np.nan if value is None else value,)
        own = self.loaded.score
        shares = own(self.params, item, text) if own else (self._credit(item, text),)
        parts = (self.definition.metric, *self.definition.also)
        return tuple(self.within(share, part) for part, share in zip(parts, shares, strict=True))

    def _credit(self, item: Item, text: str) -> float:
        """Return the weight of the best accepted answer that a text matches, in [0, 1]; 0 if none."""
        definition = self.definition
        steps = steps_of(definition.normalise, item.fields.get(definition.language, ""))
        own, best = normalised(text, steps), 0.0
        accepted = zip(definition.right(item.fields), definition.weights_of(item.fields), strict=True)
        for plain, weight in ((normalised(each, steps), weight) for each, weight in accepted):
            is_match = stands_in(plain, own) if definition.match == "contains" else plain == own
            best = max(best, weight if is_match else 0.0)
        return best

    def also(self, written: Written, of: tuple[str, int], unscored: BoolArray) -> dict[str, FloatArray]:
        parts = self.definition.also
        if not parts:
            return {}
        lost = tuple(self.worst(part) for part in parts)
        texts = ((item, written[Asked(*of, item.name)].text) for item in self.items)
        rows = [lost if text is None else self.credits(item, text)[1:] for item, text in texts]
        values = np.where(unscored[:, None], np.nan, np.array(rows, dtype=np.float64))
        return {part.name: values[:, n] for n, part in enumerate(parts)}

    def nulls(self, shared: Opinions) -> dict[str, Nulls]:
        """Return scores of two nulls: the language's commonest accepted answer, and another item's answer.

        With a score in Python also those of an empty text; without accepted answers only those.
        """
        parts = (self.definition.metric, *self.definition.also)
        none = (np.nan,) * len(parts)
        scores = {
            null: np.array(
                [none if t is None else self.credits(i, t) for i, t in zip(self.items, own, strict=True)]
            )
            for null, own in self._null_texts().items()
        }
        return {part.name: {null: of[:, n] for null, of in scores.items()} for n, part in enumerate(parts)}

    def _null_texts(self) -> dict[str, list[str | None]]:
        """Return null model -> its text about each item; None where it has none."""
        empty: dict[str, list[str | None]] = {"empty": [""] * len(self.items)} if self.loaded.code else {}
        if not self.definition.accepted:
            return empty
        right = {item.name: self.definition.right(item.fields) for item in self.items}
        groups: dict[str, Counter[str]] = {}
        for item in self.items:
            of_language = groups.setdefault(item.fields.get(self.definition.language, ""), Counter())
            of_language.update(dict.fromkeys(map(normal, right[item.name]), 1))
        best = {language: min(c, key=lambda text: (-c[text], text)) for language, c in groups.items()}
        language = self.definition.language
        return {
            "commonest": [best[item.fields.get(language, "")] for item in self.items],
            "other_answer": [
                right[self.others[item.name]][0] if item.name in self.others else None for item in self.items
            ],
            **empty,
        }
