"""Norms with labels, explanations and verdicts, one by one, as people read them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tasks.evaluations.contract import Completions
from tasks.evaluations.cure.answers import (
    CallKey,
    Reply,
    completed,
    judge_calls,
    read_answers,
    read_replies,
    replied,
)
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import LABELS
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import score_model
from tasks.generation.prompts import Completion
from tasks.generation.samples import sample
from tasks.judging.null_texts import REAL
from tasks.judging.samples import score_name, verdict_score
from tasks.metrics.types import FloatArray
from tasks.samples import Sample, Score

Judged = dict[tuple[str, str], dict[str, Score]]
"""(benchmark, item) -> what judges said of its explanation and of the null ones"""


def samples(study: Study, completions: Completions) -> Iterator[Sample]:
    """Every item in every mode: its label, and in thick mode its explanation, each with the gold."""
    done = completed(study, completions)
    readings = read_answers(study, done)
    calls, replies = judge_calls(study, readings), list[Reply]()
    written: dict[tuple[str, CallKey], Completion] = {}
    for name, engine in study.judges.items():
        stored = replied(study, name, calls, completions)
        replies += read_replies(engine.name, calls, stored)
        written |= {(engine.name, key): completion for key, completion in stored.items()}
    scored, verdicts = score_model(study, readings, replies), _verdicts(study, replies, written)
    for benchmark, mode in study.parts():
        for place, each in enumerate(study.samples(benchmark, mode)):
            item, answer = each.item, readings[each.key]
            scores = {"label": Score.of(answer.is_right(item), answer.label_reason, answer=answer.label)}
            if mode == "thick":
                own = scored.judged[benchmark, REAL]
                mean = Score.of(_at(own.raw, place), own.reasons[place] or None, answer=answer.explanation)
                scores |= {"explanation": mean, **verdicts.get((benchmark, item.item), {})}
            yield sample(
                ":".join(each.key),
                each.prompt,
                done.get(each.key),
                target=item.label if mode == "thin" else [item.label, item.gold],
                choices=LABELS[kind_of(benchmark)],
                scores=scores,
                metadata={"benchmark": benchmark, "mode": mode, **_about(item)},
                roles={"judge": [engine.name for engine in study.judges.values()]} if study.judges else {},
            )


def _verdicts(study: Study, replies: list[Reply], written: dict[tuple[str, CallKey], Completion]) -> Judged:
    """Of several votes of one judge each is named by its number."""
    judges = {engine.name: engine for engine in study.judges.values()}
    verdicts: Judged = defaultdict(dict)
    for reply in replies:
        benchmark, item, source, vote = reply.call.key
        judge = judges[reply.judge]
        n = study.params.judge_samples if len(study.rubrics[benchmark]) > 1 else 1
        detail = [*([] if source == REAL else [source]), *([f"vote {vote + 1}"] if n > 1 else [])]
        name = score_name(reply.call.rubric.name, judge, *detail)
        completion = written.get((reply.judge, reply.call.key))
        verdicts[benchmark, item][name] = verdict_score(judge, reply.opinion, reply.call.prompt, completion)
    return verdicts


def _about(item: BenchmarkItem) -> dict[str, object]:
    return {"item": item.item, "country": item.country, "norm": item.gold, "cues": list(item.cues)}


def _at(values: FloatArray, place: int) -> float:
    return float(values[place])
