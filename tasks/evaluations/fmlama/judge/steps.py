"""MES: a judge marks some dishes' top predictions; verdicts are stored, and become metric rows.

Judged are the predictions of the first condition under its first wording, of the dishes of each origin whose
urls' hashes are smallest: the same for every model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import polars as pl

from tasks.engines.protocols import Sampling
from tasks.evaluations.fmlama import mes
from tasks.evaluations.fmlama.groups import interval
from tasks.evaluations.fmlama.requests import Study
from tasks.evaluations.fmlama.rows import by_origin
from tasks.evaluations.fmlama.scores import ProbeScore
from tasks.generation.steps import Ask, answers
from tasks.identity import digest
from tasks.judging.rubric import load_rubric
from tasks.judging.verdicts import Verdict, parse_verdicts
from tasks.metric_rows import Metric, Slice, scored, unscored
from tasks.steps import Run, spec_of, store_part

VERDICTS = "verdict"
NO_VERDICT = "the judge gave no verdict that could be read"
SAMPLING = Sampling(temperature=0.0, max_tokens=1024)

Marks = list[tuple[mes.JudgeRequest, tuple[Verdict, ...]]]


def judged_by(judge: str) -> str:
    """Identifies the judge's engine and its rubric: verdicts of others may not be compared."""
    return digest([spec_of(judge).hash(), load_rubric(mes.MES_RUBRIC).hash()])


def judge_run(study: Study, run: Run, score: ProbeScore) -> Marks:
    """Ask the judge what it has not been asked yet, store its verdicts, and return them."""
    assert study.params.judge is not None
    rubric, spec = load_rubric(mes.MES_RUBRIC), spec_of(study.params.judge)
    requests = mes.requests(rubric, judged_dishes(score, study.params.judged_dishes_per_origin))
    asks = [Ask(r.conversation, r.schema) for r in requests]
    said = answers(asks, spec, SAMPLING, run, f"{spec.name} judges {run[1]}")
    marks = [
        (r, parse_verdicts(answer.text, r.keys, rubric).verdicts)
        for r, answer in zip(requests, said, strict=True)
    ]
    names = {"judge": spec.name, "rubric": f"{rubric.name} {rubric.hash()}"}
    ids = {"request_hash": run[0], "run_id": run[0], "model": run[1], "judge_hash": spec.hash()}
    # One judgement each, of which only the word is read.
    none = {"graded": pl.lit(None, pl.Float64), "disagreement": pl.lit(None, pl.Float64)}
    constants = {name: pl.lit(value) for name, value in (names | ids).items()}
    frame = _frame(marks).with_columns(**constants, **none)
    store_part(VERDICTS, digest([run[0], names], 32), frame, replace=True)
    return marks


def judged_dishes(score: ProbeScore, per_origin: int) -> list[mes.JudgedDish]:
    """The dishes that the judge sees, with the predictions under the first scored wording."""
    probe = score.probe
    dish, _ = np.nonzero(score.predicted[0])
    predicted = np.split(score.ranks[0], np.searchsorted(dish, np.arange(1, len(probe.dishes))))
    by_origin: dict[str, list[int]] = {}
    for row in sorted(range(len(probe.dishes)), key=lambda row: digest(probe.dishes[row].url)):
        by_origin.setdefault(probe.dishes[row].group, []).append(row)
    chosen = sorted(row for rows in by_origin.values() for row in rows[:per_origin])
    return [
        mes.JudgedDish(
            probe.dishes[row].url,
            probe.names[row],
            probe.dishes[row].group,
            probe.dishes[row].ingredients,
            tuple(probe.candidates[column] for column in predicted[row]),
        )
        for row in chosen
    ]


def mes_rows(study: Study, score: ProbeScore, marks: Marks, null: Marks | None) -> list[Metric]:
    """MES and the share of Maybe, of all judged dishes and of each origin's; null: the baseline's marks."""
    slug = score.probe.condition.slug
    limit = study.params.judged_dishes_per_origin
    n_judged = {origin: min(len(members), limit) for origin, members in by_origin(score).items()}
    groups: dict[Slice, str | None] = {("condition", slug): None}
    groups |= {("condition_origin", f"{slug}:{origin}"): origin for origin in n_judged}
    knobs = (study.params.bootstrap, study.params.seed)
    rows: list[Metric] = []
    for where, origin in groups.items():
        of_dish = _dish_scores(marks, origin)
        found, chance = mes.mes(of_dish), mes.mes(_dish_scores(null or [], origin))
        counts = (found.n_scored, found.n_unscored)
        if found.value is None or found.maybe is None:
            reason = NO_VERDICT if score.templates else next(iter(score.unscored.values()))
            n = n_judged[origin] if origin else sum(n_judged.values())
            rows.append(unscored("mes", where, reason, n, chance.value))
            rows.append(unscored("mes_maybe", where, reason, n, chance.maybe))
            continue
        values = np.array([np.nan if s.value is None else s.value for s in of_dish])
        rows.append(scored("mes", where, found.value, counts, interval(values, knobs), chance.value))
        rows.append(scored("mes_maybe", where, found.maybe, counts, None, chance.maybe))
    return rows


def _dish_scores(marks: Marks, origin: str | None) -> list[mes.DishScore]:
    chosen = [verdicts for request, verdicts in marks if origin in (None, request.dish.origin)]
    return [mes.dish_score(verdicts) for verdicts in chosen]


def _frame(marks: Sequence[tuple[mes.JudgeRequest, tuple[Verdict, ...]]]) -> pl.DataFrame:
    cells = [
        {"item": r.dish.url, "item_name": r.dish.name, "origin": r.dish.origin, **asdict(verdict)}
        for r, verdicts in marks
        for verdict in verdicts
    ]
    return pl.DataFrame(cells, infer_schema_length=None).rename({"key": "judged"})
