"""What a judge is asked about explanations, and what it said. Pure.

Beside each real explanation the same judge marks three that should score badly: another item's (shuffled),
a sentence that fits every item of the benchmark (generic), and none at all (empty). A metric that gives these
as much as the real ones measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tasks.engines.protocols import Message, Sampling
from tasks.evaluations.cure.answers import NO_ANSWER, Readings, Response
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import kinship, shuffled_order
from tasks.evaluations.cure.prompts import situation
from tasks.evaluations.cure.requests import Study
from tasks.judging.conversation import conversation
from tasks.judging.graded import graded
from tasks.judging.rubric import Rubric
from tasks.judging.verdicts import Verdict, answer_schema, parse_verdicts

JudgeKey = tuple[str, str, str, int]
"""(benchmark, item, source, sample)"""

REAL, SHUFFLED, GENERIC, EMPTY = "real", "shuffled", "generic", "empty"
NULLS = (SHUFFLED, GENERIC, EMPTY)
SOURCES = (REAL, *NULLS)

ENSEMBLE_TEMPERATURE = 0.7
"""Of a judge that is asked several times; else it is greedy."""

_JUDGED = "explanation"
_FIELD = "verdict"

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
    def key(self) -> JudgeKey:
        """What identifies the call among those about one model."""
        return self.item.benchmark, self.item.item, self.source, self.sample

    @property
    def conversation(self) -> list[Message]:
        """What the judge reads; the explanation stands in it as data, in full."""
        return conversation(self.rubric, _inputs(self.item, self.text))

    @property
    def schema(self) -> dict[str, Any]:
        """What its answer is held to."""
        return answer_schema(self.rubric, [_JUDGED])

    @property
    def options(self) -> tuple[str, ...]:
        """Verdicts whose probabilities are wanted at ``field``."""
        return tuple(self.rubric.verdicts)

    @property
    def field(self) -> str:
        """Where the options stand in the answer."""
        return _FIELD


@dataclass(frozen=True)
class Opinion:
    """What one judge said of one call.

    score: in [0, 1]: the graded score, or the verdict's value where the engine gives no probabilities; None
    where the verdict is unscored. graded: None where it gives none.
    """

    judge: str
    call: JudgeCall
    verdict: Verdict
    graded: float | None

    @property
    def score(self) -> float | None:
        """See above."""
        return self.verdict.value if self.graded is None else self.graded


def judge_calls(study: Study, readings: Readings) -> list[JudgeCall]:
    """What to ask each judge about one model's explanations, and about the nulls; none if thick is not asked.

    Specificity is asked ``judge_samples`` times: sample s has seed s, and the rubric's phrasings in turn.
    """
    if "thick" not in study.modes:
        return []
    return [call for benchmark in study.benchmarks for call in _calls(study, benchmark, readings)]


def opinions(judge: str, calls: Iterable[JudgeCall], responses: Mapping[JudgeKey, Response]) -> list[Opinion]:
    """One judge's opinions of all calls, in order; a call without a response is unscored."""
    return [_opinion(judge, call, responses.get(call.key)) for call in calls]


def explanations(study: Study, benchmark: str, readings: Readings) -> dict[str, dict[str, str]]:
    """Source -> item -> the explanation to be judged; items that have none are left out."""
    items = study.items(benchmark)
    found = ((item, readings[benchmark, "thick", item.item].explanation) for item in items)
    real = {item.item: text for item, text in found if text is not None}
    return {
        REAL: real,
        SHUFFLED: _shuffled(items, real),
        GENERIC: {item.item: _GENERIC[benchmark] for item in items},
        EMPTY: {item.item: "" for item in items},
    }


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


def _shuffled(items: Sequence[BenchmarkItem], real: Mapping[str, str]) -> dict[str, str]:
    """Every item's explanation from another one: the next that is no kin and has one, in a fixed shuffled
    ring. Each is so used about once. An item without an explanation of its own is left out: real and shuffled
    are compared item by item."""
    ring = [item for item in shuffled_order(items) if item.item in real]
    kin = [kinship(item) for item in ring]
    found = {}
    for place, item in enumerate(ring):
        others = ((place + step) % len(ring) for step in range(1, len(ring)))
        other = next((other for other in others if kin[place].isdisjoint(kin[other])), None)
        if other is not None:
            found[item.item] = real[ring[other].item]
    return found


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


def _opinion(judge: str, call: JudgeCall, response: Response | None) -> Opinion:
    if response is None:
        return Opinion(judge, call, Verdict(_JUDGED, None, None, None, NO_ANSWER), None)
    (verdict,) = parse_verdicts(response.text, [_JUDGED], call.rubric).verdicts
    values = {name: choice.value for name, choice in call.rubric.verdicts.items()}
    score = graded(response.option_logprobs, values).score if verdict.value is not None else None
    return Opinion(judge, call, verdict, score)
