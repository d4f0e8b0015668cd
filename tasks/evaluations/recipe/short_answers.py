"""The recipe short_answer: texts compared with accepted answers, or scored by the user's Python. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import cast

import numpy as np

from tasks.evaluations.recipe import own_score
from tasks.evaluations.recipe.items import Item
from tasks.evaluations.recipe.kinds import ShortAnswer
from tasks.evaluations.recipe.normal import normalised, stands_in, steps_of
from tasks.evaluations.recipe.study import Nulls
from tasks.evaluations.recipe.texts import Asked, Said, TextStudy, Written
from tasks.judging.panel import Opinions
from tasks.judging.rubric import normal
from tasks.loop.positions import lettered, unmixed_rows
from tasks.loop.prompts import Completion
from tasks.loop.replies import no_text
from tasks.loop.rows import Metric
from tasks.metrics.types import BoolArray, FloatArray


class ShortAnswerStudy(TextStudy):
    """Texts that are compared with accepted answers."""

    @property
    def definition(self) -> ShortAnswer:
        return cast(ShortAnswer, self.loaded.definition)

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
