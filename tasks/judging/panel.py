"""A study's judges: their prompts, completions and opinions. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import polars as pl

from tasks.engines.protocols import Sampling
from tasks.judging.rubric import Rubric, judge_prompt, shorten
from tasks.judging.verdicts import UNANSWERED, Opinion, read_opinions, verdict_frame, verdict_row
from tasks.loop.budget import at_most
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import CUT_OFF
from tasks.loop.requests import Engine, Later
from tasks.loop.samples import Score
from tasks.loop.samples import graded as grading

Replies = Callable[[Prompts], Mapping[str, Completion]]
"""Function that returns a request's stored completions: prompt id -> completion"""


class Judgeable(Protocol):
    """One text to be judged.

    Attributes:
        key: identifies it among the calls about one model.
        keys: names of the things that get a verdict.
        label: shown after the topic in SQL and progress; one request has one label and one sampling.
    """

    @property
    def key(self) -> Hashable: ...

    @property
    def text(self) -> str: ...

    @property
    def rubric(self) -> Rubric: ...

    @property
    def keys(self) -> Sequence[str]: ...

    @property
    def label(self) -> str: ...

    @property
    def sampling(self) -> Sampling: ...

    @property
    def prompt(self) -> Prompt: ...


UNREAD = "without a verdict that can be read"
"""The reason of a judge's completion that has no verdict, whatever it says."""

USUAL_TEXT, USUAL_VERDICT = 200, 100
"""Expected tokens of a judged text and of a verdict, if nothing is stored."""

C = TypeVar("C", bound=Judgeable)

Opinions = Mapping[str, Mapping[Any, Opinion]]
"""Judge's name in the params -> call's key -> opinion"""

AllOpinions = Mapping[str, Mapping[Any, tuple[Opinion, ...]]]
"""Judge -> call's key -> one opinion for each of the call's keys, in order"""


class VerdictSubject(NamedTuple):
    """The subject of a verdict, for people to read; see ``VerdictRow``."""

    rubric: str
    item: str
    item_text: str
    group_name: str
    judged: str


def judges_by_name(judges: Sequence[str], engines: Mapping[str, Engine]) -> dict[str, Engine]:
    """Return a study's judges by their names in its params. Raises ValueError if a judge is named twice."""
    names = [engines[name].name for name in judges]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"judges: {', '.join(repeated)} is named twice: name each judge once")
    return {name: engines[name] for name in judges}


def unread(completion: Completion, keys: Sequence[str], rubric: Rubric, prompt: Prompt) -> str | None:
    """Return why a judge's completion has no verdict on any key; None if it has one (``read_opinions``)."""
    opinions = read_opinions(completion, keys, rubric, prompt)
    if any(opinion.score is not None for opinion in opinions):
        return None
    return CUT_OFF if completion.finish_reason == "length" else UNREAD


@dataclass(frozen=True)
class Judges(Generic[C]):
    """A study's judges, who may judge texts by several rubrics and several times.

    Attributes:
        judges: a judge's name in the params -> its engine; may be empty.
        topic: shown with the requests in SQL and progress.
    """

    judges: Mapping[str, Engine]
    topic: str
    batch: int

    def requests(self, calls: Sequence[C]) -> list[Prompts]:
        """Return every judge's requests, one per label and sampling; none if there is nothing to judge."""
        groups: dict[tuple[str, Sampling], list[Prompt]] = {}
        asked: dict[str, C] = {}
        for call in calls:
            groups.setdefault((call.label, call.sampling), []).append(call.prompt)
            asked[call.prompt.id] = call

        def unread_of(prompt: str, completion: Completion) -> str | None:
            call = asked[prompt]
            return unread(completion, call.keys, call.rubric, call.prompt)

        return [
            Prompts(
                role="judge", engine=judge, topic=self.topic, label=label, batch=self.batch,
                prompts=prompts, sampling=sampling, unread=unread_of,
            )
            for judge in self.judges
            for (label, sampling), prompts in groups.items()
        ]  # fmt: skip

    def stored(self, calls: Sequence[C], replies: Replies) -> dict[tuple[str, Any], Completion]:
        """Return the stored completions: (judge, key of a call) -> completion."""
        by_request = {
            (each.engine, each.label, each.sampling): replies(each) for each in self.requests(calls)
        }
        return {
            (judge, call.key): by_id[call.prompt.id]
            for call in calls
            for judge in self.judges
            if call.prompt.id in (by_id := by_request[judge, call.label, call.sampling])
        }

    def read_all(self, calls: Sequence[C], replies: Replies) -> dict[str, dict[Any, tuple[Opinion, ...]]]:
        """Return every judge's opinions of each call; a call without a completion is unscored."""
        stored = self.stored(calls, replies)
        return {
            judge: {
                call.key: read_opinions(stored.get((judge, call.key)), call.keys, call.rubric, call.prompt)
                for call in calls
            }
            for judge in self.judges
        }

    def read(self, calls: Sequence[C], replies: Replies) -> dict[str, dict[Any, Opinion]]:
        """Return ``read_all`` for calls that have one key each."""
        opinions = self.read_all(calls, replies)
        return {
            judge: {key: opinion for key, (opinion, *_) in by_key.items()}
            for judge, by_key in opinions.items()
        }

    def verdicts(
        self, calls: Sequence[C], opinions: Opinions | AllOpinions, about: Callable[[C, str], VerdictSubject]
    ) -> dict[str, pl.DataFrame]:
        """Return rows by the judge's engine name: one for each key of each call, answered or not.

        about: returns the subject of a call and one of its keys.
        """
        texts = [(call, shorten(call.text, call.rubric.max_chars)) for call in calls]
        frames = {}
        for judge, by_key in opinions.items():
            engine = self.judges[judge]
            frames[engine.name] = verdict_frame(
                verdict_row(engine, opinion=opinion, text=text, **about(call, opinion.verdict.key)._asdict())
                for call, text in texts
                for opinion in _each(by_key[call.key])
            )
        return frames

    def scores(
        self, calls: Sequence[C], opinions: Opinions, replies: Replies
    ) -> Iterator[tuple[Engine, C, Score]]:
        """Yield every judge's verdict on each call, as a score for samples."""
        stored = self.stored(calls, replies)
        for judge, engine in self.judges.items():
            for call in calls:
                completion = stored.get((judge, call.key))
                yield engine, call, verdict_score(engine, opinions[judge][call.key], call.prompt, completion)

    def later(self, n: int, longest: C | None, tokens: int, is_shared: bool = False) -> list[Later]:
        """Return the most that each judge may be sent, for the plan.

        Args:
            n: number of texts.
            longest: a call with the longest inputs.
            tokens: most tokens of a judged text.
        """
        if longest is None or not n:
            return []
        most = at_most(longest.prompt.conversation, longest.prompt.schema, longest.sampling)
        each = most.prompt_tokens + tokens + most.completion_tokens
        usual = (n, most.prompt_tokens + min(tokens, USUAL_TEXT), USUAL_VERDICT)
        return [Later("judge", judge, n, each, is_shared, usual) for judge in self.judges]


def score_name(rubric: str, judge: Engine, *detail: str) -> str:
    """Return a verdict's name among a sample's scores: "coverage shuffled (gemma3-270m)"."""
    return f"{' '.join([rubric, *detail])} ({judge.name})"


def verdict_score(judge: Engine, opinion: Opinion, prompt: Prompt, completion: Completion | None) -> Score:
    """Return a judge's opinion with its prompt and completion."""
    verdict = opinion.verdict
    metadata = {"verdict": verdict.verdict, "reason": verdict.reason, "value": verdict.value}
    metadata |= {"graded": opinion.graded}
    return Score.of(
        opinion.score, verdict.unscored_reason, answer=verdict.verdict, judge=judge.name,
        grading=grading(prompt, completion),
        metadata={name: value for name, value in metadata.items() if value is not None},
    )  # fmt: skip


def verdict_scores(
    judge: Engine,
    opinions: Sequence[Opinion],
    prompt: Prompt,
    completion: Completion | None,
    scale: Callable[[float], float] = float,
) -> Score:
    """Return a judge's opinions of several things in one completion: their mean score, and a line for each.

    Args:
        scale: converts a verdict's value in [0, 1] to the evaluation's number.
    """
    values = [
        (opinion.verdict.key, None if opinion.score is None else scale(opinion.score)) for opinion in opinions
    ]
    lines = []
    for opinion in opinions:
        verdict = opinion.verdict
        reason = f" ({verdict.reason})" if verdict.reason else ""
        is_scored = opinion.score is not None
        word = f"{verdict.verdict}{reason}" if is_scored else f"unscored, {verdict.unscored_reason}"
        lines.append(f"{verdict.key}: {word}")
    known = [value for _, value in values if value is not None]
    return Score(
        fmean(known) if known else None, explanation="\n".join(lines), judge=judge.name,
        grading=grading(prompt, completion), metadata={"values": dict(values)},
    )  # fmt: skip


Key = tuple[str, str]
"""(source of the text, item)"""


@dataclass(frozen=True)
class Call:
    """One text to be judged once by its panel's rubric.

    Attributes:
        source: author or condition of the text; unique together with the item.
    """

    source: str
    item: str
    text: str
    rubric: Rubric
    keys: tuple[str, ...]
    sampling: Sampling
    prompt: Prompt
    label: str = "verdicts"

    @property
    def key(self) -> Key:
        """The call's key among the calls about one model."""
        return self.source, self.item


@dataclass(frozen=True)
class Panel(Judges[Call]):
    """Judges who judge each text once, by one rubric.

    Attributes:
        judged: the rubric's input with the judged text, also the key of its verdict.
        max_tokens: most tokens of a judge's completion.
    """

    judged: str
    rubric: Rubric
    max_tokens: int
    _calls: dict[tuple[str, str, str], Call] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def rubric_id(self) -> str:
        """The rubric's name and hash: "coverage 0123456789abcdef"."""
        return f"{self.rubric.name} {self.rubric.hash()}"

    def call(self, source: str, item: str, text: str, inputs: Callable[[], Mapping[str, object]]) -> Call:
        """Return one text to be judged, cached with its prompt because every round needs it again.

        Args:
            inputs: the rubric's other inputs.
        """
        key = (source, item, text)
        if key not in self._calls:
            fields = {**inputs(), self.judged: text}
            used = {name: fields[name] for name in self.rubric.inputs}
            prompt = judge_prompt(self.rubric, used, [self.judged])
            sampling = Sampling(max_tokens=self.max_tokens)
            self._calls[key] = Call(source, item, text, self.rubric, (self.judged,), sampling, prompt)
        return self._calls[key]

    def verdict_scores(
        self, calls: Sequence[Call], opinions: Opinions, replies: Replies
    ) -> dict[Key, dict[str, Score]]:
        """Return each call's verdicts by the judge's name, as scores for samples."""
        scores: dict[Key, dict[str, Score]] = {call.key: {} for call in calls}
        for engine, call, score in self.scores(calls, opinions, replies):
            scores[call.key][score_name(self.rubric.name, engine)] = score
        return scores


def score_of(opinions: Opinions, key: Key) -> tuple[float | None, str]:
    """Return the judges' mean score of a call, or the reason for none. If one judge gave no score, there is
    none: the mean of the others could be higher.
    """
    known = [by_key[key] for by_key in opinions.values() if key in by_key]
    scores = [opinion.score for opinion in known if opinion.score is not None]
    if scores and len(scores) == len(known):
        return fmean(scores), ""
    reasons = (o.verdict.unscored_reason or UNANSWERED for o in known if o.score is None)
    return None, next(reasons, UNANSWERED)


def _each(opinions: Opinion | tuple[Opinion, ...]) -> tuple[Opinion, ...]:
    return opinions if isinstance(opinions, tuple) else (opinions,)
