"""The recipe choice: the likeliest option after the question, or the letter that a model writes. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from pydantic import Field

from tasks.engines.protocols import Message
from tasks.evaluations.contract import Completions, GenerationParams, Params
from tasks.evaluations.recipe.definition import (
    CHANCE,
    CHOICE,
    CHOICES,
    LETTER,
    LETTERS,
    MAX_TOKENS,
    ROTATED,
    Columns,
    Control,
    Flaw,
    Recipe,
    several,
)
from tasks.evaluations.recipe.items import Item, LoadedRecipe
from tasks.evaluations.recipe.normal import stands_in
from tasks.evaluations.recipe.prompted import ConditionScores, to_candidates
from tasks.evaluations.recipe.study import HEADLINE, Nulls, RecipeAnswers, RecipeStudy
from tasks.evaluations.recipe.texts import writing_knobs
from tasks.judging.panel import Opinions
from tasks.judging.rubric import normal
from tasks.loop.items import OptionLogprobs, OptionScores, Question
from tasks.loop.positions import ABOUT, LABEL, UNMIXED, Order, has_order, unmixed_rows
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.replies import NO_ANSWER, no_text, unreadable
from tasks.loop.requests import Engine, Request
from tasks.loop.rows import Metric
from tasks.loop.samples import Sample, Score, listed
from tasks.metrics.nulls import option_nulls, share_right
from tasks.metrics.types import FloatArray
from tasks.packs.prompts import fields_of
from tasks.packs.shape import Name

NO_QUESTION, OTHER_QUESTION = "no_question", "other_question"
CONTROLS = (NO_QUESTION, OTHER_QUESTION)

NO_LETTER = "no option was named"

CHOICES_AT_ONCE = 128
"""Questions of a choice: what those of one call begin with is run once."""

_AROUND = " .:)(]['\"*`\n"
_SAID = re.compile(
    r"\b(?:answer|option|choice|letter)\W{0,4}(?:(?:is|would be|should be)\W{1,4})?(?:option\W{1,4})?"
    r"([A-Za-z])(?![^\W_])(?!['’])(?!\s+[a-z])",
    re.IGNORECASE,
)
"""A letter after words that announce it: "the answer is (b)", "Option C:"."""
_ALONE = re.compile(
    r"(?<![^\W_])([A-Z])(?![^\W_])(?!['’])(?!(?<=[AI]) +(?!(?:and|because|is|not|or)\b)[^\W\d_])"
)
"""A capital that stands alone; no A or I before a word, such as "A dish"."""


class Choice(Recipe):
    """Options to choose from, one of them right.

    Attributes:
        options: columns with one option each, the last of which may be empty, or one column with all,
            separated by |.
        answer: column with the right option: its letter, its number from 1, or its text.
        orders: given: an item is asked once, with its options in the file's order; rotated: it is asked once
            for each option in the first place, because models prefer positions.
        by: logprob: the likeliest option counts; letter: the option whose letter the model writes.
        length: divisor of an option's log-probability: none, characters or tokens. question: columns that
            controls leave empty or take from another item. max_tokens: most tokens that the model writes with
            by = letter, including thinking.
    """

    recipe = CHOICE
    nulls = ("position", "longest", "shortest", "popular", CHANCE)
    controls: ClassVar[Mapping[str, Control]] = {
        "no_question": Control("Without question", "The same number where the question is left out."),
        "other_question": Control(
            "Another question", "The same number where another item's question stands over the options."
        ),
    }
    shares = ((UNMIXED, LABEL, "none", ABOUT),)

    options: Columns
    answer: Name
    orders: Literal["given", "rotated"] = "given"
    by: Literal["logprob", "letter"] = "logprob"
    length: Literal["none", "characters", "tokens"] = "none"
    question: Columns = ("question",)
    max_tokens: int = Field(MAX_TOKENS, ge=1)

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        own = {"options": self.options, "answer": [self.answer], "question": self.question}
        return {**super().columns, **own}

    @property
    def fields(self) -> frozenset[str]:
        return frozenset({CHOICES})

    @property
    def scorer(self) -> bool:
        return self.by == "logprob"

    @property
    def shows_options(self) -> bool:
        """Return whether the prompt shows the options with their letters, in every condition."""
        own = self.wordings.values()
        return all(CHOICES in fields_of(each.prompt) | fields_of(each.system) for each in own)

    def options_of(self, fields: Mapping[str, str]) -> tuple[str, ...]:
        """Return the options of an item, in their order."""
        if len(self.options) == 1:
            return several(fields[self.options[0]])
        choices = [fields[column] for column in self.options]
        while len(choices) > 2 and not choices[-1]:
            choices.pop()
        return tuple(choices)

    def right_of(self, fields: Mapping[str, str]) -> int | None:
        """Return the index of the right option, from 0; None if none is named.

        The text is tried first, because options may be letters or numbers themselves.
        """
        options, answer = self.options_of(fields), fields[self.answer]
        named = [normal(option) for option in options]
        if normal(answer) in named:
            return named.index(normal(answer))
        letters = list(LETTERS[: len(options)])
        if answer.upper() in letters:
            return letters.index(answer.upper())
        return int(answer) - 1 if answer.isdecimal() and 1 <= int(answer) <= len(options) else None

    def flaws(self, fields: Mapping[str, str]) -> Iterator[Flaw]:
        options, first = self.options_of(fields), self.options[0]
        if len(options) > len(LETTERS):
            what = f"it has {len(options)} options; there are {len(LETTERS)} letters"
            yield Flaw(first, what, "leave some out")
        elif len(set(map(normal, options))) < len(options):
            yield Flaw(first, f"two options are the same: {' | '.join(options)}", "change one")
        elif len(options) < 2 or not all(options):
            what = "it has fewer than two options" if len(options) < 2 else "an option is empty"
            yield Flaw(first, what, "add the missing one")
        elif self.right_of(fields) is None:
            what = f"{fields[self.answer]!r} is not one of its options"
            yield Flaw(self.answer, what, "write the right option's letter, number or text")

    def flaws_together(
        self, items: Sequence[tuple[int, Mapping[str, str]]], members: Sequence[tuple[str, str, str]]
    ) -> Iterator[tuple[int | None, Flaw]]:
        counts = [len(self.options_of(fields)) for _, fields in items]
        usual = Counter(counts).most_common(1)[0][0] if counts else 0
        for (line, _), n in zip(items, counts, strict=True):
            if n != usual:  # its chance and its letters would differ
                what = f"it has {n} options, most have {usual}"
                yield line, Flaw(self.options[0], what, "give it the same number")

    def template_flaws(self) -> Iterator[Flaw]:
        if self.by == LETTER and not self.shows_options:
            what = f"by letter, the prompt must show the options: it lacks {{{{ {CHOICES} }}}}"
            yield Flaw("prompt", what, f"add {{{{ {CHOICES} }}}}")
        for own in self.wordings.values():
            if not (fields_of(own.prompt) | fields_of(own.system)) & set(self.question):
                what = f"the prompt shows none of these columns: {', '.join(self.question) or '(none)'}"
                yield Flaw("question", what, "name the columns with the question: null models leave them out")


class ChoiceStudy(RecipeStudy):
    """Questions with options."""

    base = GenerationParams

    definition: Choice

    @classmethod
    def knobs(cls, definition: Choice) -> dict[str, Any]:
        turned = "given: options in the file's order; rotated: once for each option in the first place"
        how = "logprob: the likeliest option counts; letter: the one whose letter is written"
        orders, by = (cast(Any, Choice.model_fields[name].annotation) for name in ("orders", "by"))
        return writing_knobs(definition.max_tokens) | {
            "orders": (orders, Field(definition.orders, description=turned)),
            "batch": (
                int, Field(CHOICES_AT_ONCE, ge=1, description="items that are answered and stored together")
            ),
            "by": (by, Field(definition.by, description=how)),
        }  # fmt: skip

    @classmethod
    def of(cls, loaded: LoadedRecipe, params: Params, engines: Mapping[str, Engine]) -> Self:
        own = super().of(loaded, params, engines)
        if own.is_written and not own.definition.shows_options:
            raise ValueError("--by letter: the prompt does not show {{ choices }}: add {{ choices }} to it")
        if own.params.orders != ROTATED:
            return own
        turned = tuple(each for item in own.chosen for each in rotations(own.definition, item))
        return cls(params, loaded, own.chosen, turned)

    @classmethod
    def settled(cls, definition: Choice, params: Params, is_served: Callable[[str], bool]) -> Params:
        """Have letters written where no model gives log-probabilities and the user did not choose."""
        scores = getattr(params, "by", LETTER) != LETTER and "by" not in params.model_fields_set
        if not scores or not all(map(is_served, params.models)):
            return params
        if not definition.shows_options:
            raise ValueError(
                "a server gives no log-probabilities of the options, and the prompt does not show them, so "
                "no letter can be written: add {{ choices }} to the prompt, or take a model with weights"
            )
        return params.model_copy(update={"by": LETTER})

    @property
    def is_written(self) -> bool:
        """Return whether the model writes a letter; otherwise options are scored."""
        return bool(self.params.by == LETTER)

    def options(self, item: Item) -> tuple[str, ...]:
        """Return an item's options, in their order."""
        return self.definition.options_of(item.fields)

    def right(self, item: Item) -> int:
        """Return the index of an item's right option, from 0."""
        place = self.definition.right_of(item.fields)
        assert place is not None, "items are checked on loading"
        return place

    def target(self, item: Item) -> str:
        return self.options(item)[self.right(item)]

    def prompt(self, item: Item, condition: str = HEADLINE) -> list[Message]:
        return self.conversation(self._fields(condition, item), condition)

    def ask(self, completions: Completions) -> list[Request[Any]]:
        return [self.request(condition) for condition in self._units]

    def ask_headline(self, completions: Completions) -> list[Request[Any]]:
        return [self.request(HEADLINE)]

    def request(self, condition: str) -> Request[Any]:
        """Return the request of one condition. Equal prompts, as without a question, are sent once."""
        params, label, units = self.params, condition or "items", list(self._units[condition].values())
        if self.is_written:
            return to_candidates(params, self.loaded.name, label, units)
        return OptionScores(
            about=["choice"], topic=self.loaded.name, label=label, batch=params.batch, questions=units
        )

    @cached_property
    def _units(self) -> Mapping[str, Mapping[str, Any]]:
        """Condition -> item -> what is sent, if there is another item's question for it."""
        return {
            condition: {
                item.name: self._unit(self.prompt(item, condition), item)
                for item in self.items
                if condition != OTHER_QUESTION or item.name in self.others
            }
            for condition in (*self.conditions, *CONTROLS)
        }

    def _unit(self, messages: list[Message], item: Item) -> Prompt | Question:
        if self.is_written:
            return Prompt(messages)
        return Question("\n\n".join(m["content"] for m in messages), self.options(item))

    def _fields(self, condition: str, item: Item) -> dict[str, str]:
        """Return an item's cells as a condition shows them, with its options by letter."""
        lines = (f"{k}. {o}" for k, o in zip(LETTERS, self.options(item), strict=False))
        fields = dict(item.fields) | {CHOICES: "\n".join(lines)}
        columns = self.definition.question
        if condition == NO_QUESTION:
            fields |= dict.fromkeys(columns, "")
        elif condition == OTHER_QUESTION:
            other = self.by_name[self.others[item.name]]
            fields |= {column: other.fields[column] for column in columns}
        return fields

    def stored(self, condition: str, completions: Completions) -> dict[str, OptionLogprobs | Completion]:
        """Return each item's stored answer under a condition."""
        answers: Mapping[str, Any] = completions(self.request(condition))
        units = self._units[condition].items()
        return {name: answers[unit.id] for name, unit in units if unit.id in answers}

    def read(self, completions: Completions) -> RecipeAnswers:
        return RecipeAnswers({each: [self._scores(each, completions)] for each in self._units}, {})

    def chosen_option(
        self, item: Item, answered: OptionLogprobs | Completion | None
    ) -> tuple[int | None, str]:
        """Return the option that a model's answer names, from 0, or the reason for none."""
        if isinstance(answered, OptionLogprobs):
            return int(np.argmax(self.at_length(item, answered))), ""
        if reason := no_text(answered):
            return None, reason
        assert answered is not None
        place = letter(answered.text, self.options(item))
        why = unreadable(answered).replace("unparsable answer", NO_LETTER)
        return place, "" if place is not None else why

    def at_length(self, item: Item, answered: OptionLogprobs) -> FloatArray:
        """Return the options' log-probabilities, divided as the definition says; the first wins ties."""
        by: FloatArray = np.ones_like(answered.logprobs)
        if self.definition.length == "characters":
            by = np.array([len(option) for option in self.options(item)], dtype=np.float64)
        elif self.definition.length == "tokens":
            by = answered.n_tokens.astype(np.float64)
        return np.asarray(answered.logprobs / np.maximum(1, by))

    def _scores(self, condition: str, completions: Completions) -> ConditionScores:
        answered = self.stored(condition, completions)
        chosen = [self.chosen_option(item, answered.get(item.name)) for item in self.items]
        places, lost = [place for place, _ in chosen], np.array([why for _, why in chosen], dtype=object)
        values, texts = np.full(len(chosen), np.nan), [""] * len(chosen)
        for n, (item, place) in enumerate(zip(self.items, places, strict=True)):
            if place is not None:
                values[n] = self.within(float(place == self.right(item)))
                texts[n] = f"{LETTERS[place]}. {self.options(item)[place]}"
            elif lost[n] != NO_ANSWER and condition not in CONTROLS:
                values[n] = self.worst()
        derive = self.loaded.derive if condition == HEADLINE else None
        also = derive(self.items, places) if derive else {}
        return ConditionScores(values, np.where(np.isnan(values), lost, ""), lost, texts, also)

    def nulls(self, shared: Opinions) -> dict[str, Nulls]:
        """Return the null models' scores, [items, ways] (``option_nulls``)."""
        options, right = list(map(self.options, self.items)), [{self.right(item)} for item in self.items]
        lengths, texts = [list(map(len, own)) for own in options], [list(map(normal, own)) for own in options]
        nulls = option_nulls(lengths, right, texts, self.clusters.tolist())
        scores = {name: self.within(share_right(null, right)) for name, null in nulls.items()}
        return {self.definition.metric.name: scores}

    def further_rows(self) -> Iterator[Metric]:
        """Yield ``positions.unmixed_rows``. A model sees no order that the prompt does not show."""
        options = [self.options(item) for item in self.items]
        if self.definition.shows_options and has_order(options):
            orders = [
                Order((self.right(item),), len(own)) for item, own in zip(self.items, options, strict=True)
            ]
            yield from unmixed_rows(self.slices(), orders)

    def samples(self, completions: Completions) -> Iterator[Sample]:
        for condition in self.conditions:
            yield from self._samples(condition, completions)

    def _samples(self, condition: str, completions: Completions) -> Iterator[Sample]:
        name, stored = self.definition.metric.name, self.stored(condition, completions)
        scores = self._scores(condition, completions)
        for place, item in enumerate(self.items):
            answered, right, choices = stored.get(item.name), self.right(item), self.options(item)
            value, why = float(scores.values[place]), scores.reasons[place] or scores.lost[place] or None
            output, reason = "", ""
            if isinstance(answered, OptionLogprobs):
                pairs = zip(choices, self.at_length(item, answered).tolist(), strict=True)
                output = listed(sorted(pairs, key=lambda p: -p[1]), "log-probability")
                reason = "stop"
            elif isinstance(answered, Completion):
                output, reason = answered.text, answered.finish_reason
            yield Sample(
                self.sample_id(item, condition), self.prompt(item, condition), output,
                target=f"{LETTERS[right]}. {choices[right]}", choices=choices, finish_reason=reason,
                scores={name: Score.of(value, why, answer=scores.texts[place] or None)},
                metadata=self.metadata(item),
            )  # fmt: skip


def letter(text: str, options: tuple[str, ...]) -> int | None:
    """Return the option that a text names, or None.

    The text may be only a letter or an option's text, announce one letter as the answer, or contain exactly
    one letter or option. Two different ones give None. "A" and "I" as words of a sentence do not count as
    letters.
    """
    letters, plain = LETTERS[: len(options)], normal(text).strip(_AROUND)
    same = [normal(option) for option in options]
    if plain in (stripped := [option.strip(_AROUND) for option in same]):
        return stripped.index(plain)
    if len(plain) == 1 and plain.upper() in letters:
        return letters.index(plain.upper())
    for pattern in (_SAID, _ALONE):
        letters_written = {
            match[1].upper() for match in re.finditer(pattern, unicodedata.normalize("NFKC", text))
        }
        if letters_written := letters_written & set(letters):
            return letters.index(letters_written.pop()) if len(letters_written) == 1 else None
    named = [place for place, option in enumerate(same) if stands_in(option, plain)]
    return named[0] if len(named) == 1 else None


def rotations(definition: Choice, item: Item) -> list[Item]:
    """Return an item once for each of its options in the first place; the others follow in their order.

    The right option is named by its text. Names end in the rotation, from 1.
    """
    options, right = definition.options_of(item.fields), definition.right_of(item.fields)
    assert right is not None, "items are checked on loading"
    turned = []
    for first in range(len(options)):
        order = (*options[first:], *options[:first])
        columns, one = definition.options, {definition.options[0]: " | ".join(order)}
        cells = dict(zip(columns, order, strict=False)) if len(columns) > 1 else one
        fields = {**item.fields, **cells, definition.answer: options[right]}
        turned.append(item._replace(name=f"{item.name}/{first + 1}", fields=fields))
    return turned
