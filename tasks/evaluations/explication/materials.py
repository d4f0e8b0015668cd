"""Reads personas and tasks from files; users may add their own.

A persona is a JSON object, a row of the table explication_persona. The fields down to ``summary`` are those
of the paper's persona format (box 2), which is also read as it stands (``box2``). Programs read the other
fields: ``facts``, with phrases that show a fact as told, denied or used; ``checks``, conditions on a
recommendation; and ``dishes``, names that the simulator must not reveal. A *phrase* there is lower-case
words, such as ``no nuts`` or ``vegetarian*``; see ``texts``.

A task is a TOML file that sets the thing to recommend, the required form, and when a conversation is over;
``tasks/breakfast.toml`` shows all fields. A user adds one by naming its path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tasks.data.folders import checked_link, home_of
from tasks.evaluations.explication import box2, layouts, texts
from tasks.loop.dialogue import TOKEN_BUDGET, TURN_LIMIT, Talk, Turn
from tasks.parsing import complaints, parse_json, parse_toml, text_of

FOLDER = Path(__file__).parent
RECOMMENDER, USER = "recommender", "user"
"""Speakers: the candidate and the simulator."""

RECOMMENDATION, FAREWELL = "recommendation", "farewell"
"""Reasons that end a conversation, other than its limits."""

FactKind = Literal[
    "diet", "allergy", "religion", "health", "time", "budget", "skill", "equipment", "culture", "taste",
    "dislike", "goal", "company", "place",
]  # fmt: skip
"""Topics of a fact. The words of a question decide its kind (``questions.toml``)."""

Rule = Literal["vegetarian", "vegan", "halal", "kosher", "jain", "no_beef", "coeliac", "diabetic", "low_salt"]
Allergen = Literal[
    "peanut", "tree_nut", "milk", "egg", "fish", "shellfish", "soy", "gluten", "sesame", "mustard", "celery",
]  # fmt: skip

_TITLES = ("name", "title", "recommendation", "suggestion", "my recommendation", "final recommendation")
"""Usual names of the section that names a recommendation."""
_BEFORE_TITLES = ("recommended", "suggested", "proposed", "name of", "name of the")

Text = Annotated[str, Field(min_length=1)]
Phrase = Annotated[str, Field(pattern=r"^[^\sA-Z*]+\*?( [^\sA-Z*]+\*?)*$")]
Texts = tuple[Text, ...]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Demographics(_Part):
    age: int | None = Field(ge=5, le=110)
    gender: Text
    location: Text
    occupation: Text
    household: Text
    lifestyle: Text
    health_conditions: Texts = ()


class Preferences(_Part):
    reasons: Texts
    weekday_vs_weekend: Text
    preferred_beverages: Texts
    favorite_items: Texts
    disliked_items: Texts = ()


class Constraints(_Part):
    time_available: Text
    dietary_restrictions: Texts = ()
    budget: Literal["low", "medium", "high"] | None
    availability_of_items: Text
    cooking_skills: Literal["novice", "intermediate", "expert"] | None


class CulturalInfluences(_Part):
    childhood_habits: Texts
    family_traditions: Texts
    regional_influences: Texts
    religious_or_festive_influences: Texts = ()


class Routines(_Part):
    timing: Text
    who_with: Text
    where: Text
    pace: Text


class Aspirations(_Part):
    desired_changes: Text
    ideal_breakfast: Text


class Wellbeing(_Part):
    perceived_healthiness: Text
    impact_on_day: Text
    skipping_habits: Text


class Signals(_Part):
    identity_connection: Text
    social_sharing: Text
    personality_traits_visible: Text


class Fact(_Part):
    """Something that the person tells when asked, and the phrases by which a program recognises it."""

    fact: str = Field(pattern=r"^[a-z][a-z0-9_]*$", description="name, unique within the persona")
    kind: FactKind
    text: Text = Field(description="the person's answer in their own words")
    told_by: tuple[Phrase, ...] = Field(
        min_length=1, description="phrases; one of them in the user's turns means that the user told the fact"
    )
    denied_by: tuple[Phrase, ...] = Field(
        (), description="phrases; one of them in the user's turns means that the user contradicted the fact"
    )
    used_by: tuple[Phrase, ...] = Field(
        (), description="phrases; one of them in the recommendation means that the fact was used"
    )
    tasks: Texts = Field((), description="tasks for which the fact matters; empty: all")
    elicitable: bool = Field(True, description="whether a good question elicits the fact")


class Checks(_Part):
    """Conditions on a recommendation that a program can check."""

    rules: tuple[Rule, ...] = ()
    allergens: tuple[Allergen, ...] = ()
    avoids: tuple[Phrase, ...] = Field(default=(), description="ingredients that the person does not eat")
    max_minutes: int | None = Field(
        default=None, ge=1, description="most minutes of a meal, all steps together"
    )
    lacks: tuple[Phrase, ...] = Field(default=(), description="missing equipment, such as oven")


class Persona(_Part):
    """One person."""

    persona: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="identifier")
    name: Text
    country: str = Field(pattern=r"^[A-Z]{2}$", description="where the person lives: country.country")
    cuisine: Text = Field(description="cuisine that the person grew up with, such as Gujarati or Oaxacan")
    cuisine_countries: tuple[Annotated[str, Field(pattern=r"^[A-Z]{2}$")], ...] = Field(
        min_length=1, description="countries whose dishes count as the person's own cuisine"
    )
    demographics: Demographics
    typical_breakfast: Texts
    preparation_style: Texts
    preferences: Preferences
    constraints: Constraints
    cultural_influences: CulturalInfluences
    emotional_associations: Texts
    routines_and_context: Routines
    aspirations_or_changes: Aspirations
    health_and_wellbeing: Wellbeing
    social_and_personality_signals: Signals
    notable_quotes: Texts = ()
    summary: Text
    situations: Mapping[str, Text] = Field(
        {}, description="task -> the person's situation in it: the host and the visit, the celebration"
    )
    facts: tuple[Fact, ...] = Field(
        (), description="things to find in conversations; none: nothing is counted"
    )
    checks: Checks = Checks()
    dishes: tuple[Phrase, ...] = Field(
        (),
        description="names of dishes that the person eats, with other spellings; the simulated user must "
        "not name them",
    )

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, fields: Any) -> Any:
        """Return the fields, completed if they are those of the paper's format."""
        is_box_2 = isinstance(fields, Mapping) and box2.is_of_the_paper(fields)
        return box2.completed(fields) if is_box_2 else fields

    @field_validator("facts")
    @classmethod
    def _facts_differ(cls, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
        names = [fact.fact for fact in facts]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"the facts {', '.join(twice)} are named twice")
        return facts

    @model_validator(mode="after")
    def _facts_name_no_dish(self) -> Persona:
        """Refuse facts that name a dish, which the simulator must not say."""
        for fact in self.facts:
            if both := sorted(set(fact.told_by) & set(self.dishes)):
                raise ValueError(f"fact {fact.fact}: {both[0]!r} is a dish, which the user may not name")
        return self

    def facts_for(self, task: str) -> tuple[Fact, ...]:
        """Return the facts that matter for a task."""
        return tuple(fact for fact in self.facts if not fact.tasks or task in fact.tasks)

    def described(self, task: str) -> str:
        """Return the person as simulator and judge read them: box 2 and the situation, without phrases."""
        profile = self.model_dump(
            mode="json", exclude={"persona", "cuisine_countries", "facts", "checks", "dishes", "situations"}
        )
        profile["facts"] = [fact.text for fact in self.facts_for(task)]
        if task in self.situations:
            profile["what_this_is_about"] = self.situations[task]
        return "\n".join(
            f"{_words(name).capitalize()}: {_shown(value)}" for name, value in profile.items() if value
        )


def _shown(value: object) -> str:
    """Return a field as plain text, which has far fewer tokens than JSON with escaped brackets."""
    if isinstance(value, Mapping):
        return ". ".join(f"{_words(name)}: {_shown(part)}" for name, part in value.items() if part)
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


class PersonaError(ValueError):
    """A persona that cannot be used; the message names file, persona and field."""


def personas_of(rows: Sequence[Mapping[str, Any]], where: str) -> list[Persona]:
    """Return personas from rows or JSON objects.

    Args:
        rows: each a persona's fields, or a row of explication_persona, whose ``profile`` holds them as JSON.
        where: for messages.

    Raises:
        PersonaError: a field is unknown, missing or wrong, or an identifier is repeated.
    """
    personas: dict[str, Persona] = {}
    for place, row in enumerate(rows, start=1):
        try:
            fields = parse_json(row["profile"]) if "profile" in row else dict(row)
            persona = Persona.model_validate(fields)
        except ValidationError as error:
            raise PersonaError(f"{where}, persona {place}: {'; '.join(complaints(error))}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise PersonaError(f"{where}, persona {place}: not a JSON object: {error}") from error
        if persona.persona in personas:
            raise PersonaError(f"{where}: persona {persona.persona!r} is repeated: rename one")
        personas[persona.persona] = persona
    return list(personas.values())


def read_personas(path: Path) -> list[Persona]:
    """Return the personas of a JSON file (one or a list), or of all ``*.json`` of a folder.

    Raises:
        PersonaError: the file is missing, not JSON in UTF-8, or without personas.
    """
    home = home_of(path)
    files = [checked_link(file, home) for file in sorted(path.glob("*.json"))] if path.is_dir() else [path]
    if not files:
        raise PersonaError(f"{path}: this folder has no *.json file")
    rows: list[Mapping[str, Any]] = []
    for file in files:
        try:
            content = box2.json_or_dictionary(text_of(file.read_bytes()))
        except (OSError, ValueError) as error:
            raise PersonaError(f"{file}: not valid JSON in UTF-8: {error}") from error
        rows += content if isinstance(content, list) else [content]
    return personas_of(rows, str(path))


def identifier_of(code: str) -> str:
    """Return the identifier of the persona from an interview. code: the person's code in studies."""
    return code.lower().replace("_", "-")


def row_of(persona: Persona) -> dict[str, str]:
    """Return the row of explication_persona, in the columns of the CSV file."""
    profile = persona.model_dump_json(exclude_defaults=True)
    names = ("persona", "name", "country", "cuisine")
    return {name: getattr(persona, name) for name in names} | {"profile": profile}


class TaskError(ValueError):
    """A task file that cannot be used; the message names the file and the field."""


class FormSection(_Part):
    """One part of the required form: a line ``#Label: …``."""

    label: Text
    holds: Text = Field(description="content of the section")
    words: int | None = Field(None, ge=1, description="approximate number of words; none: no limit")
    also: tuple[Text, ...] = Field((), description="other labels that a recommender may use")


class Generic(_Part):
    """Turns of a recommender that ignores the user, for null models."""

    questions: tuple[Text, ...] = Field(min_length=1, description="questions to every user, one per turn")
    recommendation: Text = Field(description="recommendation to every user, in the required form")


class ExplicationTask(_Part):
    """One task file."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: int = Field(ge=1)
    thing: Text = Field(description="thing to recommend, such as breakfast recipe")
    expert: Text = Field(description="role of the recommender")
    goal: Text = Field(description="label of the last section")
    reminder: Text = Field(description="reminder that preferences are individual, for the treatment")
    wish: Text = Field(description="wish of the user, for the simulator")
    constraints: tuple[FactKind, ...] = Field(
        min_length=1, description="limits that a recommendation must keep"
    )
    title_section: Text = Field(description="label of the section that names the recommendation")
    ingredients_section: str = Field("", description="label of the section to check against rules; none: all")
    final: tuple[Text, ...] = Field(min_length=1, description="sections that make a text the recommendation")
    sections: tuple[FormSection, ...] = Field(min_length=1)
    generic: Generic

    @model_validator(mode="after")
    def _sections_are_there(self) -> ExplicationTask:
        labels = {section.label for section in self.sections}
        wanted = {self.title_section, *self.final} | ({self.ingredients_section} - {""})
        if unknown := sorted(wanted - labels):
            raise ValueError(f"no section is labelled {', '.join(unknown)}; known: {sorted(labels)}")
        if missing := sorted(set(self.final) - sections_of(self, self.generic.recommendation).keys()):
            raise ValueError(f"generic.recommendation lacks the sections {', '.join(missing)}")
        return self

    @property
    def required(self) -> str:
        """Return the required form in the words of the recommender's prompt."""
        lines = (
            f"#{s.label}: ({s.holds}{f'; about {s.words} words' if s.words else ''})" for s in self.sections
        )
        return "\n".join(lines)

    @property
    def described(self) -> str:
        """Return the task in the words that a judge reads."""
        return (
            f"{self.expert} {self.goal} The conversation is over with the recommendation, a {self.thing}. "
            f"Constraints that matter here: {', '.join(self.constraints)}. Required form:\n{self.required}"
        )

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Return label -> its other names; a title may have the usual names of titles too."""
        labels = {section.label: section.also for section in self.sections}
        taken = {layouts.compact(name) for label, own in labels.items() for name in (label, *own)}
        own = (self.title_section, *labels[self.title_section])
        usual = [f"{name}{word}" for name in own for word in (" name", " title")]
        usual += [f"{word} {name}" for name in own for word in _BEFORE_TITLES]
        more = [
            name for name in (*usual, self.thing.casefold(), *_TITLES) if layouts.compact(name) not in taken
        ]
        return labels | {self.title_section: (*own[1:], *dict.fromkeys(more))}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Return the pattern that finds the labels in a text."""
        return texts.label_pattern(self.labels)


def sections_of(task: ExplicationTask, text: str) -> dict[str, str]:
    """Return label -> its content, from the first place where it is filled, or from the keys of a JSON
    object. If only the title has no label, it is what a sentence before the other sections recommends, or, if
    all of them exist, the heading before them.
    """
    return _read(task, text)[0]


def first_label(task: ExplicationTask, text: str) -> int | None:
    """Return the place of the first label, or of the title before it; None where there is none."""
    return _read(task, text)[1]


@lru_cache(maxsize=1 << 12)
def _read(task: ExplicationTask, text: str) -> tuple[dict[str, str], int | None]:
    if in_object := layouts.in_objects(text, task.labels):
        filled = _filled(task, in_object[0].items())
        start, end = in_object[1]
        if filled.keys() >= set(task.final):
            return filled, start
        text = text[:start] + " " * (end - start) + text[end:]  # the form, repeated as an object
    text = texts.as_lines(text)
    parts = texts.labelled_parts(task.labels, task.pattern, text)
    filled = _filled(task, ((label, content) for label, _, content in parts))
    begin, title = parts[0].begin if parts else None, task.title_section
    if begin is None or any(part.label == title for part in parts):
        return filled, begin
    named = None
    if filled.keys() >= set(task.final) - {title}:
        named = layouts.recommended_before(text, begin)
        if named and not texts.is_filled(named[1], title, task.thing, task.labels[title]):
            named = None
    if named is None and filled.keys() == {section.label for section in task.sections} - {title}:
        named = layouts.heading_before(text, begin) or layouts.named_before(text, begin)
        if named and not texts.is_filled(named[1], title, task.thing, task.labels[title]):
            named = None
    return (filled, begin) if named is None else ({title: named[1]} | filled, named[0])


def _filled(task: ExplicationTask, parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return label -> its first content that does not repeat the form, without brackets around it."""
    sections = {section.label: section for section in task.sections}
    filled: dict[str, str] = {}
    for label, content in parts:
        section = sections[label]
        if texts.is_filled(content, label, section.holds, section.also):
            filled.setdefault(label, texts.unwrapped(content))
    return filled


def recommendation_of(task: ExplicationTask, turns: Sequence[Turn]) -> str | None:
    """Return the last turn's recommendation from its first label on, else None. Only the recommender can
    recommend, and all ``final`` sections must be filled.
    """
    if not turns or turns[-1].speaker != RECOMMENDER:
        return None
    text = turns[-1].text
    begin = first_label(task, text)
    return text[begin:] if begin is not None and sections_of(task, text).keys() >= set(task.final) else None


def end_of(task: ExplicationTask, turns: Sequence[Turn]) -> str | None:
    """Return the reason by which the last turn ends the conversation: a recommendation, or the user's
    farewell.
    """
    if recommendation_of(task, turns) is not None:
        return RECOMMENDATION
    is_over = bool(turns) and turns[-1].speaker == USER and texts.is_farewell(turns[-1].text)
    return FAREWELL if is_over else None


def cut_short(talk: Talk) -> str | None:
    """Return why the outcome of a conversation is unknown; None if it reached its end. The reasons, a limit
    or a silent simulated user, are not the recommender's fault.
    """
    if talk.ended_by in (TURN_LIMIT, TOKEN_BUDGET):
        return talk.ended_by
    is_over = talk.ended_by in (None, RECOMMENDATION, FAREWELL)
    return None if is_over or talk.turns[-1].speaker != USER else f"the simulated user: {talk.ended_by}"


def load_task(name: str) -> ExplicationTask:
    """Return a shipped task by its name, or a task by the path of its file.

    Raises:
        TaskError: there is none, or a field is unknown, missing or wrong.
    """
    shipped = FOLDER / "tasks" / f"{name}.toml"
    path = shipped if re.fullmatch(r"\w+", name) and shipped.exists() else Path(name).expanduser()
    try:
        return ExplicationTask(**parse_toml(text_of(path.read_bytes())))
    except OSError as error:
        known = ", ".join(sorted(file.stem for file in (FOLDER / "tasks").glob("*.toml")))
        raise TaskError(f"tasks: no task {name!r}; use {known}, or the path of a TOML file") from error
    except ValidationError as error:
        raise TaskError(f"{path}: not a valid task: {'; '.join(complaints(error, 'task'))}") from error
    except (ValueError, TypeError) as error:
        raise TaskError(f"{path}: not a TOML file in UTF-8: {error}") from error
