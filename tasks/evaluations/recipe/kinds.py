"""The definition of each recipe: fields, null models, controls, and what it reads of an item. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from tasks.evaluations.recipe.definition import (
    CHANCE,
    CHOICE,
    CHOICES,
    JUDGED,
    LETTER,
    LETTERS,
    PREFERENCE,
    ROOM,
    SHORT,
    WRITER,
    Columns,
    Control,
    Flaw,
    Recipe,
    Template,
    TextRecipe,
    several,
)  # fmt: skip
from tasks.evaluations.recipe.normal import STEPS
from tasks.judging.rubric import normal
from tasks.loop.positions import ABOUT, LABEL, UNMIXED, lettered
from tasks.packs.prompts import fields_of, rendered
from tasks.packs.shape import Name, Text


def _known_steps(steps: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    if unknown := sorted({step for each in steps.values() for step in each} - STEPS.keys()):
        raise ValueError(f"unknown step {', '.join(unknown)}; known: {', '.join(sorted(STEPS))}")
    return steps


_SHARES = "Share of {} texts that a judge scores {}."


class Judged(TextRecipe):
    """Texts that judges score by a rubric.

    Attributes:
        rubric: TOML file; its inputs are columns of the items, and ``judged``.
        judged: the input that is the model's text.
        gold: column with a right answer for checking judges; "": none. within: column; answers are exchanged
            within its values; "": among all items. generic: a text that fits no item in particular.
    """

    recipe = JUDGED
    nulls = ("generic", "empty")
    unscored_when = "nobody judged, or every judge failed"
    shares = (
        ("judge_gold_accepted", "Right accepted", "higher", _SHARES.format("right", "0.5 or more")),
        ("judge_shuffled_refused", "Others' refused", "higher", _SHARES.format("others'", "below 0.5")),
        ("judge_generic_refused", "Generic refused", "higher", _SHARES.format("generic", "below 0.5")),
        ("judge_empty_refused", "Empty refused", "higher", _SHARES.format("empty", "below 0.5")),
        (
            "self_preference_warning", "Own family", "none",
            "1 if a judge is of the candidate's family, else 0.",
        ),
    )  # fmt: skip
    is_judged = True

    rubric: Text
    judged: Name = "answer"
    gold: str = ""
    within: str = ""
    generic: Text = "That depends on the situation and on the people involved; opinions differ."

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        return {**super().columns, "gold": [self.gold], "within": [self.within]}

    @property
    def null_models(self) -> tuple[str, ...]:
        return (*self.nulls, *(("other_answer",) if self.gold else ()))

    @property
    def usual_profiles(self) -> dict[str, dict[str, Any]]:
        return {name: {**values, "judges": [WRITER]} for name, values in super().usual_profiles.items()}

    def right(self, fields: Mapping[str, str]) -> tuple[str, ...]:
        return (fields[self.gold],) if self.gold else ()

    def flaws(self, fields: Mapping[str, str]) -> Iterator[Flaw]:
        if self.gold and not fields[self.gold]:
            yield Flaw(self.gold, "the cell is empty", "write a right answer")


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
    max_tokens: int = Field(ROOM, ge=1)

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


class Preference(Recipe):
    """Items of several groups; the question is whose items are likelier in contexts with a blank.

    Attributes:
        items: CSV file with a column ``item`` and the column ``group``.
        contexts: CSV file; ``prompt`` turns a row into a sentence that has ``blank`` once. Cluster
            and slices are columns of this file.
        group: column of the items. target: the group to compare with all others together. kind: column
            of both files; items are used in contexts of their own kind; "": in all.
        length: divisor of an item's log-probability: none or tokens.
    """

    recipe = PREFERENCE
    nulls = ("groups_exchanged",)
    controls: ClassVar[Mapping[str, Control]] = {
        "exchanged": Control(
            "Contexts exchanged",
            "The same number where the items stand in a context of another kind or cluster.",
        )
    }

    prompt: Template = "{{ context }}"
    contexts: Text
    group: Name
    target: Text
    kind: str = ""
    blank: Text = "[BLANK]"
    length: Literal["none", "tokens"] = "tokens"

    @property
    def asked(self) -> str:
        return self.contexts

    @property
    def columns(self) -> dict[str, Sequence[str]]:
        return {**super().columns, "kind": [self.kind]}

    @property
    def scorer(self) -> bool:
        return True

    def flaws(self, fields: Mapping[str, str]) -> Iterator[Flaw]:
        for text in (rendered(own.prompt, fields) for own in self.wordings.values()):
            if text.count(self.blank) != 1:
                what = f"{self.blank} stands {text.count(self.blank)} times in it"
                yield Flaw("", what, "write it once, in the place of the items")
            elif not text.partition(self.blank)[0].strip():
                what = f"nothing stands before {self.blank}, which most models need"
                yield Flaw("", what, "begin with a word")

    def flaws_together(
        self, items: Sequence[tuple[int, Mapping[str, str]]], members: Sequence[tuple[str, str, str]]
    ) -> Iterator[tuple[int | None, Flaw]]:
        there: dict[str, set[bool]] = {}
        for _, group, kind in members:
            there.setdefault(kind, set()).add(group == self.target)
        for kind in sorted({fields.get(self.kind, "") for _, fields in items}):
            if members and len(there.get(kind, ())) < 2:
                what = f"in kind {kind!r} one of the two groups has no items"
                yield None, Flaw(self.kind, what, "add some, or remove it")


RECIPES: Mapping[str, type[Recipe]] = {r.recipe: r for r in (Judged, ShortAnswer, Choice, Preference)}
