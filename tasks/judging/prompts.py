"""What a judge is sent, and what its completion comes to: the same for every evaluation. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.generation.prompts import Completion, Prompt
from tasks.judging.conversation import conversation
from tasks.judging.graded import graded
from tasks.judging.rubric import Rubric
from tasks.judging.verdicts import Verdict, answer_schema, parse_verdicts

UNANSWERED = "a judge has not answered"
"""Why there is no verdict where a judge failed, or has not been asked yet."""

_FIELD = "verdict"


@dataclass(frozen=True)
class Opinion:
    """What a judge said of one key.

    Attributes:
        graded: in [0, 1]: the verdicts' values weighted by their probabilities; None where the engine gives
            none, or the verdict is unscored.
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
    return Prompt(conversation(rubric, inputs), answer_schema(rubric, keys), options, field)


def opinions(completion: Completion | None, keys: Sequence[str], rubric: Rubric) -> tuple[Opinion, ...]:
    """What a completion says of each key, in order; whatever is missing is unscored with a reason."""
    if completion is None:
        return tuple(Opinion(Verdict(key, None, None, None, UNANSWERED)) for key in keys)
    values = {name: choice.value for name, choice in rubric.verdicts.items()}
    score = graded(completion.option_logprobs, values).score
    return tuple(
        Opinion(verdict, None if verdict.value is None else score)
        for verdict in parse_verdicts(completion.text, keys, rubric).verdicts
    )
