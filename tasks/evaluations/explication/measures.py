"""What can be counted in a conversation without a judge. Pure; docs in ``warehouse/reference/metric``.

Everything is counted by phrases, questions by their marks, so what is said in words that no phrase foresees
is missed: counts are lower bounds, the same for all models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.evaluations.explication import food, phrases
from tasks.evaluations.explication.food import Dishes, Verdicts
from tasks.evaluations.explication.personas import Fact, Persona
from tasks.evaluations.explication.task import (
    RECOMMENDER,
    USER,
    Task,
    first_label,
    recommendation_of,
    sections_of,
)
from tasks.loop.dialogue import Turn

MOST_WORDS = 100
"""That a simulated user may write in one turn."""
_NEAR = (0.5, 1.5)
"""Parts of a section's number of words between which it keeps to it."""


@dataclass(frozen=True)
class Measures:
    """One conversation. None: nothing to count it on.

    Attributes:
        questions: that the recommender asked.
        question_kinds: how many kinds (``questions.toml``) they are of together.
        new_questions: share that are not an earlier one in other words.
        dish_requests: questions that ask the user to name dishes.
        told: names of the facts that the user told.
        cut_short: why nobody knows whether a recommendation would have come (``task.cut_short``).
        facts, elicited: that matter for the task and a question brings out; told when asked.
        used: facts of ``usable`` that the recommendation shows to have heeded.
        usable: facts by which a use can be seen.
        kept: what had to be kept.
        sections, exact_labels, near_length: parts of the required form: there; labelled exactly as asked; of
            about the number of words asked, of those that have one.
        dish, dish_countries: the warehouse's name in the recommendation's title, and its countries.
        contradicted, divulged, unasked, too_long: the user's turns or facts: facts denied, dish names said,
            facts told though no question was about them, turns over MOST_WORDS.
        confused, repeated: turns cut off as another's words; turns said before, of all turns. So of the user.
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
    contradicted: int
    divulged: int
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


def measure(
    persona: Persona, task: Task, turns: Sequence[Turn], dishes: Dishes, cut_short: str | None = None
) -> Measures:
    """Counts of one conversation, as far as it went."""
    facts = persona.facts_for(task.name)
    asked = [question for turn in turns if turn.speaker == RECOMMENDER for question in _asked(task, turn)]
    of_kinds = [phrases.kinds(question) for question in asked]
    said = [turn for turn in turns if turn.speaker == USER]
    told, unasked = _told(task, facts, turns)
    elicitable = [fact.fact for fact in facts if fact.elicitable]
    recommendation = recommendation_of(task, turns)
    return Measures(
        turns=len(turns),
        questions=len(asked),
        question_kinds=len(frozenset().union(*of_kinds) - {phrases.DISH}),
        new_questions=(
            sum(phrases.is_new(q, asked[:n]) for n, q in enumerate(asked)) / len(asked) if asked else None
        ),
        dish_requests=sum(phrases.DISH in kinds for kinds in of_kinds),
        told=tuple(fact.fact for fact in facts if fact.fact in told),
        facts=len(elicitable),
        elicited=len(told & set(elicitable) - unasked),
        unasked=len(unasked),
        contradicted=sum(_is_denied(fact, said) for fact in facts),
        divulged=sum(any(phrases.is_in([dish], turn.text) for turn in said) for dish in persona.dishes),
        too_long=sum(len(turn.text.split()) > MOST_WORDS for turn in said),
        user_turns=len(said),
        confused=sum(turn.is_confused for turn in turns if turn.speaker == RECOMMENDER),
        repeated=sum(turn.is_repeated for turn in turns),
        user_confused=sum(turn.is_confused for turn in said),
        cut_short=cut_short,
        **({} if recommendation is None else _recommended(persona, task, facts, recommendation, dishes)),
    )


def _recommended(
    persona: Persona, task: Task, facts: Sequence[Fact], recommendation: str, dishes: Dishes
) -> dict[str, Any]:
    """What only a conversation with a recommendation has."""
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
        "used": sum(phrases.is_in(fact.used_by, recommendation) for fact in usable),
        "usable": len(usable),
        "kept": food.check(persona, task, recommendation, dishes),
        "sections": sum(bool(sections.get(s.label)) for s in task.sections) / len(task.sections),
        "exact_labels": exact / len(task.sections),
        "near_length": sum(near) / len(near) if near else None,
        "dish": dish,
        "dish_countries": dishes.by_name[dish][0] if dish else (),
    }


def _asked(task: Task, turn: Turn) -> list[str]:
    """The questions of a turn of the recommender's, without what its recommendation asks."""
    begin = first_label(task, turn.text) if recommendation_of(task, [turn]) else None
    return phrases.questions(turn.text[:begin])


def _told(task: Task, facts: Sequence[Fact], turns: Sequence[Turn]) -> tuple[set[str], set[str]]:
    """The facts that the user told, and of these those that no question before was about.

    A question is about its kinds; an open one, of no kind, is about everything. A fact may be told in a later
    turn than the question.
    """
    told: set[str] = set()
    unasked: set[str] = set()
    open_kinds: set[str] = set()
    is_open = False
    for turn in turns:
        if turn.speaker == RECOMMENDER:
            for question in _asked(task, turn):
                kinds = phrases.kinds(question)
                open_kinds |= kinds
                is_open |= not kinds
        elif turn.speaker == USER:
            for fact in facts:
                if fact.fact not in told and phrases.is_in(fact.told_by, turn.text):
                    told.add(fact.fact)
                    if not is_open and fact.kind not in open_kinds:
                        unasked.add(fact.fact)
    return told, unasked


def _is_denied(fact: Fact, said: Sequence[Turn]) -> bool:
    """Whether the user contradicted a fact: said its opposite, or denied the words by which it is told."""
    return any(
        phrases.is_in(fact.denied_by, turn.text) or phrases.is_denied(fact.told_by, turn.text)
        for turn in said
    )
