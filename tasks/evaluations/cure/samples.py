"""Norms with labels, explanations and verdicts, one by one, as people read them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tasks.evaluations.contract import Completions
from tasks.evaluations.cure.answers import JudgeCall, completed, judge_calls, read_answers, replies
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import LABELS
from tasks.evaluations.cure.params import kind_of
from tasks.evaluations.cure.requests import Study
from tasks.evaluations.cure.scores import score_model
from tasks.judging.controls import REAL
from tasks.judging.panel import score_name
from tasks.loop.requests import Engine
from tasks.loop.samples import Sample, Score, sample

Judged = dict[tuple[str, str], dict[str, Score]]
"""(benchmark, item) -> what judges said of its explanation and of the null ones"""


def samples(study: Study, completions: Completions) -> Iterator[Sample]:
    """Every item in every mode: its label, and in thick mode its explanation, each with the gold."""
    done = completed(study, completions)
    readings = read_answers(study, done)
    calls = judge_calls(study, readings)
    said = study.panel.read(calls, completions)
    scored = score_model(study, readings, replies(study, calls, said))
    verdicts: Judged = defaultdict(dict)
    for judge, call, verdict in study.panel.scores(calls, said, completions):
        verdicts[call.item.benchmark, call.item.item][_name(study, judge, call)] = verdict
    for benchmark, mode in study.parts():
        for place, each in enumerate(study.samples(benchmark, mode)):
            item, answer = each.item, readings[each.key]
            scores = {"label": Score.of(answer.is_right(item), answer.label_reason, answer=answer.label)}
            if mode == "thick":
                own = scored.judged[benchmark, REAL]
                mean = Score.of(float(own.raw[place]), own.reasons[place] or None, answer=answer.explanation)
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


def _name(study: Study, judge: Engine, call: JudgeCall) -> str:
    """What a verdict is called; of several votes of one judge each is named by its number."""
    n = study.params.judge_samples if len(study.rubrics[call.item.benchmark]) > 1 else 1
    source = [] if call.source == REAL else [call.source]
    vote = [f"vote {call.sample + 1}"] if n > 1 else []
    return score_name(call.rubric.name, judge, *source, *vote)


def _about(item: BenchmarkItem) -> dict[str, object]:
    return {"item": item.item, "country": item.country, "norm": item.gold, "cues": list(item.cues)}
