"""What a judge is asked about explanations, and what it said. Pure.

Beside each real explanation the same judge marks three null ones (``tasks.judging.null_texts``) that should
score badly: another item's, a sentence that fits every item of the benchmark, and none at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from tasks.engines.protocols import Sampling
from tasks.evaluations.cure.answers import NO_ANSWER, Readings
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import family
from tasks.evaluations.cure.prompts import situation
from tasks.evaluations.cure.requests import Study
from tasks.generation.prompts import Completion, Prompt, Prompts, by_sampling
from tasks.judging.null_texts import texts_by_source
from tasks.judging.prompts import Opinion, judge_prompt, opinions
from tasks.judging.rubric import Rubric

CallKey = tuple[str, str, str, int]
"""(benchmark, item, source, sample)"""

ENSEMBLE_TEMPERATURE = 0.7
"""Of a judge that is asked several times; else it is greedy."""

_JUDGED = "explanation"

_GENERIC = MappingProxyType(
    {
        "normad": "This follows from the local norms of etiquette, which ask people to be polite and "
        "considerate towards others. What matters most is to respect the customs of the country.",
        "casa": "Symbols carry meanings that differ between cultures, so it is important to be sensitive to "
        "them. What is planned should respect the traditions and the feelings of the people there.",
        "culturebank": "People of this group value respect and harmony, and this person should keep that in "
        "mind in this situation. Following the local norm will make a good impression.",
        "specnorm": "Communities have norms of their own that outsiders may not know. In this community "
        "tradition and respect matter, and one should act in keeping with them.",
    }
)


@dataclass(frozen=True)
class JudgeCall:
    """One explanation to be judged, in one phrasing of its rubric."""

    item: BenchmarkItem
    source: str
    sample: int
    text: str
    rubric: Rubric
    sampling: Sampling

    @property
    def key(self) -> CallKey:
        """What identifies the call among those about one model."""
        return self.item.benchmark, self.item.item, self.source, self.sample

    @cached_property
    def prompt(self) -> Prompt:
        """What the judge is sent; the explanation stands in it as data, in full."""
        return judge_prompt(self.rubric, _inputs(self.item, self.text), [_JUDGED])


@dataclass(frozen=True)
class Reply:
    """What one judge, by its engine's name, said of one call."""

    judge: str
    call: JudgeCall
    opinion: Opinion


def judge_calls(study: Study, readings: Readings) -> list[JudgeCall]:
    """What to ask each judge about one model's explanations, and about the nulls; none if thick is not asked.

    Specificity is asked ``judge_samples`` times: sample s has seed s, and the rubric's phrasings in turn.
    """
    if "thick" not in study.modes:
        return []
    return [call for benchmark in study.benchmarks for call in _calls(study, benchmark, readings)]


def is_answered(study: Study, benchmark: str, readings: Readings) -> bool:
    """Whether all explanations of a benchmark are there: else a shuffled one could become another's."""
    answers = (readings[sample.key] for sample in study.samples(benchmark, "thick"))
    return all(answer.explanation_reason != NO_ANSWER for answer in answers)


def judge_requests(study: Study, judge: str, calls: Iterable[JudgeCall]) -> list[Prompts]:
    """What one judge, by its name in the params, is sent: one request per sampling."""
    groups = by_sampling((call.sampling, call.prompt) for call in calls)
    return [
        Prompts(
            role="judge",
            engine=judge,
            topic="explanations",
            label=f"vote {vote}",
            batch=study.params.batch,
            prompts=prompts,
            sampling=sampling,
        )
        for vote, (sampling, prompts) in enumerate(groups.items(), start=1)
    ]


def replies(judge: str, calls: Iterable[JudgeCall], completions: Mapping[CallKey, Completion]) -> list[Reply]:
    """One judge's opinions of all calls, in order; a call without a completion is unscored."""
    return [
        Reply(judge, call, opinions(completions.get(call.key), [_JUDGED], call.rubric)[0]) for call in calls
    ]


def explanations(study: Study, benchmark: str, readings: Readings) -> dict[str, dict[str, str]]:
    """Source -> item -> the explanation to be judged; items that have none are left out."""
    items = study.items(benchmark)
    answers = {item.item: readings[benchmark, "thick", item.item].explanation for item in items}
    real = {item: text for item, text in answers.items() if text is not None}
    families = {item.item: family(item) for item in items}
    return texts_by_source(real, families, _GENERIC[benchmark], benchmark)


def _calls(study: Study, benchmark: str, readings: Readings) -> Iterator[JudgeCall]:
    rubrics = study.rubrics[benchmark]
    n = study.params.judge_samples if len(rubrics) > 1 else 1
    for source, texts in explanations(study, benchmark, readings).items():
        for item in study.items(benchmark):
            if item.item in texts:
                for sample in range(n):
                    sampling = Sampling(
                        temperature=ENSEMBLE_TEMPERATURE if n > 1 else 0.0,
                        max_tokens=study.params.judge_max_tokens,
                        seed=sample,
                    )
                    rubric = rubrics[sample % len(rubrics)]
                    yield JudgeCall(item, source, sample, texts[item.item], rubric, sampling)


def _inputs(item: BenchmarkItem, text: str) -> dict[str, object]:
    """What each benchmark's rubric is filled with."""
    given: dict[str, object] = {"norm": item.gold, _JUDGED: text}
    match item.benchmark:
        case "casa":
            rule = item.extra.get("rule", item.gold)
            del given["norm"]
            given |= {
                "country": item.extra.get("country_name", ""),
                "query": situation(item),
                "symbol": list(item.cues) or rule,
                "meaning": item.gold,
            }
        case "culturebank":
            shown = f"{situation(item)} {item.extra.get('question', '')}".strip()
            given |= {"persona": item.extra.get("persona", ""), "situation": shown}
        case "specnorm":
            given["subgroup"] = list(item.cues)
    return given
