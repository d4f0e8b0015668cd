"""Tasks: what is to be recommended, in which form, and when a conversation about it is over. Files, not code.

A task is a TOML file; ``tasks/breakfast.toml`` shows all fields. A user adds one by naming its path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tasks.evaluations.explication import form
from tasks.evaluations.explication.farewell import is_farewell
from tasks.evaluations.explication.personas import FactKind
from tasks.loop.dialogue import TOKEN_BUDGET, TURN_LIMIT, Talk, Turn
from tasks.parsing import parse_toml

FOLDER = Path(__file__).parent
RECOMMENDER, USER = "recommender", "user"
"""Who talks: the candidate, and the simulator."""

RECOMMENDATION, FAREWELL = "recommendation", "farewell"
"""What ends a conversation, beside its limits."""

Text = Annotated[str, Field(min_length=1)]


class TaskError(ValueError):
    """A task file that cannot be used; the message names the file and the field."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Section(_Part):
    """One part of the required form: a line ``#Label: …``."""

    label: Text
    holds: Text = Field(description="what belongs there")
    words: int | None = Field(None, ge=1, description="about how many; none: no limit")
    also: tuple[Text, ...] = Field((), description="other names that a recommender may give it")


class Generic(_Part):
    """What a recommender does that adapts to nobody: null models."""

    questions: tuple[Text, ...] = Field(min_length=1, description="asked of everybody, one per turn")
    recommendation: Text = Field(description="given to everybody, in the required form")


class Task(_Part):
    """One task file."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    version: int = Field(ge=1)
    thing: Text = Field(description="what is recommended: breakfast recipe")
    expert: Text = Field(description="who the recommender is")
    goal: Text = Field(description="what it is to end with")
    reminder: Text = Field(description="that preferences are individual: the treatment")
    wish: Text = Field(description="what the user wants, for the simulator")
    constraints: tuple[FactKind, ...] = Field(min_length=1, description="what a recommendation must keep")
    title_section: Text = Field(description="label of the section that names it")
    ingredients_section: str = Field("", description="label of the section to hold against rules; none: all")
    final: tuple[Text, ...] = Field(min_length=1, description="sections that make a text the recommendation")
    sections: tuple[Section, ...] = Field(min_length=1)
    generic: Generic

    @model_validator(mode="after")
    def _sections_are_there(self) -> Task:
        labels = {section.label for section in self.sections}
        wanted = {self.title_section, *self.final} | ({self.ingredients_section} - {""})
        if unknown := sorted(wanted - labels):
            raise ValueError(f"no section is labelled {', '.join(unknown)}: there are {sorted(labels)}")
        if missing := sorted(set(self.final) - sections_of(self, self.generic.recommendation).keys()):
            raise ValueError(f"generic.recommendation lacks the sections {', '.join(missing)}")
        return self

    @property
    def required(self) -> str:
        """The required form, as the recommender is told."""
        lines = (
            f"#{s.label}: ({s.holds}{f'; about {s.words} words' if s.words else ''})" for s in self.sections
        )
        return "\n".join(lines)

    @property
    def described(self) -> str:
        """What a judge is told of the task."""
        return (
            f"{self.expert} {self.goal} The conversation is over with the recommendation, a {self.thing}. "
            f"Constraints that matter here: {', '.join(self.constraints)}. Required form:\n{self.required}"
        )

    @cached_property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Label -> its other names."""
        return {section.label: section.also for section in self.sections}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What finds the labels in a text."""
        return form.pattern(self.labels)


def sections_of(task: Task, text: str) -> dict[str, str]:
    """Label -> what stands under it, of the first time that something of its own does.

    Where the title alone has no label, and all other sections are there, it is the heading before them.
    """
    return _read(task, text)[0]


def first_label(task: Task, text: str) -> int | None:
    """Where the first label, or the heading before it, begins; None where there is none."""
    return _read(task, text)[1]


@lru_cache(maxsize=1 << 12)
def _read(task: Task, text: str) -> tuple[dict[str, str], int | None]:
    holds = {section.label: section.holds for section in task.sections}
    parts = form.parts(task.labels, task.pattern, text)
    filled: dict[str, str] = {}
    for label, _, content in parts:
        if form.is_filled(content, label, holds[label]):
            filled.setdefault(label, content)
    begin = parts[0].begin if parts else None
    is_untitled = filled.keys() == holds.keys() - {task.title_section}
    if begin is None or not is_untitled or any(part.label == task.title_section for part in parts):
        return filled, begin
    heading = form.heading_before(text, begin)
    return (filled, begin) if heading is None else ({task.title_section: heading[1]} | filled, heading[0])


def recommendation_of(task: Task, turns: Sequence[Turn]) -> str | None:
    """The last turn's recommendation: from its first label on; None where it is none.

    Only the recommender can give one, and only with all ``final`` sections, each filled.
    """
    if not turns or turns[-1].speaker != RECOMMENDER:
        return None
    text = turns[-1].text
    begin = first_label(task, text)
    return text[begin:] if begin is not None and sections_of(task, text).keys() >= set(task.final) else None


def end_of(task: Task, turns: Sequence[Turn]) -> str | None:
    """What ends the conversation, if the last turn does: a recommendation, or the user's farewell."""
    if recommendation_of(task, turns) is not None:
        return RECOMMENDATION
    is_over = bool(turns) and turns[-1].speaker == USER and is_farewell(turns[-1].text)
    return FAREWELL if is_over else None


def cut_short(talk: Talk) -> str | None:
    """Why nobody knows what a conversation would have come to; None for one that came to its end.

    A limit ended it, or the simulated user wrote nothing: neither is the recommender's doing.
    """
    if talk.ended_by in (TURN_LIMIT, TOKEN_BUDGET):
        return talk.ended_by
    is_over = talk.ended_by in (None, RECOMMENDATION, FAREWELL)
    return None if is_over or talk.turns[-1].speaker != USER else f"the simulated user: {talk.ended_by}"


def load_task(name: str) -> Task:
    """A task by its name among those shipped, or by the path of its file.

    Raises:
        TaskError: there is none, or a field is unknown, missing or wrong.
    """
    shipped = FOLDER / "tasks" / f"{name}.toml"
    path = shipped if re.fullmatch(r"\w+", name) and shipped.exists() else Path(name).expanduser()
    try:
        return Task(**parse_toml(path.read_text(encoding="utf-8")))
    except OSError as error:
        known = ", ".join(sorted(file.stem for file in (FOLDER / "tasks").glob("*.toml")))
        raise TaskError(f"tasks: there is no task {name!r}: give {known}, or a TOML file's path") from error
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, e['loc'])) or 'task'}: {e['msg']}" for e in error.errors())
        raise TaskError(f"{path}: not a valid task: {'; '.join(faults)}") from error
    except (ValueError, TypeError) as error:
        raise TaskError(f"{path}: not a TOML file in UTF-8: {error}") from error
