"""Rubrics: what a judge is asked, and what it may answer. Files, not code.

A rubric is a TOML file: ``name``, ``version``, ``system`` (the rules), ``user`` (a Jinja template over
``inputs``), ``[verdicts.<name>]`` with the value and the reasons that may go with it, and ``[[examples]]``
with their inputs and the right answer. See ``tasks/evaluations/fmlama/rubrics/mes.toml``.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

from jinja2 import StrictUndefined, Template, TemplateError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from tasks.engines.protocols import Message
from tasks.judging.untrusted import DATA_NOTE, as_data
from tasks.parsing import parse_toml

_JINJA = ImmutableSandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)

Text = Annotated[str, Field(min_length=1)]


class RubricError(ValueError):
    """A rubric file that cannot be used; the message names the file and the field."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Choice(_Part):
    """A verdict that the judge may give."""

    value: float = Field(ge=0, le=1, description="what it adds to a score")
    reasons: tuple[Text, ...] = Field(min_length=1, description="the reasons that may go with it")


class Marked(_Part):
    """A verdict with its reason, as the judge has to write it."""

    verdict: str
    reason: str


class Example(_Part):
    """Inputs with the right answer, shown to the judge before the question."""

    inputs: dict[str, str | tuple[str, ...]]
    answer: dict[str, Marked] = Field(min_length=1)


class Rubric(_Part):
    """One rubric file."""

    name: Text
    version: int = Field(ge=1, description="raised whenever the meaning of a verdict changes")
    system: Text = Field(description="the rules, the menu of verdicts and the form of an answer")
    inputs: tuple[Text, ...] = Field(min_length=1, description="names of what the template is filled with")
    user: Text = Field(description="Jinja template; every input appears as delimited data")
    max_chars: int = Field(default=2000, ge=2, description="longer texts are cut to this, with an ellipsis")
    verdicts: dict[Text, Choice] = Field(min_length=2)
    examples: tuple[Example, ...] = ()

    def __hash__(self) -> int:
        """Of its name: what is read of a judge's text is kept by rubric."""
        return hash((self.name, self.version))

    def question(self, inputs: Mapping[str, object]) -> str:
        """The template filled in; inputs reach it only as delimited data (``untrusted``)."""
        data = {name: as_data(value, self.max_chars) for name, value in inputs.items()}
        return _template(self.user).render(data).strip()

    @cached_property
    def beginning(self) -> tuple[Message, ...]:
        """What every judge reads before its question: the rules, and each example as a question with its
        answer. Kept, because a run asks thousands of questions."""
        messages = [_message("system", f"{self.system.strip()}\n\n{DATA_NOTE}")]
        for example in self.examples:
            answer = {key: marked.model_dump() for key, marked in example.answer.items()}
            messages.append(_message("user", self.question(example.inputs)))
            messages.append(_message("assistant", json.dumps(answer, ensure_ascii=False)))
        return tuple(messages)

    def hash(self) -> str:
        """16 hex digits that name everything of ours that shapes a prompt or the reading of its answer."""
        content = json.dumps([self.model_dump(mode="json"), DATA_NOTE], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @field_validator("user")
    @classmethod
    def _template_uses_the_inputs(cls, user: str, info: ValidationInfo) -> str:
        try:
            used = meta.find_undeclared_variables(_JINJA.parse(user))
        except TemplateError as error:
            raise ValueError(f"not a Jinja template: {error}") from error
        declared = set(info.data.get("inputs", used))
        if used != declared:
            raise ValueError(f"the template uses {sorted(used)}, but inputs declares {sorted(declared)}")
        return user

    @field_validator("verdicts")
    @classmethod
    def _names_differ(cls, verdicts: dict[str, Choice]) -> dict[str, Choice]:
        for names in (list(verdicts), *(list(choice.reasons) for choice in verdicts.values())):
            if len({normal(name) for name in names}) < len(names):
                raise ValueError(f"{names}: two of these are the same but for case, spaces or encoding")
        return verdicts

    @field_validator("examples")
    @classmethod
    def _examples_are_answers(
        cls, examples: tuple[Example, ...], info: ValidationInfo
    ) -> tuple[Example, ...]:
        inputs, verdicts = info.data.get("inputs"), info.data.get("verdicts")
        if inputs is None or verdicts is None:  # reported under their own names
            return examples
        for number, example in enumerate(examples):
            if set(example.inputs) != set(inputs):
                raise ValueError(f"{number}.inputs: expected {sorted(inputs)}, got {sorted(example.inputs)}")
            for key, marked in example.answer.items():
                choice = verdicts.get(marked.verdict)
                if choice is None or marked.reason not in choice.reasons:
                    raise ValueError(
                        f"{number}.answer.{key}: {marked.verdict!r} with {marked.reason!r} is not allowed"
                    )
        return examples


def load_rubric(path: Path) -> Rubric:
    """Read and check a rubric file.

    Raises:
        RubricError: not there, not TOML, or a field is unknown, missing or wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RubricError(f"there is no readable rubric at {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise RubricError(f"{path}: not a TOML file in UTF-8: {error}") from error
    return parse_rubric(text, str(path))


def parse_rubric(text: str, where: str) -> Rubric:
    """The rubric that a TOML text is; where: names it in errors. Raises RubricError as ``load_rubric``."""
    try:
        return Rubric(**parse_toml(text))
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise RubricError(f"{where}: not a valid rubric: {'; '.join(faults)}") from error
    except (ValueError, TypeError) as error:
        raise RubricError(f"{where}: not a TOML file in UTF-8: {error}") from error


@lru_cache(maxsize=64)
def _template(source: str) -> Template:
    """A compiled ``Rubric.user``, in a sandbox: rubric files may come from elsewhere."""
    return _JINJA.from_string(source)


@lru_cache(maxsize=1 << 12)
def normal(text: str) -> str:
    """The form in which keys, verdicts and reasons are compared: case folded, NFC, no outer space."""
    return unicodedata.normalize("NFC", text.casefold()).strip()


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}
