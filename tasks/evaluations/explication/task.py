"""Tasks: what is to be recommended, in which form, and when a conversation about it is over. Files, not code.

A task is a TOML file; ``tasks/breakfast.toml`` shows all fields. A user adds one by naming its path.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tasks.evaluations.explication.personas import FactKind
from tasks.evaluations.explication.phrases import is_in
from tasks.generation.dialogue import Turn

FOLDER = Path(__file__).parent
RECOMMENDER, USER = "recommender", "user"
"""Who talks: the candidate, and the simulator."""

RECOMMENDATION, FAREWELL = "recommendation", "farewell"
"""What ends a conversation, beside its limits."""

BEGIN: Mapping[str, object] = tomllib.loads((FOLDER / "prompts" / "begin.toml").read_text(encoding="utf-8"))
_FAREWELLS = tuple(str(phrase) for phrase in BEGIN["farewell"])  # type: ignore[attr-defined]

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
    def form(self) -> str:
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
            f"Constraints that matter here: {', '.join(self.constraints)}. Required form:\n{self.form}"
        )

    @cached_property
    def labels(self) -> re.Pattern[str]:
        """A label at the beginning of a line, however it is marked."""
        names = "|".join(re.escape(s.label).replace(r"\ ", r"[ \t]*") for s in self.sections)
        return re.compile(rf"^[ \t]*[#*_\-\d.>]*[ \t]*[*_]*({names})[*_]*[ \t]*:[*_]*", re.I | re.M)


def sections_of(task: Task, text: str) -> dict[str, str]:
    """Label -> what stands under it, of the first time that each occurs."""
    matches = list(task.labels.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)][: len(matches)]
    names = {re.sub(r"\s", "", s.label.casefold()): s.label for s in task.sections}
    sections: dict[str, str] = {}
    for match, end in zip(matches, ends, strict=True):
        label = names[re.sub(r"\s", "", match[1].casefold())]
        sections.setdefault(label, text[match.end() : end].strip())
    return sections


def recommendation_of(task: Task, turns: Sequence[Turn]) -> str | None:
    """The last turn's recommendation: from its first label on; None where it is none.

    Only the recommender can give one, and only with all ``final`` sections, none of them empty.
    """
    if not turns or turns[-1].speaker != RECOMMENDER:
        return None
    text = turns[-1].text
    sections, begin = sections_of(task, text), task.labels.search(text)
    return text[begin.start() :] if begin and all(sections.get(label) for label in task.final) else None


def end_of(task: Task, turns: Sequence[Turn]) -> str | None:
    """What ends the conversation, if the last turn does: a recommendation, or the user's farewell."""
    if recommendation_of(task, turns) is not None:
        return RECOMMENDATION
    is_over = bool(turns) and turns[-1].speaker == USER and is_in(_FAREWELLS, turns[-1].text)
    return FAREWELL if is_over else None


def load_task(name: str) -> Task:
    """A task by its name among those shipped, or by the path of its file.

    Raises:
        TaskError: there is none, or a field is unknown, missing or wrong.
    """
    shipped = FOLDER / "tasks" / f"{name}.toml"
    path = shipped if re.fullmatch(r"\w+", name) and shipped.exists() else Path(name).expanduser()
    try:
        return Task(**tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        known = ", ".join(sorted(file.stem for file in (FOLDER / "tasks").glob("*.toml")))
        raise TaskError(f"tasks: there is no task {name!r}: give {known}, or a TOML file's path") from error
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, e['loc'])) or 'task'}: {e['msg']}" for e in error.errors())
        raise TaskError(f"{path}: not a valid task: {'; '.join(faults)}") from error
    except (ValueError, TypeError) as error:
        raise TaskError(f"{path}: not a TOML file in UTF-8: {error}") from error
