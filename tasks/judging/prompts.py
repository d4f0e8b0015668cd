"""What a judge is sent, and what its completion comes to: the same for every evaluation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tasks.judging.conversation import conversation
from tasks.judging.graded import graded
from tasks.judging.rubric import Rubric, normal
from tasks.judging.verdicts import Verdict, answer_schema, parse_verdicts
from tasks.loop.prompts import Completion, Prompt
from tasks.loop.requests import Engine
from tasks.loop.written import field_values

UNANSWERED = "a judge has not answered"
"""Why there is no verdict where a judge failed, or has not been asked yet."""

NO_JUDGE = "no judge was named"

CUT_OFF = "the judge's answer was cut off at its limit of tokens"

_FIELD = "verdict"


def judges_by_name(given: Sequence[str], engines: Mapping[str, Engine]) -> dict[str, Engine]:
    """The judges of a study, by the names that its params give them.

    Raises ValueError if two of these are one judge.
    """
    names = [engines[name].name for name in given]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"judges: {', '.join(twice)} is named twice: name each judge once")
    return {name: engines[name] for name in given}


@dataclass(frozen=True)
class Opinion:
    """What a judge said of one key.

    Attributes:
        graded: in [0, 1]: the verdicts' values weighted by their probabilities; None where the engine gives
            none, the verdict is unscored, or the text holds others beside it.
    """

    verdict: Verdict
    graded: float | None = None

    @property
    def score(self) -> float | None:
        """The graded score, or the verdict's value where there is none; None where unscored."""
        return self.verdict.value if self.graded is None else self.graded

    @property
    def is_answered(self) -> bool:
        """Whether the judge wrote anything, readable or not."""
        return self.verdict.unscored_reason != UNANSWERED


def judge_prompt(
    rubric: Rubric, inputs: Mapping[str, object], keys: Sequence[str], with_probabilities: bool = True
) -> Prompt:
    """The rubric filled in, with what the completion is held to.

    Args:
        inputs: name -> text or texts; see ``conversation``.
        keys: what is judged of them, by name: each gets a verdict.
        with_probabilities: of the verdicts, where the engine gives them; they are those of one key.

    Raises:
        ValueError: inputs or keys do not fit. TypeError: an input is no text.
    """
    options = tuple(rubric.verdicts) if with_probabilities else ()
    field = _FIELD if with_probabilities else ""
    return Prompt(conversation(rubric, inputs), _schema(rubric, tuple(keys)), options, field)


def opinions(completion: Completion | None, keys: Sequence[str], rubric: Rubric) -> tuple[Opinion, ...]:
    """What a completion says of each key, in order; whatever is missing is unscored with a reason.

    A completion that was cut off may have been about to say something else than what it quoted: no verdict.
    The probabilities count only where every verdict in the text is the one that was read.
    """
    if completion is None or completion.finish_reason == "length":
        fault = UNANSWERED if completion is None else CUT_OFF
        return tuple(Opinion(Verdict(key, None, None, None, fault)) for key in keys)
    values = {name: choice.value for name, choice in rubric.verdicts.items()}
    score = graded(completion.option_logprobs, values).score
    read = _read(completion.text, tuple(keys), rubric)
    return tuple(Opinion(verdict, score if is_alone else None) for verdict, is_alone in read)


@lru_cache(maxsize=1 << 8)
def _schema(rubric: Rubric, keys: tuple[str, ...]) -> Mapping[str, Any]:
    """The same for all answers that are judged alike."""
    return answer_schema(rubric, keys)


@lru_cache(maxsize=1 << 12)
def _read(text: str, keys: tuple[str, ...], rubric: Rubric) -> tuple[tuple[Verdict, bool], ...]:
    """The verdict on each key, and whether no other is in the text. Kept: judges write few texts."""
    written = {normal(value) for value in field_values(text, _FIELD)}
    return tuple(
        (verdict, verdict.verdict is not None and written == {normal(verdict.verdict)})
        for verdict in parse_verdicts(text, keys, rubric).verdicts
    )
