"""Returns sentences with a blank and a model's top ingredients, in the form that people read. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tasks.evaluations.contract import Completions
from tasks.evaluations.fmlama.judge import judge_prompts, read_marks
from tasks.evaluations.fmlama.published import WORDING, is_published, predicted_dishes, published_top
from tasks.evaluations.fmlama.read import NO_RANKING, spelled, stored_scores
from tasks.evaluations.fmlama.study import FmlamaStudy, Probe, Template, judging
from tasks.judging.panel import score_name, verdict_scores
from tasks.judging.verdicts import Opinion
from tasks.loop.samples import Sample, Score, listed, question
from tasks.metrics import ranking
from tasks.metrics.types import FloatArray

TOP = 10
BLANK = "____"

Marked = dict[str, dict[str, Score]]
"""URL of a dish -> a judge's verdicts on its predictions"""


def samples(study: FmlamaStudy, completions: Completions) -> Iterator[Sample]:
    """Yield every dish under every wording of every condition; one matrix of scores is in memory at
    a time.
    """
    marks = _marks(study, completions)
    if is_published(completions):
        yield from _of_published(study, completions, marks)
        return
    for probe in study.probes:
        for template in probe.templates:
            tables = stored_scores(study, completions, probe, template)
            table = tables if isinstance(tables, str) else tables[study.params.pooling]
            is_judged = probe is study.probes[0] and template == probe.templates[0]
            yield from _of_wording(study, probe, template, table, marks if is_judged else {})


def _of_wording(
    study: FmlamaStudy,
    probe: Probe,
    template: Template,
    table: FloatArray | str,
    marks: Marked,
) -> Iterator[Sample]:
    ranked = None if isinstance(table, str) else spelled(table)
    precision = None if ranked is None else np.asarray(ranking.average_precision(ranked, probe.relevant))
    sentences = probe.prompts(template)
    for row, dish in enumerate(probe.dishes):
        top: list[tuple[str, float]] = []
        if ranked is not None:
            n = max(TOP, len(dish.ingredients))
            best = np.argsort(-ranked[row], kind="stable")[:n]
            top = [(probe.candidates[i], float(ranked[row, i])) for i in best if np.isfinite(ranked[row, i])]
        value = None if precision is None else float(precision[row])
        own = Score.of(value, table if isinstance(table, str) else None, answer=top[0][0] if top else None)
        yield Sample(
            f"{probe.condition.slug}:{template.template}:{dish.url}",
            question(f"{sentences[row]}{template.lead}{BLANK}{template.after}"),
            listed(top, f"{study.params.pooling} of the candidate in the blank"),
            target=list(dish.ingredients),
            finish_reason="stop" if top else "",
            scores={"average_precision": own, **marks.get(dish.url, {})},
            metadata={
                **_about(probe, template, row),
                "top": [{"candidate": candidate, "score": score} for candidate, score in top],
            },
            roles=_roles(study, dish.url in marks),
        )


def _of_published(study: FmlamaStudy, completions: Completions, marks: Marked) -> Iterator[Sample]:
    """Yield every dish with its published predictions, which have no scores."""
    for probe in study.probes:
        top = published_top(study, completions, probe)
        for row, dish in enumerate(() if isinstance(top, str) else probe.dishes):
            own = top[row]
            predicted = [] if isinstance(own, str) else [probe.candidates[i] for i in own]
            yield Sample(
                f"{probe.condition.slug}:{WORDING.template}:{dish.url}",
                question(f"{probe.names[row]} ({dish.url}): published predictions"),
                "\n".join(predicted),
                target=list(dish.ingredients),
                finish_reason="stop" if predicted else "",
                scores={
                    "average_precision": Score.of(None, own if isinstance(own, str) else NO_RANKING),
                    **marks.get(dish.url, {}),
                },
                metadata=_about(probe, WORDING, row),
                roles=_roles(study, dish.url in marks),
            )


def _about(probe: Probe, template: Template, row: int) -> dict[str, Any]:
    """Return the metadata that every sample of a dish has."""
    dish = probe.dishes[row]
    return {
        "condition": probe.condition.slug,
        "template": template.template,
        "dish": dish.url,
        "dish_name": probe.names[row],
        "origin": dish.group,
        "n_candidates": len(probe.candidates),
    }


def _roles(study: FmlamaStudy, is_judged: bool) -> dict[str, list[str]]:
    """Return the judges of a sample by role."""
    return {"judge": [judge.name for judge in study.judges.values()]} if is_judged else {}


def _marks(study: FmlamaStudy, completions: Completions) -> Marked:
    """Return the judges' verdicts on top predictions, for the judged dishes."""
    if not study.judges:
        return {}
    dishes = predicted_dishes(study, completions)
    if isinstance(dishes, str):
        return {}
    prompts = judge_prompts(study.rubric, [d for d in dishes if d.predicted], study.params.direct_matches)
    scores: Marked = {}
    for request in judging(study, prompts):
        judge, stored = study.judges[request.engine], completions(request)
        name = "mes" if len(study.judges) == 1 else score_name("mes", judge)
        for prompt, own in zip(prompts, read_marks(study.rubric, prompts, stored), strict=True):
            opinions = [Opinion(verdict) for verdict in own.verdicts]
            if not prompt.asked:  # nothing was left for the judge
                continue
            verdicts = verdict_scores(judge, opinions, prompt.prompt, stored.get(prompt.prompt.id))
            scores.setdefault(own.dish.url, {})[name] = verdicts
    return scores
