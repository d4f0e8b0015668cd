"""Counts facts of a conversation without a judge. Pure; docs in ``warehouse/reference/metric``.

Counts use phrases, and question marks for questions. Wording that no phrase foresees is missed, so counts
are lower bounds, equally for all models.

Rules for a recommendation are decided by its ingredients only; ``foods.toml`` classifies foods. The
ingredients are those that the recommendation lists, else the warehouse's for a dish of that name. A rule is
broken by any ingredient of a forbidden class. It is kept if most ingredients are known foods and none is
forbidden or in doubt. Otherwise it is undecided.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tasks.evaluations.explication import texts
from tasks.evaluations.explication.materials import (
    RECOMMENDER,
    USER,
    ExplicationTask,
    Fact,
    Persona,
    first_label,
    recommendation_of,
    sections_of,
)
from tasks.evaluations.explication.texts import is_in, plain
from tasks.loop.dialogue import Turn
from tasks.metrics.intervals import POSITIVE, SHARE

MOST_WORDS = 100
"""Most words that a simulated user may write in one turn."""
_NEAR = (0.5, 1.5)
"""Least and greatest ratio to a section's required number of words that count as near it."""

_FILE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("foods.toml").read_text(encoding="utf-8"))
RULES: Mapping[str, list[str]] = _FILE["rules"]
_UNSURE: Mapping[str, list[str]] = _FILE["unsure"]
_WITHOUT = {plain(word).strip(): set(classes) for word, classes in _FILE["without"].items()}

_KIND_OF_RULE = {
    **dict.fromkeys(("vegetarian", "vegan"), "diet"),
    **dict.fromkeys(("halal", "kosher", "jain", "no_beef"), "religion"),
    **dict.fromkeys(("coeliac", "diabetic", "low_salt"), "health"),
}
KNOWN_SHARE = 0.6
"""Share of the ingredients that must be known foods before a rule counts as kept."""

_LONGEST = 4
"""Most words of a food's name."""
_ABSENT = re.compile(r"(?:no|without|instead of|not|free from|avoid|skip|omit)(?: \w+)?$")
_UNITS = {"minute": 1.0, "min": 1.0, "mins": 1.0, "minutes": 1.0} | dict.fromkeys(
    ("hour", "hours", "hr", "hrs", "h"), 60.0
)
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20,
    "thirty": 30, "forty": 40, "sixty": 60, "half an": 0.5,
}  # fmt: skip
_DURATION = re.compile(
    rf"\b(?:(?:(\d+(?:[.,]\d+)?)\s*(?:-|–|to|or)\s*)?(\d+(?:[.,]\d+)?)|({'|'.join(_NUMBERS)}))[\s-]*"
    rf"({'|'.join(sorted(_UNITS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)

UNFINISHED = "the conversation was not finished"
NOT_RECOMMENDED = "nothing was recommended"
NOTHING_ASKED = "no question was asked"
NO_USER_TURN = "the user said nothing"
NO_FACTS = "the persona has no facts or dishes that a program can find"
OF_FACTS = ("facts_elicited", "facts_used", "user_contradictions", "user_dishes", "user_unasked")
"""Metrics that personas of the paper's own format do not have."""

Verdicts = dict[str, bool | None]
"""Condition of the persona -> whether it is kept; None if undecidable."""


@dataclass(frozen=True)
class Measures:
    """Counts of one conversation; a value is None if there is nothing to count.

    Attributes:
        questions: number of the recommender's questions.
        question_kinds: number of different kinds among them (``questions.toml``).
        new_questions: share of them that do not repeat an earlier question in other words.
        dish_requests: number of questions that ask the user to name dishes.
        told: names of the facts that the user told.
        facts, elicited: number of facts that matter for the task and that a question can bring out; number
            of these that the user told when asked.
        unasked, contradicted, divulged, too_long: the user's faults: facts told although no question was
            about them, facts denied, dish names revealed, turns over MOST_WORDS.
        confused, user_confused: number of the recommender's, of the user's turns that were cut off because
            they went on in the other's name.
        repeated: number of turns, of all turns, that repeat an earlier one.
        cut_short: why nobody knows whether a recommendation would have come (``materials.cut_short``).
        usable: number of facts whose use a recommendation can show.
        used: number of these whose use the recommendation shows.
        kept: the persona's conditions, each with whether the recommendation keeps it.
        sections, exact_labels, near_length: shares of the required form's parts that exist; that are labelled
            exactly as required; that have about the required number of words, of parts with such a number.
        dish, dish_countries: the dish of the warehouse that the recommendation's title names, and its
            countries.
    """

    turns: int
    questions: int
    question_kinds: int
    new_questions: float | None
    dish_requests: int
    told: tuple[str, ...]
    facts: int
    elicited: int
    unasked: int
    contradicted: int | None
    divulged: int | None
    too_long: int
    user_turns: int
    confused: int
    repeated: int
    user_confused: int
    cut_short: str | None = None
    recommendation: str | None = None
    title: str | None = None
    used: int | None = None
    usable: int = 0
    kept: Verdicts = field(default_factory=dict)
    sections: float | None = None
    exact_labels: float | None = None
    near_length: float | None = None
    dish: str | None = None
    dish_countries: tuple[str, ...] = ()


def _share(part: int | None, whole: int) -> float | None:
    """Return the share; None without a part or a whole."""
    return None if part is None or not whole else part / whole


def _violated(m: Measures) -> float | None:
    """Return the share of violated constraints among those that could be decided."""
    decided = [is_kept for is_kept in m.kept.values() if is_kept is not None]
    return _share(decided.count(False), len(decided))


def _decided(m: Measures) -> float | None:
    return _share(sum(is_kept is not None for is_kept in m.kept.values()), len(m.kept))


COUNTS: Mapping[str, tuple[Callable[[Measures], float | None], tuple[float, float], str]] = {
    "recommended": (lambda m: None if m.cut_short else m.recommendation is not None, SHARE, UNFINISHED),
    "cut_short": (lambda m: m.cut_short is not None, SHARE, UNFINISHED),
    "questions": (lambda m: m.questions, POSITIVE, UNFINISHED),
    "question_kinds": (lambda m: m.question_kinds, POSITIVE, UNFINISHED),
    "new_questions": (lambda m: m.new_questions, SHARE, NOTHING_ASKED),
    "dish_requests": (lambda m: _share(m.dish_requests, m.questions), SHARE, NOTHING_ASKED),
    "facts_elicited": (lambda m: _share(m.elicited, m.facts), SHARE, UNFINISHED),
    "facts_used": (lambda m: _share(m.used, m.usable), SHARE, NOT_RECOMMENDED),
    "violated": (_violated, SHARE, "no constraint could be decided"),
    "decided": (_decided, SHARE, NOT_RECOMMENDED),
    "sections": (lambda m: m.sections, SHARE, NOT_RECOMMENDED),
    "exact_labels": (lambda m: m.exact_labels, SHARE, NOT_RECOMMENDED),
    "near_length": (lambda m: m.near_length, SHARE, NOT_RECOMMENDED),
    "turns": (lambda m: m.turns, POSITIVE, UNFINISHED),
    "role_confusion": (lambda m: _share(m.confused, m.turns - m.user_turns), SHARE, UNFINISHED),
    "repetition": (lambda m: _share(m.repeated, m.turns), SHARE, UNFINISHED),
    "user_contradictions": (lambda m: m.contradicted, POSITIVE, UNFINISHED),
    "user_dishes": (lambda m: m.divulged, POSITIVE, UNFINISHED),
    "user_unasked": (lambda m: _share(m.unasked, len(m.told)), SHARE, "no fact was told"),
    "user_too_long": (lambda m: _share(m.too_long, m.user_turns), SHARE, NO_USER_TURN),
    "user_confusion": (lambda m: _share(m.user_confused, m.user_turns), SHARE, NO_USER_TURN),
}
"""Metric without a judge -> how it is counted, its range, and why it is missing."""


def measure(
    persona: Persona,
    task: ExplicationTask,
    turns: Sequence[Turn],
    dishes: Dishes,
    cut_short: str | None = None,
) -> Measures:
    """Return the counts of one conversation, finished or not."""
    facts = persona.facts_for(task.name)
    questions = [question for turn in turns if turn.speaker == RECOMMENDER for question in _asked(task, turn)]
    of_kinds = [texts.kinds(question) for question in questions]
    own = [turn for turn in turns if turn.speaker == USER]
    facts_told, unasked = _told(task, facts, turns)
    elicitable = [fact.fact for fact in facts if fact.elicitable]
    recommendation = recommendation_of(task, turns)
    return Measures(
        turns=len(turns),
        questions=len(questions),
        question_kinds=len(frozenset().union(*of_kinds) - {texts.DISH}),
        new_questions=(
            sum(texts.is_new(q, questions[:n]) for n, q in enumerate(questions)) / len(questions)
            if questions
            else None
        ),
        dish_requests=sum(texts.DISH in kinds for kinds in of_kinds),
        told=tuple(fact.fact for fact in facts if fact.fact in facts_told),
        facts=len(elicitable),
        elicited=len(facts_told & set(elicitable) - unasked),
        unasked=len(unasked),
        contradicted=sum(_is_denied(fact, own) for fact in facts) if facts else None,
        divulged=(
            sum(any(is_in([dish], turn.text) for turn in own) for dish in persona.dishes)
            if persona.dishes
            else None
        ),
        too_long=sum(len(turn.text.split()) > MOST_WORDS for turn in own),
        user_turns=len(own),
        confused=sum(turn.is_confused for turn in turns if turn.speaker == RECOMMENDER),
        repeated=sum(turn.is_repeated for turn in turns),
        user_confused=sum(turn.is_confused for turn in own),
        cut_short=cut_short,
        **({} if recommendation is None else _recommended(persona, task, facts, recommendation, dishes)),
    )


def _recommended(
    persona: Persona, task: ExplicationTask, facts: Sequence[Fact], recommendation: str, dishes: Dishes
) -> dict[str, Any]:
    """Return the values that only a conversation with a recommendation has."""
    sections = sections_of(task, recommendation)
    limited = [(s.label, s.words) for s in task.sections if s.words]
    exact = sum(
        any(line.startswith(f"#{s.label}:") for line in recommendation.splitlines()) for s in task.sections
    )
    near = [
        _NEAR[0] * words <= len(sections.get(label, "").split()) <= _NEAR[1] * words
        for label, words in limited
    ]
    usable = [fact for fact in facts if fact.used_by]
    title = sections.get(task.title_section, "").splitlines()
    dish = dishes.find(title[0]) if title else None
    return {
        "recommendation": recommendation,
        "title": title[0].strip(" *_#.") if title else None,
        "used": sum(is_in(fact.used_by, recommendation) for fact in usable),
        "usable": len(usable),
        "kept": check(persona, task, recommendation, dishes),
        "sections": sum(bool(sections.get(s.label)) for s in task.sections) / len(task.sections),
        "exact_labels": exact / len(task.sections),
        "near_length": sum(near) / len(near) if near else None,
        "dish": dish,
        "dish_countries": dishes.by_name[dish][0] if dish else (),
    }


def _asked(task: ExplicationTask, turn: Turn) -> list[str]:
    """Return the questions in a recommender's turn, outside its recommendation."""
    begin = first_label(task, turn.text) if recommendation_of(task, [turn]) else None
    return texts.questions(turn.text[:begin])


def _told(task: ExplicationTask, facts: Sequence[Fact], turns: Sequence[Turn]) -> tuple[set[str], set[str]]:
    """Return the facts that the user told, and those of them that no earlier question was about. A question
    is about its kinds; an open question has no kind and is about everything. A fact may be told several turns
    after the question.
    """
    facts_told: set[str] = set()
    unasked: set[str] = set()
    open_kinds: set[str] = set()
    is_open = False
    for turn in turns:
        if turn.speaker == RECOMMENDER:
            for question in _asked(task, turn):
                kinds = texts.kinds(question)
                open_kinds |= kinds
                is_open |= not kinds
        elif turn.speaker == USER:
            for fact in facts:
                if fact.fact not in facts_told and is_in(fact.told_by, turn.text):
                    facts_told.add(fact.fact)
                    if not is_open and fact.kind not in open_kinds:
                        unasked.add(fact.fact)
    return facts_told, unasked


def _is_denied(fact: Fact, turns: Sequence[Turn]) -> bool:
    """Return whether the user contradicted a fact, by its opposite or by a denial of its phrases."""
    return any(is_in(fact.denied_by, turn.text) or texts.is_denied(fact.told_by, turn.text) for turn in turns)


@dataclass(frozen=True)
class Dishes:
    """Dishes of the warehouse, found by the words of their names, with countries and ingredients."""

    by_name: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Dishes:
        """Return the dishes of rows with item, aliases, countries, ingredients; names of plain foods are left
        out.
        """
        names: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        for row in rows:
            known = (tuple(row["countries"] or ()), tuple(row["ingredients"] or ()))
            for name in (row["item"], *(row["aliases"] or ())):
                words = plain(name).strip()
                if len(words) > 3 and _food(words) is None:
                    names.setdefault(words, known)
        return cls(names)

    def find(self, text: str) -> str | None:
        """Return the longest known name within a text; the first of equally long ones."""
        words, best = plain(text).split(), ""
        for start in range(len(words)):
            for end in range(start + 1, min(start + 7, len(words) + 1)):
                name = " ".join(words[start:end])
                if name in self.by_name and len(name) > len(best):
                    best = name
        return best or None


def classes_of(ingredient: str) -> set[str] | None:
    """Return the classes of one ingredient; None if it is not a known food."""
    words, classes, is_known, place = plain(ingredient).split(), set[str](), False, 0
    while place < len(words):
        for length in range(min(_LONGEST, len(words) - place), 0, -1):
            own = _food(" ".join(words[place : place + length]))
            if own is None:
                continue
            before, after = " ".join(words[max(0, place - 3) : place]), words[place + length :]
            is_known = True
            if not _ABSENT.search(before) and after[:1] != ["free"]:
                classes |= own - _taken_away(before)
            place += length - 1
            break
        place += 1
    return classes if is_known else None


def check(persona: Persona, task: ExplicationTask, recommendation: str, dishes: Dishes) -> Verdicts:
    """Return every condition of the task and the persona, with kept, violated or undecided."""
    sections = sections_of(task, recommendation)
    listed = sections.get(task.ingredients_section, "" if task.ingredients_section else recommendation)
    ingredients = [part for part in re.split(r"[,;\n•]|\band\b|\bwith\b", listed) if plain(part).strip()]
    if not ingredients and (dish := dishes.find(sections.get(task.title_section, ""))):
        ingredients = list(dishes.by_name[dish][1])
    foods = [classes_of(part) for part in ingredients]
    known = [classes for classes in foods if classes is not None]
    present = set[str]().union(*known)
    is_enough = bool(known) and len(known) >= KNOWN_SHARE * len(foods)
    text, wanted, checks = recommendation, set(task.constraints), persona.checks
    verdicts: Verdicts = {}
    for rule in checks.rules:
        if _KIND_OF_RULE[rule] in wanted:
            verdicts[f"rule:{rule}"] = _keeps(rule, present, is_enough)
    if "allergy" in wanted:
        for allergen in checks.allergens:
            verdicts[f"allergen:{allergen}"] = False if allergen in present else True if is_enough else None
    if "dislike" in wanted and checks.avoids:
        is_there = is_in(checks.avoids, " . ".join(ingredients))
        verdicts["avoids"] = False if is_there else True if is_enough else None
    if "time" in wanted and checks.max_minutes is not None:
        minutes = stated_minutes(text)
        verdicts["time"] = None if minutes is None else minutes <= checks.max_minutes
    if "equipment" in wanted and checks.lacks:
        verdicts["equipment"] = not is_in(checks.lacks, text)
    if "budget" in wanted and persona.constraints.budget == "low":
        verdicts["budget"] = False if "costly" in present else True if is_enough else None
    if "skill" in wanted and persona.constraints.cooking_skills == "novice":
        verdicts["skill"] = not is_in(_FILE["techniques"]["expert"], text)
    return verdicts


def stated_minutes(text: str) -> float | None:
    """Return the sum of all durations in a text, in minutes, with the longer end of ranges; None
    without any.
    """
    durations = [
        (float(match[2].replace(",", ".")) if match[2] else _NUMBERS[match[3].lower()])
        * _UNITS[match[4].lower()]
        for match in _DURATION.finditer(text)
    ]
    return sum(durations) if durations else None


def _keeps(rule: str, present: set[str], is_enough: bool) -> bool | None:
    """Return whether a dish keeps a diet by the classes of all ingredients. Kosher also keeps meat and milk
    apart.
    """
    is_mixed = rule == "kosher" and "milk" in present and not present.isdisjoint(("meat", "beef", "poultry"))
    if is_mixed or not present.isdisjoint(RULES[rule]):
        return False
    in_doubt = not present.isdisjoint(_doubts(_UNSURE.get(rule, ())))
    return True if is_enough and not in_doubt else None


def _taken_away(before: str) -> set[str]:
    """Return the classes and doubts that these words remove from a food."""
    away: set[str] = set()
    for word, classes in _WITHOUT.items():
        if f" {word} " in f" {before} ":
            away |= set(_doubts(RULES["vegetarian"] if "unsure" in classes else classes))
            away |= classes - {"unsure"}
    return away


def _doubts(classes: Iterable[str]) -> Iterable[str]:
    """Return the marks of doubt, for rules that depend on unstated facts."""
    return (f"unsure {name}" for name in classes)


@lru_cache(maxsize=1 << 14)
def _food(words: str) -> frozenset[str] | None:
    """Return the classes and doubts of a food, from the longest phrase of the file that fits it."""
    for size in range(len(words), 0, -1):
        names = _phrases().get((words[:size], True), ()) if " " not in words[size:] else ()
        if size == len(words):
            names = (*names, *_phrases().get((words, False), ()))
        if names:
            own = set(names) - {"plain"}
            return frozenset(own | set(_doubts(own)))
    return None


@cache
def _phrases() -> Mapping[tuple[str, bool], tuple[str, ...]]:
    """Return (phrase of the file without its star, whether it has a star) -> its classes."""
    phrases: dict[tuple[str, bool], tuple[str, ...]] = {}
    for name, own in _FILE["classes"].items():
        for phrase in own:
            key = plain(phrase).strip(), phrase.endswith("*")
            phrases[key] = (*phrases.get(key, ()), name)
    return phrases
