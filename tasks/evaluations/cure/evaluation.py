"""Connects the cure evaluation to the loop: labels and explanations, then judges' verdicts on explanations.
Judges are prompted about a benchmark only when all of a model's explanations of it exist. Otherwise a later
explanation could replace a shuffled one that was already judged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tasks.evaluations.choosing import left_out
from tasks.evaluations.contract import Cohort, Completions, Detail, Evaluation, Rows, Tables, comparable
from tasks.evaluations.cure import read, rows
from tasks.evaluations.cure.pack import PACK
from tasks.evaluations.cure.params import CureParams, kind_of
from tasks.evaluations.cure.published import LABELS, BenchmarkItem
from tasks.evaluations.cure.read import (
    CureAnswer,
    CureAnswers,
    CureScores,
    ExplanationJudgeCall,
    Readings,
    answers_of,
)
from tasks.evaluations.cure.study import CureStudy, Published, build_study, country_of
from tasks.evaluations.until import ItemMean, stoppable
from tasks.judging.controls import REAL
from tasks.judging.panel import Opinions, VerdictSubject, score_name
from tasks.loop.prompts import Prompts
from tasks.loop.requests import Engine, Later
from tasks.loop.rows import Reasons
from tasks.loop.samples import Sample, Score, sample
from tasks.metrics.intervals import SHARE
from tasks.metrics.types import FloatArray
from tasks.packs.published import read_rows

_CUES = {"casa": "Symbol", "specnorm": "Subgroup"}
"""Titles of a benchmark's cues, for people."""

_TYPES = {"correct": pl.Boolean(), "score": pl.Float64(), "disagreement": pl.Float64()}
_COLUMNS = (
    "config_hash", "benchmark", "mode", "item", "country", "label", "gold_label", "correct", "explanation",
    "score", "verdict", "disagreement", "unscored_reason",
)  # fmt: skip
SCHEMA = pl.Schema({name: _TYPES.get(name, pl.String()) for name in _COLUMNS})
"""Columns of the part kind cure_answer."""

TABLES = {
    "cure_item": "SELECT * FROM cure_item ORDER BY benchmark, item",
    "country": "SELECT country, name FROM country ORDER BY country",
}


def study(params: CureParams, tables: Mapping[str, Rows], engines: Mapping[str, Engine]) -> CureStudy:
    """Build the study from items of the warehouse, or of published files in their place; see ``build_study``.

    Raises:
        ValueError: there are files for a benchmark that is not chosen, or files that cannot be read.
    """
    unused = ", ".join(benchmark for benchmark in params.files if benchmark not in params.benchmarks)
    if unused:
        raise ValueError(
            f"files of {unused}, which `benchmarks` does not name: add it there, or leave the files out"
        )
    files: Published = {
        str(b): {path: read_rows(path) for path in paths} for b, paths in params.files.items()
    }
    return build_study(params, tables, files, engines)


def ask(study: CureStudy, completions: Completions) -> list[Prompts]:
    """Return the requests of every benchmark in every mode, then each judge's prompts about the
    explanations.
    """
    if not study.is_judged:
        return study.requests()
    readings = read.read_answers(study, study.completed(completions))
    ready = {b for b in study.benchmarks if read.is_answered(study, b, readings)}
    calls = [call for call in read.judge_calls(study, readings) if call.item.benchmark in ready]
    return study.requests() + study.panel.requests(calls)


def make_rows(study: CureStudy, cohort: Cohort[CureAnswers], shared: object) -> Tables:
    """Return rows of the models and the nulls, and tables of every answer and verdict."""
    scored = {model: answers.scored for model, answers in cohort.models.items()}
    candidates = {model: cohort.engines[model].model for model in scored}
    metrics = rows.model_rows(study, scored, candidates) | rows.null_rows(study)
    return Tables(metrics, {model: _details(study, answers) for model, answers in cohort.models.items()})


def _details(study: CureStudy, answers: CureAnswers) -> list[Detail]:
    """Return the tables of every answer, and of the verdicts by judge and benchmark."""
    verdicts = verdict_frames(study, answers.calls, answers.opinions)
    return [
        Detail("cure_answer", answer_frame(study, answers.readings, answers.scored)),
        *(Detail("verdict", frame, " ".join(key)) for key, frame in verdicts.items()),
    ]


def later(study: CureStudy) -> Iterable[Later]:
    """Return the most calls of each judge about a model: every explanation, and the drawn items' nulls."""
    empty, n = read.most_calls(study)
    # The length of the explanation is added to the prompt with an empty one.
    longest = max(empty, key=lambda call: len(call.item.gold) + len(call.item.question), default=None)
    return study.panel.later(n, longest, study.params.max_tokens)


def size(study: CureStudy) -> str:
    """Return the numbers of items, rows left out and items with judged nulls of each benchmark, in words."""
    dropped = {f"{b} {why}": n for b, counts in study.chosen.dropped.items() for why, n in counts.items()}
    items = ", ".join(f"{name} {len(study.items(name))}" for name in study.benchmarks)
    items += left_out("rows", dropped)
    if not study.is_judged:
        return items
    nulls = ", ".join(f"{name} {len(study.chosen.with_nulls[name])}" for name in study.benchmarks)
    return f"{items}; with judged null explanations: {nulls}"


def answer_frame(study: CureStudy, readings: Readings, scored: CureScores) -> pl.DataFrame:
    """Return one row per sample, in the order of the study; missing values of an unscored sample are null.
    ``score`` is the judges' mean. A lost label is wrong, and a lost
    explanation scores 0. ``unscored_reason`` says why the label, else the explanation, is missing or
    unscored.
    """
    config_hash = {"config_hash": comparable(study)}
    rows = [
        config_hash | _row(item, mode, readings[benchmark, mode, item.item], scored, place)
        for benchmark, mode in study.parts
        for place, item in enumerate(study.items(benchmark))
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").fill_nan(None)


def _row(
    item: BenchmarkItem, mode: str, answer: CureAnswer, scored: CureScores, place: int
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "benchmark": item.benchmark,
        "mode": mode,
        "item": item.item,
        "country": item.country,
        "label": answer.label,
        "gold_label": item.label,
        "correct": answer.is_right(item),
        "explanation": answer.explanation,
        "unscored_reason": answer.label_reason or answer.explanation_reason,
    }
    if mode == "thick":
        judged = scored.judged[item.benchmark, REAL]
        row["unscored_reason"] = row["unscored_reason"] or judged.reasons[place] or None
        row |= {
            name: values[place]
            for name, values in (
                ("score", judged.scores),
                ("verdict", judged.verdicts),
                ("disagreement", judged.disagreement),
            )
        }
    return row


def verdict_frames(
    study: CureStudy, calls: Sequence[ExplanationJudgeCall], opinions: Opinions
) -> dict[tuple[str, str], pl.DataFrame]:
    """Return (judge, benchmark) -> a row for each call about one model. Benchmarks have separate frames
    because their items may share identifiers. ``judged`` is source and sample: "real:0". ``group_name`` is
    the country's code, or its name if it has no code.
    """
    frames: dict[tuple[str, str], pl.DataFrame] = {}
    for benchmark in dict.fromkeys(call.item.benchmark for call in calls):
        own = [call for call in calls if call.item.benchmark == benchmark]
        by_judge = study.panel.verdicts(own, opinions, partial(_about, study.rubric_id(benchmark)))
        frames |= {(judge, benchmark): frame for judge, frame in by_judge.items()}
    return frames


def _about(rubric: str, call: ExplanationJudgeCall, key: str) -> VerdictSubject:
    """Return the item as people see it, and the norm that its explanation is compared with."""
    item, kind = call.item, kind_of(call.item.benchmark)
    columns = {
        "Country": item.extra.get("country_name", ""),
        "Person": item.extra.get("persona", ""),
        "Question": item.question,
        _CUES.get(kind, ""): ", ".join(item.cues) if kind in _CUES else "",
        "Norm, to be taken as right": item.gold,
    }
    text = "\n".join(f"{name}: {text}" for name, text in columns.items() if text)
    return VerdictSubject(rubric, item.item, text, country_of(item), f"{call.source}:{call.sample}")


def samples(study: CureStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every item in every mode: its label, and in thick mode its explanation, each with the gold."""
    done = study.completed(completions)
    answers = answers_of(study, completions)
    verdicts: dict[tuple[str, str], dict[str, Score]] = defaultdict(dict)
    for judge, call, verdict in study.panel.scores(answers.calls, answers.opinions, completions):
        verdicts[call.item.benchmark, call.item.item][_name(study, judge, call)] = verdict
    for benchmark, mode in study.parts:
        for place, item in enumerate(study.items(benchmark)):
            key = (benchmark, mode, item.item)
            answer = answers.readings[key]
            scores = {"label": Score.of(answer.is_right(item), answer.label_reason, answer=answer.label)}
            if mode == "thick":
                own = answers.scored.judged[benchmark, REAL]
                mean = Score.of(
                    float(own.scores[place]), own.reasons[place] or None, answer=answer.explanation
                )
                scores |= {"explanation": mean, **verdicts.get((benchmark, item.item), {})}
            about = {"item": item.item, "country": item.country, "norm": item.gold, "cues": list(item.cues)}
            yield sample(
                ":".join(key),
                study.prompts[key],
                done.get(key),
                target=item.label if mode == "thin" else [item.label, item.gold],
                choices=LABELS[kind_of(benchmark)],
                scores=scores,
                metadata={"benchmark": benchmark, "mode": mode, **about},
                roles={"judge": [engine.name for engine in study.judges.values()]} if study.judges else {},
            )


def _name(study: CureStudy, judge: Engine, call: ExplanationJudgeCall) -> str:
    """Return the name of a verdict; several votes of one judge are numbered."""
    source = [] if call.source == REAL else [call.source]
    vote = [f"vote {call.sample + 1}"] if study.votes(call.item.benchmark) > 1 else []
    return score_name(call.rubric.name, judge, *source, *vote)


def _of_headline(study: CureStudy, places: Sequence[int]) -> CureStudy:
    """Return the study of some items, by their positions among the prompts, without judges."""
    keys = [*study.prompts]
    chosen = {(keys[place][0], keys[place][-1]) for place in places}
    items = {b: tuple(item for item in study.items(b) if (b, item.item) in chosen) for b in study.benchmarks}
    of_items = replace(study.chosen, items={b: own for b, own in items.items() if own})
    return replace(study, chosen=of_items, judges={})


def _scores(study: CureStudy, answers: CureAnswers) -> tuple[FloatArray, Reasons, Reasons]:
    of_parts = [answers.scored.labelled[part] for part in study.parts]
    golds = [[item.label for item in study.items(benchmark)] for benchmark, _ in study.parts]
    hits = np.concatenate([labelled.hits(gold) for labelled, gold in zip(of_parts, golds, strict=True)])
    reasons = np.concatenate([labelled.reasons for labelled in of_parts])
    return hits, np.where(np.isnan(hits), reasons, ""), reasons


def _refused(study: CureStudy) -> str:
    if len(study.modes) > 1:
        return "each item is sent in two modes; --modes thin, or thick, sends one"
    return "it ends by exact_match, which needs no judges; leave --judges out" if study.judges else ""


_MEAN = ItemMean(
    metric=lambda study: ("exact_match", SHARE),
    items=lambda study: [
        (":".join(key), str(cluster))
        for key, cluster in zip(study.prompts, study.clusters(*study.benchmarks), strict=True)
    ],
    only=_of_headline,
    ask=lambda study, completions: study.requests(),
    scores=_scores,
    null=lambda study, shared: next(rows.majority_rows(study)).value,
    refused=_refused,
)
EVALUATION = stoppable(Evaluation(
    "cure", CureParams, TABLES, study, ask,
    lambda study, completions, shared: answers_of(study, completions),
    make_rows,
    engines=lambda params: dict.fromkeys(params.judges, "judge"),
    later=later,
    samples=samples,
    size=size,
    pack=PACK,
), _MEAN)  # fmt: skip
