"""The recipe choice: the likeliest option after the question, or the letter that a model writes. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tasks.engines.protocols import Sampling
from tasks.evaluations.contract import Completions
from tasks.evaluations.recipe.definition import CHANCE, LETTER, LETTERS, Choice
from tasks.evaluations.recipe.items import CHOICES, Item
from tasks.evaluations.recipe.normal import stands_in
from tasks.evaluations.recipe.prompted import ConditionScores
from tasks.evaluations.recipe.study import HEADLINE, RecipeStudy
from tasks.evaluations.recipe.texts import conversation, worst
from tasks.judging.rubric import normal
from tasks.loop.items import OptionLogprobs, OptionScores, Question
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import NO_ANSWER, no_text, unreadable
from tasks.loop.requests import Request
from tasks.metrics.types import FloatArray, IntArray

NO_QUESTION, OTHER_QUESTION = "no_question", "other_question"
CONDITIONS = (HEADLINE, NO_QUESTION, OTHER_QUESTION)

NO_LETTER = "no option was named"

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


def ask(study: RecipeStudy, completions: Completions) -> list[Request[Any]]:
    """Return requests for every item under every condition."""
    return [request(study, condition) for condition in CONDITIONS]


def request(study: RecipeStudy, condition: str) -> Request[Any]:
    """Return the request of one condition. Equal prompts, as without a question, are sent once."""
    params, label = cast(Any, study.params), condition or "items"
    if is_written(study):
        prompts = [_prompt(study, condition, item) for item in asked(study, condition)]
        sampling = Sampling(temperature=params.temperature, max_tokens=params.max_tokens, seed=params.seed)
        return Prompts(
            topic=study.loaded.name, label=label, batch=params.batch, prompts=prompts, sampling=sampling
        )
    questions = [_question(study, condition, item) for item in asked(study, condition)]
    return OptionScores(
        about=["choice"], topic=study.loaded.name, label=label, batch=params.batch, questions=questions
    )


def asked(study: RecipeStudy, condition: str) -> Iterator[Item]:
    """Return the items of a condition; under another item's question, only items with such a question."""
    for item in study.items:
        if condition != OTHER_QUESTION or item.name in study.others:
            yield item


def read(study: RecipeStudy, completions: Completions, shared: Any) -> dict[str, ConditionScores]:
    """Return condition -> whether the right option was chosen."""
    return {condition: _scores(study, condition, completions) for condition in CONDITIONS}


def nulls(study: RecipeStudy) -> dict[str, FloatArray]:
    """Return the null models' scores on each item; of position [items, positions], a column for each that it
    may always choose.

    longest, shortest: equally long options share the score. popular: the option whose text is right most
    often in items of other clusters, such as "unknown"; equals share. chance: the expected score of an option
    that is drawn.
    """
    options = [study.loaded.options(item) for item in study.items]
    right = np.array([study.loaded.right(item) for item in study.items])
    answers = [normal(own[place]) for own, place in zip(options, right.tolist(), strict=True)]
    everywhere, of_cluster = Counter(answers), Counter(zip(study.clusters.tolist(), answers, strict=True))
    elsewhere = [
        [everywhere[text] - of_cluster[cluster, text] for text in map(normal, own)]
        for cluster, own in zip(study.clusters.tolist(), options, strict=True)
    ]
    lengths = [[len(option) for option in own] for own in options]
    scored = {
        "position": (right[:, None] == np.arange(max(map(len, options)))).astype(float),
        "longest": _of_greatest(lengths, right),
        "shortest": _of_greatest([[-length for length in own] for own in lengths], right),
        "popular": _of_greatest(elsewhere, right),
        CHANCE: np.array([1 / len(own) for own in options]),
    }
    return {name: _within(study, share) for name, share in scored.items()}


def _of_greatest(numbers: Sequence[Sequence[int]], right: IntArray) -> FloatArray:
    """Return [items] the score of choosing the option with the greatest number; equals share it."""
    pairs = zip(numbers, right.tolist(), strict=True)
    return np.array([(own[place] == max(own)) / own.count(max(own)) for own, place in pairs], dtype=float)


def is_written(study: RecipeStudy) -> bool:
    """Return whether the model writes a letter; otherwise options are scored."""
    return bool(cast(Any, study.params).by == LETTER)


def chosen(
    study: RecipeStudy, item: Item, answered: OptionLogprobs | Completion | None
) -> tuple[int | None, str]:
    """Return the option that a model's answer names, from 0, or the reason for none."""
    options = study.loaded.options(item)
    if isinstance(answered, OptionLogprobs):
        return int(np.argmax(at_length(study, item, answered))), ""
    if reason := no_text(answered):
        return None, reason
    assert answered is not None
    place = letter(answered.text, options)
    return place, "" if place is not None else unreadable(answered).replace("unparsable answer", NO_LETTER)


def at_length(study: RecipeStudy, item: Item, answered: OptionLogprobs) -> FloatArray:
    """Return the options' log-probabilities, divided as the definition says. Ties go to the first option."""
    definition = cast(Choice, study.definition)
    by: FloatArray = np.ones_like(answered.logprobs)
    if definition.length == "characters":
        by = np.array([len(option) for option in study.loaded.options(item)], dtype=np.float64)
    elif definition.length == "tokens":
        by = answered.n_tokens.astype(np.float64)
    return np.asarray(answered.logprobs / np.maximum(1, by))


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


def stored(
    study: RecipeStudy, condition: str, completions: Completions
) -> dict[str, OptionLogprobs | Completion]:
    """Return each item's stored answer under a condition."""
    sent = request(study, condition)
    answers: Mapping[str, Any] = completions(sent)
    make = _prompt if is_written(study) else _question
    ids = {item.name: make(study, condition, item).id for item in asked(study, condition)}
    return {name: answers[unit] for name, unit in ids.items() if unit in answers}


def conversation_of(study: RecipeStudy, condition: str, item: Item) -> list[Any]:
    """Return the model's prompt under a condition, for people."""
    return list(conversation(study, _fields(study, condition, item)))


def _scores(study: RecipeStudy, condition: str, completions: Completions) -> ConditionScores:
    answered = stored(study, condition, completions)
    values, reasons, lost, texts, places = [], [], [], [], []
    for item in study.items:
        place, reason = chosen(study, item, answered.get(item.name))
        places.append(place)
        if place is None:
            is_lost = reason != NO_ANSWER and condition == HEADLINE
            values.append(worst(study) if is_lost else np.nan)
        else:
            values.append(float(_within(study, np.array([float(place == study.loaded.right(item))]))[0]))
        reasons.append(reason if np.isnan(values[-1]) else "")
        lost.append(reason)
        texts.append("" if place is None else f"{LETTERS[place]}. {study.loaded.options(item)[place]}")
    derive = study.loaded.derive if condition == HEADLINE else None
    also = derive(study.items, places) if derive else {}
    return ConditionScores(
        np.array(values), np.array(reasons, dtype=object), np.array(lost, dtype=object), texts, also
    )


def _within(study: RecipeStudy, share: FloatArray) -> FloatArray:
    low, high = study.definition.metric.bounds
    return low + (high - low) * share


def _fields(study: RecipeStudy, condition: str, item: Item) -> dict[str, str]:
    """Return an item's cells as a condition shows them, with its options by letter."""
    options = study.loaded.options(item)
    fields = dict(item.fields) | {
        CHOICES: "\n".join(f"{k}. {o}" for k, o in zip(LETTERS, options, strict=False))
    }
    columns = cast(Choice, study.definition).question
    if condition == NO_QUESTION:
        fields |= dict.fromkeys(columns, "")
    elif condition == OTHER_QUESTION:
        other = study.keep("by name", lambda: {i.name: i for i in study.items})[study.others[item.name]]
        fields |= {column: other.fields[column] for column in columns}
    return fields


def _prompt(study: RecipeStudy, condition: str, item: Item) -> Prompt:
    key = ("prompt", condition, item.name)
    prompt: Prompt = study.keep(key, lambda: Prompt(conversation(study, _fields(study, condition, item))))
    return prompt


def _question(study: RecipeStudy, condition: str, item: Item) -> Question:
    def make() -> Question:
        messages = conversation(study, _fields(study, condition, item))
        return Question("\n\n".join(m["content"] for m in messages), study.loaded.options(item))

    question: Question = study.keep(("question", condition, item.name), make)
    return question
